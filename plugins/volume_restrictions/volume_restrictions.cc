// SPDX-License-Identifier: Apache-2.0
// The rules of VolumeRestrictions, and what may end a rejection.
#include "plugins/volume_restrictions/volume_restrictions.h"

#include <algorithm>
#include <string>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/columns/node_verdicts.h"
#include "plugins/volume_restrictions/claim_users.h"

namespace berth {
namespace {

struct ReadWriteOncePodState : StateData {
  absl::btree_set<std::string> claims;  // of the pod, with that access mode
  int uses = 0;                         // by pods that have a node

  std::unique_ptr<StateData> Clone() const override {
    return std::make_unique<ReadWriteOncePodState>(*this);
  }
};
constexpr StateKey<ReadWriteOncePodState> kState{"VolumeRestrictions"};

bool IsRestricted(const api::VolumeSource& volume) {
  return volume.has_gce_persistent_disk() || volume.has_aws_elastic_block_store() ||
         volume.has_iscsi() || volume.has_rbd();
}

template <class Source>
bool BothReadOnly(const Source& a, const Source& b) {
  return a.read_only() && b.read_only();
}

bool ShareMonitor(const api::RBDVolumeSource& a, const api::RBDVolumeSource& b) {
  return std::any_of(a.monitors().begin(), a.monitors().end(), [&b](const std::string& monitor) {
    return std::find(b.monitors().begin(), b.monitors().end(), monitor) != b.monitors().end();
  });
}

bool Conflict(const api::VolumeSource& a, const api::VolumeSource& b) {
  if (a.has_gce_persistent_disk() && b.has_gce_persistent_disk() &&
      a.gce_persistent_disk().pd_name() == b.gce_persistent_disk().pd_name() &&
      !BothReadOnly(a.gce_persistent_disk(), b.gce_persistent_disk())) {
    return true;
  }
  if (a.has_aws_elastic_block_store() && b.has_aws_elastic_block_store() &&
      a.aws_elastic_block_store().volume_id() == b.aws_elastic_block_store().volume_id()) {
    return true;
  }
  if (a.has_iscsi() && b.has_iscsi() && a.iscsi().iqn() == b.iscsi().iqn() &&
      !BothReadOnly(a.iscsi(), b.iscsi())) {
    return true;
  }
  return a.has_rbd() && b.has_rbd() && ShareMonitor(a.rbd(), b.rbd()) &&
         a.rbd().pool() == b.rbd().pool() && a.rbd().image() == b.rbd().image() &&
         !BothReadOnly(a.rbd(), b.rbd());
}

bool HasRestrictedVolume(const PodInfo& pod) {
  if (!pod.has_other_storage()) return false;
  for (const api::Volume& volume : pod.spec().volumes()) {
    if (IsRestricted(volume.volume_source())) return true;
  }
  return false;
}

bool DisksConflict(const PodInfo& pod, const PodInfo& other) {
  if (!pod.has_other_storage() || !other.has_other_storage()) return false;
  for (const api::Volume& volume : pod.spec().volumes()) {
    if (!IsRestricted(volume.volume_source())) continue;
    for (const api::Volume& existing : other.spec().volumes()) {
      if (Conflict(volume.volume_source(), existing.volume_source())) return true;
    }
  }
  return false;
}

// Calls `visit` with the name of each claim that a volume of the pod names (ephemeral volumes name
// none), once for each such volume, as long as it returns true.
template <class Visit>
void ForEachNamedClaim(const PodInfo& pod, Visit visit) {
  if (pod.claims().empty()) return;
  for (const api::Volume& volume : pod.spec().volumes()) {
    const api::VolumeSource& source = volume.volume_source();
    if (source.has_persistent_volume_claim() &&
        !visit(source.persistent_volume_claim().claim_name())) {
      return;
    }
  }
}

int CountUses(const ReadWriteOncePodState& state, const PodInfo& pod) {
  int uses = 0;
  ForEachNamedClaim(pod, [&](const std::string& claim) {
    uses += state.claims.contains(claim) ? 1 : 0;
    return true;
  });
  return uses;
}

// For a pod with such disks of its own.
bool HasDiskConflict(const PodInfo& pod, const NodeInfo& node) {
  return std::any_of(node.pods().begin(), node.pods().end(),
                     [&pod](const auto& other) { return DisksConflict(pod, *other); });
}

QueueingHint AfterPodDeletion(const PodInfo& pod, const PodInfo& gone) {
  if (gone.namespace_name() != pod.namespace_name()) return QueueingHint::kSkip;
  if (DisksConflict(pod, gone)) return QueueingHint::kQueue;
  absl::flat_hash_set<std::string> claims;
  ForEachNamedClaim(pod, [&](const std::string& claim) {
    claims.insert(claim);
    return true;
  });
  bool shared = false;
  ForEachNamedClaim(gone, [&](const std::string& claim) {
    shared = claims.contains(claim);
    return !shared;
  });
  return QueueIf(shared);
}

QueueingHint AfterClaimAddition(const PodInfo& pod, const Object& claim) {
  if (claim.namespace_name() != pod.namespace_name().view()) return QueueingHint::kSkip;
  bool named = false;
  ForEachNamedClaim(pod, [&](const std::string& name) {
    named = name == claim.name();
    return !named;
  });
  return QueueIf(named);
}

}  // namespace

VolumeRestrictions::VolumeRestrictions(Handle& handle)
    : handle_(handle), claim_users_(handle.Shared<ClaimUsers>()) {}

absl::StatusOr<std::unique_ptr<Plugin>> VolumeRestrictions::Create(const PluginArgs&,
                                                                   Handle& handle) {
  return std::make_unique<VolumeRestrictions>(handle);
}

Status VolumeRestrictions::PreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                                     PreFilterResult&) {
  auto data = std::make_unique<ReadWriteOncePodState>();
  Status status;
  const absl::string_view namespace_name = pod.namespace_name().view();
  ForEachNamedClaim(pod, [&](const std::string& name) {
    const auto* claim = handle_.objects().Find<api::PersistentVolumeClaim>(namespace_name, name);
    if (claim == nullptr) {
      status = Status::UnschedulableAndUnresolvable(
          absl::StrCat("persistentvolumeclaim \"", name, "\" not found"));
      return false;
    }
    const auto& modes = claim->spec().access_modes();
    if (std::find(modes.begin(), modes.end(), "ReadWriteOncePod") != modes.end()) {
      data->claims.insert(name);
    }
    return true;
  });
  if (!status.ok()) return status;
  for (const std::string& claim : data->claims) {
    data->uses += claim_users_->Has(absl::StrCat(namespace_name, "/", claim), nodes) ? 1 : 0;
  }
  if (data->uses == 0 && !HasRestrictedVolume(pod)) return Status::Skip();
  state.Write(kState, std::move(data));
  return Status::Success();
}

