// SPDX-License-Identifier: Apache-2.0
// Bounds of all nodes, kept for the preemptors of one class.
#ifndef BERTH_SRC_PREEMPTION_PRUNING_BOUND_CACHE_H_
#define BERTH_SRC_PREEMPTION_PRUNING_BOUND_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "berth/framework/handle.h"
#include "framework/nominated_rows.h"
#include "preemption/pruning/bound_calculator.h"
#include "preemption/pruning/priority_levels.h"
#include "table/best_row.h"
#include "table/change_journal.h"

namespace berth {

class CandidateBounds;

// Compares rows by their bounds, for a BestRow: of those alone where something is possible, and
// whose mark is `counts`.
class ByBound {
 public:
  // `marks`: by row.
  ByBound(const CandidateBounds& bounds, const uint8_t* marks, uint8_t counts)
      : bounds_(bounds), marks_(marks), counts_(counts) {}
  NodeRow BestOf(NodeRow begin, NodeRow end) const;
  NodeRow Better(NodeRow left, NodeRow right) const;

 private:
  const CandidateBounds& bounds_;
  const uint8_t* const marks_;
  const uint8_t counts_;
};

// What bounds depend on, as of now.
struct BoundInputs {
  const NodeTable& nodes;
  const PriorityLevels& levels;
  const Nominator& nominator;
  const NodeJournal& budget_changes;  // nodes where other budgets protect pods than before
  NodeRow own_row = -1;               // that the preemptor is nominated to itself, or -1
};

// The bounds of all nodes for one class, and their order. Follows a table and nominations: costs
// the rows that changed. Scheduling thread.
class CandidateBounds {
 public:
  explicit CandidateBounds(PreemptorClass preemptor) : preemptor_(std::move(preemptor)) {}
  const PreemptorClass& preemptor() const { return preemptor_; }

  void Refresh(const BoundInputs& inputs, const NominatedRows& with_nominated_pods);

  int size() const { return static_cast<int>(feasibility_.size()); }
  // True only if nothing is possible; may stay false when the last one is gone.
  bool none_is_possible() const { return bounds_.empty(); }
  const EvictionFeasibility& feasibility(NodeRow row) const { return feasibility_[row]; }
  bool is_possible(NodeRow row) const {
    return feasibility_[row].kind() == EvictionFeasibility::Kind::kPossible;
  }
  // If something is possible.
  const CandidateBound& at(NodeRow row) const { return bounds_[row]; }
  // A sharper one, which holds until the next Refresh() knows better.
  void Tighten(NodeRow row, const CandidateBound& bound) {
    bounds_[row] = bound;
    Reorder(row);
  }

  // The row with the highest bound, the first of equals, of those that are not hidden; -1 if
  // nothing is possible on any.
  NodeRow Best();
  // Leaves the row out of Best() until ShowAll(), which is called before the next Refresh().
  void Hide(NodeRow row);
  void ShowAll();
  size_t hidden() const { return hidden_.size(); }

 private:
  void Reorder(NodeRow row) {
    if (is_ordered_) order_.Update(row, ByBound(*this, is_hidden_.data(), /*counts=*/0));
  }
  void Forget(NodeRow row);
  void Compute(NodeRow row, const BoundCalculator& calculator, BoundCalculator::Pods nominated);
  void ComputeAll(const BoundCalculator& calculator, int rows);
  void ComputeForgotten(const BoundCalculator& calculator, const NominatedRows& with_nominated_pods,
                        NodeRow own_row);

  const PreemptorClass preemptor_;
  uint64_t table_ = 0, version_ = 0;  // NodeTable::id() and version()
  uint64_t nominations_version_ = 0;
  NodeJournal::Position budget_changes_;
  Symbol own_node_;                               // as of the last Refresh(), or empty
  std::vector<EvictionFeasibility> feasibility_;  // by row
  std::vector<CandidateBound> bounds_;            // the same; empty until something is possible
  std::vector<uint8_t> is_known_;                 // the same: as of version_
  std::vector<NodeRow> forgotten_;                // rows that are not
  BestRow order_;
  bool is_ordered_ = false;         // or it is made when the best is asked for
  std::vector<uint8_t> is_hidden_;  // by row, once it is ordered
  std::vector<NodeRow> hidden_;     // these
};

inline NodeRow ByBound::BestOf(NodeRow begin, NodeRow end) const {
  NodeRow best = -1;
  for (NodeRow row = begin; row < end; ++row) {
    if (marks_[row] != counts_ || !bounds_.is_possible(row)) continue;
    if (best < 0 || bounds_.at(best) < bounds_.at(row)) best = row;
  }
  return best;
}

inline NodeRow ByBound::Better(NodeRow left, NodeRow right) const {
  if (left < 0) return right;
  if (right < 0) return left;
  return bounds_.at(left) < bounds_.at(right) ? right : left;
}

// The bounds for the classes that came last. Scheduling thread.
class BoundCache {
 public:
  // Of the preemptor's class. If that is not kept, of one that RequestsSlightlyLess(), unless the
  // bounds have to be `exact`. Valid until the next call.
  CandidateBounds& Find(const PreemptorClass& preemptor, const BoundInputs& inputs, bool exact);

 private:
  NominatedRows with_nominated_pods_;
  std::vector<std::unique_ptr<CandidateBounds>> latest_;  // first
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_PRUNING_BOUND_CACHE_H_
