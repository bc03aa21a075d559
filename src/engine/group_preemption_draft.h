// SPDX-License-Identifier: Apache-2.0
// GroupPreemption::Draft: a plan while it is made. For the implementation of group_preemption.h.
#ifndef BERTH_SRC_ENGINE_GROUP_PREEMPTION_DRAFT_H_
#define BERTH_SRC_ENGINE_GROUP_PREEMPTION_DRAFT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/group_classes.h"
#include "engine/group_preemption.h"
#include "engine/group_shortage.h"
#include "engine/pod_set_room.h"
#include "engine/pod_sets.h"

namespace berth {

// A plan while it is made: the transaction, and the victims of each member.
class GroupPreemption::Draft {
 public:
  using PodPtr = std::shared_ptr<const PodInfo>;

  // `request`, what it names, and the others outlive this. `leaving` are gone, in the plan.
  Draft(const AttemptRequest& request, ClusterState& cluster, PodScheduler& pod_scheduler,
        absl::Span<const PodPtr> leaving)
      : request_(request),
        cluster_(cluster),
        pod_scheduler_(pod_scheduler),
        transaction_(cluster, trial_.placed) {
    GoneInPlan& gone = *cluster_.gone_in_plan();
    gone.number = ++gone.plans;
    if (!leaving.empty()) transaction_.TakeOff(leaving);
  }
  ~Draft() {
    transaction_.RollBack();
    cluster_.gone_in_plan()->number = 0;
  }

  // The first pods that go do so on none of these rows. Before any member is placed.
  void EvictFirstElsewhere(absl::Span<const NodeRow> rows);
  // Places members that fit without evictions, in that order, until the group is whole.
  void PlaceWithoutEvictions(absl::Span<const PodPtr> order);
  // The others, by evictions. Returns whether the group is whole.
  bool PlaceByEvicting(absl::Span<const PodPtr> order) {
    return PlaceByEvicting(order, 0, order.size());
  }
  // Each pod set, with or without evictions, in the one of its placements where the least important
  // have to go; or, if the group starts without it, in none. Returns whether the group is whole.
  // `pod_sets` outlives this.
  enum class PodSetOrder : uint8_t { kCheapestFirst, kHardestFirst };
  bool PlacePodSetsByEvicting(const std::vector<PodSet>& pod_sets, PodSetOrder order);
  // For what places the group as a whole: members are to be together in these sets. `pod_sets`
  // outlives this.
  void KeepTogether(const std::vector<PodSet>& pod_sets);
  using Places = std::vector<std::pair<PodPtr, Symbol>>;
  // Whether the group would have a place, anywhere, if these pods were gone: kPlaced; kInfeasible,
  // all was tried; or kUndecided, the request's group_search_steps are spent.
  GroupAnswer PlaceWithout(absl::Span<const PodPtr> pods);
  // Where that is.
  const Places& places() const { return kept_places_; }
  // How many placements the search tried.
  int64_t possibilities() const { return trial_.possibilities; }
  // Whether no pod that is there helps a member, and the search has tried all that there is: who is
  // gone as well leaves no less room then.
  bool MembersOnlyCompete();
  // Places each member where these say, in that order, by evicting where PostFilter has to. The
  // node on which one found no room; or absent: the group is whole.
  std::optional<Symbol> PlaceThere(const Places& places);
  // Puts back each victim that can stay while every member has its place, the most important first.
  // The group is whole before.
  void SpareVictims();

  // Whether some pod would be evicted, in whatever was tried.
  bool evicts() const { return evicts_; }
  // For whose node pods were evicted first. If evicts().
  NodeRow first_row() const { return first_row_; }
  int most_placed() const { return trial_.most_placed; }
  int placed() const { return static_cast<int>(trial_.placed.size()); }
  int cycles() const { return trial_.cycles; }
  int post_filters() const { return trial_.post_filters; }
  // No member waits for a pod to leave, and PostFilter sees no way.
  bool gives_up() const { return gives_up_; }
  absl::Time retry_at() const { return retry_at_; }

  // Rolls everything back and adds to `result` what is to be done.
  void Carry(AttemptResult& result);

 private:
  struct Victim {
    PodPtr pod;
    Symbol node;
    PodPtr preemptor;
    Symbol plugin;
    bool violates_budget = false;  // after the victims before it
    bool is_spared = false;
  };

  struct Option {
    const NodePlacement* placement;
    VictimsCost cost;  // of the pod set there, as far as is known
  };

