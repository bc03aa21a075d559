// SPDX-License-Identifier: Apache-2.0
// Implementation of group_statuses.h.
#include "kubernetes/group_statuses.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"
#include "berth/api/time.h"
#include "kubernetes/http_loop.h"

namespace berth {
namespace {

constexpr absl::Duration kGivenUpAfter = absl::Hours(48);
// Phases are "", Pending, Scheduling, Running and an end; each is left once at most.
constexpr int kMaxSteps = 6;
constexpr size_t kMostReads = 4;

std::string OwnersOf(const api::Pod& own) {
  std::vector<std::string> owners;
  for (const api::OwnerReference& owner : own.metadata().owner_references()) {
    owners.push_back(absl::StrCat(own.metadata().namespace_(), "/", owner.name()));
  }
  std::sort(owners.begin(), owners.end());
  return absl::StrJoin(owners, ",");
}

std::map<std::string, Quantity> Parsed(
    const google::protobuf::Map<std::string, api::Quantity>& in) {
  std::map<std::string, Quantity> out;
  for (const auto& [name, quantity] : in) {
    const absl::StatusOr<Quantity> parsed = Quantity::Parse(quantity.string());
    if (parsed.ok()) out[name] = *parsed;
  }
  return out;
}

// The marks by which pods are in a PodGroup, in the order in which Coscheduling asks for them.
std::string GroupNameOf(const api::Pod& own) {
  const auto find = [](const auto& map, const char* key) {
    const auto found = map.find(key);
    return found == map.end() ? std::string() : found->second;
  };
  for (const char* label : {kGroupLabel, "pod-group.scheduling.sigs.k8s.io"}) {
    std::string name = find(own.metadata().labels(), label);
    if (!name.empty()) return name;
  }
  std::string name = find(own.metadata().annotations(), "gang.scheduling.koordinator.sh/name");
  return name.empty() ? find(own.metadata().labels(), "pod-group.scheduling.sigs.k8s.io/name")
                      : name;
}

bool IsFinal(const api::PodGroupStatus& status) {
  return status.phase() == "Finished" || status.phase() == "Failed";
}

// One call of Reconcile.
void Step(const api::PodGroup& group, const GroupPods& pods, api::PodGroupStatus& status) {
  const int minimum = group.spec().min_member();
  if (status.phase().empty()) {
    status.set_phase("Pending");
  } else if (status.phase() == "Pending") {
    if (pods.all < minimum) return;
    status.set_phase("Scheduling");
    if (!pods.occupied_by.empty()) status.set_occupied_by(pods.occupied_by);
  } else {
    // Go writes no zeros.
    const auto set = [&](int count, auto setter, auto clear) {
      count == 0 ? (status.*clear)() : (status.*setter)(count);
    };
    using S = api::PodGroupStatus;
    set(pods.running, &S::set_running, &S::clear_running);
    set(pods.succeeded, &S::set_succeeded, &S::clear_succeeded);
    set(pods.failed, &S::set_failed, &S::clear_failed);
    if (pods.all < minimum) {
      status.set_phase("Pending");
      return;
    }
    status.set_phase(pods.succeeded + pods.running < minimum ? "Scheduling" : "Running");
    if (pods.failed != 0 && pods.failed + pods.running + pods.succeeded >= minimum) {
      status.set_phase("Failed");
    }
    if (pods.succeeded >= minimum) status.set_phase("Finished");
  }
}

}  // namespace

api::PodGroupStatus NextStatus(const api::PodGroup& group, const GroupPods& pods) {
  api::PodGroupStatus status = group.status();
  if (status.running() == 0 && (status.phase() == "Scheduling" || status.phase() == "Pending") &&
      status.has_schedule_start_time() &&
      ToTime(status.schedule_start_time()) - ToTime(group.metadata().creation_timestamp()) >
          kGivenUpAfter) {
    return status;  // pods may have been collected as garbage
  }
  for (int steps = 0; steps < kMaxSteps; ++steps) {
    if (IsFinal(status)) break;
    const std::string before = status.SerializeAsString();
    Step(group, pods, status);
    if (status.SerializeAsString() == before) break;
  }
  return status;
}

std::map<std::string, Quantity> UsedByPod(const api::PodSpec& spec) {
  std::map<std::string, Quantity> used;
  for (const api::Container& container : spec.containers()) {
    for (const auto& [name, quantity] : Parsed(container.resources().requests())) {
      used[name].Add(quantity);
    }
  }
  for (const api::Container& container : spec.init_containers()) {
    for (const auto& [name, quantity] : Parsed(container.resources().requests())) {
      const auto [found, is_new] = used.try_emplace(name, quantity);
      if (!is_new && found->second < quantity) found->second = quantity;
    }
  }
  return used;
}

// --- What is seen --------------------------------------------------------------------------------

void GroupStatuses::Start(WatchSink& sink, const std::vector<Kind>& kinds) {
  sink_ = &sink;
  const auto has = [&](Kind kind) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  };
  {
    MutexLock lock(mutex_);
    wants_groups_ = has(Kind::kPodGroup);
    wants_quotas_ = has(Kind::kElasticQuota);
    wants_conditions_ = has(Kind::kVolcanoPodGroup) || has(Kind::kKubernetesPodGroup) ||
                        has(Kind::kCompositePodGroup);
    if (!wants_groups_ && !wants_quotas_ && !wants_conditions_) return;
  }
  thread_ = std::thread([this] { Work(); });
}

