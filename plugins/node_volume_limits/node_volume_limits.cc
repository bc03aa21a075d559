// SPDX-License-Identifier: Apache-2.0
// The rule of NodeVolumeLimits, and what may end a rejection.
#include "plugins/node_volume_limits/node_volume_limits.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/storage_v1.pb.h"
#include "berth/columns/node_verdicts.h"
#include "plugins/node_volume_limits/attachable_volumes.h"
#include "plugins/node_volume_limits/attached_volumes.h"

namespace berth {
namespace {

using DriverOfVolume = absl::flat_hash_map<std::string, std::string>;  // by unique name
using Node = AttachedVolumes::Node;
using Volume = AttachedVolumes::Volume;

constexpr char kReason[] = "node(s) exceed max volume count";

struct LimitsState : StateData {
  Status status;                          // what Filter says of every node, unless it is Success
  std::vector<AttachableVolume> volumes;  // by unique name

  std::unique_ptr<StateData> Clone() const override { return std::make_unique<LimitsState>(*this); }
};
constexpr StateKey<LimitsState> kState{"NodeVolumeLimits"};

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

// The volumes of a pod, as the index numbers them.
struct WantedVolumes {
  struct Wanted {
    const AttachableVolume* volume;
    int driver;           // -1: no node limits it
    const Volume* known;  // null: it is on no node
  };
  absl::InlinedVector<Wanted, 4> volumes;
  absl::InlinedVector<std::pair<int, int64_t>, 4> most;  // of each driver
  bool same_everywhere = true;  // all of them count on every node, and come to it
};

WantedVolumes LookUp(const std::vector<AttachableVolume>& volumes, const AttachedVolumes& index) {
  WantedVolumes wanted;
  for (const AttachableVolume& volume : volumes) {
    const int driver = index.FindDriver(volume.driver);
    const Volume* const known = index.FindVolume(volume.unique_name);
    const bool again =
        !wanted.volumes.empty() && wanted.volumes.back().volume->unique_name == volume.unique_name;
    if (known != nullptr || again || (volume.plugin != nullptr && volume.plugin->by_annotation)) {
      wanted.same_everywhere = false;
    }
    wanted.volumes.push_back({&volume, driver, known});
    const auto count =
        std::find_if(wanted.most.begin(), wanted.most.end(),
                     [driver](const auto& of_driver) { return of_driver.first == driver; });
    if (count == wanted.most.end()) {
      wanted.most.emplace_back(driver, 1);
    } else {
      ++count->second;
    }
  }
  return wanted;
}

int64_t Room(const Node& node, int driver) {
  for (const AttachedVolumes::Limit& limit : node.limits) {
    if (limit.driver == driver) return limit.room;
  }
  return INT64_MAX;
}

// Whether there is room if all of them come to the node.
bool HasRoomForAll(const WantedVolumes& wanted, const Node& node) {
  for (const auto& [driver, count] : wanted.most) {
    if (count > Room(node, driver)) return false;
  }
  return true;
}

// Whether there is room for those that count on the node and are not there, each once.
bool HasRoom(const WantedVolumes& wanted, const Node& node) {
  if (HasRoomForAll(wanted, node)) return true;
  if (wanted.same_everywhere) return false;
  absl::InlinedVector<std::pair<int, int64_t>, 4> coming = wanted.most;
  for (auto& [driver, count] : coming) count = 0;
  const AttachableVolume* last = nullptr;
  for (const auto& [volume, driver, known] : wanted.volumes) {
    if (volume->plugin != nullptr && !IsMigratedOn(*node.csi_node, *volume->plugin)) continue;
    if (last != nullptr && last->unique_name == volume->unique_name) continue;
    last = volume;
    if (std::binary_search(node.of_pods.begin(), node.of_pods.end(), known)) continue;
    for (auto& [other, count] : coming) {
      if (other == driver && ++count > Room(node, driver)) return false;
    }
  }
  return true;
}

// The same of a node as it is given, word for word; `attachments` are its VolumeAttachments.
Status Check(const std::vector<AttachableVolume>& volumes, const NodeInfo& node,
             absl::Span<const api::VolumeAttachment* const> attachments,
             const ObjectStore& objects) {
  const auto* csi_node = objects.Find<api::CSINode>("", node.name().view());
  if (csi_node == nullptr) return Status::Success();
  DriverOfVolume wanted = CountedOn(*csi_node, volumes);
  const absl::flat_hash_map<std::string, int64_t> limits = Limits(*csi_node);
  if (wanted.empty() || limits.empty()) return Status::Success();

  std::vector<AttachableVolume> used;
  VolumeSources sources;
  for (const std::shared_ptr<const PodInfo>& pod : node.pods()) {
    Status status = AddAttachableVolumes(*pod, PodAge::kRunning, objects, used, sources);
    if (!status.ok()) return status;
  }
  DriverOfVolume attached = CountedOn(*csi_node, used);
  for (const auto& [name, driver] : attached) wanted.erase(name);
  for (const api::VolumeAttachment* attachment : attachments) {
    if (auto volume = FindAttached(*attachment, objects)) {
      attached.try_emplace(std::move(volume->unique_name), std::move(volume->driver));
    }
  }

  absl::flat_hash_map<std::string, int64_t> count;
  for (const auto& [name, driver] : attached) ++count[driver];
  for (const auto& [name, driver] : wanted) {
    const auto limit = limits.find(driver);
    if (++count[driver] > (limit == limits.end() ? INT64_MAX : limit->second)) {
      return Status::Unschedulable(kReason);
    }
  }
  return Status::Success();
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
  return QueueIf(MayAttach(gone));
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
  for (const Kind kind : {Kind::kPersistentVolume, Kind::kStorageClass}) handle.Watch(kind);
  return std::make_unique<NodeVolumeLimits>(handle);
}

NodeVolumeLimits::NodeVolumeLimits(Handle& handle)
    : handle_(handle), index_(handle.Shared<AttachedVolumes>()) {}

Status NodeVolumeLimits::PreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                                   PreFilterResult&) {
  if (!MayAttach(pod)) return Status::Skip();
  auto data = std::make_unique<LimitsState>();
  VolumeSources sources;
  data->status = AddAttachableVolumes(pod, PodAge::kNew, handle_.objects(), data->volumes, sources);
  std::stable_sort(data->volumes.begin(), data->volumes.end(),
                   [](const auto& a, const auto& b) { return a.unique_name < b.unique_name; });
  if (!data->volumes.empty()) index_->Sync(nodes, handle_.objects());
  state.Write(kState, std::move(data));
  return Status::Success();
}

Status NodeVolumeLimits::Filter(const CycleState& state, const PodInfo&,
                                const NodeInfo& node) const {
  const absl::StatusOr<const LimitsState*> read = state.Read(kState);
  if (!read.ok()) return Status::Error(read.status());
  const LimitsState* const data = *read;
  if (!data->status.ok()) return data->status;
  if (data->volumes.empty()) return Status::Success();
  const Node* const known = index_->Find(node, handle_.objects());
  if (known == nullptr || known->failed) {
    return Check(data->volumes, node, index_->attachments().On(node.name().view()),
                 handle_.objects());
  }
  if (HasRoom(LookUp(data->volumes, *index_), *known)) return Status::Success();
  return Status::Unschedulable(kReason);
}

Status NodeVolumeLimits::FilterNodes(const CycleState& state, const PodInfo& pod,
                                     const NodeTable& nodes, NodeVerdicts& verdicts) const {
  const absl::StatusOr<const LimitsState*> read = state.Read(kState);
  if (!read.ok()) return Status::Error(read.status());
  const LimitsState* const data = *read;
  if (!data->status.ok()) return FilterPlugin::FilterNodes(state, pod, nodes, verdicts);
  if (data->volumes.empty()) return Status::Success();
  index_->Sync(nodes, handle_.objects());
  index_->Read(verdicts.candidates(), nodes, handle_.objects());
  const WantedVolumes wanted = LookUp(data->volumes, *index_);
  int64_t most = 1;  // of one driver
  for (const auto& [driver, count] : wanted.most) most = std::max(most, count);
  for (const NodeRow row : verdicts.candidates()) {
    if (most <= index_->sure_room(row)) continue;
    const Node& node = index_->at(row);
    if (node.failed) {
      const Status status = Filter(state, pod, nodes.node(row));
      if (status.ok()) continue;
      if (!status.IsRejected()) return status;
      verdicts.Set(row, status);
    } else if (!HasRoom(wanted, node)) {
      verdicts.Set(row, Code::kUnschedulable, 0);
    }
  }
  return Status::Success();
}

void NodeVolumeLimits::OnSynced() {
  index_->Sync(handle_.nodes(), handle_.objects());
  index_->ReadAll(handle_.nodes(), handle_.objects());
}

void NodeVolumeLimits::BeforeJournalOverflow() {
  index_->Sync(handle_.nodes(), handle_.objects());
  index_->ReadSomeThatCame(handle_.nodes(), handle_.objects());
}

void NodeVolumeLimits::AddInputs(const CycleState& state, const PodInfo&,
                                 FilterInputs& inputs) const {
  const LimitsState* data = state.Find(kState);
  if (data == nullptr) return;
  inputs.Add(static_cast<int64_t>(data->status.code()));
  if (!data->status.ok()) return inputs.Add(data->status.message());
  if (data->volumes.empty()) return;
  for (const AttachableVolume& volume : data->volumes) {
    inputs.Add(volume.unique_name);
    inputs.Add(volume.driver);
    inputs.Add(volume.plugin == nullptr ? absl::string_view() : volume.plugin->name);
  }
  inputs.Add(static_cast<int64_t>(index_->objects_version()));
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
