// SPDX-License-Identifier: Apache-2.0
// Implementation of spared_units.h.
#include "plugins/capacity_scheduling/spared_units.h"

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "plugins/capacity_scheduling/spent_budgets.h"
#include "plugins/capacity_scheduling/victim_sites.h"

namespace berth {

void SparedUnits::SpareOn(NodeRow row, EvictedUnits& gone, Orders orders) const {
  std::vector<std::pair<VictimSite, int>> order;
  SpentBudgets spent(query_.budgets);
  for (const int unit : gone.all()) {
    VictimSite& alone = order.emplace_back(VictimSite(), unit).first;
    alone.violations = spent.Add(units_.unit(unit));
    alone.Add(unit, units_);
  }
  absl::c_sort(order, [this](const auto& a, const auto& b) {
    return b.first.IsBetterThan(a.first, units_);
  });
  for (const auto& [alone, unit] : order) {
    if (!room_.SumsHold(row, gone, unit)) continue;
    gone.Spare(unit);
    if (gone.LeavesGangWhole(unit) && query_.trial.HasRoom().ok() && room_.Filter(row, gone).ok() &&
        (orders == Orders::kAsListed || gone.IsAllowedInSomeOrder())) {
      continue;
    }
    gone.Evict(unit);
  }
  taken_.GiveBackNeedless([&] {
    return room_.SumsHold(row, gone) && query_.trial.HasRoom().ok() &&
           room_.Filter(row, gone).ok() && (gone.all().empty() || gone.IsAllowedInSomeOrder());
  });
}

NodeRow SparedUnits::SpareOnTheWay(NodeRow site, EvictedUnits& gone) const {
  const NodeTable& nodes = query_.handle.nodes();
  constexpr size_t kMostRows = 16;
  bool any_on_site = false;
  std::set<NodeRow> elsewhere;
  for (const int unit : gone.all()) {
    for (const Symbol name : units_.unit(unit).nodes) {
      const NodeRow row = nodes.FindRow(name);
      if (row == site) any_on_site = true;
      const bool is_open = row != site && absl::c_binary_search(query_.rows, row) &&
                           query_.book.KindOf(row) == query_.book.KindOf(site);
      if (is_open && elsewhere.size() < kMostRows) elsewhere.insert(row);
    }
  }
  if (!any_on_site) return site;
  for (const NodeRow row : elsewhere) {
    if (!room_.SumsHold(row, gone) || !room_.Filter(row, gone).ok()) continue;
    const size_t before = gone.all().size() + taken_.size();
    SpareOn(row, gone, Orders::kWeighed);
    // Where a place was given back the plan holds on this row alone.
    if (gone.all().size() + taken_.size() < before) return row;
  }
  return site;
}

}  // namespace berth
