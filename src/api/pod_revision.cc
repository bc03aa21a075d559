// Revisions are messages on an arena of their own, whose fields point into the original.
#include "berth/api/pod_revision.h"

#include <google/protobuf/arena.h>

#include <utility>

#include "berth/api/core_v1.pb.h"

namespace berth {
namespace {

using google::protobuf::Arena;
using google::protobuf::RepeatedPtrField;

// Most revisions fit: their own spec and status without what they share.
constexpr size_t kArenaBytes = 1536;

google::protobuf::ArenaOptions WithBlock(char* block) {
  google::protobuf::ArenaOptions options;
  options.initial_block = block;
  options.initial_block_size = kArenaBytes;
  return options;
}

// A message on an arena may point to one that it does not own. Nobody changes it there.
template <class T>
T* Shared(const T& message) {
  return const_cast<T*>(&message);
}

template <class T>
void Share(const RepeatedPtrField<T>& from, RepeatedPtrField<T>* to) {
  to->Reserve(from.size());
  for (const T& message : from) to->UnsafeArenaAddAllocated(Shared(message));
}

// Every field; tests/api/pod_revision_test.cc holds this to it.
void ShareSpec(const api::PodSpec& from, api::PodSpec& to) {
  Share(from.volumes(), to.mutable_volumes());
  Share(from.init_containers(), to.mutable_init_containers());
  Share(from.containers(), to.mutable_containers());
  Share(from.tolerations(), to.mutable_tolerations());
  Share(from.topology_spread_constraints(), to.mutable_topology_spread_constraints());
  Share(from.scheduling_gates(), to.mutable_scheduling_gates());
  Share(from.resource_claims(), to.mutable_resource_claims());
  if (from.has_affinity()) to.unsafe_arena_set_allocated_affinity(Shared(from.affinity()));
  if (from.has_os()) to.unsafe_arena_set_allocated_os(Shared(from.os()));
  if (from.has_resources()) to.unsafe_arena_set_allocated_resources(Shared(from.resources()));
  if (from.has_workload_ref()) {
    to.unsafe_arena_set_allocated_workload_ref(Shared(from.workload_ref()));
  }
  if (!from.node_selector().empty()) *to.mutable_node_selector() = from.node_selector();
  if (!from.overhead().empty()) *to.mutable_overhead() = from.overhead();

  if (from.has_restart_policy()) to.set_restart_policy(from.restart_policy());
  if (from.has_termination_grace_period_seconds()) {
    to.set_termination_grace_period_seconds(from.termination_grace_period_seconds());
  }
  if (from.has_active_deadline_seconds()) {
    to.set_active_deadline_seconds(from.active_deadline_seconds());
  }
  if (from.has_service_account_name()) to.set_service_account_name(from.service_account_name());
  if (from.has_node_name()) to.set_node_name(from.node_name());
  if (from.has_host_network()) to.set_host_network(from.host_network());
  if (from.has_host_pid()) to.set_host_pid(from.host_pid());
  if (from.has_host_ipc()) to.set_host_ipc(from.host_ipc());
  if (from.has_hostname()) to.set_hostname(from.hostname());
  if (from.has_scheduler_name()) to.set_scheduler_name(from.scheduler_name());
  if (from.has_priority_class_name()) to.set_priority_class_name(from.priority_class_name());
  if (from.has_priority()) to.set_priority(from.priority());
  if (from.has_runtime_class_name()) to.set_runtime_class_name(from.runtime_class_name());
  if (from.has_preemption_policy()) to.set_preemption_policy(from.preemption_policy());
}

}  // namespace

struct PodRevision::Parts {
  // Of the shared_ptr that Finish() returns: how PartsOf() finds them again.
  struct Deleter {
    const Parts* parts;
    void operator()(const api::Pod*) const { delete parts; }
  };

  explicit Parts(std::shared_ptr<const api::Pod> pod)
      : original(std::move(pod)), arena(WithBlock(block)) {}

