// Implementation of in_memory_cluster.h.
#include "berth/in_memory_cluster.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/time.h"

namespace berth {
namespace {

constexpr int64_t kDefaultGracePeriodSeconds = 30;  // as the API server defaults it

std::string Key(const PodReference& pod) { return absl::StrCat(pod.namespace_name, "/", pod.name); }

absl::Status Gone(const PodReference& pod) {
  return absl::NotFoundError(absl::StrCat("pod ", Key(pod), " is gone"));
}

// A changed copy of a stored pod.
Object With(const Object& object, const std::function<void(api::Pod&)>& change) {
  auto pod = std::make_shared<api::Pod>(object.As<api::Pod>());
  change(*pod);
  return Object::Of(std::move(pod), object.where());
}

void SetCondition(const PodStatusPatch& patch, api::PodStatus* status) {
  api::PodCondition* condition = nullptr;
  for (api::PodCondition& existing : *status->mutable_conditions()) {
    if (existing.type() == patch.condition_type) condition = &existing;
  }
  if (condition == nullptr) condition = status->add_conditions();
  condition->set_type(patch.condition_type);
  condition->set_status(patch.condition_true ? "True" : "False");
  condition->set_reason(patch.condition_reason);
  condition->set_message(patch.condition_message);
}

}  // namespace

void InMemoryCluster::Put(Object object) {
  Store& store = objects_[object.kind()];
  const std::string key(object.key());
  auto it = store.find(key);
  if (it == store.end()) {
    store.emplace(key, Stored{object, next_order_++});
  } else {
    const bool recreated = it->second.object.uid() != object.uid();
    Object last = std::exchange(it->second.object, object);
    if (recreated && sink_ != nullptr) {
      sink_->Deliver({{WatchEvent::Type::kDeleted, std::move(last)}});
    }
  }
  if (sink_ != nullptr) sink_->Deliver({{WatchEvent::Type::kSet, std::move(object)}});
}

bool InMemoryCluster::Remove(Kind kind, absl::string_view key) {
  Store& store = objects_[kind];
  auto it = store.find(key);
  if (it == store.end()) return false;
  Object last = std::move(it->second.object);
  store.erase(it);
  if (sink_ != nullptr) sink_->Deliver({{WatchEvent::Type::kDeleted, std::move(last)}});
  return true;
}

InMemoryCluster::Stored* InMemoryCluster::FindPod(const PodReference& pod) {
  Store& store = objects_[Kind::kPod];
  auto it = store.find(Key(pod));
  if (it == store.end()) return nullptr;
  if (!pod.uid.empty() && it->second.object.uid() != pod.uid) return nullptr;
  return &it->second;
}

void InMemoryCluster::Set(Object object) {
  MutexLock lock(mutex_);
  Put(std::move(object));
}

bool InMemoryCluster::Delete(Kind kind, absl::string_view key) {
  MutexLock lock(mutex_);
  return Remove(kind, key);
}

bool InMemoryCluster::Finish(absl::string_view pod_key) {
  MutexLock lock(mutex_);
  Store& store = objects_[Kind::kPod];
  auto it = store.find(pod_key);
  if (it == store.end()) return false;
  Put(With(it->second.object, [](api::Pod& pod) { pod.mutable_status()->set_phase("Succeeded"); }));
  return true;
}

std::shared_ptr<const google::protobuf::Message> InMemoryCluster::Find(
    Kind kind, absl::string_view key) const {
  MutexLock lock(mutex_);
  auto store = objects_.find(kind);
  if (store == objects_.end()) return nullptr;
  auto it = store->second.find(key);
  return it == store->second.end() ? nullptr : it->second.object.shared_message();
}

std::vector<Object> InMemoryCluster::List(Kind kind) const {
  MutexLock lock(mutex_);
  std::vector<const Stored*> stored;
  if (auto store = objects_.find(kind); store != objects_.end()) {
    for (const auto& [key, value] : store->second) stored.push_back(&value);
  }
  std::sort(stored.begin(), stored.end(),
            [](const Stored* a, const Stored* b) { return a->order < b->order; });
  std::vector<Object> list;
  for (const Stored* value : stored) list.push_back(value->object);
  return list;
}

std::vector<std::pair<std::string, std::string>> InMemoryCluster::Bindings() const {
  MutexLock lock(mutex_);
  return bindings_;
}

std::vector<std::string> InMemoryCluster::Evictions() const {
  MutexLock lock(mutex_);
  return evictions_;
}

std::vector<ClusterNote> InMemoryCluster::Notes() const {
  MutexLock lock(mutex_);
  return {notes_.begin(), notes_.end()};
}

absl::Time InMemoryCluster::NextDue() const {
  MutexLock lock(mutex_);
  return deletions_.empty() ? absl::InfiniteFuture() : deletions_.begin()->first;
}

void InMemoryCluster::AdvanceTo(absl::Time now) {
  MutexLock lock(mutex_);
  while (!deletions_.empty() && deletions_.begin()->first <= now) {
    const auto [key, uid] = deletions_.begin()->second;
    deletions_.erase(deletions_.begin());
    Store& store = objects_[Kind::kPod];
    auto it = store.find(key);
    if (it != store.end() && it->second.object.uid() == uid) Remove(Kind::kPod, key);
  }
}

void InMemoryCluster::SetBindFault(BindFault fault) {
  MutexLock lock(mutex_);
  bind_fault_ = std::move(fault);
}

absl::Status InMemoryCluster::Watch(WatchSink& sink) {
  MutexLock lock(mutex_);
  sink_ = &sink;
  std::vector<const Stored*> stored;
  for (const auto& [kind, store] : objects_) {
    for (const auto& [key, value] : store) stored.push_back(&value);
  }
  std::sort(stored.begin(), stored.end(),
            [](const Stored* a, const Stored* b) { return a->order < b->order; });
  std::vector<WatchEvent> events;
  events.reserve(stored.size() + 1);
  for (const Stored* value : stored) events.push_back({WatchEvent::Type::kSet, value->object});
  events.push_back({WatchEvent::Type::kSynced, std::nullopt});
  sink.Deliver(std::move(events));
  return absl::OkStatus();
}

void InMemoryCluster::StopWatching() {
  MutexLock lock(mutex_);
  sink_ = nullptr;
}

absl::Status InMemoryCluster::Bind(const PodBinding& binding) {
  const PodReference& pod = binding.pod;
  const std::string& node_name = binding.node_name;
  MutexLock lock(mutex_);
  if (bind_fault_ != nullptr) {
    absl::Status fault = bind_fault_(pod, node_name);
    if (!fault.ok()) return fault;
  }
  Stored* stored = FindPod(pod);
  if (stored == nullptr) return Gone(pod);
  const api::Pod& current = stored->object.As<api::Pod>();
  if (!current.spec().node_name().empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "pod ", Key(pod), " is already assigned to node ", current.spec().node_name()));
  }
  if (current.metadata().has_deletion_timestamp()) {
    return absl::FailedPreconditionError(absl::StrCat("pod ", Key(pod), " is being deleted"));
  }
  if (!objects_[Kind::kNode].contains(node_name)) {
    return absl::NotFoundError(absl::StrCat("node ", node_name, " is gone"));
  }
  bindings_.emplace_back(Key(pod), node_name);
  Put(With(stored->object, [&](api::Pod& changed) {
    changed.mutable_spec()->set_node_name(node_name);
    for (const auto& [key, value] : binding.annotations) {
      (*changed.mutable_metadata()->mutable_annotations())[key] = value;
    }
    changed.mutable_status()->set_phase("Running");
    changed.mutable_status()->clear_nominated_node_name();
    SetTime(clock_.Now(), changed.mutable_status()->mutable_start_time());
    PodStatusPatch scheduled;
    scheduled.condition_type = "PodScheduled";
    scheduled.condition_true = true;
    SetCondition(scheduled, changed.mutable_status());
  }));
  return absl::OkStatus();
}

