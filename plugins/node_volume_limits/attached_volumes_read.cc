// SPDX-License-Identifier: Apache-2.0
// How the index reads a node: its limits, the volumes of its pods, its attachments.
#include <algorithm>
#include <utility>

#include "berth/api/storage_v1.pb.h"
#include "plugins/node_volume_limits/attached_volumes.h"

namespace berth {
namespace {

bool SameLimits(absl::Span<const AttachedVolumes::Limit> a,
                absl::Span<const AttachedVolumes::Limit> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.driver == y.driver && x.count == y.count;
  });
}

}  // namespace

void AttachedVolumes::ReadFirst(NodeRow row, const NodeTable& nodes, const ObjectStore& objects) {
  Node& node = nodes_.at(row);
  --unread_;
  node.csi_node_changed = node.attachments_changed = true;
  Read(node, nodes.node(row), objects);
  NoteRoom(row);
  EraseUnused();
}

void AttachedVolumes::ReadAgain(Node& node, const NodeInfo& info, const ObjectStore& objects) {
  if (!node.csi_node_changed && !node.sources_changed && !node.attachments_changed) {
    if (node.generation != info.generation()) Read(node, info, objects);
    return;
  }
  // Volumes that are not used any more live until after this comparison.
  const auto limits = node.limits;
  const auto of_pods = node.of_pods;
  const auto attachments = node.attachments;
  const bool failed = node.failed;
  const std::shared_ptr<const api::CSINode> csi_node = node.csi_node;
  const bool other_uses = Read(node, info, objects);
  const bool same_plugins =
      csi_node == node.csi_node || (csi_node != nullptr && node.csi_node != nullptr &&
                                    HaveSamePlugins(*csi_node, *node.csi_node));
  if (other_uses || failed || node.failed || !same_plugins || of_pods != node.of_pods ||
      attachments != node.attachments || !SameLimits(limits, node.limits)) {
    ++objects_version_;
  }
}

// Returns whether a pod that was there has other volumes now.
bool AttachedVolumes::Read(Node& node, const NodeInfo& info, const ObjectStore& objects) {
  bool other_uses = false;
  if (node.csi_node_changed) ReadLimits(node, objects);
  if (node.limits.empty()) {
    ForgetVolumes(node);
    node.attachments_changed = true;  // to be read if there are limits again
  } else {
    other_uses = ReadPods(node, info, objects);
    if (node.sources_changed || node.attachments_changed) ReadAttachments(node, objects);
    Count(node);
  }
  node.generation = info.generation();
  node.csi_node_changed = node.sources_changed = false;
  return other_uses;
}

void AttachedVolumes::ReadLimits(Node& node, const ObjectStore& objects) {
  node.limits.clear();
  const Object* const object = objects.Find(Kind::kCSINode, "", node.name.view());
  node.csi_node = object == nullptr ? nullptr : object->Share<api::CSINode>();
  if (node.csi_node == nullptr) return;
  for (const api::CSINodeDriver& driver : node.csi_node->spec().drivers()) {
    if (!driver.allocatable().has_count()) continue;
    const int number = AddDriver(driver.name());
    auto limit = std::find_if(node.limits.begin(), node.limits.end(),
                              [number](const Limit& other) { return other.driver == number; });
    if (limit == node.limits.end()) limit = node.limits.insert(limit, {number, 0, 0});
    limit->count = driver.allocatable().count();
  }
}

// Pods keep their order: what is known of one is found by going along. Returns whether one of them
// has other volumes now.
bool AttachedVolumes::ReadPods(Node& node, const NodeInfo& info, const ObjectStore& objects) {
  std::vector<PodVolumes> before = std::exchange(node.pods, {});
  node.pods.reserve(std::max(before.size(), info.claim_uses().size()));
  size_t known = 0;
  bool other_uses = false;
  node.failed = false;
  for (const std::shared_ptr<const PodInfo>& pod : info.pods()) {
    if (!MayAttach(*pod)) continue;
    size_t at = known;
    while (at < before.size() && before[at].pod != pod) ++at;
    if (at < before.size()) {
      node.pods.push_back(std::move(before[at]));
      before[at].pod = nullptr;
      known = at + 1;
      if (node.sources_changed) other_uses |= ResolveAgain(node.pods.back(), node, objects);
    } else {
      node.pods.push_back(Resolve(pod, objects));
      for (const uint64_t source : node.pods.back().sources.objects) AddUser(source, node);
    }
    node.failed |= node.pods.back().failed;
  }
  for (PodVolumes& gone : before) {
    if (gone.pod != nullptr) DropPod(gone, node);
  }
  return other_uses;
}

