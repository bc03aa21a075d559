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

constexpr char kInitiallyScheduled[] = "PodGroupInitiallyScheduled";

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
  api::Condition* condition = nullptr;
  for (api::Condition& known : *status.mutable_conditions()) {
    if (known.type() == kInitiallyScheduled) condition = &known;
  }
  if (condition != nullptr && condition->status() == "True") return status;
  const int minimum = std::max(1, group.spec().scheduling_policy().gang().min_count());
  const bool scheduled = pods.assigned >= minimum;
  if (!scheduled && pods.reason.empty()) return status;
  if (condition == nullptr) {
    condition = status.add_conditions();
    condition->set_type(kInitiallyScheduled);
  }
  const std::string value = scheduled ? "True" : "False";
  if (condition->status() != value) {
    condition->mutable_last_transition_time()->set_seconds(absl::ToUnixSeconds(now));
  }
  condition->set_status(value);
  condition->set_observed_generation(group.metadata().generation());
  condition->set_reason(scheduled ? "Scheduled" : pods.reason);
  condition->set_message(scheduled ? "" : pods.message);
  if (scheduled) condition->clear_message();
  return status;
}

std::optional<GroupConditions::Key> GroupConditions::See(const WatchEvent& event) {
  if (!event.object.has_value()) return std::nullopt;
  const Object& object = *event.object;
  const bool deleted = event.type == WatchEvent::Type::kDeleted;
  if (object.kind() == Kind::kPod) return SeePod(object, deleted);
  if (object.kind() != Kind::kVolcanoPodGroup && object.kind() != Kind::kKubernetesPodGroup) {
    return std::nullopt;
  }
  Key key(object.kind(), std::string(object.key()));
  groups_.erase(key);
  if (deleted) return std::nullopt;
  groups_.emplace(key, object);
  return key;
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

std::optional<Object> GroupConditions::Update(const Key& key, absl::Time now) const {
  const auto group = groups_.find(key);
  if (group == groups_.end()) return std::nullopt;
  LivingPods living;
  const Pod* first = nullptr;
  if (const auto pods = pods_.find(key); pods != pods_.end()) {
    for (const auto& [uid, pod] : pods->second) {
      living.assigned += pod.assigned ? 1 : 0;
      living.running += pod.running ? 1 : 0;
      if (!pod.reason.empty() && (first == nullptr || pod.name < first->name)) first = &pod;
    }
  }
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
  const auto& of = group->second.As<api::KubernetesPodGroup>();
  return changed(of, NextConditions(of, living, now));
}

}  // namespace berth
