// SPDX-License-Identifier: Apache-2.0
// Implementation of in_memory_cluster.h.
#include "berth/in_memory_cluster.h"

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "api/prefetch.h"
#include "berth/api/admission.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/meta_v1.pb.h"
#include "berth/api/pod_status.h"
#include "berth/api/scheduling_v1.pb.h"
#include "berth/api/time.h"
#include "cluster/binding_faults.h"
#include "cluster/cluster_objects.h"
#include "cluster/controllers.h"
#include "cluster/object_parts.h"
#include "cluster/pod_admission.h"
#include "cluster/stored_objects.h"
#include "cluster/watch_stream.h"

namespace berth {
namespace {

absl::Status Gone(const Identity& pod) {
  return absl::NotFoundError(absl::StrCat("pod ", pod.key(), " is gone"));
}

}  // namespace

// Called with the mutex held.
class InMemoryCluster::ControllerObjects final : public ClusterObjects {
 public:
  explicit ControllerObjects(InMemoryCluster& cluster) : cluster_(cluster) {}

  const Object* Find(Kind kind,
                     absl::string_view key) const override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const StoredObject* const stored = cluster_.objects_->of(kind).Find(key);
    return stored == nullptr ? nullptr : &stored->object;
  }
  std::vector<Object> List(Kind kind) const override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return cluster_.objects_->List(kind);
  }
  void Put(Object object) override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    StoredPodState state;
    if (object.kind() == Kind::kPod) {
      object.packed()->ReadOwn([&](const api::Pod& own) { state = StoredPodState(own); });
    }
    cluster_.Put(std::move(object), state);
  }
  void Remove(Kind kind, absl::string_view key) override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    cluster_.Remove(kind, key);
  }

 private:
  InMemoryCluster& cluster_;
};

InMemoryCluster::InMemoryCluster(const Clock& clock)
    : clock_(clock),
      objects_(std::make_unique<StoredObjects>()),
      // Called with the mutex held, as all of the stream.
      watch_(std::make_unique<WatchStream>(
          [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return objects_->ListAll(); })),
      admission_(std::make_unique<Admission>()),
      controller_objects_(std::make_unique<ControllerObjects>(*this)),
      controllers_(std::make_unique<Controllers>(*controller_objects_, *objects_)),
      faults_(std::make_unique<BindingFaults>()) {}

InMemoryCluster::~InMemoryCluster() = default;

void InMemoryCluster::Observe(std::function<void(const Incident&)> observe) {
  MutexLock lock(mutex_);
  observe_ = std::move(observe);
}

void InMemoryCluster::Tell(const Incident& incident) {
  if (observe_ != nullptr) observe_(incident);
}

// --- Storing -------------------------------------------------------------------------------------

void InMemoryCluster::Put(Object object, const StoredPodState& state) {
  if (object.kind() != Kind::kPod) object = objects_->WithNextVersion(object);
  const auto [stored, is_new] = objects_->FindOrAdd(object, state);
  if (!is_new) return Replace(*stored, std::move(object), state);
  if (state.on_node) Start(object, state);
  if (state.leaving) ExpectDeletion(object, state);
  Announce(Incident::What::kCreated, std::move(object));
}

void InMemoryCluster::Replace(StoredObject& stored, Object object, const StoredPodState& state) {
  const bool recreated =
      stored.object.identity() != object.identity() && stored.object.uid() != object.uid();
  const bool was_on_node = stored.pod.on_node && !recreated;
  const bool was_expected = stored.pod.leaving && was_on_node;
  Object last = std::exchange(stored.object, object);
  stored.pod = state;
  if (recreated) {
    Announce(Incident::What::kDeleted, std::move(last));
  }
  if (state.on_node && !was_on_node) Start(object, state);
  if (state.leaving && !was_expected) ExpectDeletion(object, state);
  Announce(recreated ? Incident::What::kCreated : Incident::What::kChanged, std::move(object));
}

// The pod runs from now on, and ends if it says when.
void InMemoryCluster::Start(const Object& pod, const StoredPodState& state) {
  if (state.ended || state.run_time == absl::InfiniteDuration()) return;
  ends_.emplace(clock_.Now() + state.run_time, End{pod.identity(), End::Kind::kFinished});
}

