// SPDX-License-Identifier: Apache-2.0
// The victims of CapacityScheduling. scheduler-plugins capacityscheduling/capacity_scheduling.go.
#include "plugins/capacity_scheduling/quota_rules.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace berth {
namespace {

using PodPtr = std::shared_ptr<const PodInfo>;

// Pods on their way out come last: to count on them evicts no pod.
bool MoreImportant(const PodInfo& a, const PodInfo& b) {
  const bool a_leaves = a.deletion_time().has_value(), b_leaves = b.deletion_time().has_value();
  return a_leaves != b_leaves ? b_leaves : MoreImportantPod(a, b);
}

// Least important first.
std::vector<PodPtr> ByRisingImportance(absl::Span<const PodPtr> pods) {
  std::vector<PodPtr> sorted(pods.begin(), pods.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const PodPtr& a, const PodPtr& b) { return MoreImportant(*a, *b); });
  std::reverse(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace

QuotaRules::Scope QuotaRules::ScopeOf(const QuotaState& state, const PodInfo& pod) const {
  const Quota* quota = ledger_.Find(pod.namespace_name());
  if (quota == nullptr) return Scope::kWithoutQuota;
  // A pod that asks for nothing its quota names has no guarantee to claim.
  if (state.claimed.empty()) return Scope::kOwnQuota;
  ResourceVector pending = state.pending_of_quota;
  pending.Add(state.together);
  return OverMin(ledger_, state, *quota, pending) ? Scope::kOwnQuota : Scope::kReclaim;
}

bool QuotaRules::MayEvict(Scope scope, const QuotaState& state, const PodInfo& victim,
                          const PodInfo& pod) const {
  const Quota* quota = ledger_.Find(victim.namespace_name());
  const bool same_namespace = victim.namespace_name() == pod.namespace_name();
  switch (scope) {
    case Scope::kWithoutQuota:
      return quota == nullptr && victim.priority() < pod.priority();
    case Scope::kReclaim:
      return MayTakeBack(state, victim, ledger_.RequestOf(victim), pod);
    case Scope::kOwnQuota:
      return same_namespace && victim.priority() < pod.priority();
  }
  return false;
}

bool QuotaRules::MayTakeBack(const QuotaState& state, const PodInfo& victim,
                             const ResourceVector& amounts, const PodInfo& pod) const {
  const Quota* quota = ledger_.Find(victim.namespace_name());
  if (quota == nullptr || victim.namespace_name() == pod.namespace_name()) return false;
  // A pod that leaves gives back what it has, and evicts no pod.
  return victim.deletion_time().has_value() ? OverMin(ledger_, state, *quota)
                                            : IsBorrowed(ledger_, state, *quota, amounts);
}

bool QuotaRules::MayEvictUnit(Scope scope, const QuotaState& state, const VictimUnit& unit,
                              const PodInfo& pod) const {
  if (scope != Scope::kReclaim) {
    return absl::c_all_of(
        unit.pods, [&](const PodPtr& member) { return MayEvict(scope, state, *member, pod); });
  }
  ResourceVector amounts;
  for (const PodPtr& member : unit.pods) {
    if (member->namespace_name() != unit.pods.front()->namespace_name()) return false;
    amounts.Add(ledger_.RequestOf(*member));
  }
  return MayTakeBack(state, *unit.pods.front(), amounts, pod);
}

// Pods on their own were chosen while no pod was gone elsewhere: they go first, then one group
// after the other.
const VictimUnit* QuotaRules::FindForbidden(const CycleState& state, const PodInfo& pod,
                                            absl::Span<const VictimUnit> units) const {
  const QuotaState* const before = state.Find(kQuotaState);
  if (before == nullptr) return nullptr;
  QuotaState now = *before;
  const Scope scope = ScopeOf(now, pod);
  const auto remove = [&](const VictimUnit& unit) {
    for (const PodPtr& member : unit.pods) now.changes.Remove(ledger_, *member);
  };
  for (const VictimUnit& unit : units) {
    if (unit.group.empty()) remove(unit);
  }
  std::vector<const VictimUnit*> groups;
  for (const VictimUnit& unit : units) {
    if (!unit.group.empty()) groups.push_back(&unit);
  }
  while (!groups.empty()) {
    const auto next = absl::c_find_if(
        groups, [&](const VictimUnit* group) { return MayEvictUnit(scope, now, *group, pod); });
    if (next == groups.end()) return groups.front();
    remove(**next);
    groups.erase(next);
  }
  return nullptr;
}

Status QuotaRules::PodEligibleToPreempt(const CycleState& state, const PodInfo& pod,
                                        const Nomination& nomination) {
  if (pod.preemption_policy() == PreemptionPolicy::kNever) {
    return Status::Unschedulable("not eligible due to preemptionPolicy=Never.");
  }
  const QuotaState* quota_state = state.Find(kQuotaState);
  if (quota_state == nullptr) {
    return Status::Unschedulable("not eligible due to failed to read from cycleState");
  }
  if (nomination.node == nullptr || nomination.code == Code::kUnschedulableAndUnresolvable) {
    return Status::Success();
  }
  const Scope scope = ScopeOf(*quota_state, pod);
  for (const PodPtr& victim : nomination.node->pods()) {
    if (!victim->deletion_time().has_value()) continue;
    // Even a pod that may reclaim waits for one that goes within its own quota.
    if (MayEvict(scope, *quota_state, *victim, pod) ||
        (scope == Scope::kReclaim && MayEvict(Scope::kOwnQuota, *quota_state, *victim, pod))) {
      return Status::Unschedulable("not eligible due to a terminating pod on the nominated node.");
    }
  }
  for (const VictimUnit& unit : nomination.elsewhere) {
    const bool leaves = absl::c_any_of(
        unit.pods, [](const PodPtr& victim) { return victim->deletion_time().has_value(); });
    if (leaves && MayEvictUnit(scope, *quota_state, unit, pod)) {
      return Status::Unschedulable(
          "not eligible due to a terminating pod that holds what the nominated node can use.");
    }
  }
  return Status::Success();
}

Status QuotaRules::SelectVictims(DryRun& run, const DisruptionBudgets& budgets,
                                 PreemptionCandidate& candidate) {
  const PodInfo& pod = run.pod();
  // Every removal changes it.
  const auto state = [&run]() -> const QuotaState& { return *run.state().Find(kQuotaState); };
  const Scope scope = ScopeOf(state(), pod);
  const auto may_evict = [&](const PodPtr& victim) {
    return !run.IsKept(*victim) && MayEvict(scope, state(), *victim, pod);
  };

  std::vector<PodPtr> removed;
  if (absl::c_any_of(run.node().pods(), may_evict)) {
    for (const PodPtr& victim : ByRisingImportance(run.node().pods())) {
      if (!may_evict(victim)) continue;
      if (Status status = run.Remove(*victim); !status.ok()) return status;
      removed.push_back(victim);
    }
  }
  const auto may_go = [&](const VictimUnit& unit) {
    return absl::c_none_of(unit.pods, [&](const PodPtr& one) { return run.IsKept(*one); }) &&
           MayEvictUnit(scope, state(), unit, pod);
  };
  if (removed.empty() && absl::c_none_of(run.elsewhere(), may_go)) {
    return Status::UnschedulableAndUnresolvable(NoVictimsReason(&run.node(), pod));
  }
  if (Status status = RemoveElsewhere(run, may_go, removed); !status.ok()) return status;

  // From here on it is the same state, which changes.
  const QuotaState& now = state();
  const auto room_for = [&](QuotaRoom::Moment moment, const ResourceVector& of_quota,
                            const ResourceVector& of_all) -> std::optional<QuotaRoom> {
    const Quota* own = ledger_.Find(pod.namespace_name());
    if (own == nullptr) return std::nullopt;
    return QuotaRoom(ledger_, now, *own, moment, of_quota, of_all);
  };
  const auto exceeds = [](const std::optional<QuotaRoom>& room) {
    return room.has_value() && (room->OverMax() || room->TotalOverMin());
  };

  // Pods that wait for victims of their own are pending, and those victims are leaving: to count
  // both would take the same room twice.
  const auto room = room_for(QuotaRoom::Moment::kNow, now.request, now.request);
  const auto room_later =
      room_for(QuotaRoom::Moment::kLater, now.pending_of_quota, now.pending_of_all);
  // If nothing is left later even without all of them, none could be spared.
  if (exceeds(room) || exceeds(room_later)) {
    return Status::Unschedulable("global quota max exceeded");
  }

  const auto fits = [&] { return run.Filter().ok() && !exceeds(room_later); };
  Status status = Reprieve(run, std::move(removed), budgets, MoreImportant, fits, candidate);
  if (status.ok() && candidate.victims.empty()) {
    return Status::Unschedulable("waiting for terminating pods to give back their quota");
  }
  return status;
}

std::string QuotaRules::NoVictimsReason(const NodeInfo* node, const PodInfo& preemptor) const {
  return NoVictimsFound(node, preemptor);
}

PreemptionHints::Victims QuotaRules::PossibleVictims(const CycleState& state,
                                                     const PodInfo& pod) const {
  const QuotaState* quota_state = state.Find(kQuotaState);
  if (quota_state == nullptr) return Victims::kAnyPod;
  if (ScopeOf(*quota_state, pod) != Scope::kReclaim) return Victims::kLowerPriority;
  const bool some_borrow = absl::c_any_of(ledger_.namespaces(), [&](Symbol name) {
    return name != pod.namespace_name() && OverMin(ledger_, *quota_state, *ledger_.Find(name));
  });
  return some_borrow ? Victims::kAnyPod : Victims::kNone;
}

std::optional<std::vector<NodeRow>> QuotaRules::RowsWithVictims(const CycleState& state,
                                                                const PodInfo& pod,
                                                                const NodeTable& nodes) const {
  const QuotaState* quota_state = state.Find(kQuotaState);
  if (quota_state == nullptr) return std::nullopt;
  return RowsWithVictims(*quota_state, pod, nodes);
}

std::optional<std::vector<NodeRow>> QuotaRules::RowsWithVictims(const QuotaState& state,
                                                                const PodInfo& pod,
                                                                const NodeTable& nodes) const {
  const Scope scope = ScopeOf(state, pod);
  if (scope == Scope::kWithoutQuota) return std::nullopt;
  // As MayEvict(): of its own quota, or of others that have more than their min.
  std::vector<std::pair<const QuotaLedger::ByNode*, bool>> of_quotas;  // and whether only leaving
  int64_t most = 0;
  const auto add = [&](Symbol name, bool only_leaving) {
    of_quotas.emplace_back(&ledger_.NodesOf(name), only_leaving);
    most += static_cast<int64_t>(of_quotas.back().first->size());
  };
  if (scope == Scope::kOwnQuota) add(pod.namespace_name(), false);
  for (const Symbol name : ledger_.namespaces()) {
    if (scope == Scope::kOwnQuota || most > nodes.size()) break;
    if (name == pod.namespace_name()) continue;
    const Quota& quota = *ledger_.Find(name);
    if (HasBorrowed(ledger_, state, quota)) {
      add(name, false);
    } else if (OverMin(ledger_, state, quota)) {
      add(name, true);
    }
  }
  if (most > nodes.size()) return std::nullopt;  // it would take longer than it saves
  std::vector<NodeRow> rows;
  std::vector<bool> is_listed(nodes.size());
  for (const auto& [by_node, only_leaving] : of_quotas) {
    for (const auto& [node, pods] : *by_node) {
      if (only_leaving && pods.leaving == 0) continue;
      const NodeRow row = nodes.FindRow(node);
      if (row < 0 || is_listed[row]) continue;
      is_listed[row] = true;
      rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace berth
