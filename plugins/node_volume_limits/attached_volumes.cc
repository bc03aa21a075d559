// SPDX-License-Identifier: Apache-2.0
// How the index follows the node table and the objects; attached_volumes_read.cc has how a node is
// read.
#include "plugins/node_volume_limits/attached_volumes.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "berth/api/storage_v1.pb.h"

namespace berth {

AttachedVolumes::Versions AttachedVolumes::VersionsOf(const ObjectStore& objects) {
  Versions versions;
  for (size_t i = 0; i < kKinds.size(); ++i) versions[i] = objects.version(kKinds[i]);
  return versions;
}

void AttachedVolumes::Sync(const NodeTable& nodes, const ObjectStore& objects) {
  const bool same_table = table_ == nodes.id() && objects_ == &objects;
  const Versions versions = VersionsOf(objects);
  if (same_table && table_version_ == nodes.version() && versions_ == versions) return;
  if (!same_table || !CatchUpWithObjects(objects)) Restart(objects);
  CatchUpWithTable(nodes);
  for (const Symbol name : changed_) {
    Node* const node = nodes_.Find(name);
    if (node == nullptr || node->generation == 0) continue;
    const NodeRow row = nodes.FindRow(name);
    ReadAgain(*node, nodes.node(row), objects);
    NoteRoom(row);
  }
  changed_.clear();
  EraseUnused();
  table_ = nodes.id();
  objects_ = &objects;
  table_version_ = nodes.version();
  versions_ = versions;
}

void AttachedVolumes::Restart(const ObjectStore& objects) {
  nodes_.Clear();
  order_version_ = 0;
  unread_ = 0;
  came_.clear();
  changed_.clear();
  volumes_.clear();
  unused_.clear();
  users_.clear();
  attachments_.Reset(objects);
  ++objects_version_;
}

// --- The table ---

void AttachedVolumes::CatchUpWithTable(const NodeTable& nodes) {
  nodes_.CatchUp(
      nodes,
      [&](const Node& node) {
        if (drivers_.empty()) return;  // no node is limited
        if (node.generation != 0 && !node.limits.empty()) changed_.push_back(node.name);
      },
      [&](Node& node) {
        if (node.generation == 0) --unread_;
        ForgetVolumes(node);
      },
      [&](Node& node, NodeRow row) {
        node.name = nodes.node(row).name();
        came_.push_back(node.name);
        ++unread_;
      });
  if (std::exchange(order_version_, nodes.order_version()) == nodes.order_version()) return;
  sure_room_.resize(nodes.size());
  for (NodeRow row = 0; row < nodes.size(); ++row) NoteRoom(row);
}

void AttachedVolumes::NoteRoom(NodeRow row) {
  const Node& node = nodes_.at(row);
  int64_t room = node.generation == 0 || node.failed ? 0 : std::numeric_limits<int32_t>::max();
  for (const Limit& limit : node.limits) room = std::min(room, limit.room);
  sure_room_[row] = static_cast<int32_t>(std::max<int64_t>(room, 0));
}

// --- The objects ---

bool AttachedVolumes::CatchUpWithObjects(const ObjectStore& objects) {
  for (size_t i = 0; i < kKinds.size(); ++i) {
    const auto changes = objects.ChangesSince(kKinds[i], versions_[i]);
    if (!changes.has_value()) return false;
    for (const IdentityPtr& changed : *changes) ApplyChange(*changed, objects);
  }
  return true;
}

void AttachedVolumes::ApplyChange(const Identity& changed, const ObjectStore& objects) {
  switch (changed.kind()) {
    case Kind::kCSINode:
      return Mark(changed.name(), &Node::csi_node_changed);
    case Kind::kVolumeAttachment:
      return attachments_.Update(changed.name(), objects, [this](absl::string_view node) {
        Mark(node, &Node::attachments_changed);
      });
    case Kind::kStorageClass:
      for (NodeRow row = 0; row < nodes_.size(); ++row) {
        Node& node = nodes_.at(row);
        const bool asks = std::any_of(node.pods.begin(), node.pods.end(),
                                      [](const PodVolumes& pod) { return pod.sources.classes; });
        if (asks) Mark(node, &Node::sources_changed);
      }
      break;
    default: {
      const auto users =
          users_.find(ObjectHash(changed.kind(), changed.namespace_name(), changed.name()));
      if (users == users_.end()) break;
      for (Node* const node : users->second) Mark(*node, &Node::sources_changed);
    }
  }
  if (unread_ > 0) ++objects_version_;  // one of those may have it
}

void AttachedVolumes::Mark(Node& node, bool Node::*what) {
  if (node.generation == 0) {
    ++objects_version_;
  } else if (!std::exchange(node.*what, true)) {
    changed_.push_back(node.name);
  }
}

void AttachedVolumes::Mark(absl::string_view node_name, bool Node::*what) {
  const std::optional<Symbol> name = Symbol::Find(node_name);
  Node* const node = name.has_value() ? nodes_.Find(*name) : nullptr;
  if (node != nullptr) Mark(*node, what);
}

void AttachedVolumes::RemoveUser(uint64_t source, Node& node) {
  const auto found = users_.find(source);
  auto& users = found->second;
  *std::find(users.begin(), users.end(), &node) = users.back();
  users.pop_back();
  if (users.empty()) users_.erase(found);
}

// --- What others ask ---

void AttachedVolumes::Read(absl::Span<const NodeRow> rows, const NodeTable& nodes,
                           const ObjectStore& objects) {
  if (unread_ == 0) return;
  for (const NodeRow row : rows) {
    if (nodes_.at(row).generation == 0) ReadFirst(row, nodes, objects);
  }
}

void AttachedVolumes::ReadAll(const NodeTable& nodes, const ObjectStore& objects) {
  std::vector<NodeRow> rows(nodes.size());
  std::iota(rows.begin(), rows.end(), 0);
  Read(rows, nodes, objects);
  came_.clear();
}

void AttachedVolumes::ReadSomeThatCame(const NodeTable& nodes, const ObjectStore& objects) {
  constexpr int kMost = 1024;
  for (int i = 0; i < kMost && !came_.empty(); ++i) {
    const NodeRow row = nodes.FindRow(came_.back());
    came_.pop_back();
    if (row >= 0) Read({&row, 1}, nodes, objects);
  }
}

const AttachedVolumes::Node* AttachedVolumes::Find(const NodeInfo& node,
                                                   const ObjectStore& objects) const {
  if (objects_ != &objects || versions_ != VersionsOf(objects)) return nullptr;
  const Node* const found = nodes_.Find(node.name());
  if (found == nullptr || found->generation == 0) return nullptr;
  const bool is_read = found->limits.empty() ||  // its pods do not matter
                       found->generation == node.generation();
  return is_read ? found : nullptr;
}

int AttachedVolumes::FindDriver(absl::string_view name) const {
  const auto found = drivers_.find(name);
  return found == drivers_.end() ? -1 : found->second;
}

const AttachedVolumes::Volume* AttachedVolumes::FindVolume(absl::string_view unique_name) const {
  const auto found = volumes_.find(unique_name);
  return found == volumes_.end() ? nullptr : &*found;
}

}  // namespace berth