void GroupStatuses::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.SignalAll();
  }
  if (thread_.joinable()) thread_.join();
}

void GroupStatuses::Deliver(std::vector<WatchEvent> events) {
  {
    MutexLock lock(mutex_);
    for (const WatchEvent& event : events) See(event);
  }
  sink_->Deliver(std::move(events));
}

void GroupStatuses::DeliverOne(WatchEvent event) {
  {
    MutexLock lock(mutex_);
    See(event);
  }
  sink_->DeliverOne(std::move(event));
}

void GroupStatuses::See(const WatchEvent& event) {
  if (wants_conditions_) {
    for (const GroupConditions::Key& key : conditions_.See(event)) {
      Mark(key.first, key.second, pause_);
    }
  }
  if (!event.object.has_value() || (!wants_groups_ && !wants_quotas_)) return;
  const Object& object = *event.object;
  const bool deleted = event.type == WatchEvent::Type::kDeleted;
  const std::string key(object.key());
  if (object.kind() == Kind::kPod) {
    SeePod(object, deleted);
  } else if (object.kind() == Kind::kPodGroup && wants_groups_) {
    Group& group = groups_[key];
    if (deleted) {
      group.object.reset();
      group.has_unknown_past = true;  // of the next one of its name
      group.gone.clear();
      ForgetEnded(group);
      if (group.members.empty()) groups_.erase(key);
    } else {
      group.object = object;
      Mark(Kind::kPodGroup, key, pause_);
    }
  } else if (object.kind() == Kind::kElasticQuota && wants_quotas_) {
    const std::string namespace_name(object.namespace_name());
    std::map<std::string, Object>& quotas = quotas_[namespace_name];
    quotas.erase(std::string(object.name()));
    if (!deleted) quotas.emplace(object.name(), object);
    Mark(Kind::kElasticQuota, namespace_name, pause_);
  }
}

void GroupStatuses::SeePod(const Object& pod, bool deleted) {
  const std::string namespace_name(pod.namespace_name());
  const std::shared_ptr<const PackedPod> packed = pod.packed();
  KnownPod now;
  Member member;
  const bool wants_groups = wants_groups_, wants_quotas = wants_quotas_;
  packed->ReadOwn([&](const api::Pod& own) {
    const std::string name = wants_groups ? GroupNameOf(own) : "";
    if (!name.empty()) {
      now.group = absl::StrCat(namespace_name, "/", name);
      member = {std::string(pod.name()), own.status().phase(), OwnersOf(own)};
    }
    if (wants_quotas && own.status().phase() == "Running") now.running_shape = packed->shape();
  });
  if (deleted) now = KnownPod();

  KnownPod* const known = pods_.Find(*pod.identity());
  const KnownPod before = known == nullptr ? KnownPod() : *known;
  if (before.running_shape != now.running_shape) {
    if (before.running_shape != nullptr) Count(namespace_name, *before.running_shape, false);
    if (now.running_shape != nullptr) Count(namespace_name, *now.running_shape, true);
    Mark(Kind::kElasticQuota, namespace_name, pause_);
  }
  if (!before.group.empty() && before.group != now.group) {
    Group& group = groups_[before.group];
    group.members.erase(std::string(pod.uid()));
    if (group.object.has_value()) {
      group.gone.push_back(pod.identity());
      packed->ReadOwn([&](const api::Pod& own) {
        if (!own.metadata().resource_version().empty()) {
          group.version = own.metadata().resource_version();
        }
      });
    } else {
      group.has_unknown_past = true;
    }
    Mark(Kind::kPodGroup, before.group, pause_);
    if (group.members.empty() && !group.object.has_value()) groups_.erase(before.group);
  }
  if (!now.group.empty()) {
    Member& old = groups_[now.group].members[std::string(pod.uid())];
    if (before.group != now.group || old.phase != member.phase) {
      Mark(Kind::kPodGroup, now.group, pause_);
    }
    old = std::move(member);
  }
  if (now.group.empty() && now.running_shape == nullptr) {
    pods_.Erase(*pod.identity());
  } else {
    *pods_.FindOrAdd(pod.identity()).first = std::move(now);
  }
}

