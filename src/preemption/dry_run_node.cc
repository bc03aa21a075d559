// SPDX-License-Identifier: Apache-2.0
// Implementation of dry_run_node.h.
#include "preemption/dry_run_node.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace berth {
namespace {

constexpr int64_t kStepsOfRun = 4;

Status SelectVictims(DryRun& run, const PreemptionQuery& query, PreemptionCandidate& candidate) {
  Status status = query.rules.SelectVictims(run, query.budgets.all(), candidate);
  if (!status.ok() || !candidate.victims.empty()) return status;
  return Status::Error(
      absl::StrCat("expected at least one victim pod on node \"", candidate.node, "\""));
}

}  // namespace

CandidateScores ScoresOf(const PreemptionCandidate& candidate, const PreemptionQuery& query) {
  if (query.scores.empty()) return DefaultScoresOf(candidate);
  CandidateScores scores;
  for (const PreemptionRules::CandidateScore& score : query.scores) {
    scores.push_back(score(candidate));
  }
  return scores;
}

Status NoVictims(const PreemptionRules& rules, const NodeInfo* node, const PodInfo& preemptor) {
  return Status::UnschedulableAndUnresolvable(rules.NoVictimsReason(node, preemptor));
}

DryRunResult DryRunNode(Handle& handle, const PreemptionQuery& query, NodeRow row) {
  const NodeInfo& node = handle.nodes().node(row);
  query.state.work_budget().Spend(kStepsOfRun + static_cast<int64_t>(node.pods().size()) / 4);
  DryRun run(handle, query.state, query.pod, node);
  if (query.spare_groups != nullptr) {
    run.Spare([&query](const PodInfo& pod) { return query.spare_groups->TakesOthers(pod); });
  }
  auto scored = std::make_shared<ScoredCandidate>();
  PreemptionCandidate& candidate = scored->candidate;
  candidate = {row, std::string(node.name().view()), {}, 0};
  DryRunResult result;
  result.failure = SelectVictims(run, query, candidate);
  result.retry_time = run.retry_time();
  if (result.failure.ok()) {
    scored->scores = ScoresOf(candidate, query);
    result.candidate = std::move(scored);
  } else {
    result.no_victims = result.failure.code() == Code::kUnschedulableAndUnresolvable &&
                        result.failure == NoVictims(query.rules, &node, query.pod);
  }
  return result;
}

}  // namespace berth
