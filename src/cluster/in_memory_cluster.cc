// SPDX-License-Identifier: Apache-2.0
// Implementation of in_memory_cluster.h.
#include "berth/in_memory_cluster.h"

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "berth/api/admission.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/meta_v1.pb.h"
#include "berth/api/pod_status.h"
#include "berth/api/scheduling_v1.pb.h"
#include "berth/api/time.h"
#include "berth/prefetch.h"
#include "cluster/chance.h"
#include "cluster/cluster_objects.h"
#include "cluster/disruption_controller.h"
#include "cluster/object_parts.h"
#include "cluster/pod_admission.h"
#include "cluster/resource_claim_controller.h"
#include "cluster/volume_controller.h"
#include "cluster/watch_stream.h"

namespace berth {
namespace {

constexpr int64_t kDefaultGracePeriodSeconds = 30;  // as the API server defaults it
constexpr char kRunTimeAnnotation[] = "simulation.berth/run-time";

absl::Status Gone(const Identity& pod) {
  return absl::NotFoundError(absl::StrCat("pod ", pod.key(), " is gone"));
}

// How long the pod runs once it is on a node; infinite if it does not say, or not in words that
// are a duration.
absl::Duration RunTime(const api::Pod& pod) {
  const auto& annotations = pod.metadata().annotations();
  const auto found = annotations.find(kRunTimeAnnotation);
  if (found == annotations.end()) return absl::InfiniteDuration();
  return ParseDuration(found->second).value_or(absl::InfiniteDuration());
}

}  // namespace

// Called with the mutex held.
class InMemoryCluster::StoredObjects final : public ClusterObjects {
 public:
  explicit StoredObjects(InMemoryCluster& cluster) : cluster_(cluster) {}

  const Object* Find(Kind kind,
                     absl::string_view key) const override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const Stored* const stored = cluster_.StoreOf(kind).Find(key);
    return stored == nullptr ? nullptr : &stored->object;
  }
  std::vector<Object> List(Kind kind) const override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return InOrder({&cluster_.StoreOf(kind), 1});
  }
  void Put(Object object) override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    PodState state;
    if (object.kind() == Kind::kPod) {
      object.packed()->ReadOwn([&](const api::Pod& own) { state = PodState(own); });
    }
    cluster_.Put(std::move(object), state);
  }
  void Remove(Kind kind, absl::string_view key) override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    cluster_.Remove(kind, key);
  }

 private:
  InMemoryCluster& cluster_;
};

InMemoryCluster::PodState::PodState(const api::Pod& pod)
    : on_node(!pod.spec().node_name().empty()),
      leaving(pod.metadata().has_deletion_timestamp()),
      ended(HasEnded(pod.status())),
      run_time(RunTime(pod)) {}

InMemoryCluster::InMemoryCluster(const Clock& clock)
    : clock_(clock),
      // Called with the mutex held, as all of the stream.
      watch_(std::make_unique<WatchStream>(
          [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return Everything(); })),
      admission_(std::make_unique<Admission>()),
      stored_objects_(std::make_unique<StoredObjects>(*this)),
      chance_(std::make_unique<Chance>(0)) {}

InMemoryCluster::~InMemoryCluster() = default;

void InMemoryCluster::Observe(std::function<void(const Incident&)> observe) {
  MutexLock lock(mutex_);
  observe_ = std::move(observe);
}

void InMemoryCluster::Tell(const Incident& incident) {
  if (observe_ != nullptr) observe_(incident);
}

// --- Storing -------------------------------------------------------------------------------------

Object InMemoryCluster::Versioned(const Object& object) {
  std::shared_ptr<google::protobuf::Message> message = CopyOf(object.message());
  api::ObjectMeta& metadata = MutableMetadataOf(*message);
  metadata.set_resource_version(absl::StrCat(++last_version_));
  // Volumes name the uid of their claim; what a claim holds is counted by its uid.
  const bool is_claim =
      object.kind() == Kind::kPersistentVolumeClaim || object.kind() == Kind::kResourceClaim;
  if (is_claim && metadata.uid().empty()) {
    const Stored* const stored = StoreOf(object.kind()).Find(object.key());
    metadata.set_uid(stored != nullptr ? std::string(stored->object.uid())
                                       : absl::StrCat(object.name(), "-", last_version_));
  }
  return Object(object.kind(), std::move(message), object.where());
}

