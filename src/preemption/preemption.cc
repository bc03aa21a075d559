// SPDX-License-Identifier: Apache-2.0
// Preemption::Run: is the pod eligible, which nodes are candidates, which is best. kube-scheduler
// v1.35 framework/preemption/preemption.go.
#include "berth/preemption/preemption.h"

#include <string>
#include <utility>
#include <vector>

#include "preemption/candidate_search.h"
#include "preemption/extended_candidates.h"
#include "preemption/followed_budgets.h"
#include "preemption/full_search.h"
#include "preemption/pruning/pruned_search.h"

namespace berth {
namespace {

PreemptionRules::Nomination NominationOf(Handle& handle, const PodInfo& pod,
                                         const NodeStatuses& statuses) {
  std::string name = handle.nominator().NominatedNode(pod);
  if (name.empty()) name = pod.nominated_node_name();
  if (name.empty()) return {};
  const std::optional<Symbol> symbol = Symbol::Find(name);
  const NodeRow row = symbol.has_value() ? handle.nodes().FindRow(*symbol) : -1;
  if (row < 0) return {};
  return {&handle.nodes().node(row), statuses.code(row)};
}

// The positions of those with the highest scores, the first score first.
std::vector<int> BestOf(absl::Span<const ScoredCandidatePtr> candidates) {
  std::vector<int> best;
  for (int i = 0; i < static_cast<int>(candidates.size()); ++i) {
    if (!best.empty()) {
      const CandidateScores& scores = candidates[i]->scores;
      const CandidateScores& high = candidates[best.front()]->scores;
      if (scores < high) continue;
      if (scores != high) best.clear();
    }
    best.push_back(i);
  }
  return best;
}

}  // namespace

Preemption::Preemption(Handle& handle)
    : handle_(handle),
      budgets_(handle.Shared<FollowedBudgets>()),
      full_(std::make_unique<FullSearch>(handle)),
      pruned_(std::make_unique<PrunedSearch>(handle)) {
  handle.Watch(Kind::kPodDisruptionBudget);
}

Preemption::~Preemption() = default;

const DisruptionBudgets& Preemption::budgets() {
  budgets_->Refresh(handle_.objects(), handle_.nodes());
  return budgets_->all();
}

Status Preemption::Run(PreemptionRules& rules, const CycleState& state, const PodInfo& pod,
                       const NodeStatuses& statuses, PostFilterResult& result) {
  Status eligible = rules.PodEligibleToPreempt(state, pod, NominationOf(handle_, pod, statuses));
  if (!eligible.ok()) return eligible;
  if (handle_.nodes().size() == 0) return Status::Error("no nodes available");

  budgets_->Refresh(handle_.objects(), handle_.nodes());
  const int potential_nodes = statuses.CountWith(Code::kUnschedulable);
  const PreemptionQuery query{
      .rules = rules,
      .state = state,
      .pod = pod,
      .statuses = statuses,
      .potential_nodes = potential_nodes,
      .range = potential_nodes == 0 ? PreemptionRules::SearchRange() : rules.Range(potential_nodes),
      .scores = rules.OrderedScores(),
      .budgets = *budgets_};
  // The pruned search finds the best candidate only, and judges by what plugins said.
  const bool all =
      state.full_evaluation() || !query.scores.empty() || ExtendersDecide(handle_, pod);
  CandidateSearch& search = all ? *full_ : *pruned_;
  std::optional<SearchResult> found = search.Find(query, state.work_budget());
  if (!found.has_value()) return Status::Unschedulable("the search for victims has yielded");

  if (found->candidates.empty()) {
    result.retry_at = found->retry_at;
    if (!found->failure.IsError()) result.nominated_node = "";
    return std::move(found->failure);
  }
  if (ExtendersPreempt(handle_, pod)) {
    Status asked = AskExtenders(handle_, query, found->candidates);
    if (!asked.ok()) return asked;
    if (found->candidates.empty()) {
      return Status::Unschedulable("no candidate node for preemption");
    }
  }
  result.equally_good = BestOf(found->candidates);
  for (ScoredCandidatePtr& scored : found->candidates) {
    result.candidates.emplace_back(scored, &scored->candidate);
  }
  const PreemptionCandidate& chosen = *result.candidates[result.equally_good.front()];
  result.nominated_node = chosen.node;
  result.victims = chosen.victims;
  return Status::Success();
}

}  // namespace berth
