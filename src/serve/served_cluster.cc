// SPDX-License-Identifier: Apache-2.0
// Implementation of served_cluster.h.
#include "serve/served_cluster.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/object_meta.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/decode.h"
#include "berth/api/pod_status.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/api/time.h"
#include "cluster/object_parts.h"

namespace berth {
namespace {

constexpr int64_t kDefaultGracePeriodSeconds = 30;  // as the API server defaults it

absl::Status Gone(const Identity& pod) {
  return absl::NotFoundError(absl::StrCat("pod ", pod.key(), " is gone"));
}

void Name(const Identity& pod, v1::PodName& name) {
  name.set_namespace_(std::string(pod.namespace_name()));
  name.set_name(std::string(pod.name()));
  if (pod.has_uid()) name.set_uid(pod.uid());
}

std::string NodeOf(const PackedPod& pod) {
  std::string node;
  pod.ReadOwn([&](const api::Pod& own) { node = own.spec().node_name(); });
  return node;
}

bool IsLeaving(const PackedPod& pod) {
  bool leaving = false;
  pod.ReadOwn([&](const api::Pod& own) { leaving = own.metadata().has_deletion_timestamp(); });
  return leaving;
}

}  // namespace

// --- The client's side ---------------------------------------------------------------------------

void ServedCluster::BeginAnew() {
  MutexLock lock(mutex_);
  ++round_;
  anew_ = true;
}

void ServedCluster::Apply(
    std::vector<ClientChange> changes,
    absl::FunctionRef<void(const ClientChange& change, std::string why)> refuse) {
  Events events;
  events.reserve(changes.size());
  MutexLock lock(mutex_);
  for (ClientChange& change : changes) {
    if (!change.object.has_value()) {
      Discard(*change.name, events);
    } else if (!Set(*change.object, events)) {
      refuse(change, absl::StrCat("the cluster has ", max_objects_,
                                  " objects, which is as many as this server takes"));
    }
  }
  Deliver(std::move(events));
}

void ServedCluster::Sync() {
  Events events;
  MutexLock lock(mutex_);
  if (anew_) {
    std::vector<IdentityPtr> gone;
    for (const Store& store : objects_) {
      store.ForEach([&](const Identity&, const Stored& stored) ABSL_NO_THREAD_SAFETY_ANALYSIS {
        if (stored.sent != round_) gone.push_back(stored.object.identity());
      });
    }
    for (const IdentityPtr& who : gone) Discard(*who, events);
    anew_ = false;
  }
  if (!synced_) events.push_back({WatchEvent::Type::kSynced, std::nullopt});
  synced_ = true;
  Deliver(std::move(events));
}

v1::Events ServedCluster::TakeDecisions() {
  MutexLock lock(mutex_);
  return std::exchange(decisions_, {});
}

void ServedCluster::Wake() {
  MutexLock lock(mutex_);
  if (sink_ != nullptr) sink_->Deliver({});
}

std::vector<Object> ServedCluster::Objects() const {
  std::vector<std::pair<uint64_t, Object>> stored;
  {
    MutexLock lock(mutex_);
    stored.reserve(size_);
    for (const Store& store : objects_) {
      store.ForEach(
          [&](const Identity&, const Stored& one) { stored.emplace_back(one.order, one.object); });
    }
  }
  std::sort(stored.begin(), stored.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Object> objects;
  objects.reserve(stored.size());
  for (auto& [order, object] : stored) objects.push_back(std::move(object));
  return objects;
}

bool ServedCluster::Set(Object object, Events& events) {
  const Kind kind = object.kind();
  Stored* stored = StoreOf(kind).Find(*object.identity());
  if (kind != Kind::kPod) {
    object = Versioned(object);
  } else if (stored != nullptr && stored->object.identity()->has_uid() &&
             !object.identity()->has_uid()) {
    const std::string& uid = stored->object.identity()->uid();
    object =
        Object(object.packed()->With([&](api::Pod& own) { own.mutable_metadata()->set_uid(uid); }));
  }
  if (stored != nullptr && stored->object.uid() != object.uid()) {  // another one of that name
    Discard(*object.identity(), events);
    stored = nullptr;
  }
  if (stored == nullptr) {
    if (size_ >= max_objects_) return false;
    ++size_;
    StoreOf(kind).FindOrAdd(object.identity(), Stored{object, next_order_++, round_, {}, {}, {}});
  } else {
    if (kind == Kind::kPod) object = WithDecisions(std::move(object), *stored);
    if (kind == Kind::kResourceClaim) object = WithDevices(std::move(object), *stored);
    stored->object = object;
    stored->sent = round_;
  }
  Append(WatchEvent::Type::kSet, std::move(object), events);
  return true;
}

void ServedCluster::Discard(const Identity& who, Events& events) {
  Store& store = StoreOf(who.kind());
  Stored* const stored = store.Find(who);
  if (stored == nullptr) return;
  Object last = std::move(stored->object);
  store.Erase(who);
  --size_;
  Append(WatchEvent::Type::kDeleted, std::move(last), events);
}

// A client that sends everything again and does not know of a decision missed it.
Object ServedCluster::WithDecisions(Object pod, Stored& stored) {
  if (stored.binding != nullptr) {
    if (!NodeOf(*pod.packed()).empty()) {
      stored.binding = nullptr;  // from here on the client says where it is
    } else {
      pod = Object(BoundPod(*pod.packed(), *stored.binding));
      if (anew_) TellPlacement(*stored.binding);
    }
  }
  if (stored.condition != nullptr) {
    if (!NodeOf(*pod.packed()).empty()) {
      stored.condition = nullptr;
    } else {
      pod = Object(PodWithCondition(*pod.packed(), *stored.condition));
      if (anew_) *decisions_.add_events()->mutable_condition() = *stored.condition;
    }
  }
  if (stored.eviction != nullptr) {
    if (IsLeaving(*pod.packed())) {
      stored.eviction = nullptr;
    } else {
      pod = Object(LeavingPod(*pod.packed(), *stored.eviction));
      if (anew_) TellEviction(*pod.identity(), *stored.eviction);
    }
  }
  return pod;
}

Object ServedCluster::WithDevices(Object claim, Stored& stored) {
  const api::ResourceClaim& sent = claim.As<api::ResourceClaim>();
  const api::ResourceClaim& known = stored.object.As<api::ResourceClaim>();
  if (sent.status().has_allocation() || !IsReservedForAny(known)) stored.gives_devices = false;
  if (!stored.gives_devices) return claim;
  auto message = std::make_shared<api::ResourceClaim>(sent);
  *message->mutable_status() = known.status();
  *message->mutable_metadata()->mutable_finalizers() = known.metadata().finalizers();
  Object kept(claim.kind(), std::move(message), claim.where());
  if (anew_) TellWritten(kept, /*status_only=*/false);
  return kept;
}

bool ServedCluster::IsReservedForAny(const api::ResourceClaim& claim) {
  for (const auto& user : claim.status().reserved_for()) {
    const Stored* const pod =
        StoreOf(Kind::kPod).Find(absl::StrCat(claim.metadata().namespace_(), "/", user.name()));
    if (pod != nullptr && pod->object.uid() == user.uid()) return true;
  }
  return false;
}

std::shared_ptr<const PackedPod> ServedCluster::BoundPod(const PackedPod& pod,
                                                         const PodBinding& binding) const {
  const Symbol node = Symbol::Intern(binding.node_name);
  if (binding.annotations.empty() && binding.labels.empty()) return pod.Bound(node, clock_.Now());
  return pod
      .With([&](api::Pod& own) {
        for (const auto& [key, value] : binding.annotations) {
          (*own.mutable_metadata()->mutable_annotations())[key] = value;
        }
        for (const auto& [key, value] : binding.labels) {
          own.mutable_metadata()->mutable_labels()->insert({key, value});
        }
      })
      ->Bound(node, clock_.Now());
}

std::shared_ptr<const PackedPod> ServedCluster::LeavingPod(const PackedPod& pod,
                                                           const std::string& message) const {
  return pod.With([&](api::Pod& own) {
    const int64_t grace = own.spec().has_termination_grace_period_seconds()
                              ? own.spec().termination_grace_period_seconds()
                              : kDefaultGracePeriodSeconds;
    SetTime(clock_.Now() + absl::Seconds(std::max<int64_t>(grace, 0)),
            own.mutable_metadata()->mutable_deletion_timestamp());
    own.mutable_metadata()->set_deletion_grace_period_seconds(grace);
    api::PodCondition& condition =
        SetCondition("DisruptionTarget", true, clock_.Now(), *own.mutable_status());
    condition.set_reason("PreemptionByScheduler");
    condition.set_message(message);
  });
}

// An update says which state it is based on; a claim is counted by its uid.
Object ServedCluster::Versioned(const Object& object) {
  std::shared_ptr<google::protobuf::Message> message = CopyOf(object.message());
  api::ObjectMeta& metadata = MutableObjectMetaOf(object.kind(), *message);
  metadata.set_resource_version(absl::StrCat(++last_version_));
  const bool is_claim =
      object.kind() == Kind::kPersistentVolumeClaim || object.kind() == Kind::kResourceClaim;
  if (metadata.uid().empty()) {
    const Stored* const stored = StoreOf(object.kind()).Find(*object.identity());
    if (stored != nullptr && stored->object.identity()->has_uid()) {
      metadata.set_uid(stored->object.identity()->uid());
    } else if (is_claim) {
      metadata.set_uid(absl::StrCat(object.name(), "-", last_version_));
    }
  }
  return Object(object.kind(), std::move(message), object.where());
}

void ServedCluster::Append(WatchEvent::Type type, Object object, Events& events) const {
  if (!wanted_[static_cast<size_t>(object.kind())]) return;
  events.push_back({type, std::move(object)});
}

void ServedCluster::Deliver(Events events) {
  if (sink_ != nullptr && !events.empty()) sink_->Deliver(std::move(events));
}

// --- Cluster -------------------------------------------------------------------------------------

absl::Status ServedCluster::Watch(WatchSink& sink, const std::vector<Kind>& kinds) {
  Events events;
  MutexLock lock(mutex_);
  sink_ = &sink;
  for (const Kind kind : kinds) wanted_[static_cast<size_t>(kind)] = true;
  for (const Store& store : objects_) {
    store.ForEach([&](const Identity&, const Stored& stored) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      Append(WatchEvent::Type::kSet, stored.object, events);
    });
  }
  if (synced_) events.push_back({WatchEvent::Type::kSynced, std::nullopt});
  Deliver(std::move(events));
  return absl::OkStatus();
}

void ServedCluster::StopWatching() {
  MutexLock lock(mutex_);
  sink_ = nullptr;
}

ServedCluster::Stored* ServedCluster::FindPod(const Identity& pod) {
  Stored* const stored = StoreOf(Kind::kPod).Find(pod);
  if (stored == nullptr || stored->object.identity().get() == &pod) return stored;
  return stored->object.uid() == pod.uid() ? stored : nullptr;
}

absl::Status ServedCluster::Bind(const PodBinding& binding) {
  const Identity& pod = *binding.pod;
  MutexLock lock(mutex_);
  Stored* const stored = FindPod(pod);
  if (stored == nullptr) return Gone(pod);
  const std::shared_ptr<const PackedPod> packed = stored->object.packed();
  bool leaving = false;
  std::string node;
  packed->ReadOwn([&](const api::Pod& own) {
    node = own.spec().node_name();
    leaving = own.metadata().has_deletion_timestamp();
  });
  if (!node.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("pod ", pod.key(), " is already assigned to node ", node));
  }
  if (leaving) {
    return absl::FailedPreconditionError(absl::StrCat("pod ", pod.key(), " is being deleted"));
  }
  if (!StoreOf(Kind::kNode).Contains(binding.node_name)) {
    return absl::NotFoundError(absl::StrCat("node ", binding.node_name, " is gone"));
  }
  stored->binding = std::make_shared<const PodBinding>(binding);
  stored->condition = nullptr;
  TellPlacement(binding);
  ReplaceBySelf(*stored, Object(BoundPod(*packed, binding), stored->object.where()));
  return absl::OkStatus();
}

