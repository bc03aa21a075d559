// SPDX-License-Identifier: Apache-2.0
// PodDisruptionBudgets, by the pods that they select.
#ifndef BERTH_PREEMPTION_DISRUPTION_BUDGETS_H_
#define BERTH_PREEMPTION_DISRUPTION_BUDGETS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "berth/api/labels.h"
#include "berth/framework/pod_info.h"

namespace berth {

// A PodDisruptionBudget as preemption counts it down.
struct DisruptionBudget {
  LabelSelector selector;
  int64_t disruptions_allowed = 0;
  absl::flat_hash_set<std::string> disrupted_pods;  // names the API server has counted already
  // Names of the pods that are evicted by a plan in the making: for the rest of it they are
  // counted.
  absl::flat_hash_set<std::string> planned_pods = {};

  // Disruptions that are left beside those of the plan.
  int64_t left() const { return disruptions_allowed - static_cast<int64_t>(planned_pods.size()); }
  bool HasCounted(const PodInfo& pod) const {
    return disrupted_pods.contains(pod.name()) || planned_pods.contains(pod.name());
  }

  friend bool operator==(const DisruptionBudget&, const DisruptionBudget&) = default;
};

// Those of a cluster, found by the labels that they require of pods.
class DisruptionBudgets {
 public:
  DisruptionBudgets();
  DisruptionBudgets(DisruptionBudgets&&) noexcept;
  DisruptionBudgets& operator=(DisruptionBudgets&&) noexcept;
  ~DisruptionBudgets();

  // There is this one of that name, or none.
  void Set(absl::string_view namespace_name, absl::string_view name,
           std::optional<DisruptionBudget> budget);
  // The budget, or null. Valid until it is set.
  const DisruptionBudget* Find(absl::string_view namespace_name, absl::string_view name) const;
  bool empty() const;

  // The budgets that select the pod. A pod without labels has none.
  absl::InlinedVector<const DisruptionBudget*, 4> Of(const PodInfo& pod) const;
  // Whether any allows no eviction, and whether one of them selects the pod and has not
  // counted it already: then its eviction violates that one.
  bool AnyExhausted() const;
  bool Protect(const PodInfo& pod) const;

  // A plan in the making evicts the pod, or does not after all: the budgets that select it count
  // it. Spend() returns whether a budget counts it that did not before.
  bool Spend(const PodInfo& pod);
  void GiveBack(const PodInfo& pod);

 private:
  class Index;
  std::unique_ptr<Index> index_;
};

}  // namespace berth

#endif  // BERTH_PREEMPTION_DISRUPTION_BUDGETS_H_
