// SPDX-License-Identifier: Apache-2.0
// The snapshot of all nodes as a struct of arrays: what batch forms of plugins read.
#ifndef BERTH_COLUMNS_NODE_TABLE_H_
#define BERTH_COLUMNS_NODE_TABLE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "berth/api/resources.h"
#include "berth/api/segmented_map.h"
#include "berth/api/symbol.h"
#include "berth/api/taints.h"
#include "berth/columns/aspects.h"
#include "berth/columns/dictionary_column.h"
#include "berth/framework/node_info.h"
#include "berth/mutex.h"

namespace berth {

class Cache;
class LabelledSlots;
class PodTable;
class RareAmounts;
class TableJournal;
class RowMove;
template <class T>
class MutableDictionaryColumn;

// Whether each of `rows` is one more than the one before it.
inline bool AreConsecutive(absl::Span<const NodeRow> rows) {
  uint32_t apart = 0;  // no early end: this way it compiles to vector instructions
  const NodeRow* const row = rows.data();
  for (size_t i = 0; i < rows.size(); ++i) {
    apart |= static_cast<uint32_t>(row[i]) ^ static_cast<uint32_t>(row[0] + i);
  }
  return apart == 0;
}

// The value of one label on a node; `present` tells "" from no such label.
struct LabelValue {
  bool present = false;
  Symbol value;
  friend bool operator==(const LabelValue&, const LabelValue&) = default;
  template <class H>
  friend H AbslHashValue(H h, const LabelValue& v) {
    return H::combine(std::move(h), v.present, v.value);
  }
};

// A row whose node changed, and what about it may have.
struct RowChange {
  NodeRow row;
  Aspects aspects;
};

using LabelColumn = DictionaryColumn<LabelValue>;

// Whether no two rows have the same value of the label, as with host names.
inline bool HasOneNodePerValue(const LabelColumn& column) {
  const std::optional<uint32_t> none = column.Find(LabelValue{});
  const int without = none.has_value() ? column.row_count(*none) : 0;
  const int with = static_cast<int>(column.indexes().size()) - without;
  return column.values_in_use() == with + (without > 0 ? 1 : 0);
}

// Rows are in snapshot order: zone by zone in turn, as kube-scheduler's node tree lists them.
// Holds no NodeInfo; they outlive it. Threads: the scheduling thread changes it; within an
// extension point any thread may read it.
class NodeTable {
 public:
  NodeTable();
  ~NodeTable();
  NodeTable(const NodeTable&) = delete;
  NodeTable& operator=(const NodeTable&) = delete;

  // Differs for each table of the process: what was kept of one does not hold for a table in its
  // place.
  uint64_t id() const { return id_; }

  int size() const { return static_cast<int>(nodes_.size()); }
  const NodeInfo& node(NodeRow row) const { return *nodes_[row]; }
  // The row of the node of that name, or -1.
  NodeRow FindRow(Symbol name) const;
  NodeRow FindRow(absl::string_view name) const;

  // Columns, size() long. Milli-CPU, bytes or plain counts by resource; a resource that no node
  // has is a column of zeros.
  absl::Span<const int64_t> allocatable(ResourceId resource) const;
  absl::Span<const int64_t> requested(ResourceId resource) const;
  // As requested(), with 100 milli-CPU and 200 MiB for containers that request none.
  absl::Span<const int64_t> nonzero_requested(ResourceId resource) const;
  absl::Span<const int64_t> pod_count() const { return pod_count_; }
  absl::Span<const int64_t> allowed_pods() const { return allowed_pods_; }
  // As NodeInfo::lowest_priority().
  absl::Span<const int32_t> lowest_priority() const { return lowest_priority_; }
  // Whether some pod on a node has a priority below that: a look at one column.
  bool AnyPriorityBelow(int32_t priority) const;
  absl::Span<const uint8_t> unschedulable() const { return unschedulable_; }  // 0 or 1
  absl::Span<const uint8_t> has_used_ports() const { return has_used_ports_; }
  absl::Span<const uint8_t> has_pods_with_affinity() const { return has_pods_with_affinity_; }
  absl::Span<const uint8_t> has_pods_with_required_anti_affinity() const {
    return has_pods_with_required_anti_affinity_;
  }