// A pod on a node is gone when its grace period is over: at metadata.deletionTimestamp, or at once
// if that has passed. One without a node leaves when its finalizers are gone, which nothing here
// removes.
void InMemoryCluster::ExpectDeletion(const Object& pod, const StoredPodState& state) {
  if (!state.on_node) return;
  ends_.emplace(std::max(clock_.Now(), state.deletion_time),
                End{pod.identity(), End::Kind::kDeleted});
}

bool InMemoryCluster::Remove(Kind kind, absl::string_view key) {
  StoredObjects::OfKind& of_kind = objects_->of(kind);
  StoredObject* const stored = of_kind.Find(key);
  if (stored == nullptr) return false;
  Object last = std::move(stored->object);
  of_kind.Erase(key);
  Announce(Incident::What::kDeleted, std::move(last));
  return true;
}

// Created, changed or deleted: the watch and the controllers follow.
void InMemoryCluster::Announce(Incident::What what, Object object) {
  Tell({.what = what, .object = &object});
  const bool is_gone = what == Incident::What::kDeleted;
  const WatchStream::Change change = is_gone ? WatchStream::Change::kDeleted
                                     : what == Incident::What::kCreated
                                         ? WatchStream::Change::kCreated
                                         : WatchStream::Change::kChanged;
  controllers_->Follow(object, is_gone);
  if (!controllers_->AffectsBudgets(object)) {
    watch_->Push(change, std::move(object), clock_.Now());
    return;
  }
  watch_->Push(change, object, clock_.Now());
  controllers_->UpdateBudgets(object, is_gone, clock_.Now());
}

void InMemoryCluster::RunDisruptionController() {
  MutexLock lock(mutex_);
  controllers_->RunDisruptionController(clock_.Now());
}

void InMemoryCluster::RunVolumeController() {
  MutexLock lock(mutex_);
  controllers_->RunVolumeController(clock_.Now());
}

void InMemoryCluster::RunResourceClaimController() {
  MutexLock lock(mutex_);
  controllers_->RunResourceClaimController(clock_.Now());
}

// --- The outside world changes something ---------------------------------------------------------

Object InMemoryCluster::Admitted(Object pod) {
  const StoredObject* const stored = objects_->of(Kind::kPod).Find(*pod.identity());
  return AdmitPod(std::move(pod), stored == nullptr ? nullptr : &stored->object, *admission_,
                  clock_.Now());
}

void InMemoryCluster::ChangePod(const Object& pod, absl::FunctionRef<void(api::Pod& own)> change) {
  StoredPodState state;
  auto changed = pod.packed()->With([&](api::Pod& own) {
    change(own);
    state = StoredPodState(own);
  });
  Put(Object(std::move(changed), pod.where()), state);
}

void InMemoryCluster::Set(Object object) {
  MutexLock lock(mutex_);
  Take(std::move(object));
  controllers_->Reconcile(clock_.Now());
}

void InMemoryCluster::Set(std::vector<Object> objects) {
  MutexLock lock(mutex_);
  for (Object& object : objects) Take(std::move(object));
  controllers_->Reconcile(clock_.Now());
}

void InMemoryCluster::Take(Object object) {
  const Kind kind = object.kind();
  StoredPodState state;
  if (kind == Kind::kPod) {  // pods are stored packed
    if (!object.is_packed()) object = Object(object.packed(), object.where());
    object.packed()->ReadOwn([&](const api::Pod& own) { state = StoredPodState(own); });
  }
  if (kind == Kind::kPriorityClass) admission_->Learn(object.As<api::PriorityClass>());
  Put(kind == Kind::kPod ? Admitted(std::move(object)) : std::move(object), state);
}

bool InMemoryCluster::Delete(Kind kind, absl::string_view key) {
  MutexLock lock(mutex_);
  const bool was_there = Remove(kind, key);
  if (kind == Kind::kPriorityClass) admission_->ForgetPriorityClass(std::string(key));
  controllers_->Reconcile(clock_.Now());
  return was_there;
}

bool InMemoryCluster::DeleteGracefully(absl::string_view pod_key) {
  MutexLock lock(mutex_);
  const StoredObject* const stored = objects_->of(Kind::kPod).Find(pod_key);
  if (stored == nullptr) return false;
  if (!stored->pod.leaving) StartDeletion(Object(stored->object), nullptr);
  controllers_->Reconcile(clock_.Now());
  return true;
}

