// SPDX-License-Identifier: Apache-2.0
// Implementation of coscheduling.h.
#include "plugins/coscheduling/coscheduling.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"
#include "berth/api/time.h"
#include "plugins/coscheduling/min_resources.h"

namespace berth {
namespace {

std::pair<absl::string_view, absl::string_view> SplitName(absl::string_view name) {
  return absl::StrSplit(name, absl::MaxSplits('/', 1));
}

// Members that run or may be tried, and those that scheduling gates hold back.
struct Readiness {
  int ready = 0;
  int gated = 0;
};

Readiness CountReady(const GroupMembers& group) {
  Readiness counts;
  for (const GroupMember& member : group.members()) {
    if (!member.pod->scheduling_gates().empty()) {
      ++counts.gated;
    } else if (!member.node_name.empty() || !member.pod->deletion_time().has_value()) {
      ++counts.ready;
    }
  }
  return counts;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> Coscheduling::Create(const PluginArgs& args,
                                                             Handle& handle) {
  return std::unique_ptr<Plugin>(new Coscheduling(args.As<CoschedulingArgs>(), handle));
}

// --- Groups -------------------------------------------------------------------------------------

std::optional<std::string> Coscheduling::GroupOf(const PodInfo& pod) const {
  static const Symbol kLabel = Symbol::Intern(kPodGroupLabel);
  static const Symbol kOtherLabel = Symbol::Intern(kKoordinatorLabel);
  const Symbol* name = pod.labels().Find(kLabel);
  if (name == nullptr) name = pod.labels().Find(kOtherLabel);
  if (name == nullptr || name->empty()) return std::nullopt;
  return absl::StrCat(pod.namespace_name().view(), "/", name->view());
}

const api::PodGroup* Coscheduling::FindPodGroup(absl::string_view name) const {
  const auto [namespace_name, group] = SplitName(name);
  return handle_.objects().Find<api::PodGroup>(namespace_name, group);
}

std::optional<GroupSpec> Coscheduling::Spec(absl::string_view name) const {
  const api::PodGroup* pod_group = FindPodGroup(name);
  if (pod_group == nullptr) return std::nullopt;
  return GroupSpec{.min_member = std::max(1, pod_group->spec().min_member()),
                   .creation_time = ToTime(pod_group->metadata().creation_timestamp()),
                   .backoff = absl::Seconds(args_.pod_group_backoff_seconds)};
}

Coscheduling::Counts Coscheduling::CountMembers(absl::string_view name) const {
  Counts counts;
  const GroupMembers* group = handle_.groups().Find(name);
  if (group == nullptr) return counts;
  counts.living = static_cast<int>(group->members().size());
  counts.assigned = group->assigned_count();
  for (const GroupMember& member : group->members()) {
    if (!member.pod->scheduling_gates().empty()) ++counts.gated;
  }
  return counts;
}

Status Coscheduling::ReadyToSchedule(const GroupMembers& group) const {
  const std::optional<GroupSpec> spec = Spec(group.name());
  if (!spec.has_value()) {
    return Status::Unschedulable(absl::StrCat("PodGroup ", group.name(), " not found"));
  }
  if (group.assigned_count() >= spec->min_member) return Status::Success();
  const auto [ready, gated] = CountReady(group);
  if (ready >= spec->min_member) return Status::Success();
  return Status::UnschedulableAndUnresolvable(absl::StrCat(
      "waiting for pods of PodGroup ", group.name(), ": ", ready, " of ", spec->min_member,
      " are there", gated > 0 ? absl::StrCat(", ", gated, " more have scheduling gates") : ""));
}

Status Coscheduling::GroupUnschedulable(const GroupMembers& group, int placed,
                                        const Status& cause) const {
  const std::optional<GroupSpec> spec = Spec(group.name());
  const int min_member = spec.has_value() ? spec->min_member : 1;
  const int running = group.assigned_count();
  const std::string can_run = running == 0
                                  ? absl::StrCat(placed, " can run")
                                  : absl::StrCat(running, running == 1 ? " runs, " : " run, ",
                                                 placed - running, " more can");
  return Status::Make(cause.code(),
                      {absl::StrCat("PodGroup ", group.name(), " needs ", min_member,
                                    " pods at once, ", can_run, ": ", cause.message())});
}

// --- Per pod ------------------------------------------------------------------------------------

bool Coscheduling::Less(const QueuedPodInfo& a, const QueuedPodInfo& b) const {
  if (a.pod->priority() != b.pod->priority()) return a.pod->priority() > b.pod->priority();
  if (a.group_timestamp != b.group_timestamp) return a.group_timestamp < b.group_timestamp;
  const absl::string_view a_name = a.group.empty() ? a.pod->key() : a.group;
  const absl::string_view b_name = b.group.empty() ? b.pod->key() : b.group;
  return a_name < b_name;
}

// scheduler-plugins core.go PreFilter: enough siblings, enough of them without gates, and enough
// free in sum. UnschedulableAndUnresolvable throughout: preempting for half a group is useless.
Status Coscheduling::PreFilter(CycleState&, const PodInfo& pod, const NodeTable& nodes,
                               PreFilterResult&) {
  const std::optional<std::string> name = GroupOf(pod);
  const api::PodGroup* pod_group = name.has_value() ? FindPodGroup(*name) : nullptr;
  if (pod_group == nullptr) return Status::Success();
  const int min_member = pod_group->spec().min_member();
  const Counts counts = CountMembers(*name);
  if (counts.living < min_member) {
    return Status::UnschedulableAndUnresolvable(absl::StrCat(
        "pre-filter pod ", pod.name(), " cannot find enough sibling pods, current pods number: ",
        counts.living, ", minMember of group: ", min_member));
  }
  if (counts.living - counts.gated < min_member) {
    return Status::UnschedulableAndUnresolvable(absl::StrCat(
        "pre-filter pod ", pod.name(), " cannot proceed due to gated pods in the same PodGroup"));
  }
  if (!pod_group->spec().min_resources().empty()) {
    const std::string gap = MinResourcesGap(*pod_group, handle_.groups().Find(*name), nodes);
    if (!gap.empty()) {
      return Status::UnschedulableAndUnresolvable(absl::StrCat("resource gap: ", gap));
    }
  }
  return Status::Success();
}

Status Coscheduling::PostFilter(CycleState&, const PodInfo& pod, const NodeStatuses&,
                                PostFilterResult&) {
  const std::optional<std::string> name = GroupOf(pod);
  const api::PodGroup* pod_group = name.has_value() ? FindPodGroup(*name) : nullptr;
  if (pod_group == nullptr) return Status::Unschedulable("can not find pod group");
  const int64_t min_member = pod_group->spec().min_member();
  const int64_t missing = min_member - CountMembers(*name).assigned;
  if (missing <= 0 || missing * 100 <= args_.pod_group_reject_percentage * min_member) {
    return Status::Make(Code::kUnschedulable, {});
  }
  return Status::Unschedulable(absl::StrCat("PodGroup ", *name, " gets rejected due to Pod ",
                                            pod.name(), " is unschedulable even after PostFilter"));
}

// The engine asks after every member of the attempt is reserved, so the count is complete; Wait is
// for a pod that another engine (or a test) permits on its own.
Status Coscheduling::Permit(CycleState&, const PodInfo& pod, absl::string_view,
                            absl::Duration& timeout) {
  const std::optional<std::string> name = GroupOf(pod);
  if (!name.has_value()) return Status::Success();
  const api::PodGroup* pod_group = FindPodGroup(*name);
  if (pod_group == nullptr) return Status::Unschedulable("PodGroup not found");
  if (CountMembers(*name).assigned >= pod_group->spec().min_member()) {
    handle_.ForEachWaitingPod([&](WaitingPod& waiting) {
      if (GroupOf(waiting.pod()) == name) waiting.Allow(kName);
    });
    return Status::Success();
  }
  const int64_t seconds = pod_group->spec().schedule_timeout_seconds();
  timeout = absl::Seconds(seconds > 0 ? seconds : args_.permit_waiting_time_seconds);
  return Status::Wait();
}

Status Coscheduling::Reserve(CycleState&, const PodInfo&, absl::string_view) {
  return Status::Success();
}

// Losing one member of a group that is not whole any more takes the waiting ones with it.
void Coscheduling::Unreserve(CycleState&, const PodInfo& pod, absl::string_view) {
  const std::optional<std::string> name = GroupOf(pod);
  const api::PodGroup* pod_group = name.has_value() ? FindPodGroup(*name) : nullptr;
  if (pod_group == nullptr || CountMembers(*name).assigned > pod_group->spec().min_member()) return;
  handle_.ForEachWaitingPod([&](WaitingPod& waiting) {
    if (GroupOf(waiting.pod()) == name) waiting.Reject(kName, "rejection in Unreserve");
  });
}

// New members are the engine's to notice: it asks ReadyToSchedule() again whenever a group changes.
std::vector<ClusterEventWithHint> Coscheduling::EventsToRegister() const {
  const auto concerns_group = [this](const PodInfo& pod,
                                     const ObjectChange& change) -> absl::StatusOr<QueueingHint> {
    return change.new_object != nullptr && GroupOf(pod) == change.new_object->key()
               ? QueueingHint::kQueue
               : QueueingHint::kSkip;
  };
  // What gives room lets a group go on that waits for its minResources.
  const auto waits_for_room = [this](const PodInfo& pod,
                                     const ObjectChange&) -> absl::StatusOr<QueueingHint> {
    const std::optional<std::string> name = GroupOf(pod);
    const api::PodGroup* pod_group = name.has_value() ? FindPodGroup(*name) : nullptr;
    return pod_group != nullptr && !pod_group->spec().min_resources().empty() ? QueueingHint::kQueue
                                                                              : QueueingHint::kSkip;
  };
  return {
      {{EventResource::Of(Kind::kPodGroup), action::kAdd | action::kUpdate, ""}, concerns_group},
      {{EventResource::AssignedPod(), action::kDelete | action::kUpdatePodScaleDown, ""},
       waits_for_room},
      {{EventResource::Node(), action::kAdd | action::kUpdateNodeAllocatable, ""}, waits_for_room}};
}

void Coscheduling::ExplainWaiting(const PodInfo& pod, const Status&, const NodeTable&,
                                  WaitingFor& waiting) const {
  const std::optional<std::string> name = GroupOf(pod);
  if (!name.has_value()) return;
  const std::optional<GroupSpec> spec = Spec(*name);
  if (!spec.has_value()) {
    waiting.reason = WaitingReason::kGroupNotFound;
    return;
  }
  const GroupMembers* group = handle_.groups().Find(*name);
  const int ready = group == nullptr ? 0 : CountReady(*group).ready;
  if (ready < spec->min_member) {
    waiting.reason = WaitingReason::kWaitingForMembers;
    waiting.members_needed = spec->min_member;
    waiting.members_placeable = ready;
    waiting.next_events.push_back("Pod/Add");
  } else {  // minResources: the cluster is too small for the group as a whole
    waiting.reason = WaitingReason::kInsufficientResources;
  }
}

}  // namespace berth
