// The rule of NodeVolumeLimits, and what may end a rejection.
#include "plugins/node_volume_limits/node_volume_limits.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/storage_v1.pb.h"
#include "plugins/node_volume_limits/attachable_volumes.h"

namespace berth {
namespace {

struct LimitsState : StateData {
  Status status;  // what Filter says of every node, unless it is Success
  std::vector<AttachableVolume> volumes;
  std::shared_ptr<const Attachments> attachments;

  std::unique_ptr<StateData> Clone() const override { return std::make_unique<LimitsState>(*this); }
};
constexpr StateKey<LimitsState> kState{"NodeVolumeLimits"};

Attachments FindAttachments(const ObjectStore& objects) {
  Attachments attachments;
  for (const Object* object : objects.List(Kind::kVolumeAttachment)) {
    const api::VolumeAttachmentSpec& spec = object->As<api::VolumeAttachment>().spec();
    if (spec.attacher().empty() || !spec.source().has_persistent_volume_name()) continue;
    const auto* volume =
        objects.Find<api::PersistentVolume>("", spec.source().persistent_volume_name());
    if (volume == nullptr || !volume->spec().persistent_volume_source().has_csi()) continue;
    const std::string& handle = volume->spec().persistent_volume_source().csi().volume_handle();
    attachments[spec.node_name()][absl::StrCat(spec.attacher(), "/", handle)] = spec.attacher();
  }
  return attachments;
}

absl::flat_hash_map<std::string, int64_t> Limits(const api::CSINode& node) {
  absl::flat_hash_map<std::string, int64_t> limits;
  for (const api::CSINodeDriver& driver : node.spec().drivers()) {
    if (driver.allocatable().has_count()) limits[driver.name()] = driver.allocatable().count();
  }
  return limits;
}

// Those that count on `node`, each once.
DriverOfVolume CountedOn(const api::CSINode& node, const std::vector<AttachableVolume>& volumes) {
  DriverOfVolume counted;
  for (const AttachableVolume& volume : volumes) {
    if (volume.plugin != nullptr && !IsMigratedOn(node, *volume.plugin)) continue;
    counted[volume.unique_name] = volume.driver;
  }
  return counted;
}

QueueingHint AfterCsiNodeUpdate(const ObjectChange& change) {
  absl::flat_hash_map<std::string, int64_t> before = Limits(change.old_object->As<api::CSINode>());
  for (const auto& [driver, limit] : Limits(change.new_object->As<api::CSINode>())) {
    if (limit > before[driver]) return QueueingHint::kQueue;
  }
  return QueueingHint::kSkip;
}

QueueingHint AfterPodDeletion(const PodInfo& gone) {
  if (gone.node_name().empty() && gone.nominated_node_name().empty()) return QueueingHint::kSkip;
  return MayAttach(gone) ? QueueingHint::kQueue : QueueingHint::kSkip;
}

QueueingHint AfterClaimAddition(const PodInfo& pod, const Object& claim) {
  if (claim.namespace_name() != pod.namespace_name().view()) return QueueingHint::kSkip;
  for (const std::string& name : pod.claims()) {
    if (name == claim.name()) return QueueingHint::kQueue;
  }
  return QueueingHint::kSkip;
}

QueueingHint AfterAttachmentDeletion(const PodInfo& pod, const Object& gone) {
  const std::string& attacher = gone.As<api::VolumeAttachment>().spec().attacher();
  for (const api::Volume& volume : pod.spec().volumes()) {
    if (volume.volume_source().has_persistent_volume_claim()) return QueueingHint::kQueue;
    const MigratedPlugin* plugin = FindMigratedPlugin(volume.volume_source());
    if (plugin != nullptr && plugin->driver == attacher) return QueueingHint::kQueue;
  }
  return QueueingHint::kSkip;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> NodeVolumeLimits::Create(const PluginArgs&,
                                                                 Handle& handle) {
  return std::make_unique<NodeVolumeLimits>(handle);
}

Status NodeVolumeLimits::PreFilter(CycleState& state, const PodInfo& pod, const NodeTable&,
                                   PreFilterResult&) {
  if (!MayAttach(pod)) return Status::Skip();
  auto data = std::make_unique<LimitsState>();
  data->status = AddAttachableVolumes(pod, PodAge::kNew, handle_.objects(), data->volumes);
  if (!data->volumes.empty()) data->attachments = CurrentAttachments();
  state.Write(kState, std::move(data));
  return Status::Success();
}

std::shared_ptr<const Attachments> NodeVolumeLimits::CurrentAttachments() {
  const ObjectStore& objects = handle_.objects();
  const std::pair versions(objects.version(Kind::kVolumeAttachment),
                           objects.version(Kind::kPersistentVolume));
  if (attachments_ == nullptr || versions != attachments_versions_) {
    attachments_ = std::make_shared<const Attachments>(FindAttachments(objects));
    attachments_versions_ = versions;
  }
  return attachments_;
}

Status NodeVolumeLimits::Filter(const CycleState& state, const PodInfo&,
                                const NodeInfo& node) const {
  const LimitsState* data = state.Find(kState);
  if (data == nullptr) return Status::Success();
  if (!data->status.ok()) return data->status;
  if (data->volumes.empty()) return Status::Success();
  const auto* csi_node = handle_.objects().Find<api::CSINode>("", node.name().view());
  if (csi_node == nullptr) return Status::Success();
  DriverOfVolume wanted = CountedOn(*csi_node, data->volumes);
  const absl::flat_hash_map<std::string, int64_t> limits = Limits(*csi_node);
  if (wanted.empty() || limits.empty()) return Status::Success();

  std::vector<AttachableVolume> used;
  for (const std::shared_ptr<const PodInfo>& pod : node.pods()) {
    Status status = AddAttachableVolumes(*pod, PodAge::kRunning, handle_.objects(), used);
    if (!status.ok()) return status;
  }
  DriverOfVolume attached = CountedOn(*csi_node, used);
  for (const auto& [name, driver] : attached) wanted.erase(name);
  const auto attachments = data->attachments->find(node.name().view());
  if (attachments != data->attachments->end()) {
    attached.insert(attachments->second.begin(), attachments->second.end());
  }

  absl::flat_hash_map<std::string, int64_t> count;
  for (const auto& [name, driver] : attached) ++count[driver];
  for (const auto& [name, driver] : wanted) {
    const auto limit = limits.find(driver);
    if (++count[driver] > (limit == limits.end() ? INT64_MAX : limit->second)) {
      return Status::Unschedulable("node(s) exceed max volume count");
    }
  }
  return Status::Success();
}

void NodeVolumeLimits::AddBasis(const CycleState& state, const PodInfo&, FilterBasis& basis) const {
  const LimitsState* data = state.Find(kState);
  if (data == nullptr) return;
  basis.Add(static_cast<int64_t>(data->status.code()));
  if (!data->status.ok()) return basis.Add(data->status.message());
  if (data->volumes.empty()) return;
  for (const AttachableVolume& volume : data->volumes) {
    basis.Add(volume.unique_name);
    basis.Add(volume.driver);
    basis.Add(volume.plugin == nullptr ? absl::string_view() : volume.plugin->name);
  }
  // Of the pods on the nodes as well.
  for (const Kind kind : {Kind::kCSINode, Kind::kPersistentVolumeClaim, Kind::kPersistentVolume,
                          Kind::kStorageClass, Kind::kVolumeAttachment}) {
    basis.Add(static_cast<int64_t>(handle_.objects().version(kind)));
  }
}

std::vector<ClusterEventWithHint> NodeVolumeLimits::EventsToRegister() const {
  return {{{EventResource::Of(Kind::kCSINode), action::kAdd}, nullptr},
          {{EventResource::Of(Kind::kCSINode), action::kUpdate},
           [](const PodInfo&, const ObjectChange& change) { return AfterCsiNodeUpdate(change); }},
          {{EventResource::Pod(), action::kDelete},
           [](const PodInfo&, const ObjectChange& change) {
             return AfterPodDeletion(*change.old_pod);
           }},
          {{EventResource::Of(Kind::kPersistentVolumeClaim), action::kAdd},
           [](const PodInfo& pod, const ObjectChange& change) {
             return AfterClaimAddition(pod, *change.new_object);
           }},
          {{EventResource::Of(Kind::kVolumeAttachment), action::kDelete},
           [](const PodInfo& pod, const ObjectChange& change) {
             return AfterAttachmentDeletion(pod, *change.old_object);
           }}};
}

Status NodeVolumeLimits::SignPod(const PodInfo& pod, PodSignature&) const {
  if (!MayAttach(pod)) return Status::Success();
  return Status::Unschedulable("pods with volumes to attach are not signable");
}

}  // namespace berth
