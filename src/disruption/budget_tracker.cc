// SPDX-License-Identifier: Apache-2.0
// Implementation of budget_tracker.h.
#include "disruption/budget_tracker.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "berth/api/policy_v1.pb.h"
#include "berth/columns/pod_table.h"

namespace berth {
namespace {

// A budget whose selector is missing, empty or wrong protects nothing.
std::optional<DisruptionBudget> Parse(const api::PodDisruptionBudget* object) {
  if (object == nullptr || !object->spec().has_selector()) return std::nullopt;
  absl::StatusOr<LabelSelector> selector = LabelSelector::FromProto(&object->spec().selector());
  if (!selector.ok() || selector->SelectsNothing() || selector->SelectsEverything()) {
    return std::nullopt;
  }
  DisruptionBudget budget{*std::move(selector), object->status().disruptions_allowed(), {}};
  for (const auto& [name, time] : object->status().disrupted_pods()) {
    budget.disrupted_pods.insert(name);
  }
  return budget;
}

}  // namespace

void BudgetTracker::Refresh(const ObjectStore& objects, const NodeTable& nodes) {
  const uint64_t version = objects.version(Kind::kPodDisruptionBudget);
  if (version_ == version) return;
  const auto changes = version_.has_value()
                           ? objects.ChangesSince(Kind::kPodDisruptionBudget, *version_)
                           : std::nullopt;
  version_ = version;
  if (changes.has_value()) {
    for (const IdentityPtr& who : *changes) ApplyChange(*who, objects, nodes);
    return;
  }
  budgets_ = DisruptionBudgets();
  for (const Object* object : objects.List(Kind::kPodDisruptionBudget)) {
    budgets_.Set(object->namespace_name(), object->name(),
                 Parse(&object->As<api::PodDisruptionBudget>()));
  }
  changed_nodes_.Restart();
}

void BudgetTracker::ApplyChange(const Identity& who, const ObjectStore& objects,
                                const NodeTable& nodes) {
  std::optional<DisruptionBudget> now =
      Parse(objects.Find<api::PodDisruptionBudget>(who.namespace_name(), who.name()));
  std::optional<DisruptionBudget> before;
  if (const auto* known = budgets_.Find(who.namespace_name(), who.name())) before = *known;
  if (now == before) return;
  // Evictions violate a budget only on a node with more of its pods than it lets go.
  PodSelector selected{.namespaces = {Symbol::Intern(who.namespace_name())}};
  const auto add_nodes = [&](const DisruptionBudget& budget, int64_t allowed) {
    selected.labels = budget.selector;
    AddNodesWithMore(selected, allowed, nodes);
  };
  if (before.has_value() && now.has_value() && before->selector == now->selector) {
    add_nodes(*now, std::min(before->disruptions_allowed, now->disruptions_allowed));
  } else {
    if (before.has_value()) add_nodes(*before, before->disruptions_allowed);
    if (now.has_value()) add_nodes(*now, now->disruptions_allowed);
  }
  budgets_.Set(who.namespace_name(), who.name(), std::move(now));
}

// Bounds of what a node yields go by which budgets are exhausted.
template <class Apply>
void BudgetTracker::Change(const PodInfo& pod, const NodeTable& nodes, Apply apply) {
  if (budgets_.empty()) return;
  std::vector<std::pair<const DisruptionBudget*, bool>> before;
  for (const DisruptionBudget* const budget : budgets_.Of(pod)) {
    before.emplace_back(budget, budget->left() > 0);
  }
  apply();
  for (const auto& [budget, had_some] : before) {
    if ((budget->left() > 0) == had_some) continue;
    PodSelector selected{.namespaces = {pod.namespace_name()}};
    selected.labels = budget->selector;
    AddNodesWithMore(selected, 0, nodes);
  }
}

bool BudgetTracker::Spend(const PodInfo& pod, const NodeTable& nodes) {
  bool spent = false;
  Change(pod, nodes, [&] { spent = budgets_.Spend(pod); });
  return spent;
}

void BudgetTracker::GiveBack(const PodInfo& pod, const NodeTable& nodes) {
  Change(pod, nodes, [&] { budgets_.GiveBack(pod); });
}

void BudgetTracker::AddNodesWithMore(const PodSelector& selected, int64_t than,
                                     const NodeTable& nodes) {
  for (const auto& [row, pods] : nodes.pods().CountOnce(selected)) {
    if (pods > than) changed_nodes_.Add(nodes.node(row).name(), nodes.size());
  }
}

}  // namespace berth