absl::Status InMemoryCluster::Evict(const PodReference& pod, const std::string& message) {
  MutexLock lock(mutex_);
  Stored* stored = FindPod(pod);
  if (stored == nullptr) return Gone(pod);
  const api::Pod& current = stored->object.As<api::Pod>();
  if (current.metadata().has_deletion_timestamp()) return absl::OkStatus();
  evictions_.push_back(Key(pod));
  const int64_t grace = current.spec().has_termination_grace_period_seconds()
                            ? current.spec().termination_grace_period_seconds()
                            : kDefaultGracePeriodSeconds;
  if (grace <= 0 || current.spec().node_name().empty()) {
    Remove(Kind::kPod, Key(pod));
    return absl::OkStatus();
  }
  const absl::Time due = clock_.Now() + absl::Seconds(grace);
  deletions_.emplace(due, std::make_pair(Key(pod), std::string(stored->object.uid())));
  Put(With(stored->object, [&](api::Pod& changed) {
    SetTime(due, changed.mutable_metadata()->mutable_deletion_timestamp());
    changed.mutable_metadata()->set_deletion_grace_period_seconds(grace);
    PodStatusPatch target;
    target.condition_type = "DisruptionTarget";
    target.condition_true = true;
    target.condition_reason = "PreemptionByScheduler";
    target.condition_message = message;
    SetCondition(target, changed.mutable_status());
  }));
  return absl::OkStatus();
}

absl::Status InMemoryCluster::PatchPodStatus(const PodStatusPatch& patch) {
  MutexLock lock(mutex_);
  Stored* stored = FindPod(patch.pod);
  if (stored == nullptr) return Gone(patch.pod);
  Put(With(stored->object, [&](api::Pod& changed) {
    if (!patch.condition_type.empty()) SetCondition(patch, changed.mutable_status());
    if (patch.nominated_node_name.has_value()) {
      changed.mutable_status()->set_nominated_node_name(*patch.nominated_node_name);
    }
  }));
  return absl::OkStatus();
}

void InMemoryCluster::Record(const ClusterNote& note) {
  MutexLock lock(mutex_);
  notes_.push_back(note);
  if (notes_.size() > kMaxNotes) notes_.pop_front();
}

}  // namespace berth