void ServedCluster::ReplaceBySelf(Stored& stored, Object object) {
  stored.object = object;
  if (sink_ == nullptr || !wanted_[static_cast<size_t>(object.kind())]) return;
  sink_->DeliverOne({WatchEvent::Type::kSet, std::move(object)});
}

absl::StatusOr<std::string> ServedCluster::AssignedNode(const Identity& pod) {
  MutexLock lock(mutex_);
  const Stored* const stored = FindPod(pod);
  if (stored == nullptr) return Gone(pod);
  return NodeOf(*stored->object.packed());
}

absl::Status ServedCluster::Evict(const Identity& pod, const std::string& message) {
  MutexLock lock(mutex_);
  Stored* const stored = FindPod(pod);
  if (stored == nullptr) return Gone(pod);
  if (IsLeaving(*stored->object.packed())) return absl::OkStatus();
  stored->eviction = std::make_shared<const std::string>(message);
  TellEviction(*stored->object.identity(), message);
  ReplaceBySelf(*stored,
                Object(LeavingPod(*stored->object.packed(), message), stored->object.where()));
  return absl::OkStatus();
}

absl::Status ServedCluster::PatchPodStatus(const PodStatusPatch& patch) {
  MutexLock lock(mutex_);
  Stored* const stored = FindPod(*patch.pod);
  if (stored == nullptr) return Gone(*patch.pod);
  auto told = std::make_shared<v1::Condition>();
  Name(*stored->object.identity(), *told->mutable_pod());
  told->set_type(patch.condition_type);
  told->set_status(patch.condition_true);
  told->set_reason(patch.condition_reason);
  told->set_message(patch.condition_message);
  if (patch.nominated_node_name.has_value()) told->set_nominated_node(*patch.nominated_node_name);
  *decisions_.add_events()->mutable_condition() = *told;
  auto changed = PodWithCondition(*stored->object.packed(), *told);
  if (NodeOf(*changed).empty()) {  // what this patch leaves as it was is as it was told last
    const std::shared_ptr<const v1::Condition> last = stored->condition;
    if (last != nullptr && !told->has_nominated_node() && last->has_nominated_node()) {
      told->set_nominated_node(last->nominated_node());
    }
    if (last != nullptr && told->type().empty()) {
      told->set_type(last->type());
      told->set_status(last->status());
      told->set_reason(last->reason());
      told->set_message(last->message());
    }
    stored->condition = std::move(told);
  }
  ReplaceBySelf(*stored, Object(std::move(changed), stored->object.where()));
  return absl::OkStatus();
}

