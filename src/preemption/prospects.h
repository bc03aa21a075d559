// In which order to look at the nodes for a victim: where most can be gained first.
#ifndef BERTH_SRC_PREEMPTION_PROSPECTS_H_
#define BERTH_SRC_PREEMPTION_PROSPECTS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "berth/framework/handle.h"
#include "berth/framework/node_table.h"
#include "framework/best_row.h"
#include "preemption/eviction_bound.h"
#include "preemption/eviction_outlook.h"

namespace berth {

// The bounds of all rows for one question, and the best of those that are in play. Follows a table
// and nominations: costs the rows that changed. Scheduling thread.
class Prospects {
 public:
  explicit Prospects(EvictionQuestion question) : question_(std::move(question)) {}
  const EvictionQuestion& question() const { return question_; }

  // `outlook` is as of now. `own_row`: that the pod in question is nominated to itself, or -1.
  // `budgets_version`: another one when budgets have changed.
  void Refresh(const NodeTable& nodes, const EvictionOutlook& outlook, const Nominator& nominator,
               NodeRow own_row = -1, uint64_t budgets_version = 0);

  // Whether `row` comes into question in this search; as before if nothing is said.
  void SetInPlay(NodeRow row, bool in_play) {
    if (is_in_play_[row] == static_cast<uint8_t>(in_play)) return;
    is_in_play_[row] = in_play;
    if (!all_changed_) changed_.push_back(row);
  }
  bool is_in_play(NodeRow row) const { return is_in_play_[row] != 0; }
  const EvictionBound& bound(NodeRow row) const { return bounds_[row]; }
  // A sharper one, which holds until the next Refresh() knows better.
  void Sharpen(NodeRow row, const EvictionBound& bound) {
    bounds_[row] = bound;
    if (!all_changed_) changed_.push_back(row);
  }

  // The row in play with the highest bound, the first of equals, of those that are possible; -1 if
  // there is none.
  NodeRow Best();

 private:
  class ByBound;

  void Forget(NodeRow row);
  void FindAll(const NodeTable& nodes, const BoundFinder& finder, const Nominator& nominator);

  const EvictionQuestion question_;
  uint64_t table_ = 0, version_ = 0;  // NodeTable::id() and version()
  uint64_t nominations_version_ = 0, budgets_version_ = 0;
  Symbol own_node_;                    // as of the last Refresh(), or empty
  std::vector<EvictionBound> bounds_;  // by row
  std::vector<uint8_t> is_known_;      // the same: the bound is as of version_
  std::vector<uint8_t> is_in_play_;    // the same
  std::vector<NodeRow> changed_;       // since best_ was brought in step
  bool all_changed_ = false;
  BestRow best_;
};

// Of the latest questions. Scheduling thread.
class ProspectsOfQuestions {
 public:
  // In step with `nodes`. Valid until the next call.
  Prospects& Find(const EvictionQuestion& question, const NodeTable& nodes,
                  const EvictionOutlook& outlook, const Nominator& nominator, NodeRow own_row = -1,
                  uint64_t budgets_version = 0);

 private:
  std::vector<std::unique_ptr<Prospects>> latest_;  // first
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_PROSPECTS_H_
