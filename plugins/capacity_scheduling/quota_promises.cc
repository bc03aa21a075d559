// SPDX-License-Identifier: Apache-2.0
// Implementation of quota_promises.h.
#include "plugins/capacity_scheduling/quota_promises.h"

#include <algorithm>
#include <utility>

namespace berth {

void QuotaPromises::ReadTree() {
  promised_ = {};
  priorities_.assign(tree_.size(), {});
  amounts_.clear();
  on_node_.clear();
  LookAtAll();
}

// Those on nodes whose nominations changed.
bool QuotaPromises::Follow() {
  const Nominator& nominator = handle_.nominator();
  if (nominator_version_ == nominator.version()) return false;
  const auto changes = nominator_version_.has_value() ? nominator.ChangesSince(*nominator_version_)
                                                      : std::optional<absl::Span<const Symbol>>();
  nominator_version_ = nominator.version();
  if (!changes.has_value()) {
    FollowAll();
    return true;
  }
  for (const Symbol node : *changes) {
    const auto here = on_node_.find(node);
    if (here == on_node_.end()) continue;
    for (const IdentityPtr& pod : here->second) {
      const QuotaPromise& promise = *promised_.Find(*pod);
      std::map<int32_t, int>& of_quota = priorities_[promise.charge.quota];
      const auto of_priority = of_quota.find(promise.charge.key.priority);
      if (--of_priority->second == 0) of_quota.erase(of_priority);
      Move(promise, -1);
      promised_.Erase(*pod);
    }
    on_node_.erase(here);
  }
  for (const Symbol node : *changes) {
    if (on_node_.contains(node)) continue;  // a node once for each change
    for (const auto& pod : nominator.NominatedPods(node)) Promise(pod, node);
  }
  return true;
}

void QuotaPromises::FollowAll() {
  ForEach([this](const QuotaPromise& promise) { Move(promise, -1); });
  promised_ = {};
  priorities_.assign(tree_.size(), {});
  on_node_.clear();
  const Nominator& nominator = handle_.nominator();
  std::vector<Symbol> nodes;
  nominator.ForEach([&](const PodInfo&, absl::string_view node_name) {
    const Symbol node = Symbol::Intern(node_name);
    if (nodes.empty() || nodes.back() != node) nodes.push_back(node);
  });
  for (const Symbol node : nodes) {
    for (const auto& pod : nominator.NominatedPods(node)) Promise(pod, node);
  }
}

void QuotaPromises::Promise(const std::shared_ptr<const PodInfo>& nominated, Symbol node_name) {
  const PodInfo& pod = *nominated;
  const NodeTable& nodes = handle_.nodes();
  const NodeRow row = nodes.FindRow(node_name);
  const std::optional<QuotaId> quota = pod_quotas_.Of(pod);
  if (!quota.has_value()) return;
  if (row < 0) {  // not seen yet, perhaps: all are looked at again
    nominator_version_.reset();
    return;
  }
  const auto [promise, is_new] = promised_.FindOrAdd(pod.identity());
  if (!is_new) return;
  QuotaRequests::Amount amount =
      requests_.AmountOf(pod, *quota, &requests_.LabelsOf(nodes.node(row)));
  promise->pod = nominated;
  promise->charge = {.pod = pod.identity(),
                     .node = node_name,
                     .quota = *quota,
                     .amounts = std::move(amount.amounts),
                     .claims = std::move(amount.claims),
                     .key = {.priority = pod.priority()},
                     .preemptible = IsPreemptible(pod)};
  promise->order = handle_.nominator().OrderOf(pod);
  ++priorities_[*quota][pod.priority()];
  on_node_[node_name].push_back(pod.identity());
  Move(*promise, 1);
}

void QuotaPromises::Move(const QuotaPromise& promise, int sign) {
  const QuotaCharge& charge = promise.charge;
  for (const auto& [line, amount] : charge.amounts) {
    for (QuotaId quota = charge.quota; quota != -1; quota = tree_.parent(quota)) {
      amounts_[{quota, line}] += __int128{sign} * amount;
    }
  }
  if (sign > 0) {
    tree_.Charge(charge.quota, charge.amounts);
    claims_.Join(*promise.pod, charge.quota, charge.claims, ClaimUser::Use::kNominated);
  } else {
    tree_.Release(charge.quota, charge.amounts);
    claims_.Leave(*charge.pod, charge.claims, ClaimUser::Use::kNominated);
  }
}

QuotaTree::Shortage QuotaPromises::WithNominated(QuotaTree::Shortage shortage) const {
  const auto promised = amounts_.find({shortage.quota, shortage.line});
  if (promised != amounts_.end()) {
    shortage.nominated = std::min(promised->second, shortage.used);
  }
  return shortage;
}

ClaimCharges::Sums QuotaPromises::Sums() const {
  ClaimCharges::Sums sums;
  const auto add = [&](QuotaId quota, const LineAmounts& amounts) {
    for (const auto& [line, amount] : amounts) sums[{quota, line}] += amount;
  };
  ForEach([&](const QuotaPromise& promise) {
    if (left_out_.contains(&promise)) return;
    add(promise.charge.quota, promise.charge.amounts);
    for (const ClaimCharge& charge : promise.charge.claims) {
      const ClaimUser* const first =
          claims_.FirstUser(charge.claim, [](const ClaimUser&) { return true; });
      if (first->use == ClaimUser::Use::kNominated && first->pod->uid() == promise.pod->uid()) {
        add(first->quota, first->amounts);
      }
    }
  });
  return sums;
}

bool QuotaPromises::LeaveOut(const QuotaPromise& promise) {
  if (!left_out_.insert(&promise).second) return false;
  Move(promise, -1);
  return true;
}

void QuotaPromises::PutBack(const QuotaPromise& promise) {
  left_out_.erase(&promise);
  Move(promise, 1);
}

}  // namespace berth
