// SPDX-License-Identifier: Apache-2.0
// Implementation of cluster_state.h.
#include "engine/cluster_state.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/check.h"
#include "engine/framework_set.h"

namespace berth {
namespace {

bool IsAssigned(const PodInfo& pod) { return !pod.node_name().empty(); }

// What stands for the uid of a pod that has none (Object::uid).
std::string UidFromName(absl::string_view key) { return absl::StrCat("Pod/", key); }

// A Node's name, parsed form and no pods: what hints compare.
std::shared_ptr<const NodeInfo> Bare(std::shared_ptr<const NodeSpec> spec) {
  return std::make_shared<NodeInfo>(std::move(spec));
}

std::shared_ptr<const PodInfo> Changed(const PodInfo& pod,
                                       std::shared_ptr<const PackedPod> object) {
  absl::StatusOr<std::shared_ptr<const PodInfo>> parsed = PodInfo::Create(std::move(object), &pod);
  BERTH_CHECK(parsed.ok()) << parsed.status().message();  // it could be parsed before
  return *std::move(parsed);
}

// The pod as it will look when the API server has accepted its eviction.
std::shared_ptr<const PodInfo> AsLeaving(const PodInfo& pod, const std::string& message,
                                         absl::Time since) {
  return Changed(pod, pod.packed()->Evicted(since, message));
}

}  // namespace

std::shared_ptr<const PodInfo> AsAssigned(const PodInfo& pod, absl::string_view node_name) {
  return Changed(pod, pod.packed()->With([&](api::Pod& own) {
    own.mutable_spec()->set_node_name(std::string(node_name));
  }));
}

ClusterState::ClusterState()
    : groups_([this](const PodInfo& pod) { return GroupOf(pod); },
              [this](const PodInfo& pod, absl::string_view name) { return SpecOf(pod, name); },
              [this](const PodInfo& pod, std::string& text) { AppendDeclaration(pod, text); }) {}
ClusterState::~ClusterState() = default;

void ClusterState::SetProfiles(const FrameworkSet* profiles) {
  profiles_ = profiles;
  for (const Framework* framework : profiles->all()) {
    for (AssignmentObserver* observer : framework->plugins().observers) {
      cache_.AddObserver(observer);
      observers_.push_back(observer);
    }
  }
}

std::optional<std::string> ClusterState::GroupOf(const PodInfo& pod) const {
  const Framework* framework =
      profiles_ == nullptr ? nullptr : profiles_->Find(pod.scheduler_name());
  if (framework == nullptr || framework->plugins().group == nullptr) return std::nullopt;
  return framework->plugins().group->GroupOf(pod);
}

std::vector<std::string> ClusterState::GroupsOf(const Object& object) const {
  std::vector<std::string> names;
  if (profiles_ == nullptr) return names;
  for (const Framework* framework : profiles_->all()) {
    if (framework->plugins().group == nullptr) continue;
    for (std::string& name : framework->plugins().group->GroupsOf(object)) {
      if (!absl::c_linear_search(names, name)) names.push_back(std::move(name));
    }
  }
  return names;
}

void ClusterState::Regroup(std::vector<std::string> before, ClusterChange& result) {
  for (const std::string& name : before) {
    const GroupMembers* const group = groups_.Find(name);
    if (group == nullptr) continue;
    std::vector<std::shared_ptr<const PodInfo>> moved;
    for (const GroupMember& member : group->members()) {
      if (GroupOf(*member.pod) != name) moved.push_back(member.pod);
    }
    for (const std::shared_ptr<const PodInfo>& pod : moved) {
      for (std::string& changed : groups_.SetPod(pod)) {
        if (!absl::c_linear_search(result.groups, changed)) {
          result.groups.push_back(std::move(changed));
        }
      }
      result.regrouped.push_back(pod);
    }
  }
  result.redefined = std::move(before);
}

std::optional<GroupSpec> ClusterState::SpecOf(const PodInfo& pod, absl::string_view group) const {
  const Framework* framework =
      profiles_ == nullptr ? nullptr : profiles_->Find(pod.scheduler_name());
  if (framework == nullptr || framework->plugins().group == nullptr) return std::nullopt;
  return framework->plugins().group->Spec(group);
}

void ClusterState::AppendDeclaration(const PodInfo& pod, std::string& text) const {
  const Framework* framework =
      profiles_ == nullptr ? nullptr : profiles_->Find(pod.scheduler_name());
  if (framework == nullptr || framework->plugins().group == nullptr) return;
  framework->plugins().group->AppendDeclaration(pod, text);
}

std::vector<std::shared_ptr<const PodInfo>> ClusterState::NominationsEndedBy(
    const PodInfo& preemptor, Symbol node_name) const {
  const Framework* framework =
      profiles_ == nullptr ? nullptr : profiles_->Find(preemptor.scheduler_name());
  std::vector<std::shared_ptr<const PodInfo>> ended;
  for (const auto& nominated : nominations_.NominatedPods(node_name)) {
    const bool is_lower =
        nominated->priority() < preemptor.priority() && nominated->uid() != preemptor.uid();
    const bool counts = is_lower && framework != nullptr &&
                        framework->nomination_filter().CountsByRules(*nominated, preemptor);
    if (is_lower && !counts) ended.push_back(nominated);
  }
  return ended;
}

bool ClusterState::HasNominationRules() const {
  return profiles_ != nullptr && absl::c_any_of(profiles_->all(), [](const Framework* framework) {
           return !framework->plugins().nomination_rules.empty();
         });
}

void ClusterState::Assume(const std::shared_ptr<const PodInfo>& pod, Symbol node_name) {
  const absl::Status assumed = cache_.AssumePod(pod, node_name);
  BERTH_CHECK(assumed.ok()) << assumed.message();
  groups_.Assume(*pod->identity(), node_name.view());
}

void ClusterState::Forget(const std::shared_ptr<const PodInfo>& pod) {
  if (!cache_.ForgetPod(*pod->identity())) return;
  groups_.Forget(*pod->identity());
}

CachedPod ClusterState::TakeOff(UidRef pod) {
  const CachedPod* const known = cache_.FindPod(pod);
  if (known == nullptr) return {};
  CachedPod taken = *known;
  gone_in_plan_->pods.push_back(taken.pod);
  cache_.RemovePod(*taken.pod->identity());
  groups_.Assume(*taken.pod->identity(), "");
  return taken;
}

void ClusterState::PutBack(CachedPod pod) {
  const PodInfo* const back = pod.pod.get();
  groups_.Assume(*back->identity(), pod.node_name.view());
  cache_.PutBack(std::move(pod));
  std::vector<std::shared_ptr<const PodInfo>>& gone = gone_in_plan_->pods;
  // Mostly the last one.
  const auto taken = std::find_if(gone.rbegin(), gone.rend(),
                                  [back](const auto& other) { return other.get() == back; });
  BERTH_CHECK(taken != gone.rend());
  gone.erase(std::prev(taken.base()));
}

void ClusterState::AssumeTerminating(UidRef victim, const std::string& message, absl::Time now) {
  const std::shared_ptr<const PodInfo> pod = FindPod(victim);
  if (pod == nullptr || pod->deletion_time().has_value()) return;
  *terminating_.FindOrAdd(pod->identity()).first = {pod, message, now};
  leaving_.FindOrAdd(pod->identity());
  Replace(AsLeaving(*pod, message, now));
}

void ClusterState::ForgetTerminating(UidRef victim) {
  Leaving* const leaving = terminating_.Find(victim);
  if (leaving == nullptr) return;
  const std::shared_ptr<const PodInfo> pod = std::move(leaving->seen);
  terminating_.Erase(victim);
  leaving_.Erase(victim);
  Replace(pod);
}

std::vector<NodeRow> ClusterState::RowsWithLeavingPods() const {
  std::vector<NodeRow> rows;
  leaving_.ForEach([&](const Identity& pod, bool) {
    const CachedPod* const cached = cache_.FindPod(pod);
    const NodeRow row = cached == nullptr ? -1 : nodes().FindRow(cached->node_name);
    if (row >= 0) rows.push_back(row);
  });
  absl::c_sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

const CachedPod* ClusterState::TrackPod(const std::shared_ptr<const PodInfo>& pod) {
  const Cache::Tracked tracked = cache_.TrackPod(pod);
  if (tracked.is_new && pod->identity()->has_uid()) {
    *pods_by_name_.FindOrAdd(pod->identity()).first = pod->identity();
  }
  return tracked.placed;
}

std::shared_ptr<const PodInfo> ClusterState::FindPredecessor(const Object& pod) const {
  if (cache_.Tracks(*pod.identity())) return nullptr;
  if (const IdentityPtr* const named = pods_by_name_.Find(*pod.identity()); named != nullptr) {
    return FindPod(**named);
  }
  return pod.identity()->has_uid() ? FindPod(UidFromName(pod.key())) : nullptr;
}

void ClusterState::NoteOutsideChange(Symbol node_name) {
  last_outside_change_[node_name] = ++outside_changes_;
}

bool ClusterState::ChangedOutside(Symbol node_name, uint64_t since) const {
  if (since == outside_changes_) return false;
  const uint64_t* const last = last_outside_change_.Find(node_name);
  return last != nullptr && *last > since;
}

// The same pod on the same node, seen differently.
void ClusterState::Replace(const std::shared_ptr<const PodInfo>& pod) {
  TrackPod(pod);
  groups_.SetPod(pod);
  cache_.ReplacePod(pod);
}

ClusterChange ClusterState::Apply(WatchEvent event) {
  ClusterChange result;
  if (event.type == WatchEvent::Type::kSynced) {
    result.type = ClusterChange::Type::kSynced;
    return result;
  }
  const bool deleted = event.type == WatchEvent::Type::kDeleted;
  const Object& object = *event.object;
  switch (object.kind()) {
    case Kind::kPod:
      if (deleted) {
        PodGone(*object.identity(), result);
        groups_.ForgetSucceeded(object.identity()->uid());
      } else {
        ApplyPod(object, result);
      }
      break;
    case Kind::kNode:
      if (deleted) {
        NodeGone(object, result);
      } else {
        ApplyNode(object, result);
      }
      break;
    default: {
      std::vector<std::string> before = GroupsOf(object);
      if (deleted) {
        ObjectGone(object, result);
      } else {
        ApplyObject(std::make_shared<const Object>(*std::move(event.object)), result);
      }
      Regroup(std::move(before), result);
    }
  }
  if (!result.problem.ok()) {
    result.subject = object.ToString();
    result.where = object.where();
  }
  return result;
}

void ClusterState::ApplyPod(const Object& object, ClusterChange& result) {
  const std::shared_ptr<const PodInfo> old = FindPod(*object.identity());
  absl::StatusOr<std::shared_ptr<const PodInfo>> parsed =
      PodInfo::Create(object.packed(), old.get());
  if (!parsed.ok()) {
    result.problem = parsed.status();
    return;
  }
  std::shared_ptr<const PodInfo> pod = *std::move(parsed);
  if (pod->terminal()) {
    PodGone(*pod->identity(), result);
    if (object.As<api::Pod>().status().phase() == "Succeeded") groups_.NoteSucceeded(*pod);
    return;
  }
  if (Leaving* const leaving = terminating_.Find(*pod->identity()); leaving != nullptr) {
    if (pod->deletion_time().has_value()) {
      terminating_.Erase(*pod->identity());
    } else {
      leaving->seen = pod;
      pod = AsLeaving(*pod, leaving->message, leaving->since);
    }
  }
  if (pod->deletion_time().has_value()) leaving_.FindOrAdd(pod->identity());
  const CachedPod* const known = TrackPod(pod);
  const CachedPod counted = known == nullptr ? CachedPod() : *known;
  result.change.old_pod = old;
  result.change.new_pod = pod;
  result.groups = groups_.SetPod(pod);
  const Cache::PodChange placed = cache_.SetPod(pod);

  if (!IsAssigned(*pod)) {
    if (known != nullptr && counted.assumed()) return ApplyAssumedPod(counted, pod, result);
    if (old == nullptr) {
      nominations_.Add(pod);
    } else {
      nominations_.Update(*old, pod);
      const std::string was = old->nominated_node_name();
      if (!was.empty() && was != pod->nominated_node_name()) result.unnominated = old;
    }
    for (AssignmentObserver* observer : observers_) observer->OnPodPending(*pod);
    result.type = ClusterChange::Type::kPodPending;
    return;
  }
  nominations_.Remove(*pod->identity());
  const bool stays = known != nullptr && counted.node_name.view() == pod->node_name();
  const Symbol node_name = stays ? counted.node_name : Symbol::Intern(pod->node_name());
  const bool grew =
      old != nullptr && !old->SharesSpec(*pod) && !(old->requests() == pod->requests());
  result.confirmed = stays;
  if (!result.confirmed || grew) NoteOutsideChange(node_name);
  if (placed == Cache::PodChange::kUpdated && old != nullptr) {
    result.type = ClusterChange::Type::kPodChanged;
    result.events = PodChangeEvents(*old, *pod);
    return;
  }
  if (placed == Cache::PodChange::kConfirmed) AddChangesSinceAssumed(counted, pod, result);
  result.type = ClusterChange::Type::kPodAssigned;
  result.change.old_pod = nullptr;  // to the plugins it is a new pod on a node, as upstream
  result.events.push_back({EventResource::AssignedPod(), action::kAdd, "AssignedPodAdd"});
}

// It is being bound: where it is the cache knows better, what it is the watch does.
void ClusterState::ApplyAssumedPod(const CachedPod& counted,
                                   const std::shared_ptr<const PodInfo>& pod,
                                   ClusterChange& result) {
  cache_.ReplacePod(pod);
  if (!(counted.pod->requests() == pod->requests())) NoteOutsideChange(counted.node_name);
  result.type = pod->deletion_time().has_value() ? ClusterChange::Type::kPodLeaving
                                                 : ClusterChange::Type::kPodChanged;
  const absl::string_view node_name = counted.node_name.view();
  result.change.old_pod = AsAssigned(*counted.pod, node_name);
  result.change.new_pod = AsAssigned(*pod, node_name);
  result.events = PodChangeEvents(*result.change.old_pod, *result.change.new_pod);
}

// It may have changed while it was being bound, unseen until now.
void ClusterState::AddChangesSinceAssumed(const CachedPod& counted,
                                          const std::shared_ptr<const PodInfo>& pod,
                                          ClusterChange& result) {
  const PodInfo& was = *counted.pod;
  if (was.SharesSpec(*pod)) return;
  if (was.labels() == pod->labels() && was.requests() == pod->requests()) return;
  result.meanwhile.old_pod = AsAssigned(was, counted.node_name.view());
  result.meanwhile.new_pod = pod;
  result.changed_since_assumed = PodChangeEvents(*result.meanwhile.old_pod, *pod);
}

// A pod with a node frees what it used; so does a pending one that was nominated to a node.
void ClusterState::PodGone(const Identity& pod, ClusterChange& result) {
  const std::shared_ptr<const PodInfo> old = FindPod(pod);
  if (old == nullptr) return;
  const std::string& uid = pod.uid();
  if (const IdentityPtr* const named = pods_by_name_.Find(pod);
      named != nullptr && (*named)->uid() == uid) {
    pods_by_name_.Erase(pod);
  }
  terminating_.Erase(pod);
  leaving_.Erase(pod);
  result.type = ClusterChange::Type::kPodGone;
  const CachedPod* cached = cache_.FindPod(pod);
  const bool placed_by_us = cached != nullptr && cached->assumed();
  result.change.old_pod = placed_by_us ? AsAssigned(*old, cached->node_name.view()) : old;
  const bool nominated = !nominations_.NominatedNode(*old).empty();
  nominations_.Remove(pod);
  result.was_assigned = cache_.RemovePod(pod);
  cache_.UntrackPod(pod);
  for (AssignmentObserver* observer : observers_) observer->OnPodGone(*old);
  if (std::optional<std::string> group = groups_.RemovePod(pod); group.has_value()) {
    result.groups.push_back(*std::move(group));
  }
  if (result.was_assigned || nominated) {
    result.events.push_back({EventResource::AssignedPod(), action::kDelete, "AssignedPodDelete"});
  } else {
    result.events.push_back(
        {EventResource::UnscheduledPod(), action::kDelete, "UnschedulablePodDelete"});
  }
}

void ClusterState::ApplyNode(const Object& object, ClusterChange& result) {
  absl::StatusOr<std::shared_ptr<const NodeSpec>> spec =
      NodeSpec::Create(object.Share<api::Node>());
  if (!spec.ok()) {
    result.problem = spec.status();
    return;
  }
  std::shared_ptr<const NodeInfo>& known = nodes_[(*spec)->name];
  result.type = ClusterChange::Type::kNode;
  result.change.old_node = known;
  known = Bare(*spec);
  result.change.new_node = known;
  cache_.SetNode(*std::move(spec));
  if (result.change.old_node == nullptr) {
    result.events.push_back({EventResource::Node(), action::kAdd, "NodeAdd"});
  } else {
    result.events = NodeUpdateEvents(result.change.old_node->spec(), known->spec());
    if (!result.events.empty()) NoteOutsideChange(known->name());
  }
}

void ClusterState::NodeGone(const Object& object, ClusterChange& result) {
  const Symbol name = Symbol::Intern(object.name());
  const std::shared_ptr<const NodeInfo>* const known = nodes_.Find(name);
  if (known == nullptr) return;
  result.type = ClusterChange::Type::kNode;
  result.change.old_node = *known;
  nodes_.Erase(name);
  cache_.RemoveNode(name);
  NoteOutsideChange(name);
  result.events.push_back({EventResource::Node(), action::kDelete, "NodeDelete"});
}

void ClusterState::ApplyObject(std::shared_ptr<const Object> object, ClusterChange& result) {
  const absl::string_view kind = KindName(object->kind());
  std::optional<Object> old = objects_.Set(*object);
  const bool is_update = old.has_value();
  result.type = ClusterChange::Type::kObject;
  result.new_object = std::move(object);
  result.change.new_object = result.new_object.get();
  if (is_update) {
    result.old_object = std::make_shared<const Object>(*std::move(old));
    result.change.old_object = result.old_object.get();
  }
  result.events.push_back({EventResource::Of(result.new_object->kind()),
                           is_update ? action::kUpdate : action::kAdd,
                           absl::StrCat(kind, is_update ? "Update" : "Add")});
}

void ClusterState::ObjectGone(const Object& object, ClusterChange& result) {
  std::optional<Object> old =
      objects_.Remove(object.kind(), object.namespace_name(), object.name());
  if (!old.has_value()) return;
  result.type = ClusterChange::Type::kObject;
  result.old_object = std::make_shared<const Object>(*std::move(old));
  result.change.old_object = result.old_object.get();
  result.events.push_back({EventResource::Of(object.kind()), action::kDelete,
                           absl::StrCat(KindName(object.kind()), "Delete")});
}

}  // namespace berth