void GroupStatuses::ForgetEnded(Group& group) {
  for (auto it = group.members.begin(); it != group.members.end();) {
    it->second.ended ? group.members.erase(it++) : ++it;
  }
}

void GroupStatuses::Count(const std::string& namespace_name, const PodShape& shape, bool more) {
  std::map<std::string, Usage::Sum>& sums = usages_[namespace_name].sums;
  for (const auto& [name, quantity] : UsedByPod(shape.spec())) {
    Usage::Sum& sum = sums[name];
    more ? sum.amount.Add(quantity) : sum.amount.Subtract(quantity);
    sum.pods += more ? 1 : -1;
    if (sum.pods == 0) sums.erase(name);
  }
  if (sums.empty()) usages_.erase(namespace_name);
}

void GroupStatuses::Mark(Kind kind, const std::string& key, absl::Duration delay) {
  if (kind == Kind::kElasticQuota && !quotas_.contains(key)) return;
  due_.try_emplace({kind, key}, MonotonicNow() + delay);
  changed_.SignalAll();
}

// --- What is written -----------------------------------------------------------------------------

void GroupStatuses::Work() {
  while (const std::optional<Dirty> dirty = Next()) {
    const absl::Status written = Write(*dirty);
    if (written.ok() || absl::IsNotFound(written)) continue;
    // A conflict: the watch will show the other change. Else: when the server answers again.
    MutexLock lock(mutex_);
    Mark(dirty->first, dirty->second, absl::IsAborted(written) ? pause_ : 10 * pause_);
  }
}

std::optional<GroupStatuses::Dirty> GroupStatuses::Next() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    const auto first = std::min_element(
        due_.begin(), due_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const absl::Time now = MonotonicNow();
    if (first == due_.end()) {
      changed_.Wait(mutex_);
    } else if (first->second > now) {
      changed_.WaitFor(mutex_, first->second - now);
    } else if (!server_.may_write()) {
      changed_.WaitFor(mutex_, pause_);
    } else {
      Dirty next = first->first;
      due_.erase(first);
      return next;
    }
  }
  return std::nullopt;
}

absl::Status GroupStatuses::Write(const Dirty& dirty) {
  std::optional<ObjectUpdate> update;
  if (dirty.first == Kind::kVolcanoPodGroup || dirty.first == Kind::kKubernetesPodGroup ||
      dirty.first == Kind::kCompositePodGroup) {
    MutexLock lock(mutex_);
    std::optional<Object> changed = conditions_.Update(dirty, absl::Now());
    if (changed.has_value()) update = {*std::move(changed), ObjectUpdate::Part::kStatus};
  } else if (dirty.first == Kind::kPodGroup) {
    if (absl::Status asked = AskForPast(); !asked.ok()) return asked;
    const absl::Status asked = AskForEnded(dirty.second);
    if (!asked.ok()) return asked;
    update = GroupUpdate(dirty.second);
  } else {
    update = QuotaUpdate(dirty.second);
  }
  return update.has_value() ? server_.update(*update) : absl::OkStatus();
}

// Reads all groups that are there at first, at once.
absl::Status GroupStatuses::AskForPast() {
  if (has_asked_for_past_) return absl::OkStatus();
  const absl::StatusOr<std::vector<Object>> ended = server_.list_ended(nullptr, "0");
  if (!ended.ok()) return ended.status();
  has_asked_for_past_ = true;
  MutexLock lock(mutex_);
  for (auto& [key, group] : groups_) {
    if (group.object.has_value()) group.has_unknown_past = false;
  }
  for (const Object& pod : *ended) {
    std::string name;
    pod.packed()->ReadOwn([&](const api::Pod& own) { name = GroupNameOf(own); });
    const auto group = groups_.find(absl::StrCat(pod.namespace_name(), "/", name));
    if (group != groups_.end() && group->second.object.has_value()) Take(group->second, pod);
  }
  return absl::OkStatus();
}

