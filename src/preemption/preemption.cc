// SPDX-License-Identifier: Apache-2.0
// Preemption::Run: is the pod eligible, which nodes are candidates, which is best. kube-scheduler
// v1.35 framework/preemption/preemption.go.
#include "berth/preemption/preemption.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "berth/preemption/victim_rules.h"
#include "disruption/budget_tracker.h"
#include "group/group_victims.h"
#include "preemption/candidate_search.h"
#include "preemption/dry_runs.h"
#include "preemption/elsewhere_search.h"
#include "preemption/extender_preemption.h"
#include "preemption/full_search.h"
#include "preemption/pruning/pruned_search.h"

namespace berth {
namespace {

PreemptionRules::Nomination NominationOf(Handle& handle, const PodInfo& pod,
                                         const NodeStatuses& statuses) {
  std::string name = handle.nominator().NominatedNode(pod);
  if (name.empty()) name = pod.nominated_node_name();
  const NodeRow row = handle.nodes().FindRow(name);
  if (row < 0) return {};
  return {&handle.nodes().node(row), statuses.code(row), {}};
}

// If one of the best candidates would end a group, candidates that end none and violate no more
// budgets replace them, whatever else they score. The best of these on all nodes counts. False if
// it yields.
bool PreferCandidatesThatEndNoGroup(DryRuns& dry_runs, const GroupVictims& groups,
                                    const PreemptionQuery& query,
                                    std::vector<ScoredCandidatePtr>& candidates) {
  const auto ends_group = [&](const ScoredCandidatePtr& scored) {
    return groups.EvictionsEndGroup(scored->candidate.victims);
  };
  const std::vector<int> best = BestOf(candidates);
  if (absl::c_none_of(best, [&](int i) { return ends_group(candidates[i]); })) return true;
  const int violations = candidates[best.front()]->candidate.pdb_violations;
  PreemptionQuery sparing = query;
  sparing.spare_groups = &groups;
  std::vector<ScoredCandidatePtr> others;
  for (const NodeRow row : query.statuses.RowsWith(Code::kUnschedulable)) {
    const DryRunResult* const run = dry_runs.Run(sparing, row);
    if (run == nullptr) return false;
    const ScoredCandidatePtr& candidate = run->candidate;
    if (candidate == nullptr || ends_group(candidate)) continue;
    if (candidate->candidate.pdb_violations <= violations) others.push_back(candidate);
  }
  if (!others.empty()) candidates = std::move(others);
  return true;
}

// Where no single node helps: evicts pods of other nodes, too.
void LookElsewhere(ElsewhereSearch& elsewhere, PreemptionQuery& query, SearchResult& found) {
  query.elsewhere = &elsewhere;
  query.state.work_budget().Lift();  // ElsewhereSearch keeps nothing: it would begin again
  std::optional<SearchResult> wider = elsewhere.Find(query);
  if (!wider->candidates.empty()) {
    found = *std::move(wider);
  } else if (!wider->failure.ok() && !found.failure.IsError()) {
    found.failure =
        Status::Unschedulable(absl::StrCat(found.failure.message(), " ", wider->failure.message()));
  }
}

// Extenders remove candidates, or change their victims, which groups may forbid.
Status FilterByExtenders(Handle& handle, const PreemptionQuery& query,
                         std::vector<ScoredCandidatePtr>& candidates) {
  Status asked = CallExtenders(handle, query, candidates);
  if (!asked.ok()) return asked;
  std::erase_if(candidates, [&](const ScoredCandidatePtr& scored) {
    return ForbiddenGroup(handle, query, scored->candidate).has_value();
  });
  return candidates.empty() ? Status::Unschedulable("no candidate node for preemption")
                            : Status::Success();
}

// The first of the best candidates is chosen.
void Fill(const GroupVictims& groups, const std::vector<ScoredCandidatePtr>& candidates,
          PostFilterResult& result) {
  result.equally_good = BestOf(candidates);
  for (const ScoredCandidatePtr& scored : candidates) {
    result.candidates.emplace_back(scored, &scored->candidate);
  }
  const PreemptionCandidate& chosen = *result.candidates[result.equally_good.front()];
  result.nominated_node = chosen.node;
  result.victims = chosen.victims;
  if (groups.any_groups()) groups.AddWholeGroups(result.victims);
}

}  // namespace

struct Preemption::Parts {
  explicit Parts(Handle& handle)
      : budgets(handle.Shared<BudgetTracker>()),
        dry_runs(handle),
        full(handle),
        pruned(handle, dry_runs) {}