  bool IsWhole() const { return request_.IsReachedBy(trial_.placed); }
  // For a part of a tree: whether its goal is reached; else whether the group is whole.
  bool IsEnough() const { return goal_ < 0 ? IsWhole() : placed() >= goal_; }
  // Members of `order` from `first` to before `end`.
  bool PlaceByEvicting(absl::Span<const PodPtr> order, size_t first, size_t end);
  // The members that still need a place for the group to be whole, the pod at `first` first.
  std::vector<const PodInfo*> StillMissing(absl::Span<const PodPtr> order, size_t first,
                                           const absl::flat_hash_set<const PodInfo*>& placed) const;
  bool CostsTheGroup(absl::Span<const PodPtr> victims) const;
  bool Evict(const PodPtr& preemptor, const PostFilterResult& plan);
  void AddVictims(absl::Span<const PodPtr> pods, const PodPtr& preemptor, Symbol plugin);
  bool HasEnded(const GroupMembers& group) const;
  std::vector<std::vector<Victim*>> UnitsByImportance();
  void MoveViolatingToFront(std::vector<std::vector<Victim*>>& units) const;
  std::vector<Victim*> CoreOf(absl::Span<Victim* const> unit) const;
  bool CanStay(const Victim& victim) const;
  bool Spare(absl::Span<Victim* const> unit);
  bool HoldWithout(absl::Span<Victim* const> unit);
  bool SpareByMoving(absl::Span<Victim* const> unit);
  // While victims are spared: gives the unit up again, as some of those who are left may go only if
  // it goes too. Returns whether it did.
  bool EvictIfOthersNeedIt(absl::Span<Victim* const> unit);
  int CountForbidden();
  bool HoldTogether(const Places& places);
  GroupAnswer PlaceAnywhere();
  void KeepPlaces();
  Places TakeBack(const absl::flat_hash_set<const PodInfo*>& members);
  bool PlaceAt(const Places& places);

  // --- Pod sets; positions are those of planned_ ---
  bool PlacePodSetsFrom(size_t position, const std::vector<Option>* of_last, size_t last_chosen);
  bool PlacePodSetIn(size_t position, const NodePlacement* placement, int goal);
  std::vector<Option> OptionsOf(size_t position, const std::vector<Option>* of_last,
                                size_t last_chosen);
  std::optional<VictimsCost> CostIn(size_t position, const NodePlacement* placement);
  bool IsLikeTheLast(size_t position) const;
  bool MayBeWhole(size_t position) const;
  bool FillUp();
  void RollBackTo(const Transaction::Savepoint& savepoint, size_t victims);

  struct PlannedPodSet {
    const PodSet* pod_set;
    PodSetRoom room;
    bool is_nominated = false;              // some member is
    size_t first = 0;                       // of its members, in order_
    const NodePlacement* chosen = nullptr;  // if it is placed
    bool is_placed = false;
  };
  void SortPodSets(PodSetOrder order);
  void ListMembers();
  bool IsNominatedTo(const PodInfo& pod, const NodePlacement* placement) const;
  SharedDomains domains_;
  std::vector<PlannedPodSet> planned_;               // in the order in which they are tried
  const std::vector<PodSet>* restricted_ = nullptr;  // if they have placements of their own
  std::vector<PodPtr> order_;
  std::vector<int> parts_;  // of order_
  int64_t steps_left_ = 0;
  bool waits_ = false;  // for victims to leave
  int goal_ = -1;       // how many placed end the part that is planned; negative: the whole group

  AttemptRequest request_;
  ClusterState& cluster_;
  PodScheduler& pod_scheduler_;
  AttemptResult trial_;
  Transaction transaction_;
  std::vector<Victim> victims_;
  // Pods that were nominated, and whose nominations end for a member.
  struct GivenPlace {
    PodPtr pod;
    PodPtr preemptor;
    Symbol plugin;
  };
  std::vector<GivenPlace> gave_way_;
  // Where members are with which the group is whole without the victims that are left.
  Places kept_places_;
  absl::flat_hash_set<const PodInfo*> sharing_;  // members, while victims are spared
  bool goes_by_rules_ = false;                   // some plugin has VictimRules
  std::optional<int> forbidden_;                 // of all victims, by these rules
  // What sparing may still take: members that are placed again, and victims that are looked at.
  // Beyond it victims go that might have stayed.
  int64_t spare_steps_left_ = 200'000;
  std::optional<ShortageWatch> shortage_;  // while victims are spared by moving them
  bool evicts_ = false;
  NodeRow first_row_ = -1;
  std::optional<NodePlacement> elsewhere_;  // where the first pods go; absent: anywhere
  bool gives_up_ = false;
  absl::Time retry_at_ = absl::InfiniteFuture();
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_GROUP_PREEMPTION_DRAFT_H_
