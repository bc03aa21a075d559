// SPDX-License-Identifier: Apache-2.0
// What the cluster is told after an attempt: conditions, events, evictions; and how a placement
// that could not be bound is taken back.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/engine.h"

namespace berth {
namespace {

// How often, and at most how long apart, the binding of a group's missing member is tried again.
constexpr int kMaxBindRetries = 10;
constexpr absl::Duration kMaxBindDelay = absl::Seconds(10);
constexpr size_t kMaxNoteBytes = 1024;  // kube-scheduler v1.35 schedule_one.go truncateMessage

bool AsksForMore(const ResourceVector& now, const ResourceVector& before) {
  bool more = false;
  now.ForEach([&](ResourceId id, int64_t amount) { more |= amount > before.Get(id); });
  return more;
}

std::string Truncated(const std::string& message) {
  constexpr absl::string_view kSuffix = " ...";
  if (message.size() <= kMaxNoteBytes) return message;
  return absl::StrCat(message.substr(0, kMaxNoteBytes - kSuffix.size()), kSuffix);
}

}  // namespace

void Engine::NoteNomination(PodFailure& failure) {
  if (!failure.nominated_node.has_value()) return;
  const PodInfo& pod = *failure.pod;
  const std::string had = cluster_.nominations().NominatedNode(pod);
  if (failure.nominated_node->empty() && pod.nominated_node_name().empty() && had.empty()) {
    failure.nominated_node.reset();
    return;
  }
  cluster_.nominations().Nominate(failure.pod, *failure.nominated_node);
  if (!had.empty() && had != *failure.nominated_node) RequeuePodsBlockedByNomination(failure.pod);
}

// kube-scheduler v1.35 eventhandlers.go updatePodInSchedulingQueue: as if it had run there.
void Engine::RequeuePodsBlockedByNomination(const std::shared_ptr<const PodInfo>& pod) {
  queue_->MoveAllOnEvent({EventResource::AssignedPod(), action::kDelete, "AssignedPodDelete"},
                         {.old_pod = pod}, {.highest_priority = pod->priority(), .own = false});
}

// Tells the pod's condition and event, unless that would repeat what was said last.
void Engine::ReportFailure(const PodFailure& failure) {
  const std::optional<std::string>& nominated_node = failure.nominated_node;
  const absl::string_view reason = failure.status.IsRejected() ? "Unschedulable" : "SchedulerError";
  std::string said = absl::StrCat(reason, ": ", failure.message);
  if (nominated_node.has_value()) absl::StrAppend(&said, " -> ", *nominated_node);
  std::string& last = *reported_.FindOrAdd(failure.pod->identity()).first;
  if (last == said) return;
  last = std::move(said);

  PodStatusPatch patch;
  patch.pod = failure.pod->identity();
  patch.condition_type = "PodScheduled";
  patch.condition_reason = std::string(reason);
  patch.condition_message = failure.message;
  patch.nominated_node_name = nominated_node;
  RecordedEvent note{.pod = patch.pod,
                     .warning = true,
                     .reason = "FailedScheduling",
                     .action = "Scheduling",
                     .text = Truncated(failure.message)};
  options_.executor->Run(
      [cluster = options_.cluster, patch = std::move(patch), note = std::move(note)] {
        cluster->Record(note);
        // A pod that is gone needs no condition; anything else is told again with the next attempt.
        (void)cluster->PatchPodStatus(patch);
      });
}

void Engine::Warn(const PodInfo& pod, absl::string_view reason, absl::string_view text) {
  RecordedEvent note{.pod = pod.identity(),
                     .warning = true,
                     .reason = Symbol::Intern(reason).view(),
                     .action = "Scheduling",
                     .text = Truncated(std::string(text))};
  options_.executor->Run(
      [cluster = options_.cluster, note = std::move(note)] { cluster->Record(note); });
}

void Engine::ReportBound(const Placement& placement) {
  RecordedEvent note{.pod = placement.pod->identity(),
                     .warning = false,
                     .reason = "Scheduled",
                     .action = "Binding",
                     .assigned_to = placement.node};
  options_.executor->Run([cluster = options_.cluster, note = std::move(note)]() mutable {
    cluster->Record(std::move(note));
  });
}

// Evicts what stands in the way. A victim that is not bound yet only loses its placement.
void Engine::Preempt(const std::shared_ptr<const PodInfo>& preemptor,
                     const PostFilterResult& plan) {
  const std::string node = plan.nominated_node.value_or("");
  if (!node.empty()) ClearLowerNominations(*preemptor, node);
  const std::string message = absl::StrCat(preemptor->scheduler_name().view(),
                                           ": preempting to accommodate a higher priority pod");
  std::vector<Evictions::Victim> victims;
  for (const auto& victim : plan.victims) {
    RecordedEvent note{
        .pod = victim->identity(),
        .warning = false,
        .reason = "Preempted",
        .action = "Preempting",
        .text = absl::StrCat("Preempted by pod ", preemptor->uid(), " on node ", node)};
    if (WaitingPod* waiting = binder_.FindWaitingPod(victim->uid()); waiting != nullptr) {
      waiting->Reject(plan.plugin.view(), "preempted");
      options_.executor->Run([cluster = options_.cluster, note = std::move(note)]() mutable {
        cluster->Record(std::move(note));
      });
      continue;
    }
    if (victim->deletion_time().has_value()) continue;  // on its way out already
    ++counters_.evictions;
    cluster_.AssumeTerminating(*victim->identity(), message, options_.clock->Now());
    victims.push_back({message, std::move(note)});
  }
  if (!victims.empty()) evictions_.Start(*options_.cluster, preemptor, std::move(victims));
}

// A copy, for those who end nominations.
std::vector<std::shared_ptr<const PodInfo>> Engine::PodsNominatedTo(Symbol node_name) const {
  const auto pods = cluster_.nominations().NominatedPods(node_name);
  return {pods.begin(), pods.end()};
}

// The node is gone, and with it the room that was made there.
void Engine::EndNominations(Symbol node_name) {
  for (const auto& nominated : PodsNominatedTo(node_name)) {
    cluster_.nominations().Nominate(nominated, "");
    PatchNomination(*nominated, "");
    queue_->Retry(nominated->uid(), SchedulingQueue::RetryBackoff::kUnlessIdle);
  }
}

void Engine::PatchNomination(const PodInfo& pod, absl::string_view node_name) {
  PodStatusPatch patch;
  patch.pod = pod.identity();
  patch.nominated_node_name = std::string(node_name);
  options_.executor->Run([cluster = options_.cluster, patch = std::move(patch)] {
    (void)cluster->PatchPodStatus(patch);  // the decision stands in memory either way
  });
}

void Engine::OnEvictionRefused(absl::string_view victim_uid) {
  --counters_.evictions;
  ++counters_.eviction_failures;
  cluster_.ForgetTerminating(victim_uid);
  // Its own binding may have failed meanwhile, and it was not queued again since it was to go.
  const std::shared_ptr<const PodInfo> pod = cluster_.FindPod(victim_uid);
  if (pod == nullptr || cluster_.cache().FindPod(victim_uid) != nullptr) return;
  if (pod->deletion_time().has_value() || profiles_->Find(pod->scheduler_name()) == nullptr) return;
  if (!queue_->Contains(victim_uid)) queue_->Add(pod, cluster_.GroupOf(*pod));
}

void Engine::OnEvictionsAnswered(const std::shared_ptr<const PodInfo>& preemptor, bool all_go) {
  if (all_go) {
    queue_->RecheckGates(preemptor->uid());
  } else {
    queue_->Retry(preemptor->uid(), SchedulingQueue::RetryBackoff::kAlways);
  }
}

// Pods of lower priority that were nominated to the node have lost the room they waited for.
void Engine::ClearLowerNominations(const PodInfo& pod, const std::string& node_name) {
  for (const auto& nominated : PodsNominatedTo(Symbol::Intern(node_name))) {
    if (nominated->priority() >= pod.priority() || nominated->uid() == pod.uid()) continue;
    cluster_.nominations().Nominate(nominated, "");
    PatchNomination(*nominated, "");
  }
}

// Another scheduler may have taken the room, or the node may have changed or gone, since the pod
// was assumed there.
Status Engine::StillFits(const Placement& placement) {
  if (!cluster_.ChangedOutside(placement.node, placement.assumed_at)) return Status::Success();
  const std::shared_ptr<const PodInfo> latest = cluster_.FindPod(*placement.pod->identity());
  if (latest != nullptr && AsksForMore(latest->requests(), placement.pod->requests())) {
    return Status::Unschedulable("the pod asks for more than when it was placed");
  }
  const NodeInfo* node = cluster_.FindNode(placement.node);
  if (node == nullptr || !node->has_node()) {
    return Status::Unschedulable(absl::StrCat("node ", placement.node_name, " is gone"));
  }
  return Refilter(*placement.framework, *placement.pod, *node);
}

// What the Filter plugins say of a pod on the node that it is counted on, as if it were not. It may
// be counted in a later state than the one that was placed.
Status Engine::Refilter(const Framework& framework, const PodInfo& pod, const NodeInfo& node) {
  PluginMask filters = 0;
  for (const Hook<FilterPlugin>& hook : framework.filter()) filters |= PluginMask{1} << hook.index;
  cluster_.Refresh();
  CycleState state;
  PreFilterOutcome pre_filter = framework.RunPreFilter(state, pod, cluster_.nodes(), filters);
  if (!pre_filter.status.ok()) return std::move(pre_filter.status);
  const CachedPod* const counted = cluster_.cache().FindPod(*pod.identity());
  NodeInfo without_pod = node;
  if (counted != nullptr && without_pod.RemovePod(pod.uid())) {
    Status removed = framework.RunPreFilterRemovePod(state, pod, *counted->pod, without_pod);
    if (!removed.ok()) return removed;
  }
  return framework.RunFilter(state, pod, without_pod);
}

bool Engine::SeenBound(const Placement& placement) const {
  const std::shared_ptr<const PodInfo> pod = cluster_.FindPod(*placement.pod->identity());
  return pod != nullptr && pod->node_name() == placement.node_name;
}

bool Engine::BindAgain(BindingOutcome& outcome) {
  Placement& placement = outcome.placement;
  const PodInfo& pod = *placement.pod;
  const std::optional<std::string> name = cluster_.GroupOf(pod);
  if (!outcome.status.IsError() || !name.has_value()) return false;
  const std::optional<GroupSpec> spec = placement.framework->group_plugin()->Spec(*name);
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
  members.push_back(
      {.placement = std::move(placement), .not_before = options_.clock->Now() + delay});
  binder_.Start(std::move(members), 1, options_.clock->Now());
  return true;
}

WaitingPtr Engine::WhyNotBound(const Placement& placement, const BindingOutcome& outcome) const {
  WaitingFor waiting =
      *WhyRejected(*placement.framework, *placement.pod, cluster_.nodes(), outcome.status);
  if (!outcome.refused) waiting.reason = WaitingReason::kBindingFailed;
  return std::make_shared<WaitingFor>(std::move(waiting));
}

// Gives everything back and queues the pod again. Whoever waits for room hears of it.
void Engine::UndoPlacement(BindingOutcome outcome) {
  Placement& placement = outcome.placement;
  const std::shared_ptr<const PodInfo>& pod = placement.pod;
  placement.framework->RunUnreserve(placement.state, *pod, placement.node_name);
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
    }
    // An empty queue would give it back at once, for Permit to make it wait again.
    rejection.requires_backoff = outcome.permit_wait_failed;
    failure.waiting = WhyNotBound(placement, outcome);
    rejection.pods.push_back({latest->uid(),
                              Status::Make(outcome.status.code(), {failure.message})
                                  .WithPlugin(outcome.status.plugin_symbol()),
                              outcome.refused, failure.waiting});
    queue_->Return(latest, cluster_.GroupOf(*latest), placement.history, rejection);
    if (!placement.announced) NoteNomination(failure);
    ReportFailure(failure);
  }
  queue_->MoveAllOnEvent({EventResource::AssignedPod(), action::kDelete, "AssignedPodDelete"},
                         change, {.own = false});
}

}  // namespace berth