Status VolumeRestrictions::AddPod(CycleState& state, const PodInfo&, const PodInfo& added,
                                  const NodeInfo&) {
  if (auto* data = state.FindMutable(kState)) data->uses += CountUses(*data, added);
  return Status::Success();
}

Status VolumeRestrictions::RemovePod(CycleState& state, const PodInfo&, const PodInfo& removed,
                                     const NodeInfo&) {
  if (auto* data = state.FindMutable(kState)) data->uses -= CountUses(*data, removed);
  return Status::Success();
}

Status VolumeRestrictions::Filter(const CycleState& state, const PodInfo& pod,
                                  const NodeInfo& node) const {
  if (HasRestrictedVolume(pod) && HasDiskConflict(pod, node)) {
    return Status::Unschedulable("node(s) had no available disk");
  }
  const absl::StatusOr<const ReadWriteOncePodState*> data = state.Read(kState);
  if (!data.ok()) return Status::Error(data.status());
  if ((*data)->uses <= 0) return Status::Success();
  return Status::Unschedulable(
      "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "
      "in-use by another pod");
}

Status VolumeRestrictions::FilterNodes(const CycleState& state, const PodInfo& pod,
                                       const NodeTable& nodes, NodeVerdicts& verdicts) const {
  const absl::StatusOr<const ReadWriteOncePodState*> data = state.Read(kState);
  if (!data.ok()) return Status::Error(data.status());
  const bool rejects_all = (*data)->uses > 0;
  const bool has_disk = HasRestrictedVolume(pod);
  if (!rejects_all && !has_disk) return Status::Success();
  for (const NodeRow row : verdicts.candidates()) {
    const bool disk_conflicts = has_disk && HasDiskConflict(pod, nodes.node(row));
    if (rejects_all || disk_conflicts) verdicts.Set(row, Code::kUnschedulable, disk_conflicts);
  }
  return Status::Success();
}

void VolumeRestrictions::AddInputs(const CycleState& state, const PodInfo&,
                                   FilterInputs& inputs) const {
  const ReadWriteOncePodState* data = state.Find(kState);
  if (data == nullptr) return;
  inputs.Add(int64_t{data->uses});
  for (const std::string& claim : data->claims) inputs.Add(claim);
}

std::vector<ClusterEventWithHint> VolumeRestrictions::EventsToRegister() const {
  return {{{EventResource::Pod(), action::kDelete},
           [](const PodInfo& pod, const ObjectChange& change) {
             return AfterPodDeletion(pod, *change.old_pod);
           }},
          {{EventResource::Node(), action::kAdd}, nullptr},
          {{EventResource::Of(Kind::kPersistentVolumeClaim), action::kAdd},
           [](const PodInfo& pod, const ObjectChange& change) {
             return AfterClaimAddition(pod, *change.new_object);
           }}};
}

Status VolumeRestrictions::SignPod(const PodInfo& pod, PodSignature&) const {
  if (pod.claims().empty() && !HasRestrictedVolume(pod)) return Status::Success();
  return Status::Unschedulable("pods with claims or disks of their own are not signable");
}

}  // namespace berth