void InMemoryCluster::StartDeletion(const Object& pod,
                                    const std::function<void(api::Pod& own)>& change) {
  const StoredPodState stored = objects_->FindPod(*pod.identity())->pod;
  const int64_t grace = stored.grace_seconds;
  if (!stored.on_node || stored.ended || grace <= 0) {
    Remove(Kind::kPod, pod.key());
    return;
  }
  ChangePod(pod, [&](api::Pod& own) {
    SetTime(clock_.Now() + absl::Seconds(grace),
            own.mutable_metadata()->mutable_deletion_timestamp());
    own.mutable_metadata()->set_deletion_grace_period_seconds(grace);
    if (change != nullptr) change(own);
  });
}

bool InMemoryCluster::Finish(absl::string_view pod_key) {
  MutexLock lock(mutex_);
  const StoredObject* const stored = objects_->of(Kind::kPod).Find(pod_key);
  if (stored == nullptr) return false;
  FinishPod(Object(stored->object));
  controllers_->Reconcile(clock_.Now());
  return true;
}

void InMemoryCluster::FinishPod(const Object& pod) {
  ChangePod(pod, [](api::Pod& own) { own.mutable_status()->set_phase("Succeeded"); });
  Tell({.what = Incident::What::kFinished, .pod = pod.identity().get()});
}

// --- Looking -------------------------------------------------------------------------------------

std::shared_ptr<const google::protobuf::Message> InMemoryCluster::Find(
    Kind kind, absl::string_view key) const {
  MutexLock lock(mutex_);
  const StoredObject* const stored = objects_->of(kind).Find(key);
  return stored == nullptr ? nullptr : stored->object.shared_message();
}

std::vector<Object> InMemoryCluster::List(Kind kind) const {
  MutexLock lock(mutex_);
  return objects_->List(kind);
}

std::vector<std::pair<std::string, std::string>> InMemoryCluster::Bindings() const {
  MutexLock lock(mutex_);
  std::vector<std::pair<std::string, std::string>> bindings;
  bindings.reserve(bindings_.size());
  for (const auto& [pod, node] : bindings_) bindings.emplace_back(pod->key(), node.view());
  return bindings;
}

std::vector<std::string> InMemoryCluster::Evictions() const {
  MutexLock lock(mutex_);
  return evictions_;
}

std::vector<RecordedEvent> InMemoryCluster::RecordedEvents() const {
  MutexLock lock(mutex_);
  return {recorded_events_.begin(), recorded_events_.end()};
}

// --- Time ----------------------------------------------------------------------------------------

absl::Time InMemoryCluster::NextDue() const {
  MutexLock lock(mutex_);
  absl::Time due = watch_->NextDue();
  if (!ends_.empty()) due = std::min(due, ends_.begin()->first);
  return std::min(due, controllers_->NextDue());
}

void InMemoryCluster::AdvanceTo(absl::Time now) {
  MutexLock lock(mutex_);
  controllers_->Reconcile(clock_.Now());
  while (true) {
    const absl::Time end = ends_.empty() ? absl::InfiniteFuture() : ends_.begin()->first;
    const absl::Time event = watch_->NextDue();
    const absl::Time budget = controllers_->NextBudgetDue();
    if (std::min({end, event, budget}) > now) return;
    if (budget < std::min(end, event)) {
      controllers_->UpdateBudgets(clock_.Now());
    } else if (end <= event) {
      Reach(ends_.extract(ends_.begin()).mapped());
      controllers_->Reconcile(clock_.Now());
    } else {
      watch_->DeliverNext();
    }
  }
}

void InMemoryCluster::Reach(const End& end) {
  const StoredObject* const stored = objects_->FindPod(*end.pod);
  if (stored == nullptr || stored->object.uid() != end.pod->uid()) return;
  if (end.kind == End::Kind::kDeleted) {
    Remove(Kind::kPod, end.pod->key());
  } else if (!stored->pod.ended) {
    FinishPod(Object(stored->object));
  }
}

// --- Faults --------------------------------------------------------------------------------------

