// SPDX-License-Identifier: Apache-2.0
// Which volumes each node has attached, and how many more: one index a scheduler.
#ifndef BERTH_PLUGINS_NODE_VOLUME_LIMITS_ATTACHED_VOLUMES_H_
#define BERTH_PLUGINS_NODE_VOLUME_LIMITS_ATTACHED_VOLUMES_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/container/node_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "berth/columns/node_values.h"
#include "berth/handle/object_store.h"
#include "plugins/node_volume_limits/attachable_volumes.h"
#include "plugins/node_volume_limits/attachments_by_node.h"

namespace berth {

// Follows the node table, and objects by what changed of them. A node is read when it is first
// asked for, and from then on when it changed. Threads: the scheduling thread; Find() and what it
// returns may be read by several between two other calls.
class AttachedVolumes {
 public:
  // By unique name: its driver, and how often it is named below.
  struct VolumeUses {
    int driver;
    int count = 0;
  };
  using Volume = std::pair<const std::string, VolumeUses>;
  struct Limit {
    int driver;
    int64_t count;
    int64_t room;  // how many more
  };
  struct PodVolumes {
    std::shared_ptr<const PodInfo> pod;
    struct Use {
      Volume* volume;
      const MigratedPlugin* plugin;  // as AttachableVolume
      friend bool operator==(const Use&, const Use&) = default;
    };
    absl::InlinedVector<Use, 1> uses;
    VolumeSources sources;
    bool failed = false;  // cannot be understood
  };
  struct Node {
    uint64_t generation = 0;  // of the NodeInfo that was read; 0: none
    bool failed = false;      // some pod's volumes cannot be understood
    bool sources_changed = false, attachments_changed = false, csi_node_changed = false;
    Symbol name;
    absl::InlinedVector<Limit, 1> limits;  // if there is none, nothing below is known
    std::shared_ptr<const api::CSINode> csi_node;
    std::vector<PodVolumes> pods;
    std::vector<const Volume*> of_pods;  // that count here, each once; sorted
    std::vector<Volume*> attachments;    // sorted
    std::vector<uint64_t> attachment_sources;
  };
  // Costs what changed since the last call.
  void Sync(const NodeTable& nodes, const ObjectStore& objects);
  // Another number if objects changed so that a node that did not change, or a pod on it, may have
  // other volumes or limits. As of the last Sync().
  uint64_t objects_version() const { return objects_version_; }

  // After Sync() with the same table and objects: reads the nodes of `rows` that never were read.
  void Read(absl::Span<const NodeRow> rows, const NodeTable& nodes, const ObjectStore& objects);
  // The same of all rows.
  void ReadAll(const NodeTable& nodes, const ObjectStore& objects);
  // The same of some nodes that came, so that no call has to read them all at once.
  void ReadSomeThatCame(const NodeTable& nodes, const ObjectStore& objects);
  // What follows is of rows that were read.
  const Node& at(NodeRow row) const { return nodes_.at(row); }
  // So many more volumes of any driver have room on the node; 0 if that is not all there is to know
  // of it.
  int32_t sure_room(NodeRow row) const { return sure_room_[row]; }
  // The node if it is known as it is given, with its objects as they are; else null.
  const Node* Find(const NodeInfo& node, const ObjectStore& objects) const;
  const AttachmentsByNode& attachments() const { return attachments_; }

  // A number for the driver; -1 if no node that was read ever limited it or had volumes of it.
  int FindDriver(absl::string_view name) const;
  // Null if it is on no node that was read.
  const Volume* FindVolume(absl::string_view unique_name) const;

 private:
  // The kinds of objects that it is made of.
  static constexpr std::array<Kind, 5> kKinds = {Kind::kCSINode, Kind::kVolumeAttachment,
                                                 Kind::kPersistentVolumeClaim,
                                                 Kind::kPersistentVolume, Kind::kStorageClass};
  using Versions = std::array<uint64_t, kKinds.size()>;
  static Versions VersionsOf(const ObjectStore& objects);

  void Restart(const ObjectStore& objects);
  void CatchUpWithTable(const NodeTable& nodes);
  bool CatchUpWithObjects(const ObjectStore& objects);
  void ApplyChange(const Identity& changed, const ObjectStore& objects);
  void Mark(Node& node, bool Node::*what);
  void Mark(absl::string_view node_name, bool Node::*what);

  void ReadFirst(NodeRow row, const NodeTable& nodes, const ObjectStore& objects);
  void NoteRoom(NodeRow row);
  void ReadAgain(Node& node, const NodeInfo& info, const ObjectStore& objects);
  bool Read(Node& node, const NodeInfo& info, const ObjectStore& objects);
  void ReadLimits(Node& node, const ObjectStore& objects);
  bool ReadPods(Node& node, const NodeInfo& info, const ObjectStore& objects);
  PodVolumes Resolve(std::shared_ptr<const PodInfo> pod, const ObjectStore& objects);
  bool ResolveAgain(PodVolumes& pod, Node& node, const ObjectStore& objects);
  void ReadAttachments(Node& node, const ObjectStore& objects);
  void Count(Node& node);
  void DropPod(PodVolumes& pod, Node& node);
  void DropAttachments(Node& node);
  void ForgetVolumes(Node& node);

  Volume* AddUse(const AttachableVolume& volume);
  void DropUse(Volume* volume);
  void EraseUnused();
  int AddDriver(absl::string_view name);
  void AddUser(uint64_t source, Node& node) { users_[source].push_back(&node); }
  void RemoveUser(uint64_t source, Node& node);

  NodeValues<Node> nodes_;
  std::vector<int32_t> sure_room_;  // by row
  int unread_ = 0;                  // of the nodes
  std::vector<Symbol> came_;        // perhaps not read yet
  std::vector<Symbol> changed_;     // nodes to be read again
  absl::node_hash_map<std::string, VolumeUses> volumes_;
  std::vector<Volume*> unused_;  // perhaps
  absl::flat_hash_map<std::string, int> drivers_;
  // By ObjectHash(): nodes that are to be read again when the object changes, once a use.
  absl::flat_hash_map<uint64_t, absl::InlinedVector<Node*, 2>> users_;
  AttachmentsByNode attachments_;

  const ObjectStore* objects_ = nullptr;
  uint64_t table_ = 0, table_version_ = 0, order_version_ = 0;  // NodeTable::id() and so on
  Versions versions_ = {};
  uint64_t objects_version_ = 0;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_VOLUME_LIMITS_ATTACHED_VOLUMES_H_