  const DictionaryColumn<TaintList>& taints() const;
  // The values of label `key`. Made when first asked for, those of hosts and zones at once; kept in
  // step from then on.
  const LabelColumn& label_column(Symbol key) const;
  // For callers that read `rows` rows now, and keys of which there may be very many: the column may
  // be dropped when the table changes. Null if reading the nodes costs less.
  const LabelColumn* FindLabelColumn(Symbol key, size_t rows) const;

  // Sets `rows` to those whose node has the label with one of `values`, ascending. False if they
  // are more than `most`; `rows` may then be anything. Looks at few nodes, or at a column.
  bool SelectRows(Symbol key, absl::Span<const Symbol> values, int most,
                  std::vector<NodeRow>& rows) const;
  // As above, of the rows on which at least `amount`, above 0, of `resource` is not requested.
  // Also false if more than `most` nodes have any of a resource that is not common.
  bool SelectRowsWithRoom(ResourceId resource, int64_t amount, int most,
                          std::vector<NodeRow>& rows) const;

  // The pods on the nodes, counted by labels and affinity terms; include
  // "berth/columns/pod_table.h". Made when first asked for, kept in step from then on. Scheduling
  // thread only.
  const PodTable& pods() const;

  // How many nodes have the image of that name, and its size for all nodes: as reported by the node
  // that was there first; 0 if no node has it.
  int64_t image_node_count(Symbol image) const;
  int64_t image_size_bytes(Symbol image) const;

  // Grows with every change; row_version(row) is the version of the row's last change. Rows
  // keep their numbers until order_version() changes.
  uint64_t version() const { return version_; }
  uint64_t row_version(NodeRow row) const { return read_[slots_[row]].version; }
  uint64_t order_version() const { return order_version_; }
  // What changed after `version`, oldest first, a row once for each change. Absent if the order
  // changed since, or so much that the changes are no longer kept.
  std::optional<absl::Span<const RowChange>> ChangesSince(uint64_t version) const;

  // --- For the cache (and for tests that build a table) ---

  // Makes `nodes`, in this order, the rows.
  void SetOrder(absl::Span<const NodeInfo* const> nodes);
  // The same, as a move of rows: only nodes that came are read. A node that is another NodeInfo now
  // went and came; the former one must still live.
  void Rearrange(absl::Span<const NodeInfo* const> nodes);
  // `node` becomes row `row`; the node that had it, and all behind, move up by one.
  void InsertRow(NodeRow row, const NodeInfo* node);
  // The node of the first of `rows` goes. The nodes of the others, which rise, move to the row
  // before theirs in `rows`, and all behind the last one down by one.
  void RemoveRow(absl::Span<const NodeRow> rows);
  // The NodeInfos of these rows changed. Columns that were asked for may be gone afterwards: they
  // are to be asked for again.
  void RefreshRows(absl::Span<const NodeRow> rows);
  void RefreshRow(NodeRow row) { RefreshRows({&row, 1}); }

  // --- For caches of the framework; a plugin has NodeValues ---

  // Calls on_change(RowChange) and on_move(RowMove) in the order in which it happened; rows have
  // the numbers of that time. False, without a call, if SetOrder() was called since, or so much
  // happened that looking at every row costs less.
  bool Replay(uint64_t version, absl::FunctionRef<void(const RowChange&)> on_change,
              absl::FunctionRef<void(const RowMove&)> on_move) const;

 private:
  friend class Cache;

