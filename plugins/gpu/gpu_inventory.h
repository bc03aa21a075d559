// SPDX-License-Identifier: Apache-2.0
// The cards of all nodes and the pods that have them: one inventory a scheduler, shared by its
// profiles.
#ifndef BERTH_PLUGINS_GPU_GPU_INVENTORY_H_
#define BERTH_PLUGINS_GPU_GPU_INVENTORY_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "berth/columns/node_values.h"
#include "berth/framework/handle.h"
#include "berth/framework/node_info.h"
#include "plugins/gpu/gpu_node.h"

namespace berth {

class GpuPolicy;

// The pods that the scheduler saw lately, as a mix for policies that weigh what is usual.
class GpuDemand {
 public:
  // Counts a pod once; of more than kWindow pods the oldest are forgotten.
  void Note(const PodInfo& pod, const GpuRequest& request);
  // The mix, brought up to date now and then: at most when an eighth more pods were seen.
  // `version` changes with it.
  const std::vector<TypicalPod>& mix() const { return mix_; }
  uint64_t version() const { return version_; }
  // How many pods were counted since the start.
  int64_t noted() const { return noted_; }

  static constexpr size_t kWindow = 10000;

 private:
  std::deque<std::pair<std::string, TypicalPod>> seen_;  // by uid
  absl::flat_hash_set<std::string> uids_;
  size_t since_mix_ = 0;
  int64_t noted_ = 0;
  std::vector<TypicalPod> mix_;
  uint64_t version_ = 0;
};

// Follows the node table: what a pod has is what is recorded on it, or what was claimed for it
// while the cluster has not shown it yet; a pod that has neither is counted on the cards that would
// be chosen for it. So it is right after a restart and after any roll-back. Scheduling thread.
class GpuInventory {
 public:
  struct Entry {
    GpuNode node;
    int64_t milli_cpu = 0;  // free, of the node
    int64_t all_milli_cpu = 0;
    uint64_t version = 0;  // changes with the entry, never repeats
    int slot = -1;         // a small number that the node keeps, whatever becomes of its row
  };

  // Which resources mean whole cards. All profiles must agree; returns false if `resources` are
  // others than were set before.
  bool SetResources(const std::vector<std::string>& resources);
  const std::vector<ResourceId>& resources() const { return resources_; }

  // Brings the entries up to date with the nodes, and with the handle's Device objects. Costs what
  // changed; rows move as those of the table. Warns of running pods whose request or record cannot
  // be understood.
  void Sync(const NodeTable& nodes, Handle& handle);
  // As of the last Sync().
  int size() const { return nodes_.size(); }
  const Entry& entry(NodeRow row) const { return nodes_.at(row).entry; }
  // More than any slot of an entry.
  int slots() const { return slots_; }
  // The node as it is given, which may have other pods than the table's; without the pod of uid
  // `without`, if not empty.
  Entry At(const NodeInfo& node, absl::string_view without = "") const;
  // The entry of the node's row if the node is as it was at the last Sync(), else null.
  const Entry* Find(const NodeInfo& node) const;

  // The pod has these cards (indexes) from now on, until the cluster shows it with a record.
  void Claim(const PodInfo& pod, absl::string_view node_name, std::vector<int> cards);
  // Nothing if it has no claim.
  void Release(const PodInfo& pod, absl::string_view node_name);

  GpuDemand& demand() { return demand_; }

  // The packing policies of each profile, in the order in which they were made.
  void AddPolicy(absl::string_view profile, const GpuPolicy* policy);
  void RemovePolicy(const GpuPolicy* policy);
  // The first of the profile, or null.
  const GpuPolicy* PolicyOf(absl::string_view profile) const;

 private:
  struct PodUse {
    std::shared_ptr<const PodInfo> pod;
    GpuRequest request;
    std::vector<int> recorded;  // card indexes
    std::string trouble;        // what of it cannot be understood, for people
  };
  struct Node {
    Symbol name;
    uint64_t row_version = 0;  // of the table; 0: to be read, whether it changed or not
    uint64_t generation = 0;
    std::shared_ptr<const NodeSpec> spec;
    std::shared_ptr<const api::Device> device;
    GpuNode bare;              // without pods
    std::vector<PodUse> uses;  // one a pod, in the order of the node's
    Entry entry;
  };

  void CatchUpWithTable(const NodeTable& nodes, const ObjectStore& objects);
  void Add(Node& node, Symbol name, const ObjectStore& objects);
  // Returns whether it is another one now.
  static bool RefreshDevice(Node& node, const ObjectStore& objects);
  void Refresh(Node& node, const NodeInfo& info, Handle& handle);
  void Warn(const PodUse& use, Handle& handle);
  void MarkChanged(Node& node);
  void MarkChanged(absl::string_view node_name);
  PodUse UseOf(std::shared_ptr<const PodInfo> pod) const;
  // `uses` are of the node's pods, one each.
  Entry Count(const GpuNode& bare, const NodeInfo& node, absl::Span<const PodUse* const> uses,
              absl::string_view without) const;

  std::vector<std::string> resource_names_;
  std::vector<ResourceId> resources_ = {ResourceIdOf("nvidia.com/gpu")};
  NodeValues<Node> nodes_;
  std::vector<int> free_slots_;
  int slots_ = 0;
  std::vector<Symbol> changed_;  // nodes to be read: they changed, or their claims did
  uint64_t next_version_ = 1;
  uint64_t devices_version_ = 0;
  absl::flat_hash_map<std::string, std::vector<int>> claims_;  // by uid: card indexes
  absl::flat_hash_map<std::string, std::string> warned_;       // by uid: of what
  GpuDemand demand_;
  std::map<std::string, std::vector<const GpuPolicy*>, std::less<>> policies_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_GPU_GPU_INVENTORY_H_
