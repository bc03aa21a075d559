// SPDX-License-Identifier: Apache-2.0
// Where pods are nominated to.
#ifndef BERTH_SRC_FRAMEWORK_NOMINATED_ROWS_H_
#define BERTH_SRC_FRAMEWORK_NOMINATED_ROWS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/resources.h"
#include "berth/api/symbol.h"
#include "berth/columns/node_table.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_info.h"

namespace berth {

// Whether `nominated` counts on its node when pods of `priority` are filtered, as kube-scheduler
// v1.35 addNominatedPods: pods of lower priority do not.
inline bool CountsForPriority(const PodInfo& nominated, int32_t priority) {
  return nominated.priority() >= priority;
}

// The same for `pod`, for which its own nomination does not count.
inline bool CountsFor(const PodInfo& nominated, const PodInfo& pod) {
  return CountsForPriority(nominated, pod.priority()) && nominated.uid() != pod.uid();
}

// The row of the node that the pod is nominated to, or -1.
inline NodeRow NominatedRow(const Nominator& nominator, const NodeTable& nodes,
                            const PodInfo& pod) {
  return nodes.FindRow(nominator.NominatedNode(pod));
}

// Calls visit(row) for the row of each nominated pod's node, if there is such a node.
template <class Visit>
void ForEachNominatedRow(const Nominator& nominator, const NodeTable& nodes, Visit visit) {
  nominator.ForEach([&](const PodInfo&, absl::string_view node) {
    const NodeRow row = nodes.FindRow(node);
    if (row >= 0) visit(row);
  });
}

// Those of `rows` that have nominated pods, and perhaps others.
inline absl::flat_hash_set<NodeRow> RowsWithNominatedPods(absl::Span<const NodeRow> rows,
                                                          const Nominator& nominator,
                                                          const NodeTable& nodes) {
  constexpr size_t kFew = 64;  // reading the name of each node takes longest
  absl::flat_hash_set<NodeRow> nominated;
  if (rows.size() > kFew) {
    ForEachNominatedRow(nominator, nodes, [&](NodeRow row) { nominated.insert(row); });
  } else {
    for (const NodeRow row : rows) {
      if (!nominator.NominatedPods(nodes.node(row).name()).empty()) nominated.insert(row);
    }
  }
  return nominated;
}

// The pods that are nominated to one node, at least one.
struct NominatedPodsOfRow {
  absl::Span<const std::shared_ptr<const PodInfo>> pods;  // by falling priority
  ResourceVector requests;                                // their sum
};

// The rows of nodes that have nominated pods, kept from call to call: a call costs the nominations
// that changed. Moves as rows do. Scheduling thread.
class NominatedRows {
 public:
  // What follows is as of now.
  void CatchUp(const NodeTable& nodes, const Nominator& nominator);

  absl::Span<const NodeRow> rows() const { return rows_; }  // in no order
  bool contains(NodeRow row) const { return slot_of_[row] >= 0; }
  // For a row that it contains.
  const NominatedPodsOfRow& at(NodeRow row) const { return pods_[slot_of_[row]]; }

  // What is read of one row after the other, in columns, by slot: a number of rows(), or kNone.
  static constexpr int32_t kNone = -1;
  int32_t slot(NodeRow row) const { return slot_of_[row]; }
  absl::Span<const int32_t> highest_priority() const { return highest_priority_; }
  absl::Span<const int32_t> lowest_priority() const { return lowest_priority_; }
  absl::Span<const int32_t> pod_count() const { return pod_count_; }
  // What their pods request together of a common resource; empty if none does.
  absl::Span<const int64_t> requests(ResourceId id) const { return requests_[id]; }

 private:
  static constexpr int32_t kCame = -2;

  bool CatchUpWithMoves(const NodeTable& nodes, const Nominator& nominator);
  void Collect(const NodeTable& nodes, const Nominator& nominator);
  // `pods` are those nominated to its node: not none.
  void Set(NodeRow row, absl::Span<const std::shared_ptr<const PodInfo>> pods);
  void Remove(NodeRow row);
  void Clear();
  // Calls visit(column) for each of them but pods_ and rows_.
  template <class Visit>
  void ForEachColumn(Visit visit) {
    visit(highest_priority_);
    visit(lowest_priority_);
    visit(pod_count_);
    for (std::vector<int64_t>& column : requests_) {
      if (!column.empty()) visit(column);
    }
  }

  uint64_t table_ = 0, version_ = 0;  // NodeTable::id() and version()
  uint64_t nominations_version_ = 0;
  std::vector<NodeRow> rows_;
  std::vector<NominatedPodsOfRow> pods_;                                 // of each of rows_
  std::vector<int32_t> highest_priority_, lowest_priority_, pod_count_;  // the same
  std::array<std::vector<int64_t>, size_t{kCommonResources}> requests_;  // the same
  std::vector<int32_t> slot_of_;  // by row: in rows_, or kNone; kCame while rows move
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_NOMINATED_ROWS_H_
