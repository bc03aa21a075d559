// SPDX-License-Identifier: Apache-2.0
// Implementation of group_space.h.
#include "engine/group_space.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "search/room.h"

namespace berth {

GroupSpace::GroupSpace(const AttemptRequest& request, const std::vector<MemberClass>& members,
                       ClusterState& cluster, PodScheduler& pod_scheduler, AttemptResult& result)
    : request_(request),
      members_(members),
      cluster_(cluster),
      pod_scheduler_(pod_scheduler),
      result_(result),
      transaction_(cluster, result.placed),
      first_(result.placed.size()),
      placed_of_(members.size(), 0) {
  for (const MemberClass& member_class : members) {
    classes_.push_back({static_cast<int>(member_class.pods.size()), member_class.only_competes});
    needs_.push_back(FindNeed(*request.framework, cluster.nodes(), *member_class.pods.front()));
  }
}

// The fullest nodes first: on them the least is left over.
std::vector<NodeRow> GroupSpace::FeasibleRows(int pod_class) {
  std::vector<NodeRow> rows =
      pod_scheduler_.FeasibleRows(request_, *members_[pod_class].pods[placed_of_[pod_class]]);
  const std::optional<PodNeed>& need = needs_[pod_class];
  if (!need.has_value()) return rows;
  std::vector<std::pair<int64_t, NodeRow>> by_room;
  for (const NodeRow row : rows) {
    by_room.emplace_back(RoomOnRow(need->needed, cluster_.nodes(), row), row);
  }
  std::sort(by_room.begin(), by_room.end());
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = by_room[i].second;
  return rows;
}

bool GroupSpace::Place(int pod_class, NodeRow row) {
  int& placed = placed_of_[pod_class];
  const std::shared_ptr<const PodInfo>& pod = members_[pod_class].pods[placed];
  const Transaction::Savepoint before = transaction_.Save();
  if (!pod_scheduler_.PlaceOn(request_, pod, row, result_)) return false;
  transaction_.Nominate(pod, "");
  steps_.push_back({pod_class, before});
  ++placed;
  return true;
}

void GroupSpace::Undo() {
  --placed_of_[steps_.back().pod_class];
  transaction_.RollBackTo(steps_.back().before);
  steps_.pop_back();
}

bool GroupSpace::IsEnough(absl::Span<const int> placed) const {
  const int members = std::accumulate(placed.begin(), placed.end(), 0);
  if (members < request_.minimum) return false;
  if (!request_.quorum.has_parts()) return true;
  std::vector<int> by_part(request_.quorum.counts(), 0);
  for (size_t i = 0; i < members_.size(); ++i) by_part[members_[i].part] += placed[i];
  return request_.quorum.IsReachedBy(by_part);
}

int GroupSpace::Room(int pod_class, int enough) {
  const std::optional<PodNeed>& need = needs_[pod_class];
  if (!need.has_value()) return enough;
  const int32_t priority = members_[pod_class].pods.front()->priority();
  return static_cast<int>(
      RoomBesideNominated(request_, cluster_).For(need->needed, priority, enough));
}

}  // namespace berth