void InMemoryCluster::SetFaults(const ClusterFaults& faults) {
  MutexLock lock(mutex_);
  faults_->Set(faults);
  may_delay_bindings_ = faults_->MayDelay();
  watch_->SetFaults(faults);
}

void InMemoryCluster::Relist() {
  MutexLock lock(mutex_);
  watch_->Relist();
}

void InMemoryCluster::SetBindFault(BindFault fault) {
  MutexLock lock(mutex_);
  faults_->SetFault(std::move(fault));
}

void InMemoryCluster::SetBindDelay(BindDelay delay) {
  MutexLock lock(mutex_);
  faults_->SetDelay(std::move(delay));
  may_delay_bindings_ = faults_->MayDelay();
}

// --- Cluster -------------------------------------------------------------------------------------

absl::Status InMemoryCluster::Watch(WatchSink& sink, const std::vector<Kind>& kinds) {
  MutexLock lock(mutex_);
  watch_->Start(sink, kinds);
  return absl::OkStatus();
}

void InMemoryCluster::StopWatching() {
  MutexLock lock(mutex_);
  watch_->Stop();
}

void InMemoryCluster::OnAttempt(const Identity* pod, const Identity* next) {
  MutexLock lock(mutex_);
  const auto& pods = objects_->of(Kind::kPod);
  if (pod != nullptr) MapPrefetcher::Prefetch(pods, {*pod}, Fetch::kValue);
  if (next != nullptr) MapPrefetcher::Prefetch(pods, {*next}, Fetch::kPlace);
}

absl::Status InMemoryCluster::Bind(const PodBinding& binding) {
  BindingFaults::Fate fate;
  {
    MutexLock lock(mutex_);
    fate = faults_->Draw();
  }
  if (fate.delay != nullptr) fate.delay_before += fate.delay(*binding.pod, binding.node_name);
  if (fate.delay_before > absl::ZeroDuration()) {
    clock_.SleepUntil(clock_.Now() + fate.delay_before);
  }
  absl::Status assigned =
      fate.fault == nullptr ? absl::OkStatus() : fate.fault(*binding.pod, binding.node_name);
  if (assigned.ok() && fate.refused) {
    assigned = absl::UnavailableError("the cluster does not answer");
  }
  if (assigned.ok()) assigned = Assign(binding);
  if (!assigned.ok()) {
    MutexLock lock(mutex_);
    Tell({.what = Incident::What::kBindRefused,
          .pod = binding.pod.get(),
          .node = binding.node_name,
          .refusal = &assigned});
  }
  if (fate.delay_after > absl::ZeroDuration()) {
    clock_.SleepUntil(clock_.Now() + fate.delay_after);
  }
  if (assigned.ok() && fate.answer_lost) {
    return absl::DeadlineExceededError("the cluster's answer is lost");
  }
  return assigned;
}

absl::Status InMemoryCluster::Assign(const PodBinding& binding) {
  const Identity& pod = *binding.pod;
  const std::string& node_name = binding.node_name;
  MutexLock lock(mutex_);
  StoredObject* stored = objects_->FindPod(pod);
  if (stored == nullptr) return Gone(pod);
  if (stored->pod.on_node) {
    const auto current = stored->object.Share<api::Pod>();
    return absl::FailedPreconditionError(absl::StrCat(
        "pod ", pod.key(), " is already assigned to node ", current->spec().node_name()));
  }
  if (stored->pod.leaving) {
    return absl::FailedPreconditionError(absl::StrCat("pod ", pod.key(), " is being deleted"));
  }
  if (!objects_->of(Kind::kNode).Contains(node_name)) {
    return absl::NotFoundError(absl::StrCat("node ", node_name, " is gone"));
  }
  const Symbol node = Symbol::Intern(node_name);
  bindings_.emplace_back(binding.pod, node);
  Tell({.what = Incident::What::kBound, .pod = &pod, .node = node_name});
  PutBound(*stored, binding, node);
  return absl::OkStatus();
}

