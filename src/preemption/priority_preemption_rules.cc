// SPDX-License-Identifier: Apache-2.0
// PriorityPreemptionRules: pods of lower priority go. kube-scheduler v1.35
// plugins/defaultpreemption/default_preemption.go.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/columns/node_table.h"
#include "berth/preemption/preemption.h"

namespace berth {
namespace {

using PodPtr = std::shared_ptr<const PodInfo>;

// Whether the pod is being deleted because the scheduler evicted it.
bool TerminatesByPreemption(const PodInfo& pod) {
  if (!pod.deletion_time().has_value()) return false;
  for (const api::PodCondition& condition : pod.object().status().conditions()) {
    if (condition.type() == "DisruptionTarget") {
      return condition.status() == "True" && condition.reason() == "PreemptionByScheduler";
    }
  }
  return false;
}

}  // namespace

Status PriorityPreemptionRules::PodEligibleToPreempt(const CycleState&, const PodInfo& pod,
                                                     const Nomination& nomination) {
  if (pod.preemption_policy() == PreemptionPolicy::kNever) {
    return Status::Unschedulable("not eligible due to preemptionPolicy=Never.");
  }
  // A nominated node on which nothing helps any more is no reason to wait.
  if (nomination.node == nullptr || nomination.code == Code::kUnschedulableAndUnresolvable) {
    return Status::Success();
  }
  for (const PodPtr& victim : nomination.node->pods()) {
    if (victim->priority() < pod.priority() && IsVictimLeaving(*nomination.node, *victim, pod)) {
      return Status::Unschedulable("not eligible due to a terminating pod on the nominated node.");
    }
  }
  for (const VictimUnit& unit : nomination.elsewhere) {
    for (const PodPtr& victim : unit.pods) {
      if (victim->priority() < pod.priority() && IsVictimLeaving(*nomination.node, *victim, pod)) {
        return Status::Unschedulable(
            "not eligible due to a terminating pod that holds what the nominated node can use.");
      }
    }
  }
  return Status::Success();
}

PreemptionRules::SearchRange PriorityPreemptionRules::Range(int nodes) {
  const int64_t wanted = std::max({int64_t{nodes} * percentage_ / 100, absolute_, int64_t{1}});
  if (wanted >= nodes) return {0, nodes};
  return {static_cast<int>(handle_.Random() % static_cast<uint64_t>(nodes)),
          static_cast<int>(wanted)};
}

Status PriorityPreemptionRules::SelectVictims(DryRun& run, const DisruptionBudgets& budgets,
                                              PreemptionCandidate& candidate) {
  const PodInfo& pod = run.pod();
  std::vector<PodPtr> removed;
  for (const PodPtr& victim : run.node().pods()) {
    if (victim->priority() >= pod.priority() || run.IsKept(*victim)) continue;
    const absl::StatusOr<bool> may_evict = MayEvict(run.node(), *victim, pod);
    if (!may_evict.ok()) return Status::Error(may_evict.status());
    if (*may_evict) removed.push_back(victim);
  }
  const auto may_go = [&](const VictimUnit& unit) {
    for (size_t i = 0; i < unit.pods.size(); ++i) {
      const PodInfo& victim = *unit.pods[i];
      const NodeRow row = handle_.nodes().FindRow(unit.nodes[i]);
      if (row < 0 || victim.priority() >= pod.priority() || run.IsKept(victim)) return false;
      if (!MayEvict(handle_.nodes().node(row), victim, pod).value_or(false)) return false;
    }
    return true;
  };
  if (removed.empty() && absl::c_none_of(run.elsewhere(), may_go)) {
    return Status::UnschedulableAndUnresolvable(NoVictimsReason(&run.node(), pod));
  }
  for (const PodPtr& victim : removed) {
    if (Status status = run.Remove(*victim); !status.ok()) return status;
  }
  // If this is not enough, the pod may have required affinity to a victim. As in kube-scheduler
  // that is not looked into: affinity to less important pods is not recommended.
  if (Status status = RemoveElsewhere(run, may_go, removed); !status.ok()) return status;
  return Reprieve(
      run, std::move(removed), budgets,
      [this](const PodInfo& a, const PodInfo& b) { return MoreImportant(a, b); },
      [&run] { return run.Fits(); }, candidate);
}

const VictimUnit* PriorityPreemptionRules::FindForbidden(const CycleState&, const PodInfo& pod,
                                                         absl::Span<const VictimUnit> units) const {
  const auto forbidden = absl::c_find_if(units, [&](const VictimUnit& unit) {
    return !unit.group.empty() && absl::c_any_of(unit.pods, [&](const PodPtr& member) {
      return member->priority() >= pod.priority();
    });
  });
  return forbidden == units.end() ? nullptr : &*forbidden;
}

absl::StatusOr<bool> PriorityPreemptionRules::MayEvict(const NodeInfo&, const PodInfo&,
                                                       const PodInfo&) {
  return true;
}

bool PriorityPreemptionRules::MoreImportant(const PodInfo& a, const PodInfo& b) const {
  return MoreImportantPod(a, b);
}

bool PriorityPreemptionRules::IsVictimLeaving(const NodeInfo& node, const PodInfo& victim,
                                              const PodInfo& preemptor) {
  return TerminatesByPreemption(victim) && MayEvict(node, victim, preemptor).value_or(false);
}

std::string NoVictimsFound(const NodeInfo* node, const PodInfo& preemptor) {
  const std::string where = node == nullptr ? "" : absl::StrCat(" on node ", node->name().view());
  return absl::StrCat("No victims found", where, " for preemptor pod ", preemptor.name());
}

std::string PreemptionRules::NoVictimsReason(const NodeInfo*, const PodInfo&) const {
  return "No preemption victims found for incoming pod";
}

}  // namespace berth
