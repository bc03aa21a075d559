// SPDX-License-Identifier: Apache-2.0
// Implementation of elsewhere_search.h.
#include "preemption/elsewhere_search.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/columns/node_table.h"
#include "disruption/budget_tracker.h"
#include "group/group_victims.h"
#include "preemption/candidate_list.h"
#include "preemption/dry_run_node.h"

namespace berth {
namespace {

// The most important pod of each decides between units of the same size.
bool CostsLess(const SharedHolding& a, const SharedHolding& b) {
  const int32_t of_a = HighestPriority(a.users), of_b = HighestPriority(b.users);
  if (of_a != of_b) return of_a < of_b;
  if (a.users.pods.size() != b.users.pods.size()) return a.users.pods.size() < b.users.pods.size();
  const auto first = [](const VictimUnit& unit) -> const PodInfo& {
    return **absl::c_min_element(
        unit.pods, [](const auto& one, const auto& two) { return MoreImportantPod(*one, *two); });
  };
  return MoreImportantPod(first(b.users), first(a.users));
}

}  // namespace

ElsewhereSearch::ElsewhereSearch(Handle& handle, const CycleState& state, const PodInfo& pod)
    : handle_(handle),
      holdings_(handle.Shared<SharedHoldings>()->For(handle.profile_name(), state, pod)) {
  absl::c_stable_sort(holdings_, CostsLess);
}

std::vector<VictimUnit> ElsewhereSearch::UnitsFor(Symbol node) const {
  std::vector<VictimUnit> units;
  for (const SharedHolding& holding : holdings_) {
    if (holding.CanBeUsedOn(node) && holding.HasUserElsewhere(node)) {
      units.push_back(holding.users);
    }
  }
  return units;
}

std::vector<VictimUnit> ElsewhereSearch::UnitsFor(Symbol node, const PreemptionQuery& query) const {
  std::vector<VictimUnit> units = UnitsFor(node);
  const DisruptionBudgets& budgets = query.budgets.all();
  if (!budgets.empty()) {
    absl::c_stable_partition(units, [&](const VictimUnit& unit) {
      return SplitByBudget(unit.pods, budgets).violating.empty();
    });
  }
  if (query.spare_groups != nullptr) {
    absl::c_stable_partition(units, [&](const VictimUnit& unit) {
      return !query.spare_groups->EvictionsEndGroup(unit.pods);
    });
  }
  return units;
}

std::optional<SearchResult> ElsewhereSearch::Find(const PreemptionQuery& query) {
  CandidateList candidates(query.range.candidates);
  int64_t steps = 0;
  int position = 0, looked_at = 0;
  bool is_cut_off = false;
  for (const NodeRow row : query.statuses.RowsWith(Code::kUnschedulable)) {
    is_cut_off = steps > kMostSteps;
    if (candidates.Enough() || is_cut_off) break;
    ++looked_at;
    const auto units = static_cast<int64_t>(UnitsFor(handle_.nodes().node(row).name()).size());
    if (units == 0) continue;
    steps += units;
    DryRunResult run = DryRunNode(handle_, query, row);
    if (run.candidate != nullptr) candidates.Add(position++, std::move(run.candidate));
  }
  SearchResult result{.candidates = std::move(candidates).Take()};
  if (is_cut_off && result.candidates.empty()) {
    result.failure = Status::Unschedulable(
        absl::StrCat("The search for pods of other nodes to evict ended after ", looked_at, " of ",
                     query.potential_nodes, " nodes, at its limit of ", kMostSteps,
                     " claims: there may be some."));
  }
  return result;
}

}  // namespace berth
