// SPDX-License-Identifier: Apache-2.0
// Implementation of holding_units.h.
#include "plugins/capacity_scheduling/holding_units.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "plugins/capacity_scheduling/evicted_units.h"

namespace berth {

absl::Span<const HoldingUnits::Holders> HoldingUnits::All() {
  if (std::exchange(is_known_, true)) return all_;
  for (SharedHolding& holding : query_.handle.Shared<SharedHoldings>()->For(
           query_.handle.profile_name(), query_.state, query_.pod)) {
    Holders holders{.holding = std::move(holding)};
    const VictimUnit& users = holders.holding.users;
    for (size_t i = 0; i < users.pods.size(); ++i) {
      holders.units.push_back(UnitOf(*users.pods[i], users.nodes[i]));
    }
    if (absl::c_linear_search(holders.units, -1)) continue;
    absl::c_sort(holders.units, EvictedUnits::ByOrder{&units_});
    all_.push_back(std::move(holders));
  }
  absl::c_stable_sort(all_, [this](const Holders& a, const Holders& b) {
    return units_.Before(a.units.back(), b.units.back());
  });
  return all_;
}

// The unit in which the pod would go; -1: in none.
int HoldingUnits::UnitOf(const PodInfo& pod, Symbol node) {
  const NodeRow row = query_.handle.nodes().FindRow(node);
  if (row < 0) return -1;
  for (const int unit : units_.OnRow(row)) {
    const bool is_in_it = absl::c_any_of(units_.unit(unit).pods,
                                         [&](const auto& one) { return one->uid() == pod.uid(); });
    if (is_in_it) return unit;
  }
  return -1;
}

}  // namespace berth