std::shared_ptr<const PackedPod> ServedCluster::PodWithCondition(
    const PackedPod& pod, const v1::Condition& condition) const {
  return pod.With([&](api::Pod& own) {
    api::PodStatus& status = *own.mutable_status();
    if (!condition.type().empty()) {
      api::PodCondition& set =
          SetCondition(condition.type(), condition.status(), clock_.Now(), status);
      set.set_reason(condition.reason());
      set.set_message(condition.message());
    }
    if (condition.has_nominated_node()) {
      status.set_nominated_node_name(condition.nominated_node());
    }
  });
}

absl::Status ServedCluster::Update(const ObjectUpdate& update) {
  const Object& object = update.object;
  if (object.kind() == Kind::kPod) {
    return absl::InvalidArgumentError("pods are bound and patched, not updated");
  }
  MutexLock lock(mutex_);
  Stored* const stored = StoreOf(object.kind()).Find(*object.identity());
  const auto named = absl::StrCat(Plural(object.kind()), " \"", object.name(), "\"");
  if (stored == nullptr) return absl::NotFoundError(absl::StrCat(named, " not found"));
  const api::ObjectMeta& current = ObjectMetaOf(object.kind(), stored->object.message());
  const api::ObjectMeta& based_on = ObjectMetaOf(object.kind(), object.message());
  if (based_on.resource_version() != current.resource_version() ||
      based_on.uid() != current.uid()) {
    return absl::AbortedError(absl::StrCat(named, " was changed since"));
  }
  PutPart(*stored, object.message(), update.part);
  return absl::OkStatus();
}