  const std::shared_ptr<const api::Pod> original;
  bool same_spec = true;  // as the original's, but for the node's name
  bool own_spec = false, own_metadata = false, own_status = false;
  alignas(8) char block[kArenaBytes];
  Arena arena;
  api::Pod* pod = nullptr;  // on the arena
};

const PodRevision::Parts* PodRevision::PartsOf(const std::shared_ptr<const api::Pod>& pod) {
  const auto* deleter = std::get_deleter<Parts::Deleter>(pod);
  return deleter == nullptr ? nullptr : deleter->parts;
}

PodRevision::PodRevision(const std::shared_ptr<const api::Pod>& pod) {
  const Parts* const before = PartsOf(pod);
  parts_ = std::make_unique<Parts>(before == nullptr ? pod : before->original);
  api::Pod& own = *(parts_->pod = Arena::CreateMessage<api::Pod>(&parts_->arena));
  if (pod->has_metadata()) own.unsafe_arena_set_allocated_metadata(Shared(pod->metadata()));
  if (pod->has_spec()) own.unsafe_arena_set_allocated_spec(Shared(pod->spec()));
  if (pod->has_status()) own.unsafe_arena_set_allocated_status(Shared(pod->status()));
  if (before == nullptr) return;
  // What an earlier revision has of its own goes with it.
  parts_->same_spec = before->same_spec;
  if (before->own_metadata) metadata();
  if (before->own_spec) OwnSpec();
  if (before->own_status) status();
}

PodRevision::~PodRevision() = default;
PodRevision::PodRevision(PodRevision&&) noexcept = default;

api::ObjectMeta& PodRevision::metadata() {
  api::Pod& pod = *parts_->pod;
  if (!std::exchange(parts_->own_metadata, true)) {
    auto* own = Arena::CreateMessage<api::ObjectMeta>(&parts_->arena);
    own->CopyFrom(pod.metadata());
    pod.unsafe_arena_set_allocated_metadata(own);
  }
  return *pod.mutable_metadata();
}

api::PodSpec& PodRevision::OwnSpec() {
  api::Pod& pod = *parts_->pod;
  if (!std::exchange(parts_->own_spec, true)) {
    auto* own = Arena::CreateMessage<api::PodSpec>(&parts_->arena);
    ShareSpec(pod.spec(), *own);
    pod.unsafe_arena_set_allocated_spec(own);
  }
  return *pod.mutable_spec();
}

api::PodSpec& PodRevision::spec() {
  parts_->same_spec = false;
  return OwnSpec();
}

void PodRevision::SetNodeName(absl::string_view node_name) {
  OwnSpec().set_node_name(node_name.data(), node_name.size());
}

api::PodStatus& PodRevision::status() {
  api::Pod& pod = *parts_->pod;
  if (!std::exchange(parts_->own_status, true)) {
    auto* own = Arena::CreateMessage<api::PodStatus>(&parts_->arena);
    own->CopyFrom(pod.status());
    pod.unsafe_arena_set_allocated_status(own);
  }
  return *pod.mutable_status();
}

std::shared_ptr<const api::Pod> PodRevision::Finish() && {
  const Parts* const parts = parts_.release();
  return std::shared_ptr<const api::Pod>(parts->pod, Parts::Deleter{parts});
}

bool SameSpec(const std::shared_ptr<const api::Pod>& a, const std::shared_ptr<const api::Pod>& b) {
  if (a == b) return true;
  const auto* of_a = PodRevision::PartsOf(a);
  const auto* of_b = PodRevision::PartsOf(b);
  if ((of_a != nullptr && !of_a->same_spec) || (of_b != nullptr && !of_b->same_spec)) return false;
  const api::Pod* const original_a = of_a == nullptr ? a.get() : of_a->original.get();
  const api::Pod* const original_b = of_b == nullptr ? b.get() : of_b->original.get();
  return original_a == original_b;
}

}  // namespace berth
