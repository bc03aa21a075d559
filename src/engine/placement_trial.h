// SPDX-License-Identifier: Apache-2.0
// PlacementTrial: one attempt on a group that plugins place.
#ifndef BERTH_SRC_ENGINE_PLACEMENT_TRIAL_H_
#define BERTH_SRC_ENGINE_PLACEMENT_TRIAL_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "berth/extensions/group.h"
#include "berth/framework/placement.h"
#include "engine/attempt.h"
#include "engine/cluster_state.h"
#include "engine/group_scheduler.h"
#include "engine/group_shortage.h"
#include "engine/placement_plugins.h"
#include "engine/pod_scheduler.h"
#include "engine/pod_set_search.h"
#include "engine/pod_sets.h"
#include "search/room_sums.h"

namespace berth {

// What the plugins said, and what is known of each placement. Scheduling thread.
class PlacementTrial : private PlacementWatch {
 public:
  // What outlives an attempt.
  struct Context {
    ClusterState& cluster;
    PodScheduler& pod_scheduler;
    GroupScheduler& group_scheduler;
    RoomSums& room_sums;
    PlacementValidator& validator;
  };
  // All outlive this. Fills `result`, but for Permit.
  PlacementTrial(const Context& context, const AttemptRequest& request, AttemptResult& result);

  // False, and nothing was done, if no plugin cares where the group is.
  bool Run();

 private:
  // Members that request the same.
  struct RequestKind {
    const std::shared_ptr<const PodInfo>* pod;
    int members = 0;
    std::optional<PodNeed> need = std::nullopt;
    RoomSums::Room* room = nullptr;  // null: not known
  };
  struct Candidate {
    const PlacementTier* tier;
    const NodePlacement* placement;
    int64_t most = 0;  // so many members at most, by sums
    double times = 0;  // how often the group has room, by the kind of members that has the least
    bool nominated = false;  // some member is, to one of its nodes
  };

  PlacementGroup Group(int part = -1) const {
    return {.name = request_.group,
            .spec = *spec_,
            .part = part,
            .members = members_,
            .assigned_nodes = part < 0 ? assigned_nodes_ : assigned_by_part_[part]};
  }
  bool Generate();
  bool FindParts();
  void FindKinds();
  Candidate Judge(const std::shared_ptr<const PlacementTier>& tier, size_t position) const;
  double RoomOf(const RequestKind& kind, const NodePlacement& placement) const;
  // Whether sums prove that members of unlike kinds do not have room there together, so many of
  // them; if pods of a lower priority than `gone_below` were gone.
  PackingBound::Verdict CheckPacking(const NodePlacement& placement, int want,
                                     int32_t gone_below = PackingBound::kNobody);
  std::vector<Candidate> Candidates(const std::shared_ptr<const PlacementTier>& tier,
                                    int want) const;
  // As far as is known by now.
  int64_t MostIn(const Candidate& candidate) const {
    const auto tried = placed_in_.find(candidate.placement);
    return tried == placed_in_.end() ? candidate.most
                                     : std::min<int64_t>(candidate.most, tried->second);
  }

  int64_t MostSeenIn(const Candidate& candidate) const {
    const auto seen = most_seen_.find(candidate.placement);
    return seen == most_seen_.end() ? candidate.most : seen->second;
  }
  bool PlaceInAnyTier(int want, int minimum);
  bool PlaceIn(const std::shared_ptr<const PlacementTier>& tier, int want);
  void Try(const Candidate& candidate, AttemptResult& other);
  void TryPodSets(const Candidate& candidate, const std::vector<PodSet>& pod_sets,
                  AttemptResult& other);
  std::vector<PodSet> Slices(const Candidate& candidate) const;
  // Whether all members found a place in few parts of the placement.
  bool TryShares(const Candidate& candidate, AttemptResult& other);
  std::vector<PodSet> EvenPodSets(const NodePlacement& placement) const;
  std::vector<PodSet> PodSetsOfRoles(const NodePlacement& placement, size_t more) const;
  std::vector<PodSet> PodSetsOfParts(const NodePlacement& placement);
  void AddWithin(const NodePlacement& outer, absl::Span<const int> levels, int tier,
                 const std::vector<const NodePlacement*>& domains, PodSet& pod_set);
  bool Start(const Candidate& candidate, AttemptResult other);
  void PlaceRest(const Candidate& candidate, AttemptResult& other);
  MemberOrder MissingMembers(absl::Span<const std::shared_ptr<const PodInfo>> pods,
                             const AttemptResult& other) const;
  NodeRow FindSibling(const PodSet& pod_set, const AttemptResult& other) const;
  void PlaceAround(absl::Span<const NodePlacement* const> placements, MemberOrder missing,
                   Transaction& planned, AttemptResult& other);
  void Fail();
  bool WouldHaveRoom(const NodePlacement& placement, int32_t below);
  struct ToTry {
    std::vector<Candidate> candidates;
    int left_out = 0;  // where evictions might make room, too
  };
  ToTry ToEvictIn(const std::vector<Candidate>& candidates);
  void TryToEvictIn(const Candidate& candidate, AttemptResult& other);
  std::string Finding(const Candidate& best) const;
  AttemptResult FailureOf(const std::string& text) const;
  void Explain(const Candidate& best, AttemptResult& other) const;

  bool Continues(int placed, int remaining) const override;

  ClusterState& cluster_;
  PodScheduler& pod_scheduler_;
  GroupScheduler& group_scheduler_;
  RoomSums& room_sums_;
  PlacementValidator& validator_;
  const AttemptRequest& request_;
  AttemptResult& result_;
  AttemptRequest scoped_;
  std::optional<GroupSpec> spec_;
  absl::Span<const GroupMember> members_;
  std::vector<Symbol> assigned_nodes_;
  std::vector<std::vector<Symbol>> assigned_by_part_;
  std::vector<PlacementTiers> tiers_of_part_;  // of subgroups with wishes of their own, or empty
  PlacementTiers tiers_;
  std::vector<NodeRow> nominated_;
  std::vector<RequestKind> kinds_;
  std::optional<std::optional<PackingBound>> packing_;  // once it is asked for
  // How many members found a place where it was tried; and the same of all that was tried before.
  absl::flat_hash_map<const NodePlacement*, int> placed_in_, most_seen_;
  bool all_tried_ = true;  // where sums do not prove that there is none, no place exists
  bool undecided_ = false;
  int64_t possibilities_ = 0;
  int cycles_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_PLACEMENT_TRIAL_H_