void InMemoryCluster::PutBound(StoredObject& stored, const PodBinding& binding, Symbol node) {
  std::shared_ptr<const PackedPod> pod = stored.object.packed();
  if (!binding.annotations.empty() || !binding.labels.empty()) {
    pod = pod->With([&](api::Pod& own) {
      for (const auto& [key, value] : binding.annotations) {
        (*own.mutable_metadata()->mutable_annotations())[key] = value;
      }
      for (const auto& [key, value] : binding.labels) {
        own.mutable_metadata()->mutable_labels()->insert({key, value});
      }
    });
  }
  StoredPodState state = stored.pod;
  state.on_node = true;
  Replace(stored, Object(pod->Bound(node, clock_.Now()), stored.object.where()), state);
}

absl::StatusOr<std::string> InMemoryCluster::AssignedNode(const Identity& pod) {
  MutexLock lock(mutex_);
  const StoredObject* stored = objects_->FindPod(pod);
  if (stored == nullptr) return Gone(pod);
  std::string node_name;
  stored->object.packed()->ReadOwn(
      [&](const api::Pod& own) { node_name = own.spec().node_name(); });
  return node_name;
}

absl::Status InMemoryCluster::Evict(const Identity& pod, const std::string& message) {
  MutexLock lock(mutex_);
  StoredObject* stored = objects_->FindPod(pod);
  if (stored == nullptr) return Gone(pod);
  if (stored->pod.leaving) return absl::OkStatus();
  evictions_.push_back(pod.key());
  Tell({.what = Incident::What::kEvicted, .pod = &pod});
  const Object victim = stored->object;
  StartDeletion(victim, [&](api::Pod& changed) {
    PodStatusPatch target;
    target.condition_type = "DisruptionTarget";
    target.condition_true = true;
    target.condition_reason = "PreemptionByScheduler";
    target.condition_message = message;
    ApplyCondition(target, clock_.Now(), *changed.mutable_status());
  });
  controllers_->Reconcile(clock_.Now());  // it may be gone already
  return absl::OkStatus();
}

absl::Status InMemoryCluster::PatchPodStatus(const PodStatusPatch& patch) {
  MutexLock lock(mutex_);
  StoredObject* stored = objects_->FindPod(*patch.pod);
  if (stored == nullptr) return Gone(*patch.pod);
  bool nominates = false;
  if (patch.nominated_node_name.has_value()) {
    stored->object.packed()->ReadOwn([&](const api::Pod& own) {
      nominates = *patch.nominated_node_name != own.status().nominated_node_name();
    });
  }
  if (nominates) {
    Tell({.what = Incident::What::kNominated,
          .pod = patch.pod.get(),
          .node = *patch.nominated_node_name});
  }
  ChangePod(Object(stored->object), [&](api::Pod& changed) {
    if (!patch.condition_type.empty()) {
      ApplyCondition(patch, clock_.Now(), *changed.mutable_status());
    }
    if (patch.nominated_node_name.has_value()) {
      changed.mutable_status()->set_nominated_node_name(*patch.nominated_node_name);
    }
    if (patch.extended_resource_claim != nullptr) {
      *changed.mutable_status()->mutable_extended_resource_claim_status() =
          *patch.extended_resource_claim;
    }
  });
  return absl::OkStatus();
}

absl::Status InMemoryCluster::Update(const ObjectUpdate& update) {
  const Object& object = update.object;
  if (object.kind() == Kind::kPod) {
    return absl::InvalidArgumentError("pods are bound and patched, not updated");
  }
  MutexLock lock(mutex_);
  const StoredObject* const stored = objects_->of(object.kind()).Find(object.key());
  const auto named = absl::StrCat(Plural(object.kind()), " \"", object.name(), "\"");
  if (stored == nullptr) return absl::NotFoundError(absl::StrCat(named, " not found"));
  const google::protobuf::Message& current = stored->object.message();
  const api::ObjectMeta& metadata = MetadataOf(current);
  const api::ObjectMeta& based_on = MetadataOf(object.message());
  if (based_on.resource_version() != metadata.resource_version() ||
      based_on.uid() != metadata.uid()) {
    return absl::AbortedError(
        absl::StrCat("Operation cannot be fulfilled on ", named,
                     ": the object has been modified; please apply your changes to the latest "
                     "version and try again"));
  }
  PutPart(Object(stored->object), object.message(), update.part);
  return absl::OkStatus();
}

