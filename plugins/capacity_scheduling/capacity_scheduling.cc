// Admission by quota. scheduler-plugins capacityscheduling/capacity_scheduling.go.
#include "plugins/capacity_scheduling/capacity_scheduling.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "plugins/capacity_scheduling/quota_state.h"

namespace berth {

absl::StatusOr<std::unique_ptr<Plugin>> CapacityScheduling::Create(const PluginArgs&,
                                                                   Handle& handle) {
  return std::make_unique<CapacityScheduling>(handle);
}

void CapacityScheduling::AddNominatedPods(const PodInfo& pod, const Quota& quota,
                                          QuotaState& state) const {
  const QuotaView view(ledger_, state);
  handle_.nominator().ForEach([&](const PodInfo& nominated, absl::string_view node_name) {
    if (nominated.uid() == pod.uid()) return;
    const Quota* other = ledger_.Find(nominated.namespace_name());
    const std::optional<Symbol> node = Symbol::Find(node_name);
    if (other == nullptr || !node.has_value() || handle_.nodes().FindRow(*node) < 0) return;
    if (other != &quota) {
      if (!view.OverMin(*other))
        state.pending_of_all.Add(Restrict(QuotaRequest(nominated), *other));
    } else if (nominated.priority() >= pod.priority()) {
      const ResourceVector request = QuotaRequest(nominated);
      state.pending_of_quota.Add(request);
      state.pending_of_all.Add(request);
    }
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

  quota_state.request = QuotaRequest(pod);
  quota_state.request.ForEach([&](ResourceId id, int64_t) {
    if (quota->Names(id)) quota_state.claimed.push_back(id);
  });
  quota_state.pending_of_quota = quota_state.pending_of_all = quota_state.request;
  AddNominatedPods(pod, *quota, quota_state);

  const QuotaView view(ledger_, quota_state);
  if (view.OverMax(*quota, quota_state.pending_of_quota)) {
    return Status::Unschedulable(absl::StrCat("Pod ", pod.key(),
                                              " is rejected in PreFilter because ElasticQuota ",
                                              pod.namespace_name().view(), " is more than Max"));
  }
  if (view.TotalOverMin(quota_state.pending_of_all)) {
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
          {{EventResource::Of(Kind::kElasticQuota), action::kAll}, nullptr}};
}

}  // namespace berth
