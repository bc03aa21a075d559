// SPDX-License-Identifier: Apache-2.0
// Implementation of dry_runs.h.
#include "preemption/dry_runs.h"

#include <utility>

#include "absl/algorithm/container.h"

namespace berth {
namespace {

// The next attempt evaluates all nodes and finds again what was tried, which costs as
// much as one stage: so a search yields after two.
constexpr int kFewestStages = 2;

constexpr int32_t kNone = -1;

}  // namespace

void DryRuns::Begin(const PreemptionQuery& query) {
  stages_ = 0;
  const bool has_results = !results_.in_order.empty() || !sparing_groups_.in_order.empty();
  if (pod_ == query.pod.packed() && (!has_results || inputs_ == CurrentInputs())) return;
  const int most_stages = pod_ == query.pod.packed() ? 2 * most_stages_ : kFewestStages;
  End();
  pod_ = query.pod.packed();
  most_stages_ = most_stages;
}

void DryRuns::End() {
  pod_ = nullptr;
  results_.Clear();
  sparing_groups_.Clear();
}

void DryRuns::Results::Clear() {
  for (const auto& [row, result] : in_order) of_row[row] = kNone;
  in_order.clear();
}

const DryRunResult* DryRuns::Run(const PreemptionQuery& query, NodeRow row) {
  Results& results = query.spare_groups == nullptr ? results_ : sparing_groups_;
  results.of_row.resize(handle_.nodes().size(), kNone);
  int32_t& place = results.of_row[row];
  if (place != kNone) return &results.in_order[place].second;
  WorkBudget& budget = query.state.work_budget();
  if (!budget.is_limited()) return &(last_ = RunNow(query, row));
  if (budget.IsSpent()) {
    if (++stages_ == most_stages_) {
      inputs_ = CurrentInputs();
      budget.Yield();
      return nullptr;
    }
    budget.Refill();
  }
  place = static_cast<int32_t>(results.in_order.size());
  return &results.in_order.emplace_back(row, RunNow(query, row)).second;
}

DryRunResult DryRuns::RunNow(const PreemptionQuery& query, NodeRow row) {
  constexpr int64_t kStepsOfNode = 2;
  if (query.spare_groups != nullptr) {
    query.state.work_budget().Spend(kStepsOfNode);
    const bool only_groups = absl::c_all_of(handle_.nodes().node(row).pods(), [&](const auto& pod) {
      return query.spare_groups->EvictionEndsGroup(*pod);
    });
    if (only_groups && query.elsewhere == nullptr) return {};
  }
  return DryRunNode(handle_, query, row);
}

DryRuns::Inputs DryRuns::CurrentInputs() const {
  uint64_t versions = handle_.nodes().version() + handle_.nominator().version();
  for (int kind = 0; kind < kMostKinds; ++kind) {
    versions += handle_.objects().version(static_cast<Kind>(kind));
  }
  return {handle_.nodes().id(), versions};
}

}  // namespace berth
