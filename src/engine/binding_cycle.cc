// SPDX-License-Identifier: Apache-2.0
// Implementation of binding_cycle.h.
#include "engine/binding_cycle.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "berth/extensions/pods_to_activate.h"

namespace berth {
namespace {

// How often, and at most how long apart, the binding of a group's missing member is tried again.
constexpr int kMaxBindRetries = 10;
constexpr absl::Duration kMaxBindDelay = absl::Seconds(10);

}  // namespace

void BindingCycle::Start(const QueueEntry& entry, const AttemptRequest& request,
                         AttemptResult& result) {
  if (result.placed.empty()) return;
  for (size_t i = result.placed.size(); i-- > 0;) {  // the last first: the queue has them in order
    queue_.Placed(&entry, *result.placed[i].placement.pod->identity());
  }
  for (Binder::Member& member : result.placed) {
    const PodInfo& pod = *member.placement.pod;
    // kube-scheduler v1.35 schedule_one.go bindingCycle: what may take long is announced.
    if (member.takes_time || !member.waits.empty()) {
      member.placement.announced = true;
      recorder_.PatchNomination(pod, member.placement.node_name);
    }
    cluster_.nominations().Remove(*pod.identity());
  }
  for (Binder::Member& member : result.placed) ActivateRequestedPods(member.placement.state);
  binder_.Start(std::move(result.placed), request.minimum, clock_.Now());
  result.placed.clear();
}

// What plugins put into the pod's state to be tried next.
void BindingCycle::ActivateRequestedPods(CycleState& state) {
  PodsToActivate* wanted = state.FindMutable(kPodsToActivate);
  if (wanted == nullptr || wanted->pods.empty()) return;
  const auto pods = std::exchange(wanted->pods, {});
  queue_.Activate(pods);
}

bool BindingCycle::HandleOutcomes(absl::Time now) {
  std::vector<BindingOutcome> outcomes = std::exchange(outcomes_, {});
  binder_.Advance(now, outcomes);
  // What succeeded first: whether a group runs in part decides what is done about a failure.
  for (BindingOutcome& outcome : outcomes) {
    // If PreBind failed, another scheduler bound it, and plugins have to give back what they
    // reserved.
    if (outcome.status.IsError() && outcome.placement.pre_bound && SeenBound(outcome.placement)) {
      outcome.status = Status::Success();
    }
    if (!outcome.status.ok()) continue;
    const PodInfo& pod = *outcome.placement.pod;
    cluster_.cache().FinishBinding(*pod.identity());
    recorder_.Forget(*pod.identity());
    ++bound_;
    metrics_.BindingEnded(outcome.placement, outcome.status);
    recorder_.Bound(outcome.placement);
    ActivateRequestedPods(outcome.placement.state);
  }
  for (BindingOutcome& outcome : outcomes) {
    if (outcome.status.ok()) continue;
    if (outcome.status.IsError()) ++bind_failures_;
    if (BindAgain(outcome)) continue;
    const std::optional<std::string> group =
        outcome.status.IsError() ? cluster_.GroupOf(*outcome.placement.pod) : std::nullopt;
    UndoPlacement(std::move(outcome));
    if (group.has_value()) stale_groups_.BindingFailed(*group);
  }
  const bool any = !outcomes.empty();
  outcomes.clear();
  outcomes_ = std::move(outcomes);
  return any;
}

bool BindingCycle::SeenBound(const AssumedPod& placement) const {
  const std::shared_ptr<const PodInfo> pod = cluster_.FindPod(*placement.pod->identity());
  return pod != nullptr && pod->node_name() == placement.node_name;
}

bool BindingCycle::BindAgain(BindingOutcome& outcome) {
  AssumedPod& placement = outcome.placement;
  const PodInfo& pod = *placement.pod;
  const std::optional<std::string> name = cluster_.GroupOf(pod);
  if (!outcome.status.IsError() || !placement.pre_bound || !name.has_value()) return false;
  const std::optional<GroupSpec> spec = placement.framework->plugins().group->Spec(*name);
  const GroupMembers* group = cluster_.groups().Find(*name);
  const std::shared_ptr<const PodInfo> latest = cluster_.FindPod(*pod.identity());
  const NodeInfo* node = cluster_.FindNode(placement.node);
  const bool possible = latest != nullptr && latest->node_name().empty() &&
                        !latest->deletion_time().has_value() && node != nullptr && node->has_node();
  if (!spec.has_value() || group == nullptr || !possible) return false;
  int running = 0;
  for (const GroupMember& member : group->members()) {
    const CachedPod* cached = cluster_.cache().FindPod(*member.pod->identity());
    if (cached != nullptr && cached->state != CachedPod::State::kAssumed) ++running;
  }
  if (running == 0 || running >= spec->min_member) return false;
  if (placement.bind_failures >= kMaxBindRetries) return false;
  const absl::Duration delay =
      std::min(absl::Seconds(int64_t{1} << placement.bind_failures), kMaxBindDelay);
  ++placement.bind_failures;
  Binder::Members members;
  members.push_back({.placement = std::move(placement), .not_before = clock_.Now() + delay});
  binder_.Start(std::move(members), 1, clock_.Now());
  return true;
}

WaitingPtr BindingCycle::WhyNotBound(const AssumedPod& placement,
                                     const BindingOutcome& outcome) const {
  WaitingFor waiting =
      *WhyRejected(*placement.framework, *placement.pod, cluster_.nodes(), outcome.status);
  if (!outcome.refused) waiting.reason = WaitingReason::kBindingFailed;
  return std::make_shared<WaitingFor>(std::move(waiting));
}

// Gives everything back and queues the pod again. Pods that wait for room hear of it.
void BindingCycle::UndoPlacement(BindingOutcome outcome) {
  AssumedPod& placement = outcome.placement;
  metrics_.BindingEnded(placement, outcome.status);
  const std::shared_ptr<const PodInfo>& pod = placement.pod;
  placement.framework->binding_points().RunUnreserve(placement.state, *pod, placement.node_name);
  cluster_.Forget(pod);

  const std::shared_ptr<const PodInfo> latest = cluster_.FindPod(*pod->identity());
  ObjectChange change;
  change.old_pod = AsAssigned(latest == nullptr ? *pod : *latest, placement.node_name);
  if (latest != nullptr && latest->node_name().empty() && !latest->deletion_time().has_value()) {
    PodFailure failure{latest, outcome.status, {}, outcome.status.message()};
    failure.nominated_node = "";
    Rejection rejection;
    if (outcome.refused) {
      failure.message = RefusalMessage(outcome.status);
      rejection.unschedulable_plugins.push_back(outcome.status.plugin_symbol());
    } else if (outcome.status.IsRejected() && outcome.status.plugin().empty()) {
      // Nothing was wrong with it, but with too many of its group.
      rejection.unschedulable_plugins.push_back(placement.framework->plugins().group_name);
    }
    // An empty queue would give it back at once, for Permit to make it wait again.
    rejection.requires_backoff = outcome.permit_wait_failed;
    failure.waiting = WhyNotBound(placement, outcome);
    rejection.pods.push_back({latest->uid(),
                              Status::Make(outcome.status.code(), {failure.message})
                                  .WithPlugin(outcome.status.plugin_symbol()),
                              outcome.refused, failure.waiting});
    queue_.Return(latest, cluster_.GroupOf(*latest), placement.history, rejection);
    if (!placement.announced) failure_handler_.UpdateNomination(failure);
    recorder_.Failed(failure);
  }
  queue_.MoveAllOnEvent({EventResource::AssignedPod(), action::kDelete, "AssignedPodDelete"},
                        change, {.own = false});
}

}  // namespace berth