absl::Status ServedCluster::Edit(const ObjectEdit& edit) {
  const Identity& who = *edit.object;
  if (who.kind() == Kind::kPod) {
    return absl::InvalidArgumentError("pods are bound and patched, not edited");
  }
  MutexLock lock(mutex_);
  Stored* const stored = StoreOf(who.kind()).Find(who);
  if (stored == nullptr || stored->object.uid() != who.uid()) {
    return absl::NotFoundError(absl::StrCat(Plural(who.kind()), " \"", who.name(), "\" not found"));
  }
  const auto edited = CopyOf(stored->object.message());
  absl::Status status = edit.edit(*edited);
  if (!status.ok()) return status;
  if (edited->SerializeAsString() != stored->object.message().SerializeAsString()) {
    PutPart(*stored, *edited, edit.part);
  }
  return absl::OkStatus();
}

void ServedCluster::PutPart(Stored& stored, const google::protobuf::Message& message,
                            ObjectUpdate::Part part) {
  const bool status_only = part == ObjectUpdate::Part::kStatus;
  const Object& current = stored.object;
  auto updated = CopyOf(status_only ? current.message() : message);
  CopyStatus(status_only ? message : current.message(), *updated);
  Object object = Versioned(Object(current.kind(), std::move(updated), current.where()));
  stored.gives_devices = object.kind() == Kind::kResourceClaim &&
                         object.As<api::ResourceClaim>().status().has_allocation();
  TellWritten(object, status_only);
  ReplaceBySelf(stored, std::move(object));
}