  // By row. Most nodes have, and most pods request, few of the common resources: a column that
  // would be as another one is empty.
  struct ResourceColumns {
    std::vector<int64_t> allocatable, requested;  // as zeros_
    std::vector<int64_t> nonzero_requested;       // as requested()
  };
  // A resource that is not common: made when it is asked for, kept up to date from then on.
  struct RareColumns {
    std::vector<int64_t> allocatable, requested;
  };
  struct KeptLabelColumn {
    std::unique_ptr<MutableDictionaryColumn<LabelValue>> column;
    bool may_go = false;  // when the table changes: no reader may cache it
  };
  // A node as of the last time it was read.
  struct ReadNode {
    std::shared_ptr<const NodeSpec> spec;
    uint64_t arrival = 0;
    uint64_t version = 0;  // of the table, right after
  };
  struct ImageState {
    int64_t node_count = 0;
    int64_t size_bytes = 0;
    uint64_t arrival = 0;  // of the node that size_bytes is from
  };

  class RowFinder;

  void Move(RowMove move, absl::Span<const NodeInfo* const> came);
  void AddRow(NodeRow row);
  // What is kept by slot of labels follows.
  void NoteLabels(int slot, const LabelSet& before, const LabelSet& after);
  int TakeSlot();
  void EnsureResources(int count);
  // Null if no node has, and no pod requests, any.
  const RareColumns* FindRareColumns(ResourceId resource) const;
  void FillLabelColumn(MutableDictionaryColumn<LabelValue>& column, Symbol key) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(made_mutex_);
  void DropColumns();
  // Returns whether an amount was another one. `column` is that of `amounts`.
  bool SetRare(RareAmounts& amounts, std::vector<int64_t> RareColumns::*column, NodeRow row,
               const ResourceVector::Rare& after);
  bool SetAmount(std::vector<int64_t>& column, NodeRow row, int64_t amount);
  void FillFromSpec(NodeRow row);
  Aspects FillFromPods(NodeRow row);
  void AddImage(const NodeImage& image, uint64_t arrival);
  using ImageNames = absl::flat_hash_set<Symbol>;
  // Returns whether the row's images changed. Adds those to `lost_size` of which FindImageSizes()
  // is to find the size.
  bool ReplaceImages(const ReadNode& before, const ReadNode& after, ImageNames& lost_size);
  void FindImageSizes(ImageNames names);

  // Calls visit(column) for every column that is a vector, by row.
  template <class Visit>
  void ForEachColumn(Visit visit);

  const uint64_t id_;
  std::vector<const NodeInfo*> nodes_;
  // A node keeps its slot, so that rows can move without a look at names, and what is not looked up
  // by row need not move.
  SegmentedMap<Symbol, int> slot_of_;
  std::vector<int> slots_;  // by row
  std::vector<NodeRow> row_of_slot_;
  std::vector<int> free_slots_;
  std::vector<ResourceColumns> resources_;  // by ResourceId; the common ones
  std::unique_ptr<RareAmounts> rare_allocatable_, rare_requested_;  // by slot
  mutable Mutex made_mutex_;  // of what is made when asked for
  mutable absl::flat_hash_map<ResourceId, std::unique_ptr<RareColumns>> rare_columns_
      ABSL_GUARDED_BY(made_mutex_);
  std::vector<int64_t> zeros_;
  std::vector<int64_t> pod_count_, allowed_pods_;
  std::vector<int32_t> lowest_priority_;
  std::vector<uint8_t> unschedulable_, has_used_ports_, has_pods_with_affinity_,
      has_pods_with_required_anti_affinity_;
  std::unique_ptr<MutableDictionaryColumn<TaintList>> taints_;
  mutable absl::flat_hash_map<Symbol, KeptLabelColumn> labels_ ABSL_GUARDED_BY(made_mutex_);
  mutable size_t labels_that_may_go_ ABSL_GUARDED_BY(made_mutex_) = 0;  // so many of them are
  // Null until more keys were asked for than are worth a look at all nodes each.
  mutable std::unique_ptr<LabelledSlots> labelled_slots_ ABSL_GUARDED_BY(made_mutex_);
  absl::flat_hash_map<Symbol, ImageState> images_;
  std::vector<ReadNode> read_;  // by slot
  mutable std::unique_ptr<PodTable> pods_;
  uint64_t version_ = 0, order_version_ = 0;
  std::unique_ptr<TableJournal> journal_;  // the latest changes; the last one made version_
};

}  // namespace berth

#endif  // BERTH_COLUMNS_NODE_TABLE_H_