void InMemoryCluster::PutPart(const Object& current, const google::protobuf::Message& message,
                              ObjectUpdate::Part part) {
  const auto changed = WithPart(current.message(), message, part);
  const api::ObjectMeta& metadata = MetadataOf(*changed);
  if (metadata.has_deletion_timestamp() && metadata.finalizers().empty()) {
    Remove(current.kind(), current.key());
  } else {
    Put(Object(current.kind(), changed, current.where()), StoredPodState());
  }
  controllers_->Reconcile(clock_.Now());
}

absl::Status InMemoryCluster::Edit(const ObjectEdit& edit) {
  const Identity& who = *edit.object;
  if (who.kind() == Kind::kPod) {
    return absl::InvalidArgumentError("pods are bound and patched, not edited");
  }
  MutexLock lock(mutex_);
  const StoredObject* const stored = objects_->of(who.kind()).Find(who.key());
  if (stored == nullptr || stored->object.uid() != who.uid()) {
    return absl::NotFoundError(absl::StrCat(Plural(who.kind()), " \"", who.name(), "\" not found"));
  }
  const Object current = stored->object;
  const auto edited = CopyOf(current.message());
  absl::Status status = edit.edit(*edited);
  if (!status.ok()) return status;
  if (edited->SerializeAsString() != current.message().SerializeAsString()) {
    PutPart(current, *edited, edit.part);
  }
  return absl::OkStatus();
}

absl::StatusOr<Object> InMemoryCluster::Create(const Object& object) {
  const Kind kind = object.kind();
  if (kind == Kind::kPod)
    return absl::InvalidArgumentError("pods are not created through this port");
  const auto created = CopyOf(object.message());
  api::ObjectMeta& metadata = MutableMetadataOf(*created);
  const std::string prefix =
      metadata.namespace_().empty() ? "" : absl::StrCat(metadata.namespace_(), "/");
  MutexLock lock(mutex_);
  const StoredObjects::OfKind& of_kind = objects_->of(kind);
  if (metadata.name().empty()) {
    for (int i = 0; metadata.name().empty(); ++i) {
      const std::string name = absl::StrCat(metadata.generate_name(), i);
      if (of_kind.Find(prefix + name) == nullptr) metadata.set_name(name);
    }
  } else if (of_kind.Find(prefix + metadata.name()) != nullptr) {
    return absl::AlreadyExistsError(
        absl::StrCat(Plural(kind), " \"", metadata.name(), "\" already exists"));
  }
  SetTime(clock_.Now(), metadata.mutable_creation_timestamp());
  const std::string key = prefix + metadata.name();
  Put(Object(kind, created), StoredPodState());
  const StoredObject* const stored = of_kind.Find(key);
  Object result = stored->object;
  controllers_->Reconcile(clock_.Now());
  return result;
}

absl::Status InMemoryCluster::Delete(const Identity& object) {
  const Kind kind = object.kind();
  if (kind == Kind::kPod) return absl::InvalidArgumentError("pods are evicted, not deleted");
  MutexLock lock(mutex_);
  const StoredObject* const stored = objects_->of(kind).Find(object.key());
  if (stored == nullptr || stored->object.uid() != object.uid()) {
    return absl::NotFoundError(absl::StrCat(Plural(kind), " \"", object.name(), "\" not found"));
  }
  const Object current = stored->object;
  const api::ObjectMeta& metadata = MetadataOf(current.message());
  if (metadata.finalizers().empty()) {
    Remove(kind, object.key());
  } else if (!metadata.has_deletion_timestamp()) {
    const auto leaving = CopyOf(current.message());
    SetTime(clock_.Now(), MutableMetadataOf(*leaving).mutable_deletion_timestamp());
    Put(Object(kind, leaving, current.where()), StoredPodState());
  }
  controllers_->Reconcile(clock_.Now());
  return absl::OkStatus();
}

void InMemoryCluster::Record(RecordedEvent event) {
  MutexLock lock(mutex_);
  const RecordedEvent& kept = recorded_events_.emplace_back(std::move(event));
  Tell({.what = Incident::What::kEventRecorded, .pod = kept.regarding.get(), .event = &kept});
  if (recorded_events_.size() <= kMaxRecordedEvents) return;
  recorded_events_.pop_front();
  // The next one to go, which has not been looked at for long.
  berth::Prefetch(recorded_events_.front().regarding);
  berth::Prefetch(recorded_events_.front().text.data());
}

}  // namespace berth
