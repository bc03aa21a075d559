// What each node can come to at best for one question, kept for the pods that ask it.
#ifndef BERTH_SRC_PREEMPTION_PRUNING_BOUND_CACHE_H_
#define BERTH_SRC_PREEMPTION_PRUNING_BOUND_CACHE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "berth/framework/handle.h"
#include "berth/framework/node_table.h"
#include "framework/change_journal.h"
#include "preemption/pruning/candidate_bound.h"
#include "preemption/pruning/priority_levels.h"
#include "preemption/pruning/candidate_heap.h"

namespace berth {

// The bounds of all rows. Follows a table and nominations: costs the rows that changed. Scheduling
// thread.
class QuestionBounds {
 public:
  explicit QuestionBounds(EvictionQuestion question) : question_(std::move(question)) {}
  const EvictionQuestion& question() const { return question_; }

  // `outlook` is as of now. `own_row`: that the pod in question is nominated to itself, or -1.
  // `budgets_version`: another one when budgets have changed.
  void Refresh(const NodeTable& nodes, const EvictionOutlook& outlook, const Nominator& nominator,
               NodeRow own_row = -1, uint64_t budgets_version = 0);

  int size() const { return static_cast<int>(chances_.size()); }
  // True only if nothing is possible; may stay false when the last one is gone.
  bool none_is_possible() const { return bounds_.empty(); }
  const EvictionChance& chance(NodeRow row) const { return chances_[row]; }
  // If something is possible.
  const EvictionBound& at(NodeRow row) const { return bounds_[row]; }
  // A sharper one, which holds until the next Refresh() knows better.
  void Sharpen(NodeRow row, const EvictionBound& bound) {
    bounds_[row] = bound;
    changes_.Add(row, size());
  }
  const RowJournal& changes() const { return changes_; }

 private:
  void Forget(NodeRow row);
  void Find(NodeRow row, const BoundFinder& finder, BoundFinder::Pods nominated);
  void FindAll(const NodeTable& nodes, const BoundFinder& finder, const Nominator& nominator);
  void FindForgotten(const NodeTable& nodes, const BoundFinder& finder, const Nominator& nominator,
                     NodeRow own_row);

  const EvictionQuestion question_;
  uint64_t table_ = 0, version_ = 0;  // NodeTable::id() and version()
  uint64_t nominations_version_ = 0, budgets_version_ = 0;
  Symbol own_node_;                      // as of the last Refresh(), or empty
  std::vector<EvictionChance> chances_;  // by row
  std::vector<EvictionBound> bounds_;    // the same; empty until something is possible
  std::vector<uint8_t> is_known_;        // the same: what is said of the row is as of version_
  std::vector<NodeRow> forgotten_;       // rows of which it is not
  RowJournal changes_;
};

// Of the latest questions. Scheduling thread.
class BoundsOfQuestions {
 public:
  struct Asked {
    explicit Asked(const EvictionQuestion& question) : bounds(question) {}
    QuestionBounds bounds;
    Prospects prospects;  // for pods of which nothing else is kept
  };
  // In step with `nodes`. Valid until the next call.
  Asked& Find(const EvictionQuestion& question, const NodeTable& nodes,
              const EvictionOutlook& outlook, const Nominator& nominator, NodeRow own_row = -1,
              uint64_t budgets_version = 0);

 private:
  std::vector<std::unique_ptr<Asked>> latest_;  // first
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_PRUNING_BOUND_CACHE_H_
