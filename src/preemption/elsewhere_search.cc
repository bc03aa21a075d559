// SPDX-License-Identifier: Apache-2.0
// Implementation of elsewhere_search.h.
#include "preemption/elsewhere_search.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "berth/columns/node_table.h"
#include "preemption/candidate_list.h"
#include "preemption/dry_run_node.h"

namespace berth {
namespace {

int32_t HighestPriority(const VictimUnit& unit) {
  int32_t highest = std::numeric_limits<int32_t>::min();
  for (const auto& pod : unit.pods) highest = std::max(highest, pod->priority());
  return highest;
}

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

std::optional<SearchResult> ElsewhereSearch::Find(const PreemptionQuery& query) {
  CandidateList candidates(query.range.candidates);
  int64_t steps = 0;
  int position = 0;
  for (const NodeRow row : query.statuses.RowsWith(Code::kUnschedulable)) {
    if (candidates.Enough() || steps > kMostSteps) break;
    const auto units = static_cast<int64_t>(UnitsFor(handle_.nodes().node(row).name()).size());
    if (units == 0) continue;
    steps += units;
    DryRunResult run = DryRunNode(handle_, query, row);
    if (run.candidate != nullptr) candidates.Add(position++, std::move(run.candidate));
  }
  return SearchResult{.candidates = std::move(candidates).Take()};
}

}  // namespace berth