void ServedCluster::TellWritten(const Object& object, bool status_only) {
  v1::Written& told = *decisions_.add_events()->mutable_written();
  told.set_status_only(status_only);
  told.set_api_version(std::string(ApiVersion(object.kind())));
  told.set_kind(std::string(KindName(object.kind())));
  told.set_namespace_(std::string(object.namespace_name()));
  told.set_name(std::string(object.name()));
  told.set_json(ToJson(object.message()));
}

void ServedCluster::Record(RecordedEvent event) {
  if (event.reason == "Scheduled") return;  // the placement says so
  MutexLock lock(mutex_);
  v1::Note& told = *decisions_.add_events()->mutable_note();
  Name(*event.regarding, *told.mutable_pod());
  if (event.regarding->kind() != Kind::kPod) {
    told.set_api_version(std::string(ApiVersion(event.regarding->kind())));
    told.set_kind(std::string(KindName(event.regarding->kind())));
  }
  told.set_warning(event.warning);
  told.set_reason(std::string(event.reason));
  told.set_action(std::string(event.action));
  told.set_text(event.note());
  if (event.related != nullptr) Name(*event.related, *told.mutable_related());
}

void ServedCluster::TellPlacement(const PodBinding& binding) {
  v1::Placement& told = *decisions_.add_events()->mutable_placement();
  Name(*binding.pod, *told.mutable_pod());
  told.set_node(binding.node_name);
  for (const auto& [key, value] : binding.annotations) (*told.mutable_annotations())[key] = value;
  for (const auto& [key, value] : binding.labels) (*told.mutable_labels())[key] = value;
}

void ServedCluster::TellEviction(const Identity& pod, const std::string& message) {
  v1::Eviction& told = *decisions_.add_events()->mutable_eviction();
  Name(pod, *told.mutable_pod());
  told.set_message(message);
}

}  // namespace berth
