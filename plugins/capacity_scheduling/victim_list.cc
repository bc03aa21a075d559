// SPDX-License-Identifier: Apache-2.0
// Implementation of victim_list.h.
#include "plugins/capacity_scheduling/victim_list.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace berth {

AllVictims::AllVictims(const NodeTable& nodes, std::vector<VictimUnit> units)
    : units_(std::move(units)), least_priority_(units_.size()) {
  int32_t least = std::numeric_limits<int32_t>::max();
  for (int i = static_cast<int>(units_.size()) - 1; i >= 0; --i) {
    for (const auto& pod : units_[i].pods) least = std::min(least, pod->priority());
    least_priority_[i] = least;
  }
  for (int i = 0; i < static_cast<int>(units_.size()); ++i) {
    for (const Symbol name : units_[i].nodes) {
      const NodeRow row = nodes.FindRow(name);
      if (row < 0) continue;
      std::vector<int>& here = on_row_[row];
      if (here.empty() || here.back() != i) here.push_back(i);
    }
  }
}

const std::vector<int>& AllVictims::OnRow(NodeRow row) {
  static const std::vector<int>& kNone = *new std::vector<int>();
  const auto here = on_row_.find(row);
  return here == on_row_.end() ? kNone : here->second;
}

std::vector<int> AllVictims::OfGang(int number) {
  const std::string& group = units_[number].group;
  if (group.empty()) return {number};
  std::vector<int> of_gang;
  for (int i = 0; i < static_cast<int>(units_.size()); ++i) {
    if (units_[i].group == group) of_gang.push_back(i);
  }
  return of_gang;
}

int64_t AllVictims::MostRequested(ResourceId resource) {
  int64_t most = 0;
  for (const VictimUnit& unit : units_) {
    for (const auto& pod : unit.pods) most = std::max(most, pod->requests().Get(resource));
  }
  return most;
}

}  // namespace berth