  const std::shared_ptr<BudgetTracker> budgets;  // one for each scheduler
  DryRuns dry_runs;
  FullSearch full;
  PrunedSearch pruned;
};

Preemption::Preemption(Handle& handle) : handle_(handle), parts_(std::make_unique<Parts>(handle)) {
  handle.Watch(Kind::kPodDisruptionBudget);
}

Preemption::~Preemption() = default;

bool Preemption::AnyLowerPriority(const PodInfo& pod) {
  return handle_.nodes().AnyPriorityBelow(pod.priority());
}

bool Preemption::ExtendersMayChoose(const PodInfo& pod) const {
  return ExtendersPreempt(handle_, pod);
}

const DisruptionBudgets& Preemption::budgets() {
  parts_->budgets->Refresh(handle_.objects(), handle_.nodes());
  return parts_->budgets->all();
}

Status Preemption::Run(PreemptionRules& rules, const CycleState& state, const PodInfo& pod,
                       const NodeStatuses& statuses, PostFilterResult& result) {
  ElsewhereSearch elsewhere(handle_, state, pod);
  PreemptionRules::Nomination nomination = NominationOf(handle_, pod, statuses);
  if (nomination.node != nullptr) {
    nomination.elsewhere = elsewhere.UnitsFor(nomination.node->name());
  }
  Status eligible = rules.PodEligibleToPreempt(state, pod, nomination);
  if (!eligible.ok()) return eligible;
  if (handle_.nodes().size() == 0) return Status::Error("no nodes available");

  parts_->budgets->Refresh(handle_.objects(), handle_.nodes());
  const GroupVictims groups(handle_.groups());
  const int potential_nodes = statuses.CountWith(Code::kUnschedulable);
  PreemptionQuery query{
      .rules = rules,
      .state = state,
      .pod = pod,
      .statuses = statuses,
      .potential_nodes = potential_nodes,
      .range = potential_nodes == 0 ? PreemptionRules::SearchRange() : rules.Range(potential_nodes),
      .scores = rules.OrderedScores(),
      .budgets = *parts_->budgets,
      .groups = groups.any_groups() ? &groups : nullptr,
      .own_group = state.Find(kPlacedTogether) != nullptr ? groups.GroupWith(pod) : nullptr};
  // The pruned search finds the best candidate only, and uses what plugins declared.
  const bool needs_full_search =
      state.full_evaluation() || !query.scores.empty() || AnyExtenderInterested(handle_, pod);
  CandidateSearch& search =
      needs_full_search ? static_cast<CandidateSearch&>(parts_->full) : parts_->pruned;
  Status yielded = Status::Unschedulable("the search for victims has yielded");
  DryRuns& dry_runs = parts_->dry_runs;
  dry_runs.Begin(query);
  std::optional<SearchResult> found = search.Find(query);
  if (!found.has_value()) return yielded;
  const absl::Cleanup end = [&] {
    if (!state.work_budget().yielded()) dry_runs.End();
  };
  if (needs_full_search) state.work_budget().Lift();  // it keeps nothing: it would begin again

  if (found->candidates.empty() && elsewhere.any()) LookElsewhere(elsewhere, query, *found);
  if (found->candidates.empty()) {
    result.retry_at = found->retry_at;
    if (!found->failure.IsError()) result.nominated_node = "";  // ends its nomination
    return std::move(found->failure);
  }
  if (groups.any_groups() &&
      !PreferCandidatesThatEndNoGroup(dry_runs, groups, query, found->candidates)) {
    return yielded;
  }
  if (ExtendersPreempt(handle_, pod)) {
    Status left = FilterByExtenders(handle_, query, found->candidates);
    if (!left.ok()) return left;
  }
  Fill(groups, found->candidates, result);
  return Status::Success();
}

}  // namespace berth
