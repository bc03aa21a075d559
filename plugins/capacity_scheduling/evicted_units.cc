// SPDX-License-Identifier: Apache-2.0
// Implementation of evicted_units.h.
#include "plugins/capacity_scheduling/evicted_units.h"

#include <string>

#include "absl/algorithm/container.h"
#include "plugins/capacity_scheduling/victim_units.h"

namespace berth {

void EvictedUnits::Evict(int unit) {
  trial_.Evict(units_.unit(unit));
  spent_.Add(units_.unit(unit));
  gone_.insert(unit);
}

void EvictedUnits::Spare(int unit) {
  trial_.Spare(units_.unit(unit));
  spent_.Remove(units_.unit(unit));
  gone_.erase(unit);
}

void EvictedUnits::SpareAll() {
  while (!gone_.empty()) Spare(*gone_.begin());
}

bool EvictedUnits::LeavesGangWhole(int unit) const {
  const std::string& group = units_.unit(unit).group;
  if (group.empty()) return true;
  int all = 0, going = 0;
  for (const int of_gang : units_.OfGang(unit)) {
    const int pods = static_cast<int>(units_.unit(of_gang).pods.size());
    all += pods;
    if (gone_.contains(of_gang)) going += pods;
  }
  return going == 0 || going == all || going <= SurplusOf(handle_, group);
}

bool EvictedUnits::LeavesGangsWhole() const {
  return absl::c_all_of(gone_, [this](int unit) { return LeavesGangWhole(unit); });
}

std::vector<int> EvictedUnits::AllThatGoWith(int unit) {
  if (!gone_.insert(unit).second) return {};
  std::vector<int> going = {unit};
  if (!LeavesGangWhole(unit)) {
    for (const int other : units_.OfGang(unit)) {
      if (!gone_.contains(other)) going.push_back(other);
    }
  }
  gone_.erase(unit);
  return going;
}

bool EvictedUnits::IsAllowedInSomeOrder() {
  for (const int unit : gone_) trial_.Spare(units_.unit(unit));
  std::vector<int> left(gone_.begin(), gone_.end());
  for (bool progressed = true; progressed && !left.empty();) {
    const auto next = absl::c_find_if(
        left, [this](int unit) { return trial_.MayEvict(units_.unit(unit)).status.ok(); });
    progressed = next != left.end();
    if (!progressed) break;
    trial_.Evict(units_.unit(*next));
    left.erase(next);
  }
  for (const int unit : left) trial_.Evict(units_.unit(unit));
  return left.empty();
}

}  // namespace berth
