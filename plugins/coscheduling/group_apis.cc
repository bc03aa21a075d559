// SPDX-License-Identifier: Apache-2.0
// Implementation of group_apis.h.
#include "plugins/coscheduling/group_apis.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/time.h"
#include "plugins/coscheduling/gang_settings.h"
#include "plugins/coscheduling/topology_settings.h"

namespace berth {
namespace {

// Which parts of the group, and the group itself, could reach their minima with these members.
bool MeetsQuorum(const GroupSpec& spec, const std::vector<int>& ready) {
  const size_t parts = spec.subgroups.size();
  std::vector<int> below(parts, 0);
  int roots = 0, met_roots = 0;
  for (size_t i = parts; i-- > 0;) {  // children stand behind their parents
    const Subgroup& part = spec.subgroups[i];
    const bool met = ready[i] >= part.min_member && below[i] >= part.min_subgroups;
    if (part.parent >= 0) {
      below[part.parent] += met ? 1 : 0;
    } else {
      ++roots;
      met_roots += met ? 1 : 0;
    }
  }
  return met_roots >= (spec.min_subgroups > 0 ? spec.min_subgroups : roots);
}

// The first part that has too few members of its own; -1 if none.
int FirstShort(const GroupSpec& spec, const std::vector<int>& ready) {
  for (size_t i = 0; i < spec.subgroups.size(); ++i) {
    if (ready[i] < spec.subgroups[i].min_member) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

GroupApis::GroupApis(absl::string_view plugin, Handle& handle,
                     std::vector<std::unique_ptr<GroupApi>> apis, const Defaults& defaults)
    : plugin_(plugin), handle_(handle), apis_(std::move(apis)), defaults_(defaults) {
  for (const std::unique_ptr<GroupApi>& api : apis_) {
    for (const Kind kind : api->Kinds()) handle_.Watch(kind);
  }
  handle_.Watch(Kind::kPriorityClass);
}

const GroupApi* GroupApis::DoorOf(absl::string_view group) const {
  const GroupName name = GroupName::Parse(group);
  for (const std::unique_ptr<GroupApi>& api : apis_) {
    if (api->Owns(name)) return api.get();
  }
  return nullptr;
}

std::optional<std::string> GroupApis::GroupOf(const PodInfo& pod) const {
  for (const std::unique_ptr<GroupApi>& api : apis_) {
    if (std::optional<std::string> group = api->GroupOf(pod)) return group;
  }
  return std::nullopt;
}

std::vector<std::string> GroupApis::GroupsOf(const Object& object) const {
  std::vector<std::string> groups;
  for (const std::unique_ptr<GroupApi>& api : apis_) {
    for (std::string& group : api->GroupsOf(object)) groups.push_back(std::move(group));
  }
  return groups;
}

std::optional<GroupSpec> GroupApis::Spec(absl::string_view name) const {
  const Known& known = Find(name, handle_.groups().Find(name));
  if (!known.definition.has_value()) return std::nullopt;
  return known.definition->spec;
}

uint64_t GroupApis::ObjectsVersion(const GroupApi& api) const {
  uint64_t version = handle_.objects().version(Kind::kPriorityClass);
  for (const Kind kind : api.Kinds()) version += handle_.objects().version(kind);
  return version;
}

const GroupApis::Known& GroupApis::Find(absl::string_view name, const GroupMembers* members) const {
  if (known_.size() > most_known_) DropGone(known_, most_known_);
  std::unique_ptr<Known>& found = known_[name];
  const bool is_new = found == nullptr;
  if (is_new) {
    found = std::make_unique<Known>();
    found->name = std::string(name);
    found->api = DoorOf(name);
  }
  Known& known = *found;
  if (known.api == nullptr) return known;
  const uint64_t kinds = members == nullptr ? 0 : members->kinds_version();
  const uint64_t objects = ObjectsVersion(*known.api);
  if (is_new || known.kinds_version != kinds || known.objects_version != objects) {
    known.kinds_version = kinds;
    known.objects_version = objects;
    known.definition = known.api->Define(name, members);
    if (std::optional<GroupDefinition>& definition = known.definition; definition.has_value()) {
      AddTopology(*known.api, members, *definition);
      definition->spec.backoff = defaults_.backoff;
      definition->spec.reserve_after = defaults_.reserve_after;
      definition->spec.stale_after = definition->stale_after.value_or(defaults_.stale_after);
    }
  }
  return known;
}

const GroupMembers* GroupApis::MembersWith(const PodInfo& pod) const {
  if (const GroupMembers* const group = handle_.groups().GroupWith(pod)) return group;
  const std::optional<std::string> name = GroupOf(pod);
  return name.has_value() ? handle_.groups().Find(*name) : nullptr;
}

GroupApis::Found GroupApis::FindGroup(const PodInfo& pod) const {
  Found found;
  const Known* known = nullptr;
  if (const GroupMembers* const group = MembersWith(pod)) {
    found.members = group;
    known = &Find(*group);
  } else if (const std::optional<std::string> name = GroupOf(pod)) {
    known = &Find(*name, nullptr);
  }
  if (known == nullptr) return found;
  found.in_group = true;
  found.name = known->name;
  if (known->definition.has_value()) found.definition = &*known->definition;
  return found;
}

void GroupApis::AppendDeclaration(const PodInfo& pod, std::string& text) const {
  for (const std::unique_ptr<GroupApi>& api : apis_) api->AppendDeclaration(pod, text);
  AppendLifecycleWords(AnnotationsOf(pod), text);
  AppendTopologyWords(AnnotationsOf(pod), text);
}

void GroupApis::AddTopology(const GroupApi& api, const GroupMembers* members,
                            GroupDefinition& definition) {
  if (members == nullptr) return;
  const GroupSpec& spec = definition.spec;
  AddTopologyOfPods(
      *members, [&](const PodInfo& pod) { return api.SubgroupOf(pod, spec); }, definition.spec,
      definition.notes);
}

int GroupApis::SubgroupOf(const PodInfo& pod, const GroupSpec& spec) const {
  if (spec.subgroups.empty()) return -1;
  for (const std::unique_ptr<GroupApi>& api : apis_) {
    if (api->GroupOf(pod).has_value()) return api->SubgroupOf(pod, spec);
  }
  return -1;
}

Status GroupApis::ReadyToSchedule(const GroupMembers& group) const {
  const Known& known = Find(group);
  const GroupApi* const api = known.api;
  if (api == nullptr) return Status::Success();
  const std::optional<GroupDefinition>& definition = known.definition;
  if (!definition.has_value()) return api->NotDefined(group);
  if (!definition->problem.ok()) return definition->problem;
  if (Status agreed = api->Check(group, *definition); !agreed.ok()) return agreed;
  const GroupSpec& spec = definition->spec;
  WarnOnce(group, *definition);
  if (MissingMembers(spec, &group) == 0) {
    if (const auto told = told_.find(group.name()); told != told_.end()) {
      told->second.deadline.reset();
    }
    return Status::Success();
  }
  WatchTimeout(group, *definition);

  int ready = group.counts().ready;
  if (spec.match_policy == MatchPolicy::kOnlyWaiting) ready -= group.counts().bound;
  const int needed = std::max(spec.min_member, definition->total_members);
  if (ready < needed) return api->TooFewMembers(group, *definition, needed, ready);
  if (spec.subgroups.empty()) return Status::Success();
  std::vector<int> of_part(spec.subgroups.size(), 0);
  for (const MemberKind& kind : group.kinds()) {
    const int part = api->SubgroupOf(*kind.pod, spec);
    if (part >= 0) of_part[part] += kind.counts.ready;
  }
  if (MeetsQuorum(spec, of_part)) return Status::Success();
  const int part = FirstShort(spec, of_part);
  if (part < 0 || spec.min_subgroups > 0) {
    return api->TooFewMembers(group, *definition, needed, ready);
  }
  return Status::UnschedulableAndUnresolvable(absl::StrCat(
      "waiting for pods of ", api->Title(group.name()), ": ", of_part[part], " of ",
      spec.subgroups[part].min_member, " of ", spec.subgroups[part].name, " are there"));
}

Status GroupApis::GroupUnschedulable(const GroupMembers& group, int placed,
                                     const Status& cause) const {
  const Known& known = Find(group);
  if (known.api == nullptr) return cause;
  const GroupSpec undefined;
  return known.api->Unfit(group, known.definition.has_value() ? known.definition->spec : undefined,
                          placed, cause);
}

// --- Permit --------------------------------------------------------------------------------------

// The engine asks after every member of the attempt is reserved, so the count is complete; Wait is
// for members of a group that may hold nodes before it is whole, and for a pod that another engine
// (or a test) permits on its own.
Status GroupApis::Permit(const PodInfo& pod, absl::Duration default_timeout,
                         absl::Duration& timeout) {
  const Found group = FindGroup(pod);
  if (!group.in_group) return Status::Success();
  if (group.definition == nullptr) return Status::Unschedulable("PodGroup not found");
  const GroupSpec& spec = group.definition->spec;
  if (MissingMembers(spec, group.members) == 0) {
    handle_.ForEachWaitingPod([&](WaitingPod& waiting) {
      if (MembersWith(waiting.pod()) == group.members) waiting.Allow(plugin_);
    });
    return Status::Success();
  }
  timeout = spec.timeout > absl::ZeroDuration() ? spec.timeout : default_timeout;
  return Status::Wait();
}

// Losing one member of a group that is not whole any more takes the waiting ones with it. Of one
// that may hold nodes before it is whole each member waits for itself.
void GroupApis::Unreserve(const PodInfo& pod) {
  const Found group = FindGroup(pod);
  if (group.definition == nullptr || group.definition->spec.mode == GangMode::kNonStrict) return;
  if (group.counts().assigned > group.definition->spec.min_member) return;
  handle_.ForEachWaitingPod([&](WaitingPod& waiting) {
    if (group.members != nullptr && MembersWith(waiting.pod()) == group.members) {
      waiting.Reject(plugin_, "rejection in Unreserve");
    }
  });
}

// --- What is reported ----------------------------------------------------------------------------

template <class Map>
void GroupApis::DropGone(Map& of_group, size_t& most) const {
  absl::erase_if(of_group,
                 [&](const auto& of) { return handle_.groups().Find(of.first) == nullptr; });
  most = 2 * of_group.size() + 1024;
}

GroupApis::Told& GroupApis::ToldOf(absl::string_view group) const {
  if (told_.size() > most_told_) DropGone(told_, most_told_);
  return told_[group];
}

// The time runs from when its first pending pod was created, so that it is the same after a
// restart. Each deadline is reported once.
void GroupApis::WatchTimeout(const GroupMembers& group, const GroupDefinition& definition) const {
  if (definition.spec.timeout <= absl::ZeroDuration()) return;
  absl::Time first = absl::InfiniteFuture();
  for (const MemberKind& kind : group.kinds()) {
    if (kind.counts.bound < kind.counts.members) {
      first = std::min(first, kind.pod->creation_time());
    }
  }
  if (first == absl::InfiniteFuture()) return;
  Told& told = ToldOf(group.name());
  if (first <= absl::UnixEpoch()) {  // it does not say: from when it is first seen
    if (told.deadline.has_value()) return;
    first = handle_.clock().Now();
  }
  const absl::Time deadline = first + definition.spec.timeout;
  if (told.deadline == deadline) return;
  told.deadline = deadline;
  handle_.RunAt(plugin_, deadline, [this, deadline, name = std::string(group.name())] {
    const auto found = told_.find(name);
    if (found != told_.end() && found->second.deadline == deadline) TellTimeout(name);
  });
}

void GroupApis::TellTimeout(const std::string& name) const {
  const GroupMembers* const group = handle_.groups().Find(name);
  if (group == nullptr) return;
  const Known& known = Find(*group);
  if (!known.definition.has_value()) return;
  const GroupSpec& spec = known.definition->spec;
  if (MissingMembers(spec, group) == 0) return;
  const std::string text =
      absl::StrCat(known.api->Title(name), " has not reached its minimum of ", spec.min_member,
                   " pods within ", DurationToString(spec.timeout), " of its first pod");
  for (const GroupMember& member : group->members()) {
    if (member.pod->node_name().empty()) handle_.Warn(*member.pod, "GroupTimeout", text);
  }
  handle_.ForEachWaitingPod([&](WaitingPod& waiting) {
    if (MembersWith(waiting.pod()) == group) waiting.Reject(plugin_, text);
  });
}

// Members that disagree about their priority where nothing settles it, and settings that mean
// nothing.
void GroupApis::WarnOnce(const GroupMembers& group, const GroupDefinition& definition) const {
  const absl::Span<const MemberKind> kinds = group.kinds();
  if (kinds.empty()) return;
  const auto [low, high] = std::minmax_element(
      kinds.begin(), kinds.end(),
      [](const auto& a, const auto& b) { return a.pod->priority() < b.pod->priority(); });
  const bool disagree =
      !definition.spec.priority.has_value() && low->pod->priority() != high->pod->priority();
  const bool has_wishes = !definition.spec.topology.empty() ||
                          absl::c_any_of(definition.spec.subgroups, [](const Subgroup& part) {
                            return !part.topology.empty();
                          });
  const bool wishes_in_vain = has_wishes && !handle_.generates_placements();
  if (!disagree && !wishes_in_vain && definition.notes.empty()) return;
  std::vector<std::string> texts = definition.notes;
  if (disagree) {
    texts.push_back(
        absl::StrCat("the pods of the group disagree about its priority: ", low->pod->name(),
                     " has ", low->pod->priority(), ", ", high->pod->name(), " has ",
                     high->pod->priority(), "; the lowest counts for its place in the queue"));
  }
  if (wishes_in_vain) {
    texts.emplace_back(
        "what it says of its topology is left out: its pods may be placed in several domains; "
        "enable TopologyPlacementGenerator in the profile");
  }
  for (const std::string& text : texts) {
    if (!ToldOf(group.name()).texts.insert(text).second) continue;
    handle_.Warn(*group.members().front().pod, "GroupDefinition", text);
  }
}

void GroupApis::ExplainWaiting(const PodInfo& pod, WaitingFor& waiting) const {
  const Found group = FindGroup(pod);
  if (!group.in_group) return;
  if (group.definition == nullptr) {
    waiting.reason = WaitingReason::kGroupNotFound;
    return;
  }
  const int ready = group.counts().ready;
  const int needed = std::max(group.definition->spec.min_member, group.definition->total_members);
  const bool has_parts = group.members != nullptr && !group.definition->spec.subgroups.empty();
  if (ready < needed || (has_parts && !ReadyToSchedule(*group.members).ok())) {
    waiting.reason = WaitingReason::kWaitingForMembers;
    waiting.members_needed = needed;
    waiting.members_placeable = ready;
    waiting.next_events.push_back("Pod/Add");
  } else {  // minResources: the cluster is too small for the group as a whole
    waiting.reason = WaitingReason::kInsufficientResources;
  }
}

// New members are the engine's to notice: it asks ReadyToSchedule() again whenever a group changes.
std::vector<ClusterEventWithHint> GroupApis::Events() const {
  std::vector<ClusterEventWithHint> events;
  for (const std::unique_ptr<GroupApi>& api : apis_) {
    for (const Kind kind : api->Kinds()) {
      // The store has the change by now: the pod's group is the one it is in with it.
      const auto concerns_group = [this, api = api.get()](
                                      const PodInfo& pod,
                                      const ObjectChange& change) -> absl::StatusOr<QueueingHint> {
        const Object* const object =
            change.new_object != nullptr ? change.new_object : change.old_object;
        const std::optional<std::string> group = GroupOf(pod);
        return QueueIf(group.has_value() && object != nullptr && api->Concerns(*object, *group));
      };
      events.push_back(
          {{EventResource::Of(kind), action::kAdd | action::kUpdate, ""}, concerns_group});
    }
  }
  return events;
}

}  // namespace berth
