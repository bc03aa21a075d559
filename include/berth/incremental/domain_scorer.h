// SPDX-License-Identifier: Apache-2.0
// DomainScorer: a Score plugin that looks beyond a node only at pods in its topology domains, and
// says which, so that nodes with as many of them are scored as one.
//
// An example: racks a, b and c, of 10 nodes each, run 2, 2 and 0 pods of an app. A plugin prefers
// racks with few of them, and appends one sum: column = the label of racks, parts = the pods of the
// app. Nodes of a and b have equal sums, so a row of a may stand for the 20 nodes of both, and one
// of c for its 10: EquivalentNodes{rows = {0, 20}, counts = {20, 10}}. How many racks have feasible
// nodes? CountDomains() of this column says 2 if `takes` accepts row 0 only, and 3 if it accepts
// both; `domains` knows which racks a row stands for.
#ifndef BERTH_INCREMENTAL_DOMAIN_SCORER_H_
#define BERTH_INCREMENTAL_DOMAIN_SCORER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "berth/columns/pod_counts.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth {

// A number of each domain of `column`: the pods there, weighted and added up.
struct DomainSum {
  struct Part {
    std::shared_ptr<const PodCounts> pods;  // from nodes.pods(); held for the cycle only
    int64_t weight = 1;
  };
  const LabelColumn* column;
  absl::InlinedVector<Part, 2> parts;
};

// Rows that stand for others as well, in no order: `counts[i]` nodes are like the one of rows[i],
// itself included. No counts: each stands for itself.
struct EquivalentNodes {
  // Columns whose domains do not distinguish nodes: a row stands for nodes of several domains.
  class Domains {
   public:
    virtual ~Domains() = default;
    // As EquivalentNodes::CountDomains(), of such a column; absent of others.
    virtual std::optional<int> CountDomains(const LabelColumn& column,
                                            absl::FunctionRef<bool(NodeRow)> takes) const = 0;
  };

  absl::Span<const NodeRow> rows;
  absl::Span<const int> counts;
  const Domains* domains = nullptr;  // null: there are no such columns

  int count(size_t i) const { return counts.empty() ? 1 : counts[i]; }
  // How many domains of `column` have nodes for which a row stands that `takes` accepts; nodes
  // without the label count as one more domain. `column` is one by which nodes are
  // distinguished, unless each row stands for itself.
  int CountDomains(const LabelColumn& column, absl::FunctionRef<bool(NodeRow)> takes) const;
};

// Optional, for plugins with PreScore and Score whose scores are not cached node by node (sign.h),
// because they depend on other nodes: then a cycle of pods like others before them costs
// what changed: ScoreNodes and NormalizeScores are called for one node of each class.
// Both have to return for a row what they would with the others among `rows`; so NormalizeScores
// may use the lowest and the highest score, and what distinguishes nodes. Scheduling thread.
class DomainScorer {
 public:
  virtual ~DomainScorer() = default;

  // What PreScore() does, as far as it does not matter which nodes are feasible, and returns what
  // it would. Appends the sums by which nodes are distinguished: a node is scored as another one
  // if, for each sum, they are in one domain, or both in none, or in two domains of which the sums
  // are equal. Absent if that cannot be said. Then, and after an Error, and whenever all nodes are
  // looked at after all, PreScore() follows in the same cycle.
  virtual std::optional<Status> PreScoreDomains(CycleState& state, const PodInfo& pod,
                                                const NodeTable& nodes,
                                                std::vector<DomainSum>& sums) = 0;
  // The rest, before ScoreNodes() is called for `feasible`: the feasible nodes, each row with those
  // that none of the sums distinguishes from it. `feasible` is valid for
  // the call. Not called if nothing is to be scored.
  virtual void SetFeasible(CycleState& /*state*/, const EquivalentNodes& /*feasible*/) {}
  // What the scores of a pod depend on of the feasible nodes, after PreScoreDomains(), beside the
  // lowest and the highest raw score. Unless that is kNodes, nodes may be scored that filters
  // reject; with kDomains, SetFeasible() is called before with some feasible nodes, at least one in
  // each domain of the columns that has any; with kNothing it may not be called.
  enum class Feasible { kNothing, kDomains, kNodes };
  virtual Feasible ScoresDependOn(const CycleState& /*state*/) const { return Feasible::kNodes; }
};

}  // namespace berth

#endif  // BERTH_INCREMENTAL_DOMAIN_SCORER_H_
