// Looks first at the nodes that promise most, and ends when no other node can be better.
#ifndef BERTH_SRC_PREEMPTION_PRUNING_BEST_FIRST_SEARCH_H_
#define BERTH_SRC_PREEMPTION_PRUNING_BEST_FIRST_SEARCH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/container/node_hash_map.h"
#include "absl/types/span.h"
#include "berth/framework/handle.h"
#include "berth/framework/postfilter.h"
#include "berth/framework/preemption.h"
#include "preemption/candidate_list.h"
#include "preemption/pruning/node_search.h"
#include "preemption/pruning/candidate_heap.h"
#include "preemption/pruning/bound_cache.h"

namespace berth {

// One search, for candidates that are scored by DefaultScores().
class BestFirst {
 public:
  // `bounds` and `outlook` are as of now. In play are the rows that come into question, afterwards
  // too. `own_row`: that the pod is nominated to, or -1.
  BestFirst(const Handle& handle, NodeSearch& search, QuestionBounds& bounds, Prospects& prospects,
            const EvictionOutlook& outlook, const UsedUpBudgets& budgets,
            const NodeStatuses& statuses, NodeRow own_row)
      : handle_(handle),
        search_(search),
        bounds_(bounds),
        prospects_(prospects),
        question_(bounds.question()),
        finder_(question_, handle.nodes(), outlook),
        budgets_(budgets),
        statuses_(statuses),
        rejectors_(statuses.rejectors()),
        own_row_(own_row) {}

  // Adds the best candidate to `found`, and others that were looked at on the way: of all, or of
  // those that promise most, if `found` has enough before. `all`: all of these are looked at, also
  // where they cannot be better. If there is none, `search` has counted why. Returns whether it is
  // done; if not, `search` stops before some row.
  bool Find(bool all, Candidates& found);

 private:
  bool MayBeChosen(NodeRow row) const;
  void CountViolations(NodeRow row);
  void LookAt(NodeRow row, Candidates& found);
  bool LookAtTheRest(Candidates& found);
  // Rows of which a try would come to the same.
  struct Alike {
    Status failure;               // of the first one, which was tried
    bool speaks_for_all = false;  // an Error may be of one node alone
    std::vector<NodeRow> untried;
  };
  struct AlikeRows {
    std::optional<absl::flat_hash_set<NodeRow>> nominated;  // RowsWithNominatedPods()
    absl::node_hash_map<uint32_t, Alike> by_shortage;       // EvictionChance::short_of
  };
  void LookAtAlike(absl::Span<const NodeRow> rows, AlikeRows& alike, Candidates& found,
                   std::vector<NodeRow>& others);
  bool AlikeIfShortOfTheSame() const;
  bool RejectedForRoom(NodeRow row);

  const Handle& handle_;
  NodeSearch& search_;
  QuestionBounds& bounds_;
  Prospects& prospects_;
  const EvictionQuestion& question_;
  const BoundFinder finder_;
  const UsedUpBudgets& budgets_;
  const NodeStatuses& statuses_;
  const absl::Span<const uint8_t> rejectors_;
  std::optional<uint8_t> last_rejector_;
  bool last_is_for_room_ = false;
  const NodeRow own_row_;
  const WeighedPtr* best_ = nullptr;
  NodeRow best_row_ = -1;
  std::vector<NodeRow> looked_at_;  // in this search
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_PRUNING_BEST_FIRST_SEARCH_H_