void InMemoryCluster::Put(Object object, const PodState& state) {
  if (object.kind() != Kind::kPod) object = Versioned(object);
  const auto [stored, is_new] =
      StoreOf(object.kind()).FindOrAdd(object.identity(), object, next_order_, state);
  if (!is_new) return Replace(*stored, std::move(object), state);
  ++next_order_;
  if (state.on_node) Start(object, state);
  Announce(Incident::What::kCreated, std::move(object));
}

void InMemoryCluster::Replace(Stored& stored, Object object, const PodState& state) {
  const bool recreated =
      stored.object.identity() != object.identity() && stored.object.uid() != object.uid();
  const bool was_on_node = stored.pod.on_node && !recreated;
  Object last = std::exchange(stored.object, object);
  stored.pod = state;
  if (recreated) {
    Announce(Incident::What::kDeleted, std::move(last));
  }
  if (state.on_node && !was_on_node) Start(object, state);
  Announce(recreated ? Incident::What::kCreated : Incident::What::kChanged, std::move(object));
}

// The pod runs from now on, and ends if it says when.
void InMemoryCluster::Start(const Object& pod, const PodState& state) {
  if (state.ended || state.run_time == absl::InfiniteDuration()) return;
  ends_.emplace(clock_.Now() + state.run_time, End{pod.identity(), End::Kind::kFinished});
}

bool InMemoryCluster::Remove(Kind kind, absl::string_view key) {
  Store& store = StoreOf(kind);
  Stored* const stored = store.Find(key);
  if (stored == nullptr) return false;
  Object last = std::move(stored->object);
  store.Erase(key);
  Announce(Incident::What::kDeleted, std::move(last));
  return true;
}

// --- Disruption budgets --------------------------------------------------------------------------

void InMemoryCluster::RunDisruptionController() {
  MutexLock lock(mutex_);
  disruptions_ = std::make_unique<DisruptionController>();
  for (const Object& budget : InOrder({&StoreOf(Kind::kPodDisruptionBudget), 1})) {
    disruptions_->Set(budget, clock_.Now());
  }
  FeedPods([&](const Identity& pod) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return disruptions_->Follows(pod.namespace_name());
  });
  UpdateBudgets();
}

// Created, changed or deleted: the watch and the controllers follow.
void InMemoryCluster::Announce(Incident::What what, Object object) {
  Tell({.what = what, .object = &object});
  const bool is_gone = what == Incident::What::kDeleted;
  const WatchStream::Change change = is_gone ? WatchStream::Change::kDeleted
                                     : what == Incident::What::kCreated
                                         ? WatchStream::Change::kCreated
                                         : WatchStream::Change::kChanged;
  if (volumes_ != nullptr && VolumeController::IsConcernedWith(object.kind())) {
    volumes_->Follow(object, is_gone);
  }
  if (claims_ != nullptr) claims_->Follow(object, is_gone);
  if (disruptions_ == nullptr || !disruptions_->IsConcernedWith(object)) {
    watch_->Push(change, std::move(object), clock_.Now());
    return;
  }
  watch_->Push(change, object, clock_.Now());
  if (is_gone) {
    disruptions_->Remove(object);
  } else {
    const bool is_first = !disruptions_->Follows(object.namespace_name());
    disruptions_->Set(object, clock_.Now());
    if (is_first) {
      FeedPods(
          [&](const Identity& pod) { return pod.namespace_name() == object.namespace_name(); });
    }
  }
  UpdateBudgets();
}

void InMemoryCluster::FeedPods(absl::FunctionRef<bool(const Identity& pod)> wanted) {
  StoreOf(Kind::kPod)
      .ForEach([&](const Identity& who, const Stored& stored) ABSL_NO_THREAD_SAFETY_ANALYSIS {
        if (wanted(who)) disruptions_->Set(stored.object, clock_.Now());
      });
}

void InMemoryCluster::UpdateBudgets() {
  for (Object& budget : disruptions_->Reconcile(clock_.Now())) Put(std::move(budget), PodState());
}