// Returns whether it has other volumes now. Mostly it asks the same objects, which then know it.
bool AttachedVolumes::ResolveAgain(PodVolumes& pod, Node& node, const ObjectStore& objects) {
  PodVolumes now = Resolve(pod.pod, objects);
  std::swap(pod, now);
  for (const auto& [volume, plugin] : now.uses) DropUse(volume);
  if (pod.sources.objects != now.sources.objects) {
    for (const uint64_t source : now.sources.objects) RemoveUser(source, node);
    for (const uint64_t source : pod.sources.objects) AddUser(source, node);
  }
  return pod.failed != now.failed || pod.uses != now.uses;
}

AttachedVolumes::PodVolumes AttachedVolumes::Resolve(std::shared_ptr<const PodInfo> pod,
                                                     const ObjectStore& objects) {
  PodVolumes resolved;
  std::vector<AttachableVolume> volumes;
  resolved.failed =
      !AddAttachableVolumes(*pod, PodAge::kRunning, objects, volumes, resolved.sources).ok();
  for (const AttachableVolume& volume : volumes) {
    resolved.uses.push_back({AddUse(volume), volume.plugin});
  }
  resolved.pod = std::move(pod);
  return resolved;
}

void AttachedVolumes::ReadAttachments(Node& node, const ObjectStore& objects) {
  DropAttachments(node);
  for (const api::VolumeAttachment* attachment : attachments_.On(node.name.view())) {
    const std::string& volume_name = attachment->spec().source().persistent_volume_name();
    node.attachment_sources.push_back(ObjectHash(Kind::kPersistentVolume, "", volume_name));
    AddUser(node.attachment_sources.back(), node);
    const auto attached = FindAttached(*attachment, objects);
    if (attached.has_value()) node.attachments.push_back(AddUse(*attached));
  }
  std::sort(node.attachments.begin(), node.attachments.end());
  node.attachments_changed = false;
}

// Finds out what counts on the node, and how much room that leaves.
void AttachedVolumes::Count(Node& node) {
  node.of_pods.clear();
  for (const PodVolumes& pod : node.pods) {
    for (const auto& [volume, plugin] : pod.uses) {
      if (plugin == nullptr || IsMigratedOn(*node.csi_node, *plugin)) {
        node.of_pods.push_back(volume);
      }
    }
  }
  std::sort(node.of_pods.begin(), node.of_pods.end());
  node.of_pods.erase(std::unique(node.of_pods.begin(), node.of_pods.end()), node.of_pods.end());
  for (Limit& limit : node.limits) limit.room = limit.count;
  const auto count = [&node](const Volume& volume) {
    for (Limit& limit : node.limits) limit.room -= limit.driver == volume.second.driver ? 1 : 0;
  };
  for (const Volume* volume : node.of_pods) count(*volume);
  for (size_t i = 0; i < node.attachments.size(); ++i) {
    Volume* const volume = node.attachments[i];
    if (i > 0 && volume == node.attachments[i - 1]) continue;
    if (!std::binary_search(node.of_pods.begin(), node.of_pods.end(), volume)) count(*volume);
  }
}

// --- Letting go ---

void AttachedVolumes::DropPod(PodVolumes& pod, Node& node) {
  for (const auto& [volume, plugin] : pod.uses) DropUse(volume);
  for (const uint64_t source : pod.sources.objects) RemoveUser(source, node);
}

void AttachedVolumes::DropAttachments(Node& node) {
  for (Volume* const volume : node.attachments) DropUse(volume);
  for (const uint64_t source : node.attachment_sources) RemoveUser(source, node);
  node.attachments.clear();
  node.attachment_sources.clear();
}

void AttachedVolumes::ForgetVolumes(Node& node) {
  for (PodVolumes& pod : node.pods) DropPod(pod, node);
  node.pods.clear();
  DropAttachments(node);
  node.of_pods.clear();
  node.failed = false;
}

AttachedVolumes::Volume* AttachedVolumes::AddUse(const AttachableVolume& volume) {
  auto found = volumes_.find(volume.unique_name);
  if (found == volumes_.end()) {
    found = volumes_.emplace(volume.unique_name, VolumeUses{AddDriver(volume.driver)}).first;
  }
  ++found->second.count;
  return &*found;
}

void AttachedVolumes::DropUse(Volume* volume) {
  if (--volume->second.count == 0) unused_.push_back(volume);
}

void AttachedVolumes::EraseUnused() {
  std::sort(unused_.begin(), unused_.end());
  unused_.erase(std::unique(unused_.begin(), unused_.end()), unused_.end());
  for (const Volume* volume : unused_) {
    if (volume->second.count == 0) volumes_.erase(volumes_.find(volume->first));
  }
  unused_.clear();
}

int AttachedVolumes::AddDriver(absl::string_view name) {
  return drivers_.try_emplace(name, static_cast<int>(drivers_.size())).first->second;
}

}  // namespace berth
