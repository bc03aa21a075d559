// SPDX-License-Identifier: Apache-2.0
// A node and the pods on it, summed up.
#ifndef BERTH_FRAMEWORK_NODE_INFO_H_
#define BERTH_FRAMEWORK_NODE_INFO_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/kinds.h"
#include "berth/api/labels.h"
#include "berth/api/resources.h"
#include "berth/api/symbol.h"
#include "berth/api/taints.h"
#include "berth/framework/pod_info.h"

namespace berth {

// A node's position in snapshot order: 0 .. NodeTable::size()-1.
using NodeRow = int32_t;

struct NodeImage {
  Symbol name;  // as the node reports it, each name once
  int64_t size_bytes;
  friend bool operator==(const NodeImage&, const NodeImage&) = default;
};

// The part that comes from the Node object: parsed once, shared by all copies of a NodeInfo.
struct NodeSpec {
  std::shared_ptr<const api::Node> object;  // null if only the name is known
  Symbol name;
  LabelSet labels;
  TaintList taints;
  bool unschedulable = false;
  ResourceVector allocatable;
  int64_t allowed_pods = 0;  // allocatable "pods"
  std::vector<NodeImage> images;

  // Returns InvalidArgument, naming the field, if the node cannot be understood.
  static absl::StatusOr<std::shared_ptr<const NodeSpec>> Create(
      std::shared_ptr<const api::Node> object);
};

// Plugins get it const: of the snapshot, or a copy with pods added or removed. The cache and dry
// runs change it. Threads: none of its own.
class NodeInfo {
 public:
  // A node that has pods but no Node object (yet).
  explicit NodeInfo(Symbol name);
  explicit NodeInfo(std::shared_ptr<const NodeSpec> spec);
  NodeInfo(const NodeInfo&) = default;  // copies share specs and pods
  NodeInfo& operator=(const NodeInfo&) = default;

  bool has_node() const { return spec_->object != nullptr; }
  const NodeSpec& spec() const { return *spec_; }
  const std::shared_ptr<const NodeSpec>& shared_spec() const { return spec_; }
  Symbol name() const { return spec_->name; }
  const LabelSet& labels() const { return spec_->labels; }
  const TaintList& taints() const { return spec_->taints; }
  bool unschedulable() const { return spec_->unschedulable; }
  const ResourceVector& allocatable() const { return spec_->allocatable; }
  int64_t allowed_pods() const { return spec_->allowed_pods; }

  // Assigned pods, bound and assumed alike, in the order of arrival.
  absl::Span<const std::shared_ptr<const PodInfo>> pods() const { return pods_; }
  // Those with any (anti-)affinity term, and those with a required anti-affinity term.
  absl::Span<const std::shared_ptr<const PodInfo>> pods_with_affinity() const {
    return pods_with_affinity_;
  }
  absl::Span<const std::shared_ptr<const PodInfo>> pods_with_required_anti_affinity() const {
    return pods_with_required_anti_affinity_;
  }
  // Of pods(); that of a node without pods is lower than none.
  static constexpr int32_t kNoPriority = std::numeric_limits<int32_t>::max();
  int32_t lowest_priority() const { return lowest_priority_; }
  const ResourceVector& requested() const { return requested_; }
  const ResourceVector& nonzero_requested() const { return nonzero_requested_; }
  // One entry a port and pod, in the order of pods().
  absl::Span<const HostPort> used_ports() const { return used_ports_; }
  // "namespace/claim" of every PersistentVolumeClaim its pods use → how many pods use it.
  const absl::flat_hash_map<std::string, int>& claim_uses() const { return claim_uses_; }

  // Changes with every change of this node, never repeats within a process.
  uint64_t generation() const { return generation_; }
  // Orders nodes by when their Node object first appeared; 0 while there is none.
  uint64_t arrival() const { return arrival_; }

  void SetSpec(std::shared_ptr<const NodeSpec> spec);
  void ClearSpec();  // the Node object is gone, its pods are not
  void AddPod(std::shared_ptr<const PodInfo> pod) { InsertPod(pods_.size(), std::move(pod)); }
  // At that position of pods(), as if it had never been away.
  void InsertPod(size_t position, std::shared_ptr<const PodInfo> pod);
  // Returns whether a pod of that uid was there. One of pods() is found without comparing uids.
  bool RemovePod(absl::string_view uid);
  bool RemovePod(const PodInfo& pod);
  // `before`, which is one of pods(), is seen differently now, and keeps its place. Returns false,
  // and does nothing, if it is not there or if its spec may have changed.
  bool ReplacePod(const PodInfo& before, std::shared_ptr<const PodInfo> pod);
  // How many of the first pods() are surely the ones that were there at that generation().
  size_t PodsUnchangedSince(uint64_t generation) const;

 private:
  // A change of pods_, and the first position that it touched.
  struct Edit {
    uint64_t generation;
    size_t position;
  };

  void RemoveAt(size_t position);
  std::ptrdiff_t PortsBehind(size_t position) const;
  void Touch();
  void NoteEdit(size_t position);

  std::shared_ptr<const NodeSpec> spec_;
  std::vector<std::shared_ptr<const PodInfo>> pods_, pods_with_affinity_,
      pods_with_required_anti_affinity_;
  ResourceVector requested_, nonzero_requested_;
  int32_t lowest_priority_ = kNoPriority;
  std::vector<HostPort> used_ports_;
  absl::flat_hash_map<std::string, int> claim_uses_;
  uint64_t generation_;
  uint64_t arrival_ = 0;
  // The latest edits, by rising position: a later edit further in front replaces those behind it.
  absl::InlinedVector<Edit, 4> edits_;
  uint64_t forgotten_ = 0;  // edits up to this generation are not known any more
};

}  // namespace berth

#endif  // BERTH_FRAMEWORK_NODE_INFO_H_