// --- Volumes and claims of devices ---------------------------------------------------------------

void InMemoryCluster::RunVolumeController() {
  MutexLock lock(mutex_);
  volumes_ = std::make_unique<VolumeController>(*stored_objects_);
  for (const Kind kind :
       {Kind::kPersistentVolume, Kind::kPersistentVolumeClaim, Kind::kCSIStorageCapacity}) {
    for (const Object& object : InOrder({&StoreOf(kind), 1})) volumes_->Follow(object, false);
  }
  RunControllers();
}

void InMemoryCluster::RunResourceClaimController() {
  MutexLock lock(mutex_);
  claims_ = std::make_unique<ResourceClaimController>(*stored_objects_);
  for (const Kind kind : {Kind::kResourceClaimTemplate, Kind::kResourceClaim, Kind::kPod}) {
    for (const Object& object : InOrder({&StoreOf(kind), 1})) claims_->Follow(object, false);
  }
  RunControllers();
}

void InMemoryCluster::RunControllers() {
  if (volumes_ != nullptr && (volumes_->has_work() || volumes_->NextDue() <= clock_.Now())) {
    volumes_->Reconcile(clock_.Now());
  }
  if (claims_ != nullptr && claims_->has_work()) claims_->Reconcile();
}

// -------------------------------------------------------------------------------------------------

InMemoryCluster::Stored* InMemoryCluster::FindPod(const Identity& pod) {
  Stored* const stored = StoreOf(Kind::kPod).Find(pod);
  if (stored == nullptr || stored->object.identity().get() == &pod) return stored;
  return stored->object.uid() == pod.uid() ? stored : nullptr;
}

Object InMemoryCluster::Admitted(Object pod) {
  const Stored* const stored = StoreOf(Kind::kPod).Find(*pod.identity());
  return AdmitPod(std::move(pod), stored == nullptr ? nullptr : &stored->object, *admission_,
                  clock_.Now());
}

void InMemoryCluster::ChangePod(const Object& pod, absl::FunctionRef<void(api::Pod& own)> change) {
  PodState state;
  auto changed = pod.packed()->With([&](api::Pod& own) {
    change(own);
    state = PodState(own);
  });
  Put(Object(std::move(changed), pod.where()), state);
}

void InMemoryCluster::Set(Object object) {
  const Kind kind = object.kind();
  PodState state;
  if (kind == Kind::kPod) {  // pods are stored packed
    if (!object.is_packed()) object = Object(object.packed(), object.where());
    object.packed()->ReadOwn([&](const api::Pod& own) { state = PodState(own); });
  }
  MutexLock lock(mutex_);
  if (kind == Kind::kPriorityClass) admission_->Learn(object.As<api::PriorityClass>());
  Put(kind == Kind::kPod ? Admitted(std::move(object)) : std::move(object), state);
  RunControllers();
}

bool InMemoryCluster::Delete(Kind kind, absl::string_view key) {
  MutexLock lock(mutex_);
  const bool was_there = Remove(kind, key);
  if (kind == Kind::kPriorityClass) admission_->ForgetPriorityClass(std::string(key));
  RunControllers();
  return was_there;
}

bool InMemoryCluster::DeleteGracefully(absl::string_view pod_key) {
  MutexLock lock(mutex_);
  const Stored* const stored = StoreOf(Kind::kPod).Find(pod_key);
  if (stored == nullptr) return false;
  if (!stored->pod.leaving) StartDeletion(Object(stored->object), nullptr);
  RunControllers();
  return true;
}

void InMemoryCluster::StartDeletion(const Object& pod,
                                    const std::function<void(api::Pod& own)>& change) {
  int64_t grace = 0;
  pod.packed()->ReadOwn([&](const api::Pod& own) {
    const api::PodSpec& spec = own.spec();
    if (spec.node_name().empty() || HasEnded(own.status())) return;
    grace = spec.has_termination_grace_period_seconds() ? spec.termination_grace_period_seconds()
                                                        : kDefaultGracePeriodSeconds;
  });
  if (grace <= 0) {
    Remove(Kind::kPod, pod.key());
    return;
  }
  const absl::Time due = clock_.Now() + absl::Seconds(grace);
  ends_.emplace(due, End{pod.identity(), End::Kind::kDeleted});
  ChangePod(pod, [&](api::Pod& changed) {
    SetTime(due, changed.mutable_metadata()->mutable_deletion_timestamp());
    changed.mutable_metadata()->set_deletion_grace_period_seconds(grace);
    if (change != nullptr) change(changed);
  });
}

