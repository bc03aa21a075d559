// SPDX-License-Identifier: Apache-2.0
// Implementation of ledger_trial.h.
#include "plugins/capacity_scheduling/ledger_trial.h"

#include <algorithm>
#include <memory>

#include "absl/algorithm/container.h"
#include "berth/preemption/preemption.h"
#include "plugins/capacity_scheduling/victim_units.h"

namespace berth {

std::vector<VictimUnit> LedgerTrial::Units() const {
  std::vector<RunningPod> pods;
  const NodeTable& nodes = handle_.nodes();
  std::vector<NodeRow> rows;
  if (auto with_victims = rules_.RowsWithVictims(state_, pod_, nodes)) {
    rows = *std::move(with_victims);
    absl::c_sort(rows);
  } else {
    rows.resize(nodes.size());
    absl::c_iota(rows, 0);
  }
  for (const NodeRow row : rows) {
    const NodeInfo& node = nodes.node(row);
    for (const std::shared_ptr<const PodInfo>& pod : node.pods()) {
      if (pod->deletion_time().has_value()) continue;
      if (rules_.MayTakeBack(state_, *pod, ledger_.RequestOf(*pod), pod_)) {
        pods.push_back({pod, node.name()});
      }
    }
  }
  absl::c_stable_sort(pods, [](const RunningPod& a, const RunningPod& b) {
    return MoreImportantPod(*b.pod, *a.pod);
  });
  return UnitsOf(handle_, pods);
}

VictimTrial::Verdict LedgerTrial::MayEvict(const VictimUnit& unit) const {
  ResourceVector amounts;
  bool one_namespace = true;
  for (const std::shared_ptr<const PodInfo>& pod : unit.pods) {
    amounts.Add(ledger_.RequestOf(*pod));
    one_namespace &= pod->namespace_name() == unit.pods.front()->namespace_name();
  }
  if (one_namespace && rules_.MayTakeBack(state_, *unit.pods.front(), amounts, pod_)) {
    return {Status::Success()};
  }
  return {Status::Unschedulable("its quota has no more than its min")};
}

void LedgerTrial::Evict(const VictimUnit& unit) {
  for (const std::shared_ptr<const PodInfo>& pod : unit.pods) state_.changes.Remove(ledger_, *pod);
}

void LedgerTrial::Spare(const VictimUnit& unit) {
  for (const std::shared_ptr<const PodInfo>& pod : unit.pods) state_.changes.Add(ledger_, *pod);
}

Status LedgerTrial::HasRoom() const {
  const Quota* const own = ledger_.Find(pod_.namespace_name());
  if (own == nullptr) return Status::Success();
  const QuotaRoom room(ledger_, state_, *own, QuotaRoom::Moment::kLater, state_.pending_of_quota,
                       state_.pending_of_all);
  if (room.OverMax()) return Status::Unschedulable("the quota's max is exceeded");
  if (room.TotalOverMin()) return Status::Unschedulable("all quotas use more than their mins");
  return Status::Success();
}

}  // namespace berth
