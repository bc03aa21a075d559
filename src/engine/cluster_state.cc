// Implementation of cluster_state.h.
#include "engine/cluster_state.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/check.h"
#include "engine/profiles.h"
#include "queue/change_events.h"

namespace berth {
namespace {

bool IsAssigned(const PodInfo& pod) { return !pod.node_name().empty(); }

// A Node's name, parsed form and no pods: what hints compare.
std::shared_ptr<const NodeInfo> Bare(std::shared_ptr<const NodeSpec> spec) {
  return std::make_shared<NodeInfo>(std::move(spec));
}

}  // namespace

ClusterState::ClusterState() : groups_([this](const PodInfo& pod) { return GroupOf(pod); }) {}
ClusterState::~ClusterState() = default;

void ClusterState::SetProfiles(const Profiles* profiles) {
  profiles_ = profiles;
  for (const Framework* framework : profiles->all()) {
    for (AssignmentObserver* observer : framework->observers()) cache_.AddObserver(observer);
  }
}

std::optional<std::string> ClusterState::GroupOf(const PodInfo& pod) const {
  const Framework* framework =
      profiles_ == nullptr ? nullptr : profiles_->Find(pod.scheduler_name());
  if (framework == nullptr || framework->group_plugin() == nullptr) return std::nullopt;
  return framework->group_plugin()->GroupOf(pod);
}

std::shared_ptr<const PodInfo> ClusterState::FindPod(absl::string_view uid) const {
  const auto it = pods_.find(uid);
  return it == pods_.end() ? nullptr : it->second;
}

void ClusterState::Assume(const std::shared_ptr<const PodInfo>& pod, const std::string& node_name) {
  const absl::Status assumed = cache_.AssumePod(pod, Symbol::Intern(node_name));
  BERTH_CHECK(assumed.ok()) << assumed.message();
  groups_.Assume(pod->uid(), node_name);
}

void ClusterState::Forget(const std::shared_ptr<const PodInfo>& pod) {
  if (!cache_.ForgetPod(pod->uid())) return;
  groups_.Forget(pod->uid());
}

ClusterChange ClusterState::Apply(WatchEvent event) {
  ClusterChange result;
  if (event.type == WatchEvent::Type::kSynced) {
    result.type = ClusterChange::Type::kSynced;
    return result;
  }
  const bool deleted = event.type == WatchEvent::Type::kDeleted;
  auto object = std::make_shared<const Object>(*std::move(event.object));
  result.subject = object->ToString();
  result.where = object->where();
  switch (object->kind()) {
    case Kind::kPod:
      if (deleted) {
        PodGone(std::string(object->uid()), result);
      } else {
        ApplyPod(*object, result);
      }
      break;
    case Kind::kNode:
      if (deleted) {
        NodeGone(*object, result);
      } else {
        ApplyNode(*object, result);
      }
      break;
    default:
      if (deleted) {
        ObjectGone(*object, result);
      } else {
        ApplyObject(std::move(object), result);
      }
  }
  return result;
}

void ClusterState::ApplyPod(const Object& object, ClusterChange& result) {
  absl::StatusOr<std::shared_ptr<const PodInfo>> parsed = PodInfo::Create(object.Share<api::Pod>());
  if (!parsed.ok()) {
    result.problem = parsed.status();
    return;
  }
  const std::shared_ptr<const PodInfo> pod = *std::move(parsed);
  const std::shared_ptr<const PodInfo> old = FindPod(pod->uid());
  if (pod->terminal()) {
    PodGone(pod->uid(), result);
    return;
  }
  pods_[pod->uid()] = pod;
  result.change.old_pod = old;
  result.change.new_pod = pod;
  result.groups = groups_.SetPod(pod);
  const Cache::PodChange placed = cache_.SetPod(pod);

  if (!IsAssigned(*pod)) {
    const CachedPod* cached = cache_.FindPod(pod->uid());
    if (cached != nullptr && cached->assumed()) return;  // being bound: the cache knows better
    if (old == nullptr) {
      nominations_.Add(pod);
    } else {
      nominations_.Update(*old, pod);
    }
    result.type = ClusterChange::Type::kPodPending;
    return;
  }
  nominations_.Remove(pod->uid());
  if (placed == Cache::PodChange::kUpdated && old != nullptr) {
    result.type = ClusterChange::Type::kPodChanged;
    result.events = PodChangeEvents(*old, *pod);
    return;
  }
  result.type = ClusterChange::Type::kPodAssigned;
  result.events.push_back({EventResource::AssignedPod(), action::kAdd, "AssignedPodAdd"});
}

// A pod with a node frees what it used; so does a pending one that was nominated to a node.
void ClusterState::PodGone(const std::string& uid, ClusterChange& result) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) return;
  const std::shared_ptr<const PodInfo> old = it->second;
  pods_.erase(it);
  result.type = ClusterChange::Type::kPodGone;
  result.change.old_pod = old;
  const bool nominated = !nominations_.NominatedNode(*old).empty();
  nominations_.Remove(uid);
  result.was_assigned = cache_.RemovePod(uid);
  if (std::optional<std::string> group = groups_.RemovePod(uid); group.has_value()) {
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
  }
}

void ClusterState::NodeGone(const Object& object, ClusterChange& result) {
  const auto it = nodes_.find(Symbol::Intern(object.name()));
  if (it == nodes_.end()) return;
  result.type = ClusterChange::Type::kNode;
  result.change.old_node = it->second;
  nodes_.erase(it);
  cache_.RemoveNode(result.change.old_node->name());
  result.events.push_back({EventResource::Node(), action::kDelete, "NodeDelete"});
}

void ClusterState::ApplyObject(std::shared_ptr<const Object> object, ClusterChange& result) {
  const absl::string_view kind = KindName(object->kind());
  std::optional<Object> old = objects_.Set(*object);
  result.type = ClusterChange::Type::kObject;
  result.new_object = std::move(object);
  result.change.new_object = result.new_object.get();
  if (old.has_value()) {
    result.old_object = std::make_shared<const Object>(*std::move(old));
    result.change.old_object = result.old_object.get();
  }
  result.events.push_back({EventResource::Of(result.new_object->kind()),
                           old.has_value() ? action::kUpdate : action::kAdd,
                           absl::StrCat(kind, old.has_value() ? "Update" : "Add")});
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