bool InMemoryCluster::Finish(absl::string_view pod_key) {
  MutexLock lock(mutex_);
  const Stored* const stored = StoreOf(Kind::kPod).Find(pod_key);
  if (stored == nullptr) return false;
  FinishPod(Object(stored->object));
  RunControllers();
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
  const Stored* const stored = objects_[static_cast<size_t>(kind)].Find(key);
  return stored == nullptr ? nullptr : stored->object.shared_message();
}

std::vector<Object> InMemoryCluster::List(Kind kind) const {
  MutexLock lock(mutex_);
  return InOrder({&objects_[static_cast<size_t>(kind)], 1});
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

std::vector<Object> InMemoryCluster::Everything() const { return InOrder(objects_); }

// Oldest first.
std::vector<Object> InMemoryCluster::InOrder(absl::Span<const Store> stores) {
  std::vector<const Stored*> stored;
  for (const Store& store : stores) {
    store.ForEach([&](const Identity&, const Stored& value) { stored.push_back(&value); });
  }
  std::sort(stored.begin(), stored.end(),
            [](const Stored* a, const Stored* b) { return a->order < b->order; });
  std::vector<Object> list;
  list.reserve(stored.size());
  for (const Stored* value : stored) list.push_back(value->object);
  return list;
}

// --- Time ----------------------------------------------------------------------------------------

absl::Time InMemoryCluster::NextDue() const {
  MutexLock lock(mutex_);
  absl::Time due = watch_->NextDue();
  if (!ends_.empty()) due = std::min(due, ends_.begin()->first);
  if (disruptions_ != nullptr) due = std::min(due, disruptions_->NextDue());
  if (volumes_ != nullptr) due = std::min(due, volumes_->NextDue());
  return due;
}

void InMemoryCluster::AdvanceTo(absl::Time now) {
  MutexLock lock(mutex_);
  RunControllers();
  while (true) {
    const absl::Time end = ends_.empty() ? absl::InfiniteFuture() : ends_.begin()->first;
    const absl::Time event = watch_->NextDue();
    const absl::Time budget =
        disruptions_ == nullptr ? absl::InfiniteFuture() : disruptions_->NextDue();
    if (std::min({end, event, budget}) > now) return;
    if (budget < std::min(end, event)) {
      UpdateBudgets();
    } else if (end <= event) {
      Reach(ends_.extract(ends_.begin()).mapped());
      RunControllers();
    } else {
      watch_->DeliverNext();
    }
  }
}

void InMemoryCluster::Reach(const End& end) {
  const Stored* const stored = FindPod(*end.pod);
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
  faults_ = faults;
  may_delay_bindings_ = MayDelay();
  *chance_ = Chance(faults.seed);
  watch_->SetFaults(faults);
}

void InMemoryCluster::Relist() {
  MutexLock lock(mutex_);
  watch_->Relist();
}

void InMemoryCluster::SetBindFault(BindFault fault) {
  MutexLock lock(mutex_);
  bind_fault_ = std::move(fault);
}

void InMemoryCluster::SetBindDelay(BindDelay delay) {
  MutexLock lock(mutex_);
  bind_delay_ = std::move(delay);
  may_delay_bindings_ = MayDelay();
}

bool InMemoryCluster::MayDelay() const {
  return bind_delay_ != nullptr || faults_.slow_bind > 0 || faults_.lost_answer > 0;
}

InMemoryCluster::BindFate InMemoryCluster::DrawFate(const PodBinding& binding) {
  BindFate fate;
  BindDelay delay;
  {
    MutexLock lock(mutex_);
    if (bind_fault_ != nullptr) fate.fault = bind_fault_;
    if (bind_delay_ != nullptr) delay = bind_delay_;
    fate.refused = chance_->Happens(faults_.bind_failure);
    fate.answer_lost = chance_->Happens(faults_.lost_answer);
    if (chance_->Happens(faults_.slow_bind)) {
      const absl::Duration whole = chance_->Between(faults_.min_bind_delay, faults_.max_bind_delay);
      fate.delay_before = chance_->Between(absl::ZeroDuration(), whole);
      fate.delay_after = whole - fate.delay_before;
    }
  }
  if (delay != nullptr) fate.delay_before += delay(*binding.pod, binding.node_name);
  return fate;
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

void InMemoryCluster::Prefetch(const Identity& pod, Fetch what) {
  MutexLock lock(mutex_);
  StoreOf(Kind::kPod).Prefetch(pod, what);
}

absl::Status InMemoryCluster::Bind(const PodBinding& binding) {
  const BindFate fate = DrawFate(binding);
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
  Stored* stored = FindPod(pod);
  if (stored == nullptr) return Gone(pod);
  if (stored->pod.on_node) {
    const auto current = stored->object.Share<api::Pod>();
    return absl::FailedPreconditionError(absl::StrCat(
        "pod ", pod.key(), " is already assigned to node ", current->spec().node_name()));
  }
  if (stored->pod.leaving) {
    return absl::FailedPreconditionError(absl::StrCat("pod ", pod.key(), " is being deleted"));
  }
  if (!StoreOf(Kind::kNode).Contains(node_name)) {
    return absl::NotFoundError(absl::StrCat("node ", node_name, " is gone"));
  }
  const Symbol node = Symbol::Intern(node_name);
  bindings_.emplace_back(binding.pod, node);
  Tell({.what = Incident::What::kBound, .pod = &pod, .node = node_name});
  PutBound(*stored, binding, node);
  return absl::OkStatus();
}

void InMemoryCluster::PutBound(Stored& stored, const PodBinding& binding, Symbol node) {
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
  PodState state = stored.pod;
  state.on_node = true;
  Replace(stored, Object(pod->Bound(node, clock_.Now()), stored.object.where()), state);
}

absl::StatusOr<std::string> InMemoryCluster::AssignedNode(const Identity& pod) {
  MutexLock lock(mutex_);
  const Stored* stored = FindPod(pod);
  if (stored == nullptr) return Gone(pod);
  std::string node_name;
  stored->object.packed()->ReadOwn(
      [&](const api::Pod& own) { node_name = own.spec().node_name(); });
  return node_name;
}

absl::Status InMemoryCluster::Evict(const Identity& pod, const std::string& message) {
  MutexLock lock(mutex_);
  Stored* stored = FindPod(pod);
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
  return absl::OkStatus();
}

absl::Status InMemoryCluster::PatchPodStatus(const PodStatusPatch& patch) {
  MutexLock lock(mutex_);
  Stored* stored = FindPod(*patch.pod);
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
  });
  return absl::OkStatus();
}

