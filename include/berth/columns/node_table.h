// SPDX-License-Identifier: Apache-2.0
// The snapshot of all nodes as a struct of arrays: what batch forms of plugins read.
#ifndef BERTH_COLUMNS_NODE_TABLE_H_
#define BERTH_COLUMNS_NODE_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "berth/api/resources.h"
#include "berth/api/segmented_map.h"
#include "berth/api/symbol.h"
#include "berth/api/taints.h"
#include "berth/columns/aspects.h"
#include "berth/columns/row_move.h"
#include "berth/framework/node_info.h"
#include "berth/mutex.h"

namespace berth {

class LabelledSlots;
class PodTable;
class RareAmounts;

// Whether each of `rows` is one more than the one before it.
inline bool AreConsecutive(absl::Span<const NodeRow> rows) {
  uint32_t apart = 0;  // no early end: this way it compiles to vector instructions
  const NodeRow* const row = rows.data();
  for (size_t i = 0; i < rows.size(); ++i) {
    apart |= static_cast<uint32_t>(row[i]) ^ static_cast<uint32_t>(row[0] + i);
  }
  return apart == 0;
}

// A column whose values repeat: each distinct value once, and an index a row. Evaluate each value,
// then map the rows. Values that no row has any more may linger. Belongs to a table and lives as
// long; it may be cached.
template <class T>
class DictionaryColumn {
 public:
  absl::Span<const T> values() const { return values_; }
  uint32_t index(NodeRow row) const { return indexes_[row]; }
  absl::Span<const uint32_t> indexes() const { return indexes_; }
  const T& at(NodeRow row) const { return values_[indexes_[row]]; }
  // The index of `value`, if it is in values().
  std::optional<uint32_t> Find(const T& value) const {
    const uint32_t* const index = index_of_.Find(value);
    return index == nullptr ? std::nullopt : std::optional<uint32_t>(*index);
  }
  // How many rows have the value of that index.
  int row_count(uint32_t index) const { return row_counts_[index]; }
  absl::Span<const int> row_counts() const { return row_counts_; }  // by index
  // How many values some row has.
  int values_in_use() const { return values_in_use_; }
  // Changes whenever a row gets another value or another number.
  uint64_t version() const { return version_; }

  // Calls use(i, evaluate(index)) for each rows[i] and the index of its value. `evaluate` is asked
  // once for each distinct value if that is less work.
  template <class Evaluate, class Use>
  void EvaluateRows(absl::Span<const NodeRow> rows, Evaluate evaluate, Use use) const {
    if (values_.size() > rows.size() / 2) {  // nearly every node has its own value
      for (size_t i = 0; i < rows.size(); ++i) use(i, evaluate(indexes_[rows[i]]));
      return;
    }
    absl::InlinedVector<decltype(evaluate(uint32_t{})), 64> of_value;
    for (uint32_t index = 0; index < values_.size(); ++index) of_value.push_back(evaluate(index));
    for (size_t i = 0; i < rows.size(); ++i) use(i, of_value[indexes_[rows[i]]]);
  }

  // Changes whenever a value gets another index.
  uint64_t numbering() const { return numbering_; }

  // --- For the table ---

  // Forgets everything; `rows` rows without a value, which Set() is to give them.
  void Reset(int rows) {
    ++numbering_;
    values_.clear();
    index_of_.clear();
    row_counts_.clear();
    values_in_use_ = 0;
    indexes_.assign(rows, kUnset);
    ++version_;
  }
  void Set(NodeRow row, const T& value) {
    const size_t known = values_.size();
    const uint32_t index = IndexOf(value);
    if (indexes_[row] == index) return;
    if (indexes_[row] != kUnset) Leave(indexes_[row]);
    Join(index);
    indexes_[row] = index;
    ++version_;
    if (index == known) DropUnusedValues();
  }
  // Reset(), and the same value for each row.
  void FillWith(int rows, const T& value) {
    Reset(rows);
    if (rows == 0) return;
    const uint32_t index = IndexOf(value);
    indexes_.assign(rows, index);
    row_counts_[index] = rows;
    values_in_use_ = 1;
  }
  // Reset(), and value_of(row) for each row.
  template <class ValueOf>
  void Fill(int rows, ValueOf value_of) {
    constexpr NodeRow kFew = 256;
    Reset(rows);
    for (NodeRow row = 0; row < rows; ++row) {
      if (row == kFew && values_.size() > kFew / 2) {  // as of names: room for all at once
        index_of_.Reserve(rows);
        values_.reserve(rows);
        row_counts_.reserve(rows);
      }
      indexes_[row] = IndexOf(value_of(row));
      Join(indexes_[row]);
    }
  }
  // Follows the rows; those that came have no value yet. Gives values other indexes if most of them
  // are of no row any more.
  void Move(const RowMove& move) {
    for (const NodeRow row : move.gone()) Leave(indexes_[row]);
    move.Apply(indexes_, kUnset);
    ++version_;
    DropUnusedValues();
  }

