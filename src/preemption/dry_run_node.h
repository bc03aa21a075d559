// SPDX-License-Identifier: Apache-2.0
// The dry run of one node.
#ifndef BERTH_SRC_PREEMPTION_DRY_RUN_NODE_H_
#define BERTH_SRC_PREEMPTION_DRY_RUN_NODE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "berth/columns/node_table.h"
#include "berth/framework/handle.h"
#include "preemption/candidate_search.h"

namespace berth {

struct DryRunResult {
  ScoredCandidatePtr candidate;  // null: evicting pods does not help there
  Status failure;                // then why
  bool no_victims = false;       // `failure` is NoVictimsReason(): no pod may be evicted
  absl::Time retry_time = absl::InfiniteFuture();  // DryRun::retry_time()
};

// Asks the rules which pods they would evict from the node of that row, and scores the candidate.
// Of a group that may not go as a whole, no more pods go than it has beyond its minimum. Spends the
// budget of the attempt.
DryRunResult DryRunNode(Handle& handle, const PreemptionQuery& query, NodeRow row);

// A group that would end with the candidate's victims, and may not, by the rules; absent: none.
std::optional<std::string> ForbiddenGroup(const Handle& handle, const PreemptionQuery& query,
                                          const PreemptionCandidate& candidate);

// By the scores of the query.
CandidateScores ScoresOf(const PreemptionCandidate& candidate, const PreemptionQuery& query);

// "No victims found …", as the rules say it of `node`, or of very many nodes if it is null.
Status NoVictims(const PreemptionRules& rules, const NodeInfo* node, const PodInfo& preemptor);

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_DRY_RUN_NODE_H_
