// SPDX-License-Identifier: Apache-2.0
// Implementation of berth/preemption/disruption_budgets.h.
#include "berth/preemption/disruption_budgets.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/strings/str_cat.h"
#include "berth/api/symbol.h"
#include "table/label_index.h"

namespace berth {

class DisruptionBudgets::Index {
 public:
  bool empty() const { return budgets_.empty(); }
  bool AnyExhausted() const { return !exhausted_.empty(); }
  bool AnyExhausted(Symbol namespace_name) const { return exhausted_.contains(namespace_name); }

  const DisruptionBudget* Find(const std::string& key) const {
    const auto it = budgets_.find(key);
    return it == budgets_.end() ? nullptr : &it->second;
  }
  void Set(Symbol namespace_name, const std::string& key, DisruptionBudget budget) {
    const auto [it, is_new] = budgets_.try_emplace(key);
    DisruptionBudget& known = it->second;
    if (!is_new) CountExhausted(namespace_name, known, -1);
    if (is_new || known.selector != budget.selector) {
      if (!is_new) by_labels_.Remove({&namespace_name, 1}, known.selector, &known);
      by_labels_.Add({&namespace_name, 1}, budget.selector, &known);
    }
    known = std::move(budget);
    CountExhausted(namespace_name, known, 1);
  }
  void Remove(Symbol namespace_name, const std::string& key) {
    const auto it = budgets_.find(key);
    if (it == budgets_.end()) return;
    CountExhausted(namespace_name, it->second, -1);
    by_labels_.Remove({&namespace_name, 1}, it->second.selector, &it->second);
    budgets_.erase(it);
  }

  // The budgets that select the pod count it, or count it no more. Returns whether one did not
  // before.
  bool Spend(const PodInfo& pod) {
    return Change(pod, [&](DisruptionBudget& budget) {
      return !budget.HasCounted(pod) && budget.planned_pods.emplace(pod.name()).second;
    });
  }
  void GiveBack(const PodInfo& pod) {
    Change(pod,
           [&](DisruptionBudget& budget) { return budget.planned_pods.erase(pod.name()) > 0; });
  }

  // Calls visit(budget) for those that select the pod, until one returns true. Returns whether one
  // did.
  template <class Visit>
  bool AnyOf(const PodInfo& pod, Visit visit) const {
    bool found = false;
    if (pod.labels().empty()) return found;
    by_labels_.ForEachCandidate(pod.namespace_name(), pod.labels(), [&](DisruptionBudget* budget) {
      found = found || (budget->selector.Matches(pod.labels()) && visit(*budget));
    });
    return found;
  }

 private:
  void CountExhausted(Symbol namespace_name, const DisruptionBudget& budget, int sign) {
    if (budget.left() > 0) return;
    if ((exhausted_[namespace_name] += sign) == 0) exhausted_.erase(namespace_name);
  }

  template <class Apply>
  bool Change(const PodInfo& pod, Apply apply) {
    bool any = false;
    AnyOf(pod, [&](DisruptionBudget& budget) {
      CountExhausted(pod.namespace_name(), budget, -1);
      any |= apply(budget);
      CountExhausted(pod.namespace_name(), budget, 1);
      return false;
    });
    return any;
  }

  absl::node_hash_map<std::string, DisruptionBudget> budgets_;  // by "namespace/name"
  LabelIndex<DisruptionBudget*> by_labels_;
  absl::flat_hash_map<Symbol, int> exhausted_;  // how many, by namespace
};

DisruptionBudgets::DisruptionBudgets() : index_(std::make_unique<Index>()) {}
DisruptionBudgets::DisruptionBudgets(DisruptionBudgets&&) noexcept = default;
DisruptionBudgets& DisruptionBudgets::operator=(DisruptionBudgets&&) noexcept = default;
DisruptionBudgets::~DisruptionBudgets() = default;

void DisruptionBudgets::Set(absl::string_view namespace_name, absl::string_view name,
                            std::optional<DisruptionBudget> budget) {
  const std::string key = absl::StrCat(namespace_name, "/", name);
  const Symbol in = Symbol::Intern(namespace_name);
  if (budget.has_value()) {
    index_->Set(in, key, *std::move(budget));
  } else {
    index_->Remove(in, key);
  }
}

const DisruptionBudget* DisruptionBudgets::Find(absl::string_view namespace_name,
                                                absl::string_view name) const {
  return index_->Find(absl::StrCat(namespace_name, "/", name));
}

bool DisruptionBudgets::empty() const { return index_->empty(); }
bool DisruptionBudgets::AnyExhausted() const { return index_->AnyExhausted(); }

absl::InlinedVector<const DisruptionBudget*, 4> DisruptionBudgets::Of(const PodInfo& pod) const {
  absl::InlinedVector<const DisruptionBudget*, 4> found;
  index_->AnyOf(pod, [&](const DisruptionBudget& budget) {
    found.push_back(&budget);
    return false;
  });
  return found;
}

bool DisruptionBudgets::Protect(const PodInfo& pod) const {
  return index_->AnyExhausted(pod.namespace_name()) &&
         index_->AnyOf(pod, [&](const DisruptionBudget& budget) {
           return budget.left() <= 0 && !budget.HasCounted(pod);
         });
}

bool DisruptionBudgets::Spend(const PodInfo& pod) { return index_->Spend(pod); }
void DisruptionBudgets::GiveBack(const PodInfo& pod) { index_->GiveBack(pod); }

}  // namespace berth
