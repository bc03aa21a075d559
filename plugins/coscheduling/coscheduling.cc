// SPDX-License-Identifier: Apache-2.0
// Implementation of coscheduling.h.
#include "plugins/coscheduling/coscheduling.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "berth/api/resources.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"
#include "plugins/coscheduling/min_resources.h"

namespace berth {
namespace {

std::pair<absl::string_view, absl::string_view> SplitName(absl::string_view name) {
  return absl::StrSplit(name, absl::MaxSplits('/', 1));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> Coscheduling::Create(const PluginArgs& args,
                                                             Handle& handle) {
  return std::unique_ptr<Plugin>(new Coscheduling(args.As<CoschedulingArgs>(), handle));
}

// --- Groups -------------------------------------------------------------------------------------

Coscheduling::Defaults Coscheduling::DefaultsOf(const CoschedulingArgs& args) {
  Defaults defaults{.backoff = absl::Seconds(args.pod_group_backoff_seconds)};
  if (args.staleness_grace_period_seconds >= 0) {
    defaults.stale_after = absl::Seconds(args.staleness_grace_period_seconds);
  }
  if (args.reserve_after_seconds > 0) {
    defaults.reserve_after = absl::Seconds(args.reserve_after_seconds);
  }
  return defaults;
}

const api::PodGroup* Coscheduling::FindPodGroup(absl::string_view name) const {
  const auto [namespace_name, group] = SplitName(name);
  return handle_.objects().Find<api::PodGroup>(namespace_name, group);
}

// --- Per pod ------------------------------------------------------------------------------------

bool Coscheduling::Less(const QueuedPodInfo& a, const QueuedPodInfo& b) const {
  if (a.priority() != b.priority()) return a.priority() > b.priority();
  if (a.group_timestamp != b.group_timestamp) return a.group_timestamp < b.group_timestamp;
  const absl::string_view a_name = a.group.empty() ? a.pod->key() : a.group;
  const absl::string_view b_name = b.group.empty() ? b.pod->key() : b.group;
  return a_name < b_name;
}

// scheduler-plugins core.go PreFilter: enough siblings, enough of them without gates, and enough
// free in sum. UnschedulableAndUnresolvable throughout: preempting for half a group is useless.
Status Coscheduling::PreFilter(CycleState&, const PodInfo& pod, const NodeTable& nodes,
                               PreFilterResult&) {
  const Found group = FindGroup(pod);
  if (group.definition == nullptr) return Status::Success();
  const GroupSpec& spec = group.definition->spec;
  // Members that come later need no siblings.
  if (spec.match_policy == MatchPolicy::kOnceSatisfied &&
      MissingMembers(spec, group.members) == 0) {
    return Status::Success();
  }
  const MemberCounts counts = group.counts();
  if (counts.members < spec.min_member) {
    return Status::UnschedulableAndUnresolvable(absl::StrCat(
        "pre-filter pod ", pod.name(), " cannot find enough sibling pods, current pods number: ",
        counts.members, ", minMember of group: ", spec.min_member));
  }
  if (counts.members - counts.gated < spec.min_member) {
    return Status::UnschedulableAndUnresolvable(absl::StrCat(
        "pre-filter pod ", pod.name(), " cannot proceed due to gated pods in the same PodGroup"));
  }
  if (!group.definition->has_min_resources) return Status::Success();
  const std::string gap = ResourceGap(*FindPodGroup(group.name), group.members, nodes);
  if (gap.empty()) return Status::Success();
  return Status::UnschedulableAndUnresolvable(absl::StrCat("resource gap: ", gap));
}

std::string Coscheduling::ResourceGap(const api::PodGroup& pod_group, const GroupMembers* members,
                                      const NodeTable& nodes) const {
  const ObjectStore& objects = handle_.objects();
  const auto list_classes = [&] { return objects.List(Kind::kDeviceClass); };
  if (classes_->IsEnabledFor(handle_.profile_name())) {
    classes_->Update(objects.version(Kind::kDeviceClass), list_classes);
    classes_->RefreshCount();
    return MinResourcesGap(pod_group, members, nodes, classes_.get());
  }
  std::string gap = MinResourcesGap(pod_group, members, nodes);
  if (gap.empty()) return gap;
  for (const auto& [name, amount] : pod_group.spec().min_resources()) {
    if (!IsDeviceResourceName(name) || !absl::StrContains(gap, absl::StrCat(name, ":"))) continue;
    const std::string devices = WhatDevicesWouldDo(ResourceIdOf(name), list_classes);
    if (!devices.empty()) absl::StrAppend(&gap, "; of ", name, ": ", devices);
  }
  return gap;
}

Status Coscheduling::PostFilter(CycleState&, const PodInfo& pod, const NodeStatuses&,
                                PostFilterResult&) {
  const Found group = FindGroup(pod);
  // scheduler-plugins says that it cannot find the pod group of a pod that wants none, too.
  if (!group.in_group) return Status::Make(Code::kUnschedulable, {});
  if (group.definition == nullptr) return Status::Unschedulable("can not find pod group");
  const int64_t min_member = group.definition->spec.min_member;
  const int64_t missing = min_member - group.counts().assigned;
  if (missing <= 0 || missing * 100 <= args_.pod_group_reject_percentage * min_member) {
    return Status::Make(Code::kUnschedulable, {});
  }
  return Status::Unschedulable(absl::StrCat("PodGroup ", group.name, " gets rejected due to Pod ",
                                            pod.name(), " is unschedulable even after PostFilter"));
}

Status Coscheduling::Permit(CycleState&, const PodInfo& pod, absl::string_view,
                            absl::Duration& timeout) {
  return GroupApis::Permit(pod, absl::Seconds(args_.permit_waiting_time_seconds), timeout);
}

Status Coscheduling::Reserve(CycleState&, const PodInfo&, absl::string_view) {
  return Status::Success();
}

void Coscheduling::Unreserve(CycleState&, const PodInfo& pod, absl::string_view) {
  GroupApis::Unreserve(pod);
}

std::vector<ClusterEventWithHint> Coscheduling::EventsToRegister() const {
  // What gives room lets a group go on that waits for its minResources.
  const auto waits_for_room = [this](const PodInfo& pod,
                                     const ObjectChange&) -> absl::StatusOr<QueueingHint> {
    const std::optional<std::string> name = GroupOf(pod);
    const api::PodGroup* pod_group = name.has_value() ? FindPodGroup(*name) : nullptr;
    return QueueIf(pod_group != nullptr && !pod_group->spec().min_resources().empty());
  };
  std::vector<ClusterEventWithHint> events = Events();
  events.push_back(
      {{EventResource::AssignedPod(), action::kDelete | action::kUpdatePodScaleDown, ""},
       waits_for_room});
  events.push_back(
      {{EventResource::Node(), action::kAdd | action::kUpdateNodeAllocatable, ""}, waits_for_room});
  if (classes_->IsEnabledFor(handle_.profile_name())) {
    for (const Kind kind : {Kind::kDeviceClass, Kind::kResourceSlice, Kind::kResourceClaim}) {
      events.push_back({{EventResource::Of(kind), action::kAll, ""}, waits_for_room});
    }
  }
  // No pod is moved against a budget, or before it is bound.
  if (args_.most_moves > 0) {
    events.push_back(
        {{EventResource::AssignedPod(), action::kAdd, ""},
         [this](const PodInfo& pod, const ObjectChange& change) -> absl::StatusOr<QueueingHint> {
           const PodInfo* const bound = change.new_pod.get();
           return QueueIf(bound != nullptr && bound->priority() <= pod.priority() &&
                          MayMove(*bound) && GroupOf(pod).has_value());
         }});
    events.push_back(
        {{EventResource::Of(Kind::kPodDisruptionBudget), action::kAll, ""},
         [this](const PodInfo& pod, const ObjectChange&) -> absl::StatusOr<QueueingHint> {
           return QueueIf(GroupOf(pod).has_value());
         }});
  }
  return events;
}

void Coscheduling::ExplainWaiting(const PodInfo& pod, const Status&, const NodeTable&,
                                  WaitingFor& waiting) const {
  GroupApis::ExplainWaiting(pod, waiting);
}

// The words of Cluster Autoscaler, of Koordinator and of the kubelet.
bool Coscheduling::MayMove(const PodInfo& pod) const {
  static const Symbol kPreemptible = Symbol::Intern("quota.scheduling.koordinator.sh/preemptible");
  if (!pod.has_owners()) return false;
  const Symbol* const preemptible = pod.labels().Find(kPreemptible);
  if (preemptible != nullptr && preemptible->view() == "false") return false;
  return pod.annotation("cluster-autoscaler.kubernetes.io/safe-to-evict") != "false" &&
         !pod.annotation("kubernetes.io/config.mirror").has_value();
}

}  // namespace berth
