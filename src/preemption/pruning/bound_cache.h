// SPDX-License-Identifier: Apache-2.0
// Bounds of all nodes, kept for the preemptors of one class.
#ifndef BERTH_SRC_PREEMPTION_PRUNING_BOUND_CACHE_H_
#define BERTH_SRC_PREEMPTION_PRUNING_BOUND_CACHE_H_

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
#include "table/change_journal.h"

namespace berth {

// The bounds of all nodes for one class. Follows a table and nominations: costs the rows that
// changed. Scheduling thread.
class CandidateBounds {
 public:
  explicit CandidateBounds(PreemptorClass preemptor) : preemptor_(std::move(preemptor)) {}
  const PreemptorClass& preemptor() const { return preemptor_; }

  // `levels` are as of now, and so are the rows that have nominated pods. `own_row`: that the pod
  // in question is nominated to itself, or -1. `budget_changes`: the nodes on which pods are
  // protected by other budgets than before.
  void Refresh(const NodeTable& nodes, const PriorityLevels& levels, const Nominator& nominator,
               const NominatedRows& with_nominated_pods, const NodeJournal& budget_changes,
               NodeRow own_row = -1);

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
  void Tighten(NodeRow row, const CandidateBound& bound) { bounds_[row] = bound; }

 private:
  void Forget(NodeRow row);
  void Compute(NodeRow row, const BoundCalculator& calculator, BoundCalculator::Pods nominated);
  void ComputeAll(const BoundCalculator& calculator);
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
};

// The bounds for the classes that came last. Scheduling thread.
class BoundCache {
 public:
  // In step with `nodes`. Valid until the next call.
  CandidateBounds& Find(const PreemptorClass& preemptor, const NodeTable& nodes,
                        const PriorityLevels& levels, const Nominator& nominator,
                        const NodeJournal& budget_changes, NodeRow own_row = -1);
  // The same, of a class that NeedsLittleLess(); null if there is none, or if those of the
  // preemptor's own class are kept.
  CandidateBounds* FindOfLess(const PreemptorClass& preemptor, const NodeTable& nodes,
                              const PriorityLevels& levels, const Nominator& nominator,
                              const NodeJournal& budget_changes, NodeRow own_row = -1);

 private:
  using Kept = std::vector<std::unique_ptr<CandidateBounds>>;

  CandidateBounds& Use(Kept::iterator kept, const NodeTable& nodes, const PriorityLevels& levels,
                       const Nominator& nominator, const NodeJournal& budget_changes,
                       NodeRow own_row);
  Kept::iterator FindKept(const PreemptorClass& preemptor);

  NominatedRows with_nominated_pods_;
  Kept latest_;  // first
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_PRUNING_BOUND_CACHE_H_
