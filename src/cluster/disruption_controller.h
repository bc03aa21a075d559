// SPDX-License-Identifier: Apache-2.0
// What kube-controller-manager's disruption controller does: the status of PodDisruptionBudgets.
#ifndef BERTH_SRC_CLUSTER_DISRUPTION_CONTROLLER_H_
#define BERTH_SRC_CLUSTER_DISRUPTION_CONTROLLER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/api/labels.h"
#include "berth/api/object.h"
#include "berth/api/policy_v1.pb.h"

namespace berth {

// The pods that a budget selects.
struct BudgetPods {
  int32_t pods = 0;       // all, whatever their state
  int32_t healthy = 0;    // ready, and not about to go
  int64_t scale = 0;      // what their controllers want together; pods without one do not count
  bool has_scale = true;  // false: of some controller that is not known
};

// Writes expectedPods, desiredHealthy, currentHealthy and disruptionsAllowed. A spec that makes no
// sense, or needs a scale that is not known, allows no disruption and leaves the rest as it was.
// kubernetes v1.35 pkg/controller/disruption/disruption.go: getExpectedPodCount, updatePdbStatus.
void SetBudgetStatus(const api::PodDisruptionBudgetSpec& spec, const BudgetPods& selected,
                     api::PodDisruptionBudgetStatus& status);

// Follows pods and budgets, and says which budgets need another status. A pod is healthy once it is
// on a node, unless its condition Ready says otherwise. No controllers run here that could tell
// their scale: it is the most pods of a controller that there were at once, until the last one is
// gone; DaemonSets and Jobs have none, as upstream. Not thread-safe.
class DisruptionController {
 public:
  DisruptionController();
  ~DisruptionController();

  // Whether pods of this namespace count: it has budgets. When that begins, the pods that are there
  // have to be set.
  bool Follows(absl::string_view namespace_name) const {
    return namespaces_.find(namespace_name) != namespaces_.end();
  }
  bool IsConcernedWith(const Object& object) const {
    if (object.kind() == Kind::kPod) return Follows(object.namespace_name());
    return object.kind() == Kind::kPodDisruptionBudget;
  }

  // An object is there, or has changed. Others than pods and budgets are none of its business.
  void Set(const Object& object, absl::Time now);
  void Remove(const Object& object);

  // The budgets of which the status has to be another one, with that status.
  std::vector<Object> Reconcile(absl::Time now);
  // When a pod that status.disruptedPods names counts as healthy again, since it was not deleted.
  absl::Time NextDue() const { return next_due_; }

 private:
  struct Budget;
  struct Namespace;
  struct Pod;

  void SetBudget(const Object& object, absl::Time now);
  void SetPod(Namespace& in, const Object& object);
  void Forget(Namespace& in, Pod& pod);
  void Select(Namespace& in, Budget& budget);
  void Unselect(Namespace& in, Budget& budget);
  void Count(Namespace& in, const Pod& pod, int sign);
  void Count(Namespace& in, Budget& budget, const Pod& pod, int sign);
  void NoteChange(Namespace& in, Budget& budget);
  void NoteDue(absl::Time now);
  void Expect(Budget& budget, const api::PodDisruptionBudgetStatus& status, absl::Time now);
  api::PodDisruptionBudgetStatus StatusOf(Namespace& in, Budget& budget, absl::Time now);

  std::map<std::string, std::unique_ptr<Namespace>, std::less<>> namespaces_;
  std::set<std::string> changed_;  // namespaces with budgets that have changed
  absl::Time next_due_ = absl::InfiniteFuture();
};

}  // namespace berth

#endif  // BERTH_SRC_CLUSTER_DISRUPTION_CONTROLLER_H_