 private:
  static constexpr uint32_t kUnset = std::numeric_limits<uint32_t>::max();

  // A row gets the value of that index, or loses it.
  void Join(uint32_t index) { values_in_use_ += row_counts_[index]++ == 0; }
  void Leave(uint32_t index) { values_in_use_ -= --row_counts_[index] == 0; }

  uint32_t IndexOf(const T& value) {
    const auto [index, is_new] = index_of_.FindOrAdd(value, static_cast<uint32_t>(values_.size()));
    if (is_new) {
      values_.push_back(value);
      row_counts_.push_back(0);
    }
    return *index;
  }

  void DropUnusedValues() {
    if (values_.size() <= 2 * indexes_.size() + 64) return;
    const std::vector<T> values = std::exchange(values_, {});
    std::vector<uint32_t> new_index(values.size(), kUnset);
    index_of_.clear();
    for (uint32_t index = 0; index < values.size(); ++index) {
      if (row_counts_[index] == 0) continue;
      new_index[index] = static_cast<uint32_t>(values_.size());
      row_counts_[values_.size()] = row_counts_[index];
      index_of_.FindOrAdd(values[index], new_index[index]);
      values_.push_back(values[index]);
    }
    row_counts_.resize(values_.size());
    for (uint32_t& index : indexes_) index = index == kUnset ? kUnset : new_index[index];
    ++version_;
    ++numbering_;
  }

  std::vector<T> values_;
  std::vector<int> row_counts_;  // by index
  int values_in_use_ = 0;
  std::vector<uint32_t> indexes_;
  SegmentedMap<T, uint32_t> index_of_;
  uint64_t version_ = 0;
  uint64_t numbering_ = 0;
};

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

// Whether no two rows have the same value of the label, as of names of hosts.
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

  // Another one for each table of the process: what was kept of one is not of another that took its
  // place.
  uint64_t id() const { return id_; }

  int size() const { return static_cast<int>(nodes_.size()); }
  const NodeInfo& node(NodeRow row) const { return *nodes_[row]; }
  // The row of the node of that name, or -1.
  NodeRow FindRow(Symbol name) const;

  // Columns, size() long. Milli-CPU, bytes or plain counts by resource; a resource that no node
  // has is a column of zeros.
  absl::Span<const int64_t> allocatable(ResourceId resource) const;
  absl::Span<const int64_t> requested(ResourceId resource) const;
  // As requested(), with 100 milli-CPU and 200 MiB for containers that request none.
  absl::Span<const int64_t> nonzero_requested(ResourceId resource) const;
  absl::Span<const int64_t> pod_count() const { return pod_count_; }
  absl::Span<const int64_t> allowed_pods() const { return allowed_pods_; }
  absl::Span<const uint8_t> unschedulable() const { return unschedulable_; }  // 0 or 1
  absl::Span<const uint8_t> has_used_ports() const { return has_used_ports_; }
  absl::Span<const uint8_t> has_pods_with_affinity() const { return has_pods_with_affinity_; }
  absl::Span<const uint8_t> has_pods_with_required_anti_affinity() const {
    return has_pods_with_required_anti_affinity_;
  }

  const DictionaryColumn<TaintList>& taints() const { return taints_; }
  // The values of label `key`. Made when first asked for, those of hosts and zones at once; kept in
  // step from then on.
  const LabelColumn& label_column(Symbol key) const;
  // For callers that read `rows` rows now, and keys of which there may be very many: the column may
  // be dropped when the table changes. Null if reading the nodes costs less.
  const LabelColumn* FindLabelColumn(Symbol key, size_t rows) const;

  // The pods on the nodes, counted by labels and affinity terms; include
  // "berth/columns/pod_table.h". Made when first asked for, kept in step from then on. Scheduling
  // thread only.
  const PodTable& pods() const;

