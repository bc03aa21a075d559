// SPDX-License-Identifier: Apache-2.0
// PodCounts: how many pods of some kind run on each node and in each topology domain.
#ifndef BERTH_COLUMNS_POD_COUNTS_H_
#define BERTH_COLUMNS_POD_COUNTS_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "berth/columns/node_table.h"

namespace berth {

class NodeSet;
template <class Change>
class ChangeJournal;

// A node keeps its slot as long as it is in the table, whatever becomes of its row.
struct NodeSlots {
  std::vector<NodeRow> row_of_slot;
  std::vector<int> slot_of_row;
  int rows = 0;
  uint64_t order_version = 0;  // of the table
};

// A count a slot. Few nodes run pods of most kinds; all nodes run pods of some.
class SlotCounts {
 public:
  void Add(int slot, int64_t difference);
  int64_t at(int slot) const;
  int nonzero() const { return nonzero_; }
  bool is_array() const { return !many_.empty(); }
  // Calls visit(slot, count) for the slots whose count is not 0, in no particular order, until one
  // returns true. Returns whether one did.
  template <class Visit>
  bool AnyOf(Visit visit) const {
    for (const auto& [slot, count] : few_) {
      if (visit(slot, count)) return true;
    }
    for (size_t slot = 0; slot < many_.size(); ++slot) {
      if (many_[slot] != 0 && visit(static_cast<int>(slot), many_[slot])) return true;
    }
    return false;
  }
  template <class Visit>
  void ForEach(Visit visit) const {
    AnyOf([&](int slot, int64_t count) {
      visit(slot, count);
      return false;
    });
  }

 private:
  absl::flat_hash_map<int, int64_t> few_;  // until there are many
  std::vector<int64_t> many_;              // from then on
  int nonzero_ = 0;
};

// The topology domains of a column, which are those with a node, by how few pods they have.
struct MinimumPods {
  static constexpr int64_t kNone = std::numeric_limits<int32_t>::max();  // no such domain

  int64_t domains = 0;       // all of them
  int64_t pods = kNone;      // that those with the minimum have
  int64_t with_minimum = 0;  // how many domains have so few
  int64_t next = kNone;      // the minimum pods of the others

  // There is one more domain, with so many pods.
  void Include(int64_t of_domain) {
    ++domains;
    if (of_domain < pods) {
      next = std::exchange(pods, of_domain);
      with_minimum = 0;
    }
    if (of_domain == pods) {
      ++with_minimum;
    } else if (of_domain < next) {
      next = of_domain;
    }
  }
};

// Counts the pods of all nodes, or of those in a NodeScope: then pods on others are counted
// nowhere. PodTable, from which it comes, keeps it up to date with the table. Spans are valid until
// the table changes. Threads: asked from the scheduling thread only, in PreFilter, PreScore and the
// like; what it returned may be read by any thread within the cycle.
class PodCounts {
 public:
  // By row. Kept up to date once asked for.
  absl::Span<const int64_t> of_rows() const;
  // The count of one row; costs no memory.
  int64_t of_row(NodeRow row) const { return of_slots_.at(slots_->slot_of_row[row]); }
  // By index in `column`, which is one of the table's. Pods on nodes without the label are counted
  // under the value that says so. Kept up to date once asked for.
  absl::Span<const int64_t> of_domains(const LabelColumn& column) const;
  // How many of the nodes whose pods are counted are in each domain.
  absl::Span<const int> nodes_of_domains(const LabelColumn& column) const;
  // All of them, and those on nodes that have the label.
  int64_t total() const { return total_; }
  int64_t total_labelled(const LabelColumn& column) const;
  bool any_labelled(const LabelColumn& column) const;  // whether total_labelled() is above 0
  // Their minimum over the domains with such a node. Kept up to date once asked for.
  MinimumPods minimum(const LabelColumn& column) const;

  // For callers that keep something by domain: of_domains() as it is now.
  struct Version {
    uint64_t counts = 0;  // never 0 of any
    uint64_t number = 0;
  };
  Version version(const LabelColumn& column) const;
  // The count of `domain` is another one; pods came to the node of `row`, or went.
  struct Change {
    uint32_t domain;
    NodeRow row;
  };
  // What changed since, a domain once for each change. Absent if it may be anything.
  std::optional<absl::Span<const Change>> ChangesSince(const LabelColumn& column,
                                                       const Version& version) const;

  // Changes for callers that keep something by row: pods came to the nodes of these rows, or went,
  // a row once for each change. Recorded from the first call on. The caller follows row moves.
  Version row_version() const;
  std::optional<absl::Span<const NodeRow>> RowsSince(const Version& version) const;

  // Adds `weight` times the count of each domain to `sums`, which is as long as column.values();
  // nodes without the label are left out. Returns how many pods that were.
  int64_t AddToDomains(const LabelColumn& column, int64_t weight, absl::Span<int64_t> sums) const;

  // Adds `weight` times the count of each row to `sums`, which is as long as the table.
  void AddToRows(int64_t weight, absl::Span<int64_t> sums) const;

  // --- For PodTable ---

  // Counts on the nodes in `nodes`; null: on all.
  explicit PodCounts(const NodeSlots& slots, std::shared_ptr<const NodeSet> nodes = nullptr);
  PodCounts(PodCounts&&) noexcept;
  ~PodCounts();
  // Leaves out slots that are not counted.
  void Add(int slot, int64_t difference);
  // The node of that slot, which has no pods here, has come to those that are counted, or left
  // them.
  void UpdateCountedNode(int slot);
  const SlotCounts& of_slots() const { return of_slots_; }

 private:
  class Domains;  // what is known by domain of one column
  Domains& FindDomains(const LabelColumn& column) const;
  bool IsDense(const LabelColumn& column) const;

  const NodeSlots* slots_;
  std::shared_ptr<const NodeSet> nodes_;
  SlotCounts of_slots_;
  int64_t total_ = 0;
  mutable std::vector<int64_t> of_rows_;
  mutable uint64_t rows_version_ = 0;  // of the order; 0 if never asked for
  // One for each column that was asked for.
  mutable std::vector<std::unique_ptr<Domains>> domains_;
  mutable std::unique_ptr<ChangeJournal<NodeRow>> changed_rows_;  // once asked for
};

}  // namespace berth

#endif  // BERTH_COLUMNS_POD_COUNTS_H_
