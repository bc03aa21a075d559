// SPDX-License-Identifier: Apache-2.0
// SplitByBudget and Reprieve (berth/preemption/preemption.h): which of the pods that were taken off
// a node can stay. kube-scheduler v1.35 plugins/defaultpreemption/default_preemption.go.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "berth/preemption/preemption.h"

namespace berth {
namespace {

using PodPtr = std::shared_ptr<const PodInfo>;

}  // namespace

// As filterPodsWithPDBViolation: of more pods than a budget lets go the last ones violate it, even
// where far fewer have to go. Reprieve() puts those back first, as SelectVictimsOnNode does; so the
// more important ones go, and sometimes more of them than without the budget.
PodsByBudget SplitByBudget(absl::Span<const PodPtr> pods, const DisruptionBudgets& budgets) {
  PodsByBudget split;
  absl::flat_hash_map<const DisruptionBudget*, int64_t> evicted;
  for (const PodPtr& pod : pods) {
    bool violates = false;
    for (const DisruptionBudget* budget : budgets.Of(*pod)) {
      if (budget->HasCounted(*pod)) continue;
      if (++evicted[budget] > budget->left()) violates = true;
    }
    (violates ? split.violating : split.non_violating).push_back(pod);
  }
  return split;
}

Status RemoveElsewhere(DryRun& run, const std::function<bool(const VictimUnit&)>& may_go,
                       std::vector<PodPtr>& removed) {
  Status status = run.Filter();
  for (const VictimUnit& unit : run.elsewhere()) {
    if (status.ok() || status.IsError()) break;
    if (!may_go(unit)) continue;
    for (const PodPtr& pod : unit.pods) {
      const bool is_gone =
          absl::c_any_of(removed, [&](const PodPtr& gone) { return gone->uid() == pod->uid(); });
      if (is_gone) continue;
      if (Status taken = run.Remove(*pod); !taken.ok()) return taken;
      removed.push_back(pod);
    }
    status = run.Filter();
  }
  return status;
}

namespace {

// Pods that are removed together because they hold something together, the most expensive first:
// so that of two claims the one comes free that costs the fewest pods.
void SortByUnits(const DryRun& run, std::vector<PodPtr>& pods) {
  struct Rank {
    int32_t priority;
    size_t pods = 1;
  };
  const auto rank_of = [&](const PodInfo& pod) {
    Rank rank{pod.priority()};
    for (const VictimUnit& unit : run.elsewhere()) {
      const bool is_of_unit =
          absl::c_any_of(unit.pods, [&](const PodPtr& other) { return other->uid() == pod.uid(); });
      if (!is_of_unit) continue;
      for (const PodPtr& other : unit.pods) {
        rank.priority = std::max(rank.priority, other->priority());
      }
      rank.pods = std::max(rank.pods, unit.pods.size());
    }
    return rank;
  };
  std::vector<std::pair<Rank, PodPtr>> ranked;
  for (PodPtr& pod : pods) ranked.emplace_back(rank_of(*pod), std::move(pod));
  absl::c_stable_sort(ranked, [](const auto& a, const auto& b) {
    return a.first.priority != b.first.priority ? a.first.priority > b.first.priority
                                                : a.first.pods > b.first.pods;
  });
  pods.clear();
  for (auto& [rank, pod] : ranked) pods.push_back(std::move(pod));
}

}  // namespace

Status Reprieve(DryRun& run, std::vector<PodPtr> removed, const DisruptionBudgets& budgets,
                const std::function<bool(const PodInfo&, const PodInfo&)>& more_important,
                const std::function<bool()>& fits, PreemptionCandidate& candidate) {
  const auto before = [&](const PodPtr& a, const PodPtr& b) { return more_important(*a, *b); };
  const auto sort = [&before](std::vector<PodPtr>& pods) {  // mostly they are in order
    if (!std::is_sorted(pods.begin(), pods.end(), before)) {
      std::stable_sort(pods.begin(), pods.end(), before);
    }
  };
  sort(removed);
  if (!run.elsewhere().empty()) SortByUnits(run, removed);
  PodsByBudget split;
  if (budgets.empty()) {
    split.non_violating = std::move(removed);
  } else {
    split = SplitByBudget(removed, budgets);
  }
  const auto reprieve = [&](const PodPtr& pod) -> Status {
    Status status = run.Add(pod);
    if (!status.ok() || fits()) return status;
    candidate.victims.push_back(pod);
    return run.Remove(*pod);
  };
  const auto reprieve_those = [&](const std::vector<PodPtr>& pods, bool spared) -> Status {
    for (const PodPtr& pod : pods) {
      if (run.IsSpared(*pod) != spared) continue;
      if (Status status = reprieve(pod); !status.ok()) return status;
    }
    return Status::Success();
  };
  for (const bool spared : {true, false}) {
    const size_t victims = candidate.victims.size();
    if (Status status = reprieve_those(split.violating, spared); !status.ok()) return status;
    candidate.pdb_violations += static_cast<int>(candidate.victims.size() - victims);
    if (Status status = reprieve_those(split.non_violating, spared); !status.ok()) return status;
  }
  sort(candidate.victims);
  return Status::Success();
}

}  // namespace berth