absl::Status InMemoryCluster::Update(const ObjectUpdate& update) {
  const Object& object = update.object;
  if (object.kind() == Kind::kPod) {
    return absl::InvalidArgumentError("pods are bound and patched, not updated");
  }
  MutexLock lock(mutex_);
  const Stored* const stored = StoreOf(object.kind()).Find(object.key());
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
  Put(Object(current.kind(), WithPart(current.message(), message, part), current.where()),
      PodState());
  RunControllers();
}

absl::Status InMemoryCluster::Edit(const ObjectEdit& edit) {
  const Identity& who = *edit.object;
  if (who.kind() == Kind::kPod) {
    return absl::InvalidArgumentError("pods are bound and patched, not edited");
  }
  MutexLock lock(mutex_);
  const Stored* const stored = StoreOf(who.kind()).Find(who.key());
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

void InMemoryCluster::Record(RecordedEvent event) {
  MutexLock lock(mutex_);
  const RecordedEvent& kept = recorded_events_.emplace_back(std::move(event));
  Tell({.what = Incident::What::kEventRecorded, .pod = kept.pod.get(), .event = &kept});
  if (recorded_events_.size() <= kMaxRecordedEvents) return;
  recorded_events_.pop_front();
  // The next one to go, which nobody has looked at for long.
  berth::Prefetch(recorded_events_.front().pod);
  berth::Prefetch(recorded_events_.front().text.data());
}

}  // namespace berth
