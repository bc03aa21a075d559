// SPDX-License-Identifier: Apache-2.0
// Implementation of group_conditions.h.
#include "kubernetes/group_conditions.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/scheduling_v1beta1.pb.h"
#include "berth/api/scheduling_volcano_sh.pb.h"
#include "berth/api/time.h"

namespace berth {
namespace {

constexpr char kGroupScheduled[] = "PodGroupInitiallyScheduled";
constexpr char kCompositeScheduled[] = "CompositePodGroupInitiallyScheduled";
constexpr int kMostLevels = 4;  // of a tree

// Those that Coscheduling reads, where they lead to such a group.
std::optional<GroupConditions::Key> GroupOf(absl::string_view namespace_name, const api::Pod& own,
                                            const api::PodSpec& spec) {
  for (const char* key : {"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"}) {
    const auto found = own.metadata().annotations().find(key);
    if (found != own.metadata().annotations().end() && !found->second.empty()) {
      return GroupConditions::Key(Kind::kVolcanoPodGroup,
                                  absl::StrCat(namespace_name, "/", found->second));
    }
  }
  if (spec.scheduling_group().pod_group_name().empty()) return std::nullopt;
  return GroupConditions::Key(
      Kind::kKubernetesPodGroup,
      absl::StrCat(namespace_name, "/", spec.scheduling_group().pod_group_name()));
}

// The conditions `status` has, with `type` as it is now. True stays for good.
void SetCondition(const char* type, bool scheduled, int64_t generation, const LivingPods& pods,
                  absl::Time now, api::KubernetesPodGroupStatus& status) {
  api::Condition* condition = nullptr;
  for (api::Condition& known : *status.mutable_conditions()) {
    if (known.type() == type) condition = &known;
  }
  if (condition != nullptr && condition->status() == "True") return;
  if (!scheduled && pods.reason.empty()) return;
  if (condition == nullptr) {
    condition = status.add_conditions();
    condition->set_type(type);
  }
  const std::string value = scheduled ? "True" : "False";
  if (condition->status() != value) {
    condition->mutable_last_transition_time()->set_seconds(absl::ToUnixSeconds(now));
  }
  condition->set_status(value);
  condition->set_observed_generation(generation);
  condition->set_reason(scheduled ? "Scheduled" : pods.reason);
  condition->set_message(scheduled ? "" : pods.message);
  if (scheduled) condition->clear_message();
}

bool IsTrue(const api::KubernetesPodGroupStatus& status, const char* type) {
  for (const api::Condition& condition : status.conditions()) {
    if (condition.type() == type && condition.status() == "True") return true;
  }
  return false;
}

int MinimumOf(const api::KubernetesPodGroup& group) {
  return std::max(1, group.spec().scheduling_policy().gang().min_count());
}
int MinimumOf(const api::CompositePodGroup& group) {
  return std::max(1, group.spec().scheduling_policy().gang().min_group_count());
}

}  // namespace

api::VolcanoPodGroupStatus NextVolcanoStatus(const api::VolcanoPodGroup& group,
                                             const LivingPods& pods) {
  api::VolcanoPodGroupStatus status = group.status();
  if (status.phase() == "Completed") return status;
  if (pods.assigned > 0 && pods.assigned >= group.spec().min_member()) {
    status.set_phase("Running");
  } else if (status.phase() != "Running" || pods.assigned == 0) {
    status.set_phase("Inqueue");
  } else {
    status.set_phase("Unknown");  // some of it runs, less than it needs
  }
  if (pods.running > 0) {
    status.set_running(pods.running);
  } else {
    status.clear_running();
  }
  return status;
}

api::KubernetesPodGroupStatus NextConditions(const api::KubernetesPodGroup& group,
                                             const LivingPods& pods, absl::Time now) {
  api::KubernetesPodGroupStatus status = group.status();
  SetCondition(kGroupScheduled, pods.assigned >= MinimumOf(group), group.metadata().generation(),
               pods, now, status);
  return status;
}

api::KubernetesPodGroupStatus NextConditions(const api::CompositePodGroup& group, int scheduled,
                                             const LivingPods& pods, absl::Time now) {
  api::KubernetesPodGroupStatus status = group.status();
  SetCondition(kCompositeScheduled, scheduled >= MinimumOf(group), group.metadata().generation(),
               pods, now, status);
  return status;
}

// --- What is seen -------------------------------------------------------------------------------

std::vector<GroupConditions::Key> GroupConditions::See(const WatchEvent& event) {
  if (!event.object.has_value()) return {};
  const Object& object = *event.object;
  const bool deleted = event.type == WatchEvent::Type::kDeleted;
  if (object.kind() == Kind::kPod) {
    const std::optional<Key> key = SeePod(object, deleted);
    return key.has_value() ? WithThoseAbove(*key) : std::vector<Key>();
  }
  if (object.kind() != Kind::kVolcanoPodGroup && object.kind() != Kind::kKubernetesPodGroup &&
      object.kind() != Kind::kCompositePodGroup) {
    return {};
  }
  Key key(object.kind(), std::string(object.key()));
  groups_.erase(key);
  if (deleted) {
    const std::vector<Key> changed = WithThoseAbove(key);
    SetParent(key, nullptr);
    return {changed.begin() + 1, changed.end()};
  }
  groups_.emplace(key, object);
  SetParent(key, &object);
  return WithThoseAbove(key);
}

// What is above a group never changes.
void GroupConditions::SetParent(const Key& key, const Object* group) {
  std::string parent;
  if (group != nullptr && key.first == Kind::kKubernetesPodGroup) {
    parent = group->As<api::KubernetesPodGroup>().spec().parent_composite_pod_group_name();
  } else if (group != nullptr && key.first == Kind::kCompositePodGroup) {
    parent = group->As<api::CompositePodGroup>().spec().parent_composite_pod_group_name();
  }
  if (const auto known = parents_.find(key); known != parents_.end()) {
    children_[known->second].erase(key);
    if (children_[known->second].empty()) children_.erase(known->second);
    parents_.erase(known);
  }
  if (parent.empty()) return;
  const std::string space = key.second.substr(0, key.second.find('/'));
  const Key above(Kind::kCompositePodGroup, absl::StrCat(space, "/", parent));
  parents_.emplace(key, above);
  children_[above].insert(key);
}

std::vector<GroupConditions::Key> GroupConditions::WithThoseAbove(const Key& key) const {
  std::vector<Key> keys = {key};
  for (auto above = parents_.find(key); above != parents_.end() && keys.size() < kMostLevels;
       above = parents_.find(above->second)) {
    keys.push_back(above->second);
  }
  return keys;
}

std::optional<GroupConditions::Key> GroupConditions::SeePod(const Object& pod, bool deleted) {
  const std::string uid(pod.uid());
  if (deleted) {
    const auto known = group_of_.find(uid);
    if (known == group_of_.end()) return std::nullopt;
    Key key = std::move(known->second);
    group_of_.erase(known);
    pods_[key].erase(uid);
    if (pods_[key].empty()) pods_.erase(key);
    return key;
  }
  std::optional<Key> key;
  Pod now;
  const std::shared_ptr<const PackedPod> packed = pod.packed();
  packed->ReadOwn([&](const api::Pod& own) {
    key = GroupOf(pod.namespace_name(), own, packed->shape()->spec());
    if (!key.has_value()) return;
    now.name = std::string(pod.name());
    now.assigned = !own.spec().node_name().empty();
    now.running = own.status().phase() == "Running";
    for (const api::PodCondition& condition : own.status().conditions()) {
      if (condition.type() != "PodScheduled" || condition.status() != "False") continue;
      if (condition.reason() != "Unschedulable" && condition.reason() != "SchedulerError") continue;
      now.reason = condition.reason();
      now.message = condition.message();
    }
  });
  if (!key.has_value()) return std::nullopt;
  group_of_[uid] = *key;  // what names the group of a pod never changes
  pods_[*key][uid] = std::move(now);
  return key;
}

void GroupConditions::AddLiving(const Key& key, int level, LivingPods& living,
                                const Pod*& first) const {
  if (const auto pods = pods_.find(key); pods != pods_.end()) {
    for (const auto& [uid, pod] : pods->second) {
      living.assigned += pod.assigned ? 1 : 0;
      living.running += pod.running ? 1 : 0;
      if (!pod.reason.empty() && (first == nullptr || pod.name < first->name)) first = &pod;
    }
  }
  const auto children = children_.find(key);
  if (children == children_.end() || level == kMostLevels) return;
  for (const Key& child : children->second) AddLiving(child, level + 1, living, first);
}

// --- What is written ----------------------------------------------------------------------------

bool GroupConditions::IsScheduled(const Key& key, int level) const {
  const auto group = groups_.find(key);
  if (group == groups_.end()) return false;
  if (key.first == Kind::kCompositePodGroup) {
    const auto& of = group->second.As<api::CompositePodGroup>();
    return IsTrue(of.status(), kCompositeScheduled) ||
           ScheduledChildren(key, level) >= MinimumOf(of);
  }
  const auto& of = group->second.As<api::KubernetesPodGroup>();
  if (IsTrue(of.status(), kGroupScheduled)) return true;
  LivingPods living;
  const Pod* first = nullptr;
  AddLiving(key, level, living, first);
  return living.assigned >= MinimumOf(of);
}

int GroupConditions::ScheduledChildren(const Key& key, int level) const {
  const auto children = children_.find(key);
  if (children == children_.end() || level == kMostLevels) return 0;
  int scheduled = 0;
  for (const Key& child : children->second) scheduled += IsScheduled(child, level + 1) ? 1 : 0;
  return scheduled;
}

std::optional<Object> GroupConditions::Update(const Key& key, absl::Time now) const {
  const auto group = groups_.find(key);
  if (group == groups_.end()) return std::nullopt;
  LivingPods living;
  const Pod* first = nullptr;
  AddLiving(key, 1, living, first);
  if (first != nullptr) {
    living.reason = first->reason;
    living.message = first->message;
  }
  const auto changed = [](const auto& of, auto status) -> std::optional<Object> {
    if (status.SerializeAsString() == of.status().SerializeAsString()) return std::nullopt;
    auto copy = std::make_shared<std::decay_t<decltype(of)>>(of);
    *copy->mutable_status() = std::move(status);
    return Object::Of(std::move(copy));
  };
  if (key.first == Kind::kVolcanoPodGroup) {
    const auto& of = group->second.As<api::VolcanoPodGroup>();
    return changed(of, NextVolcanoStatus(of, living));
  }
  if (key.first == Kind::kCompositePodGroup) {
    const auto& of = group->second.As<api::CompositePodGroup>();
    return changed(of, NextConditions(of, ScheduledChildren(key, 1), living, now));
  }
  const auto& of = group->second.As<api::KubernetesPodGroup>();
  return changed(of, NextConditions(of, living, now));
}

}  // namespace berth
