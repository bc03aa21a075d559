// SPDX-License-Identifier: Apache-2.0
// Implementation of device_preemption.h.
#include "plugins/dynamic_resources/device_preemption.h"

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/columns/node_table.h"
#include "plugins/dynamic_resources/returned_devices.h"

namespace berth {
namespace {

// So long a preemptor waits for devices that are not given back: the controller of claims is slow,
// or is not there. Then others are evicted.
constexpr absl::Duration kLongestWait = absl::Minutes(1);
constexpr absl::Duration kForgotten = absl::Minutes(10);

}  // namespace

DevicePreemption::DevicePreemption(Handle& handle, const ClusterDevices& devices,
                                   const ClaimReader& reader, bool is_enabled)
    : handle_(handle),
      devices_(devices),
      reader_(reader),
      is_enabled_(is_enabled),
      gone_in_plan_(handle.Shared<GoneInPlan>()),
      awaiting_writes_(is_enabled ? std::make_shared<NotedPreemptors>() : nullptr) {}

// Members of a gang are also filtered in its plan, which is part of the attempt.
void DevicePreemption::Begin(const CycleState& state, const PodInfo& pod) {
  if (!is_enabled_ || state.for_explanation() || gone_in_plan_->number != 0) return;
  awaiting_writes_->Forget(pod);
}

void DevicePreemption::Release(const CycleState& state, const PodInfo& preemptor,
                               const PodInfo& pod, ClaimsState& data) const {
  const bool gives_all_back = UpdateReleased(data, pod, devices_, handle_);
  if (!gives_all_back && !state.for_explanation()) awaiting_writes_->Note(preemptor);
}

void DevicePreemption::RemoveGoneInPlan(const CycleState& state, const PodInfo& preemptor,
                                        ClaimsState& data) const {
  if (!is_enabled_) return;
  for (const auto& pod : gone_in_plan_->pods) {
    if (reader_.MayUseDevices(*pod)) data.gone_pods.insert(std::string(pod->uid()));
  }
  for (const auto& pod : gone_in_plan_->pods) {
    if (reader_.MayUseDevices(*pod)) Release(state, preemptor, *pod, data);
  }
  for (const ReturnedClaim& claim : ReturnedInPlan()) {
    if (IsAmong(data.pod->claims, claim.uid)) continue;
    data.released.insert(claim.devices.begin(), claim.devices.end());
  }
}

const std::vector<ReturnedClaim>& DevicePreemption::ReturnedInPlan() const {
  if (plan_ == gone_in_plan_->number) return returned_;
  plan_ = gone_in_plan_->number;
  returned_.clear();
  if (plan_ == 0) return returned_;
  returned_ = ClaimsOnTheirWayBack(gone_in_plan_->pods, devices_, handle_);
  const absl::Time now = handle_.clock().Now();
  absl::flat_hash_map<std::string, absl::Time> since;
  for (const ReturnedClaim& claim : returned_) {
    const auto known = returned_since_.find(claim.uid);
    since[claim.uid] = known == returned_since_.end() ? now : known->second;
  }
  returned_since_ = std::move(since);
  std::erase_if(returned_, [&](const ReturnedClaim& claim) {
    return returned_since_[claim.uid] + kLongestWait <= now;
  });
  return returned_;
}

void DevicePreemption::SignGoneInPlan(PodSignature& signature) const {
  if (!is_enabled_) return;
  signature.Add(static_cast<int64_t>(gone_in_plan_->pods.size()));
  for (const auto& gone : gone_in_plan_->pods) signature.Add(gone->uid());
  for (const ReturnedClaim& claim : ReturnedInPlan()) signature.Add(claim.uid);
}

void DevicePreemption::Remove(const CycleState& state, const PodInfo& preemptor, const PodInfo& pod,
                              ClaimsState& data) const {
  if (!is_enabled_ || !reader_.MayUseDevices(pod)) return;
  data.in_dry_run = true;
  data.gone_pods.insert(std::string(pod.uid()));
  Release(state, preemptor, pod, data);
  UpdateWithoutOwn(data);
}

void DevicePreemption::Add(const PodInfo& pod, ClaimsState& data) const {
  if (data.gone_pods.erase(pod.uid()) == 0) return;
  UpdateReleased(data, pod, devices_, handle_);
  UpdateWithoutOwn(data);
}

// Not while a gang makes its plan, which reserves what members get: a claim with devices gets none.
void DevicePreemption::UpdateWithoutOwn(ClaimsState& data) const {
  const ClaimsOfPod& claims = *data.pod;
  if (gone_in_plan_->number != 0) return;
  absl::flat_hash_set<std::string> freed;
  for (size_t i = 0; i < claims.claims.size(); ++i) {
    const bool all_gone =
        claims.may_be_freed[i] &&
        absl::c_all_of(claims.claims[i].claim().status().reserved_for(),
                       [&](const auto& user) { return data.gone_pods.contains(user.uid()); });
    if (all_gone) freed.emplace(claims.claims[i].object.uid());
  }
  SetWithoutOwn(freed, data);
}

void DevicePreemption::SetWithoutOwn(const absl::flat_hash_set<std::string>& freed,
                                     ClaimsState& data) const {
  data.without_own = freed.empty() ? nullptr : reader_.ReadWithout(*data.pod, freed);
  data.released_by_own.clear();
  if (data.without_own == nullptr) return;
  for (const PodClaim& claim : data.pod->claims) {
    if (!freed.contains(claim.object.uid())) continue;
    for (DeviceUse& device : devices_.UsesOf(claim.claim().status().allocation())) {
      data.released_by_own.insert(std::move(device));
    }
  }
}

bool DevicePreemption::Waits(const CycleState& state, const PodInfo& pod,
                             const NodeStatuses& statuses, Symbol plugin) {
  if (!is_enabled_ || gone_in_plan_->number != 0) return false;  // a plan counts them as free
  const NodeTable& nodes = handle_.nodes();
  const NodeRow row = nodes.FindRow(Symbol::Intern(handle_.nominator().NominatedNode(pod)));
  if (row < 0 || statuses.rejecting_plugin(row) != plugin) return false;
  const NodeInfo& node = nodes.node(row);
  ReleasedDevices returned = DevicesOnTheirWayBack(node, devices_, handle_);
  const auto own = OwnClaimsOnTheirWayBack(*state.Find(kClaimsState)->pod, handle_);
  if (returned.empty() && own.empty()) return false;
  CycleState with_these = state.Clone();
  ClaimsState& data = *with_these.FindMutable(kClaimsState);
  data.released = std::move(returned);
  SetWithoutOwn(own, data);
  if (!handle_.RunFilterPluginsWithNominatedPods(with_these, pod, node).ok()) return false;
  const absl::Time now = handle_.clock().Now();
  absl::erase_if(waits_since_, [now](const auto& wait) { return wait.second + kForgotten < now; });
  return now < waits_since_.try_emplace(pod.uid(), now).first->second + kLongestWait;
}

}  // namespace berth
