// SPDX-License-Identifier: Apache-2.0
// Equivalence classes of nodes: plugins that depend on topology domains treat the nodes of one
// class the same, so only the best node of each class is a candidate.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_NODE_EQUIVALENCE_CLASSES_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_NODE_EQUIVALENCE_CLASSES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "berth/incremental/domain_scorer.h"
#include "berth/incremental/sign.h"
#include "evaluation/incremental/domain_groupings.h"
#include "evaluation/incremental/score_cache.h"
#include "evaluation/incremental/scored_rows.h"
#include "table/change_journal.h"

namespace berth {

// The feasible rows of a ScoreCache, kept from one cycle to another: only rows whose total changed,
// or whose node or domain got or lost pods that count, are read. Scheduling thread.
//
// For a topology with very few domains, nodes of different domains are in different classes;
// otherwise nodes whose domains have different counts. Where each node is a domain of its own
// (hosts), a new pod moves a node to another class. Where domains have several nodes (racks), it
// moves all of them: rows are in cells then, of one rack each, and cells in classes.
//
// An example: of many racks, a, b and c have 10 nodes each and run 2, 2 and 0 pods that count. The
// grouping of this topology is kBySumOfCells: each rack is a cell, a and b are in the class of sum
// 2, c is in that of sum 0. Each cell shows its best row, say 5, 13 and 20, to its class, whose
// best row, 5 or 13, is scored for all 20 nodes. A pod that comes to c moves one cell to the class
// of sum 1, not 10 rows. By hosts (kBySum) there are no such cells: a row goes from class to class.
// With 16 racks or fewer (kByDomain) each rack is a class, and nothing moves.
class NodeEquivalenceClasses final : public EquivalentNodes::Domains {
 public:
  // Brings everything up to date with `scores`, as of its last Refresh(), and the values of `sums`.
  // False if there are too many cells or classes to be worth it: the object is of no use then.
  bool Refresh(const ScoreCache& scores, const NodeTable& nodes,
               const std::vector<DomainSum>& sums);

  // Lists the classes whose best row `accepts`; the other classes are rejected.
  void List(const ScoreCache& scores, absl::FunctionRef<bool(NodeRow)> accepts);
  // What follows is as of the last List(). The best row of each class, the first one of equals, and
  // how many rows the class has.
  EquivalentNodes rows() const { return {best_, counts_, this}; }
  bool some_rejected() const { return some_rejected_; }
  // Knows topologies whose domains are in cells.
  std::optional<int> CountDomains(const LabelColumn& column,
                                  absl::FunctionRef<bool(NodeRow)> takes) const override;

 private:
  struct Group {
    NodeClassKey key;
    int rows = 0;
    ScoredRowHeap heap;
  };
  // Cells with the same sums; the heap is of the best of each.
  using Class = Group;
  // Rows in the same domains, or with the same sum where each node is one. The cells are the
  // classes if there are no topologies of several nodes a domain.
  struct Cell : Group {
    int of_class = -1;
    ScoredRow shown;  // its best row: the last one that went into the heap of the class
  };

  bool CatchUp(const ScoreCache& scores, const NodeTable& nodes,
               const std::vector<DomainSum>& sums);
  bool CatchUpWithTotals(const ScoreCache& scores, const std::vector<DomainSum>& sums);
  bool ReadAllTotals(const ScoreCache& scores, const std::vector<DomainSum>& sums);
  bool Rebuild(const ScoreCache& scores, const NodeTable& nodes,
               const std::vector<DomainSum>& sums);

  bool Place(const ScoreCache& scores, NodeRow row, const std::vector<DomainSum>& sums);
  void Leave(NodeRow row);
  int FindCell(const NodeClassKey& key) const;
  int AddCell(NodeClassKey key, const std::vector<DomainSum>& sums);
  void DropCell(int number);
  void JoinClass(int number, const std::vector<DomainSum>& sums);
  void MoveCell(int number, const std::vector<DomainSum>& sums);
  void LeaveClass(int number);
  void ShowCell(const ScoreCache& scores, int number);

  // Beside the cells.
  bool has_classes() const { return groupings_.has_classes(); }
  auto IsInCell(const ScoreCache& scores, int number) const {
    return [this, &scores, number](const ScoredRow& entry) {
      return cell_of_row_[entry.row] == number && scores.total(entry.row) == entry.total;
    };
  }
  auto IsInClass(const ScoreCache& scores, int number) const {
    return [this, &scores, number](const ScoredRow& entry) {
      const int cell = cell_of_row_[entry.row];
      return cell >= 0 && cells_[cell].of_class == number && scores.total(entry.row) == entry.total;
    };
  }

  int skips_left_ = 0;  // so many times it is not tried again
  DomainGroupings groupings_;
  RowJournal::Position scores_seen_;  // in ScoreCache::changes()
  uint64_t order_version_ = 0;        // of the table, when all rows were placed
  std::vector<int32_t> cell_of_row_;  // -1 if it is not feasible
  std::vector<Cell> cells_;
  std::vector<int> unused_cells_;
  std::vector<int> touched_;  // cells to be shown
  std::vector<Class> classes_;
  std::vector<int> unused_classes_;
  // The number of a class, or of a cell, if cells are the classes.
  absl::flat_hash_map<NodeClassKey, int> number_of_key_;
  // As of the last List().
  std::vector<NodeRow> best_;
  std::vector<int> counts_;
  std::vector<int> listed_;  // their numbers
  bool some_rejected_ = false;
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_NODE_EQUIVALENCE_CLASSES_H_
