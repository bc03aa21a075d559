// SPDX-License-Identifier: Apache-2.0
// Implementation of ledger_trial.h.
#include "plugins/capacity_scheduling/ledger_trial.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "berth/preemption/preemption.h"
#include "plugins/capacity_scheduling/victim_units.h"

namespace berth {

// Of a gang of which somebody may go also those who may not by themselves, as what it has beyond
// its minimum last: they go with it, or it stays.
std::vector<VictimUnit> LedgerTrial::Units() const {
  std::vector<RunningPod> pods, others;
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
      const bool may_go = rules_.MayTakeBack(state_, *pod, ledger_.RequestOf(*pod), pod_);
      (may_go ? pods : others).push_back({pod, node.name()});
    }
  }
  const auto less_important = [](const RunningPod& a, const RunningPod& b) {
    return MoreImportantPod(*b.pod, *a.pod);
  };
  absl::c_stable_sort(pods, less_important);
  absl::c_stable_sort(others, less_important);
  const auto group_of = [&](const RunningPod& running) {
    return handle_.groups().GroupOfPod(running.pod->uid());
  };
  absl::flat_hash_set<std::string> gangs;
  for (const RunningPod& running : pods) {
    if (const std::optional<std::string> gang = group_of(running)) gangs.insert(*gang);
  }
  for (const RunningPod& other : others) {
    const std::optional<std::string> gang = group_of(other);
    if (gang.has_value() && gangs.contains(*gang)) pods.push_back(other);
  }
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