  // On how many nodes the image of that name is, and its size, which for all nodes is the one that
  // the node reports that was there first; 0 if it is nowhere.
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
  // For callers that keep values by row and move them as the rows move: calls on_change(RowChange)
  // and on_move(RowMove) in the order in which it happened; rows have the numbers of that time.
  // False, without a call, if SetOrder() was called since, or so much happened that looking at
  // every row costs less.
  template <class OnChange, class OnMove>
  bool Replay(uint64_t version, OnChange on_change, OnMove on_move) const {
    const uint64_t behind = version_ - version;
    if (version > version_ || version < replayable_since_ || behind > changes_.size()) return false;
    auto move = std::partition_point(moves_.begin(), moves_.end(),
                                     [&](const KeptMove& m) { return m.version <= version; });
    for (size_t i = changes_.size() - behind; i < changes_.size(); ++i) {
      ++version;
      if (move != moves_.end() && move->version == version) {
        on_move((move++)->move);
      } else {
        on_change(changes_[i]);
      }
    }
    return true;
  }

  // Prefetches what there is of a row, in kPrefetchSteps steps with other work between them: each
  // needs what those before it have fetched. A hint: any row will do.
  static constexpr int kPrefetchSteps = 3;
  void PrefetchAhead(NodeRow row, int step) const;

  // --- For the cache (and for tests that build a table) ---

  // Makes `nodes`, in this order, the rows.
  void SetOrder(absl::Span<const NodeInfo* const> nodes);
  // The same, as a move of rows: only nodes that came are read. A node that is another NodeInfo now
  // went and came; the former one must still live.
  void Rearrange(absl::Span<const NodeInfo* const> nodes);
  // `node` becomes row `row`; who had it, and all behind, move up by one.
  void InsertRow(NodeRow row, const NodeInfo* node);
  // The node of the first of `rows` goes. The nodes of the others, which rise, move to the row
  // before theirs in `rows`, and all behind the last one down by one.
  void RemoveRow(absl::Span<const NodeRow> rows);
  // The NodeInfos of these rows changed. Columns that were asked for may be gone afterwards: they
  // are to be asked for again.
  void RefreshRows(absl::Span<const NodeRow> rows);
  void RefreshRow(NodeRow row) { RefreshRows({&row, 1}); }

 private:
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
    std::unique_ptr<LabelColumn> column;
    bool may_go = false;  // when the table changes: nobody may cache it
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

  struct KeptMove {
    RowMove move;
    uint64_t version;  // right after it
  };
  class RowFinder;

  void NoteChange(RowChange change);
  void Move(RowMove move, absl::Span<const NodeInfo* const> came);
  void NoteMove(RowMove move);
  void AddRow(NodeRow row);
  // What is kept by slot of labels follows.
  void NoteLabels(int slot, const LabelSet& before, const LabelSet& after);
  int TakeSlot();
  void EnsureResources(int count);
  // Null if no node has, and no pod requests, any.
  const RareColumns* FindRareColumns(ResourceId resource) const;
  void FillLabelColumn(LabelColumn& column, Symbol key) const
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
  mutable Mutex made_mutex_;  // of what is made when somebody asks
  mutable absl::flat_hash_map<ResourceId, std::unique_ptr<RareColumns>> rare_columns_
      ABSL_GUARDED_BY(made_mutex_);
  std::vector<int64_t> zeros_;
  std::vector<int64_t> pod_count_, allowed_pods_;
  std::vector<uint8_t> unschedulable_, has_used_ports_, has_pods_with_affinity_,
      has_pods_with_required_anti_affinity_;
  DictionaryColumn<TaintList> taints_;
  mutable absl::flat_hash_map<Symbol, KeptLabelColumn> labels_ ABSL_GUARDED_BY(made_mutex_);
  mutable size_t labels_that_may_go_ ABSL_GUARDED_BY(made_mutex_) = 0;  // so many of them are
  // Null until more keys were asked for than are worth a look at all nodes each.
  mutable std::unique_ptr<LabelledSlots> labelled_slots_ ABSL_GUARDED_BY(made_mutex_);
  absl::flat_hash_map<Symbol, ImageState> images_;
  std::vector<ReadNode> read_;  // by slot
  mutable std::unique_ptr<PodTable> pods_;
  uint64_t version_ = 0, order_version_ = 0;
  // The latest changes; the last one made version_. For a move it is none of a row: what it was is
  // in moves_.
  std::vector<RowChange> changes_;
  std::deque<KeptMove> moves_;
  int64_t moved_rows_ = 0;                                // what moves_ cost, about
  uint64_t order_changed_at_ = 0, replayable_since_ = 0;  // versions
};

}  // namespace berth

#endif  // BERTH_COLUMNS_NODE_TABLE_H_