// If few are gone, they are asked for by name, which costs the server least; if many, by the
// group's label.
absl::Status GroupStatuses::AskForEnded(const std::string& key) {
  IdentityPtr who;
  std::vector<IdentityPtr> gone;
  std::string version;
  bool lists = false;
  {
    MutexLock lock(mutex_);
    const auto found = groups_.find(key);
    if (found == groups_.end() || !found->second.object.has_value()) return absl::OkStatus();
    Group& group = found->second;
    gone.swap(group.gone);
    if (IsFinal(group.object->As<api::PodGroup>().status())) return absl::OkStatus();
    lists = std::exchange(group.has_unknown_past, false) || gone.size() > kMostReads;
    who = group.object->identity();
    version = group.version;
  }
  std::vector<Object> ended;
  absl::Status asked;
  if (lists) {
    absl::StatusOr<std::vector<Object>> listed = server_.list_ended(who.get(), version);
    asked = listed.status();
    if (listed.ok()) ended = *std::move(listed);
  }
  for (const IdentityPtr& pod : lists ? std::vector<IdentityPtr>() : gone) {
    absl::StatusOr<Object> read = server_.read_pod(*pod);
    if (absl::IsNotFound(read.status())) continue;
    asked = read.status();
    if (!read.ok()) break;
    ended.push_back(*std::move(read));
  }
  MutexLock lock(mutex_);
  const auto group = groups_.find(key);
  if (group == groups_.end()) return absl::OkStatus();
  if (!asked.ok()) {
    group->second.has_unknown_past |= lists;
    group->second.gone.insert(group->second.gone.end(), gone.begin(), gone.end());
    return asked;
  }
  if (lists) ForgetEnded(group->second);
  for (const Object& pod : ended) Take(group->second, pod);
  return absl::OkStatus();
}

// Unless the watch shows it, or it has not ended.
void GroupStatuses::Take(Group& group, const Object& ended) {
  ended.packed()->ReadOwn([&](const api::Pod& own) {
    const std::string& phase = own.status().phase();
    if (phase != "Succeeded" && phase != "Failed") return;
    group.members.try_emplace(std::string(ended.uid()), Member{std::string(ended.name()), phase,
                                                               OwnersOf(own), /*ended=*/true});
  });
}

std::optional<ObjectUpdate> GroupStatuses::GroupUpdate(const std::string& key) {
  MutexLock lock(mutex_);
  const auto found = groups_.find(key);
  if (found == groups_.end() || !found->second.object.has_value()) return std::nullopt;
  GroupPods pods;
  const Member* first = nullptr;
  for (const auto& [uid, member] : found->second.members) {
    ++pods.all;
    if (member.phase == "Running") ++pods.running;
    if (member.phase == "Succeeded") ++pods.succeeded;
    if (member.phase == "Failed") ++pods.failed;
    if (first == nullptr || member.name < first->name) first = &member;
  }
  if (first != nullptr) pods.occupied_by = first->occupied_by;
  const auto& group = found->second.object->As<api::PodGroup>();
  api::PodGroupStatus status = NextStatus(group, pods);
  if (status.SerializeAsString() == group.status().SerializeAsString()) return std::nullopt;
  auto changed = std::make_shared<api::PodGroup>(group);
  *changed->mutable_status() = std::move(status);
  return ObjectUpdate{Object::Of(std::move(changed)), ObjectUpdate::Part::kStatus};
}

// elasticquota_controller.go Reconcile: of several quotas of a namespace the first counts.
std::optional<ObjectUpdate> GroupStatuses::QuotaUpdate(const std::string& namespace_name) {
  MutexLock lock(mutex_);
  const auto found = quotas_.find(namespace_name);
  if (found == quotas_.end() || found->second.empty()) return std::nullopt;
  const auto& quota = found->second.begin()->second.As<api::ElasticQuota>();
  std::map<std::string, Quantity> used;
  for (const auto* const list : {&quota.spec().min(), &quota.spec().max()}) {
    for (const auto& [name, quantity] : *list) used[name] = Quantity();
  }
  const auto usage = usages_.find(namespace_name);
  if (usage != usages_.end()) {
    for (const auto& [name, sum] : usage->second.sums) used[name] = sum.amount;
  }
  if (Parsed(quota.status().used()) == used) return std::nullopt;
  auto changed = std::make_shared<api::ElasticQuota>(quota);
  auto& written = *changed->mutable_status()->mutable_used();
  written.clear();
  for (const auto& [name, quantity] : used) written[name].set_string(quantity.ToString());
  return ObjectUpdate{Object::Of(std::move(changed)), ObjectUpdate::Part::kStatus};
}

}  // namespace berth
