// SPDX-License-Identifier: Apache-2.0
// Admission by quota. scheduler-plugins capacityscheduling/capacity_scheduling.go.
#include "plugins/capacity_scheduling/capacity_scheduling.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"
#include "plugins/capacity_scheduling/quota_state.h"

namespace berth {
namespace {

constexpr absl::string_view kMoreThanMax = " is more than Max";

using QuantityMap = google::protobuf::Map<std::string, api::Quantity>;

bool SameText(const QuantityMap& a, const QuantityMap& b) {
  return a.size() == b.size() && absl::c_all_of(a, [&b](const auto& entry) {
           const auto other = b.find(entry.first);
           return other != b.end() && other->second.string() == entry.second.string();
         });
}

// What a controller writes into the status of a quota helps nobody.
absl::StatusOr<QueueingHint> BoundsChanged(const PodInfo&, const ObjectChange& change) {
  if (change.old_object == nullptr || change.new_object == nullptr) return QueueingHint::kQueue;
  const api::ElasticQuotaSpec& before = change.old_object->As<api::ElasticQuota>().spec();
  const api::ElasticQuotaSpec& after = change.new_object->As<api::ElasticQuota>().spec();
  const bool same = SameText(before.min(), after.min()) && SameText(before.max(), after.max());
  return same ? QueueingHint::kSkip : QueueingHint::kQueue;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> CapacityScheduling::Create(const PluginArgs&,
                                                                   Handle& handle) {
  return std::make_unique<CapacityScheduling>(handle);
}

void CapacityScheduling::AddNominatedPods(const PodInfo& pod, const Quota& quota,
                                          QuotaState& state) {
  nominated_.Refresh(handle_.nominator(), handle_.nodes());
  ResourceVector of_quota = nominated_.SumFrom(quota.namespace_name, pod.priority());
  const NominatedUsage::Request* own = nominated_.Find(*pod.identity());
  if (own != nullptr && own->priority >= pod.priority()) of_quota.Subtract(own->amount);
  state.pending_of_quota.Add(of_quota);
  state.pending_of_all.Add(of_quota);

  nominated_.ForEachNamespace([&](Symbol name, const ResourceVector& sum) {
    const Quota* other = ledger_.Find(name);
    if (other == nullptr || other == &quota || OverMin(ledger_, state, *other)) return;
    state.pending_of_all.Add(Restrict(sum, *other));
  });
}

Status CapacityScheduling::PreFilter(CycleState& state, const PodInfo& pod, const NodeTable&,
                                     PreFilterResult&) {
  ledger_.Refresh(handle_.objects());
  auto owned_state = std::make_unique<QuotaState>();
  QuotaState& quota_state = *owned_state;
  state.Write(kQuotaState, std::move(owned_state));
  const Quota* quota = ledger_.Find(pod.namespace_name());
  if (quota == nullptr) return Status::Success();

  quota_state.request = ledger_.RequestOf(pod);
  quota_state.request.ForEach([&](ResourceId id, int64_t) {
    if (quota->Names(id)) quota_state.claimed.push_back(id);
  });
  quota_state.counted = quota_state.claimed;
  ledger_.total_min().ForEach([&](ResourceId id) {
    if (!IsScalar(id) || absl::c_linear_search(quota_state.counted, id)) return;
    quota_state.counted.push_back(id);
  });
  quota_state.changes.SetResources(quota_state.counted);
  quota_state.pending_of_quota = quota_state.pending_of_all = quota_state.request;
  AddNominatedPods(pod, *quota, quota_state);

  QuotaRoom room(ledger_, quota_state, *quota, QuotaRoom::Moment::kNow,
                 quota_state.pending_of_quota, quota_state.pending_of_all);
  if (room.OverMax()) {
    return Status::Unschedulable(absl::StrCat("Pod ", pod.key(),
                                              " is rejected in PreFilter because ElasticQuota ",
                                              pod.namespace_name().view(), kMoreThanMax));
  }
  if (room.TotalOverMin()) {
    return Status::Unschedulable(
        absl::StrCat("Pod ", pod.key(),
                     " is rejected in PreFilter because total ElasticQuota used is more than min"));
  }
  return Status::Success();
}

Status CapacityScheduling::AddPod(CycleState& state, const PodInfo&, const PodInfo& added,
                                  const NodeInfo&) {
  QuotaState* quota_state = state.FindMutable(kQuotaState);
  if (quota_state == nullptr) return Status::Error("CapacityScheduling did not see the pod");
  quota_state->changes.Add(ledger_, added);
  return Status::Success();
}

Status CapacityScheduling::RemovePod(CycleState& state, const PodInfo&, const PodInfo& removed,
                                     const NodeInfo&) {
  QuotaState* quota_state = state.FindMutable(kQuotaState);
  if (quota_state == nullptr) return Status::Error("CapacityScheduling did not see the pod");
  quota_state->changes.Remove(ledger_, removed);
  return Status::Success();
}

Status CapacityScheduling::PostFilter(CycleState& state, const PodInfo& pod,
                                      const NodeStatuses& statuses, PostFilterResult& result) {
  return preemption_.Run(rules_, state, pod, statuses, result);
}

std::vector<ClusterEventWithHint> CapacityScheduling::EventsToRegister() const {
  return {{{EventResource::Pod(), action::kDelete | action::kUpdatePodScaleDown}, nullptr},
          {{EventResource::Of(Kind::kElasticQuota), action::kAll}, &BoundsChanged}};
}

// The first resource by name that is over its bound; a pod that asks for more than the bound itself
// will never be admitted.
void CapacityScheduling::ExplainWaiting(const PodInfo& pod, const Status& rejection,
                                        const NodeTable&, WaitingFor& waiting) const {
  const bool own_max = absl::EndsWith(rejection.message(), kMoreThanMax);
  waiting.reason = own_max ? WaitingReason::kQuotaMax : WaitingReason::kWaitingForQuota;
  const Quota* quota = ledger_.Find(pod.namespace_name());
  if (quota == nullptr) return;
  if (own_max) waiting.quota = absl::StrCat("ElasticQuota ", quota->namespace_name.view());
  const ResourceVector& used =
      own_max ? ledger_.UsageOf(quota->namespace_name).used : ledger_.total_usage().used;
  const ResourceBounds& bounds = own_max ? quota->max : ledger_.total_min();
  QuotaRequest(pod).ForEach([&](ResourceId id, int64_t amount) {
    const int64_t* bound = quota->Names(id) ? bounds.Find(id) : nullptr;
    if (bound == nullptr || used.Get(id) + amount <= *bound) return;
    const std::string name(ResourceName(id));
    if (!waiting.resource.empty() && waiting.resource < name) return;
    waiting.resource = name;
    waiting.needed = amount;
    waiting.quota_used = used.Get(id);
    waiting.quota_limit = *bound;
    if (amount > *bound) waiting.reason = WaitingReason::kQuotaMisconfigured;
  });
}

}  // namespace berth
