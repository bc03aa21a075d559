// SPDX-License-Identifier: Apache-2.0
// Implementation of pruned_search.h.
#include "preemption/pruning/pruned_search.h"

#include <utility>

#include "framework/nominated_rows.h"
#include "framework/resource_need.h"
#include "preemption/candidate_list.h"
#include "preemption/fit_error.h"
#include "preemption/pruning/best_first_search.h"
#include "preemption/pruning/dry_runner.h"

namespace berth {
namespace {

using Outcome = BestFirstSearch::Outcome;

// The defaults, of rules that say nothing.
const PreemptionHints& HintsOf(const PreemptionQuery& query) {
  static const auto& none = *new PreemptionHints;
  const auto* const hints = dynamic_cast<const PreemptionHints*>(&query.rules);
  return hints == nullptr ? none : *hints;
}

// The potential nodes on which there may be victims; absent if that may be all of them.
std::optional<std::vector<NodeRow>> RowsWithVictims(const PreemptionQuery& query,
                                                    const NodeTable& nodes) {
  auto rows = HintsOf(query).RowsWithVictims(query.state, query.pod, nodes);
  if (!rows.has_value()) return std::nullopt;
  std::erase_if(*rows,
                [&](NodeRow row) { return query.statuses.code(row) != Code::kUnschedulable; });
  return rows;
}

}  // namespace

std::optional<SearchResult> PrunedSearch::Find(const PreemptionQuery& query) {
  const NodeTable& nodes = handle_.nodes();
  const PreemptionHints::Victims victims =
      query.potential_nodes == 0 ? PreemptionHints::Victims::kNone
                                 : HintsOf(query).PossibleVictims(query.state, query.pod);
  const PreemptorClass preemptor = ClassOf(query, victims);
  bool may_have_victims = victims != PreemptionHints::Victims::kNone &&
                          (!preemptor.by_priority || nodes.AnyPriorityBelow(query.pod.priority()));
  if (may_have_victims && !levels_->Refresh(nodes, query.state)) return std::nullopt;
  std::optional<std::vector<NodeRow>> with_victims;
  if (may_have_victims) {
    with_victims = RowsWithVictims(query, nodes);
    may_have_victims = !with_victims.has_value() || !with_victims->empty();
  }
  if (!may_have_victims) {
    FitError fit_error(query.rules, query.pod, nodes);
    fit_error.AddAllWithoutVictims(query.statuses, query.potential_nodes);
    return SearchResult{.failure = std::move(fit_error).ToStatus()};
  }
  const BoundInputs inputs{nodes, *levels_, handle_.nominator(), query.budgets.changed_nodes(),
                           NominatedRow(handle_.nominator(), nodes, query.pod)};
  PreemptionQuery by_sums = query;
  if (preemptor.need.has_value()) by_sums.need = &*preemptor.need;
  for (const bool exact : {false, true}) {
    DryRunner dry_runs(handle_, by_sums, dry_runs_);
    BestFirstSearch search(handle_, by_sums, preemptor, dry_runs,
                           bounds_.Find(preemptor, inputs, exact), with_victims, *levels_,
                           inputs.own_row);
    CandidateList candidates(query.range.candidates);
    const Outcome outcome = search.Find(query.state.for_explanation(), candidates);
    if (outcome == Outcome::kNeedsOwnBounds) continue;
    if (outcome == Outcome::kYielded) break;
    if (!candidates.empty()) return SearchResult{.candidates = std::move(candidates).Take()};
    if (with_victims.has_value()) dry_runs.AddOthersWithoutVictims(*with_victims);
    return std::move(dry_runs).NoCandidates();
  }
  return std::nullopt;
}

PreemptorClass PrunedSearch::ClassOf(const PreemptionQuery& query,
                                     PreemptionHints::Victims victims) const {
  using Victims = PreemptionHints::Victims;
  ResourceNeedSource* const needs = handle_.resource_needs();
  const bool needs_matter = needs != nullptr && victims != Victims::kNone;
  return {
      .need = needs_matter ? needs->FindNeededResources(query.state, query.pod) : std::nullopt,
      .priority = query.pod.priority(),
      .by_priority = victims == Victims::kLowerPriority || victims == Victims::kAllLowerPriority,
      .fails_as_filters = victims == Victims::kAllLowerPriority,
      .victims_by_priority = HintsOf(query).FirstVictimHasHighestPriority()};
}

}  // namespace berth
