// DomainScorer: a Score plugin that looks beyond a node only at pods in its topology domains, and
// says which, so that nodes with as many of them are scored as one.
#ifndef BERTH_FRAMEWORK_DOMAIN_SCORER_H_
#define BERTH_FRAMEWORK_DOMAIN_SCORER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/node_table.h"
#include "berth/framework/pod_counts.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth {

// A number of each domain of `column`: the pods there, weighted and added up.
struct DomainSum {
  struct Part {
    std::shared_ptr<const PodCounts> pods;
    int64_t weight = 1;
  };
  const LabelColumn* column;
  absl::InlinedVector<Part, 2> parts;
};

// Rows that stand for others as well: `counts[i]` nodes are like the one of rows[i], itself
// included. No counts: each stands for itself.
struct AlikeRows {
  absl::Span<const NodeRow> rows;
  absl::Span<const int> counts;

  int count(size_t i) const { return counts.empty() ? 1 : counts[i]; }
};

// Optional, for Score plugins whose scores are not remembered node by node (sign.h), because they
// depend on other nodes: then a cycle of pods like others before them costs what changed. What
// sign.h asks of NormalizeScores holds here too: it maps each score by its value and the lowest and
// the highest one. Scheduling thread.
class DomainScorer {
 public:
  virtual ~DomainScorer() = default;

  // What PreScore() does, as far as it does not matter which nodes are feasible, and returns what
  // it would. Appends the sums by which nodes are told apart: Score() says the same of two nodes
  // if, for each sum, they are in one domain, or both in none, or each alone in its domain and the
  // sums of these are equal. Absent if that cannot be said: then PreScore() is asked.
  virtual std::optional<Status> PreScoreDomains(CycleState& state, const PodInfo& pod,
                                                const NodeTable& nodes,
                                                std::vector<DomainSum>& sums) = 0;
  // The rest, before Score() is asked, of the same pod: the feasible nodes. Those that one row
  // stands for are not told apart by any of the sums.
  virtual void SetFeasible(CycleState& /*state*/, const NodeTable& /*nodes*/,
                           const AlikeRows& /*feasible*/) {}
};

}  // namespace berth

#endif  // BERTH_FRAMEWORK_DOMAIN_SCORER_H_
