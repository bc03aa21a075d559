// SPDX-License-Identifier: Apache-2.0
// Implementation of nominated_usage.h.
#include "plugins/capacity_scheduling/nominated_usage.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/string_view.h"

namespace berth {

void NominatedUsage::Sum::Add(const ResourceVector& more) {
  ++pods;
  amount.Add(more);
}

void NominatedUsage::Sum::Subtract(const ResourceVector& less) {
  --pods;
  amount.Subtract(less);
}

void NominatedUsage::Refresh(const Nominator& nominator, const NodeTable& nodes) {
  const auto changes = nominator.ChangesSince(version_);
  if (changes.has_value()) {
    // First all that may be wrong: a pod may have moved from one of these nodes to another.
    for (const Symbol node : *changes) RemoveFrom(node);
    for (const Symbol node : *changes) Recount(node, nominator, nodes);
    if (order_version_ != nodes.order_version()) CatchUpWithNodes(nominator, nodes);
  } else {
    accounts_.clear();
    pods_on_.clear();
    missing_.clear();
    requests_ = {};
    nominator.ForEach([&](const PodInfo&, absl::string_view name) {
      const std::optional<Symbol> node = Symbol::Find(name);
      if (node.has_value()) Recount(*node, nominator, nodes);
    });
  }
  version_ = nominator.version();
  order_version_ = nodes.order_version();
}

// Nodes came or went: what was counted stands but on these.
void NominatedUsage::CatchUpWithNodes(const Nominator& nominator, const NodeTable& nodes) {
  std::vector<Symbol> came, went;
  for (const Symbol node : missing_) {
    if (nodes.FindRow(node) >= 0) came.push_back(node);
  }
  for (const auto& [node, pods] : pods_on_) {
    if (nodes.FindRow(node) < 0) went.push_back(node);
  }
  for (const std::vector<Symbol>* changed : {&came, &went}) {
    for (const Symbol node : *changed) Recount(node, nominator, nodes);
  }
}

void NominatedUsage::RemoveFrom(Symbol node) {
  missing_.erase(node);
  const auto on_node = pods_on_.find(node);
  if (on_node == pods_on_.end()) return;
  for (const IdentityPtr& who : on_node->second) {
    const Request& request = *requests_.Find(*who);
    const auto account = accounts_.find(request.namespace_name);
    const auto same_priority = account->second.by_priority.find(request.priority);
    same_priority->second.Subtract(request.amount);
    if (same_priority->second.pods == 0) account->second.by_priority.erase(same_priority);
    account->second.all.Subtract(request.amount);
    if (account->second.all.pods == 0) accounts_.erase(account);
    requests_.Erase(*who);
  }
  pods_on_.erase(on_node);
}

void NominatedUsage::Recount(Symbol node, const Nominator& nominator, const NodeTable& nodes) {
  RemoveFrom(node);
  const auto pods = nominator.NominatedPods(node);
  if (pods.empty()) return;
  if (nodes.FindRow(node) < 0) {
    missing_.insert(node);
    return;
  }
  std::vector<IdentityPtr>& on_node = pods_on_[node];
  for (const std::shared_ptr<const PodInfo>& pod : pods) {
    Request request{pod->namespace_name(), pod->priority(), ledger_.NewRequestOf(*pod)};
    Account& account = accounts_[request.namespace_name];
    account.all.Add(request.amount);
    account.by_priority[request.priority].Add(request.amount);
    on_node.push_back(pod->identity());
    *requests_.FindOrAdd(pod->identity()).first = std::move(request);
  }
}

void NominatedUsage::ForEachNamespace(
    const std::function<void(Symbol namespace_name, const ResourceVector& sum)>& visit) const {
  for (const auto& [name, account] : accounts_) visit(name, account.all.amount);
}

ResourceVector NominatedUsage::SumFrom(Symbol namespace_name, int32_t priority) const {
  ResourceVector sum;
  const auto account = accounts_.find(namespace_name);
  if (account == accounts_.end()) return sum;
  const auto& by_priority = account->second.by_priority;
  for (auto it = by_priority.lower_bound(priority); it != by_priority.end(); ++it) {
    sum.Add(it->second.amount);
  }
  return sum;
}

}  // namespace berth
