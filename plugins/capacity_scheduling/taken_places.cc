// SPDX-License-Identifier: Apache-2.0
// Implementation of taken_places.h.
#include "plugins/capacity_scheduling/taken_places.h"

#include <cstddef>
#include <utility>

#include "plugins/capacity_scheduling/victim_units.h"

namespace berth {

bool TakenPlaces::Take(absl::Span<const VictimUnit> places) {
  for (const VictimUnit& place : places) {
    trial_.Evict(place);
    taken_.push_back(place);
    for (const Symbol node : place.nodes) rows_.insert(handle_.nodes().FindRow(node));
  }
  return !places.empty();
}

void TakenPlaces::GiveBackNeedless(absl::FunctionRef<bool()> holds) {
  for (size_t i = taken_.size(); i-- > 0;) {
    VictimUnit place = std::move(taken_[i]);
    taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(i));
    trial_.Spare(place);
    if (LeavesGangWhole(place.group) && holds()) continue;
    trial_.Evict(place);
    taken_.insert(taken_.begin() + static_cast<std::ptrdiff_t>(i), std::move(place));
  }
}

void TakenPlaces::AppendPods(std::vector<std::shared_ptr<const PodInfo>>& pods) const {
  for (const VictimUnit& place : taken_) {
    pods.insert(pods.end(), place.pods.begin(), place.pods.end());
  }
}

// Whether of the gang its minimum is there or nominated, or nobody is nominated.
bool TakenPlaces::LeavesGangWhole(const std::string& group) const {
  const GroupMembers* const gang = handle_.groups().Find(group);
  if (gang == nullptr) return true;
  int nominated = 0;
  for (const GroupMember& member : gang->members()) {
    const bool is_nominated =
        member.node_name.empty() && !handle_.nominator().NominatedNode(*member.pod).empty();
    nominated += is_nominated ? 1 : 0;
  }
  for (const VictimUnit& place : taken_) {
    if (place.group == group) nominated -= static_cast<int>(place.pods.size());
  }
  return nominated <= 0 || SurplusOf(handle_, group, nominated) >= 0;
}

}  // namespace berth
