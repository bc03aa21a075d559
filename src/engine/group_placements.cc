// SPDX-License-Identifier: Apache-2.0
// Implementation of group_placements.h.
#include "engine/group_placements.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "engine/group_shortage.h"
#include "engine/member_runs.h"
#include "engine/placement_plugins.h"
#include "evaluation/free_capacity.h"
#include "search/room.h"

namespace berth {
namespace {

using PodPtr = std::shared_ptr<const PodInfo>;

// More would make room by chance only.
constexpr size_t kMostPlacementsToEvictIn = 4;

std::string AmountText(absl::string_view resource, int64_t amount) {
  if (resource == kPodsResource) return absl::StrCat(amount);
  return QuantityOf(ResourceIdOf(resource), amount).ToString();
}

int CountVictims(const AttemptResult& result) {
  int victims = 0;
  for (const AttemptResult::Plan& plan : result.plans) {
    victims += static_cast<int>(plan.result.victims.size());
  }
  return victims;
}

}  // namespace

// One attempt: what the plugins said, and what is known of each placement.
class GroupPlacements::Trial : private PlacementWatch {
 public:
  Trial(GroupPlacements& owner, const AttemptRequest& request, AttemptResult& result)
      : cluster_(owner.cluster_),
        pod_scheduler_(owner.pod_scheduler_),
        group_scheduler_(owner.group_scheduler_),
        request_(request),
        result_(result),
        scoped_(request) {
    scoped_.plans_evictions = false;
    scoped_.work_budget_steps = 0;  // a group does not yield
    if (!request.framework->plugins().placement_feasible.empty()) scoped_.watch = this;
  }

  bool Run();

 private:
  // Members that request the same.
  struct Alike {
    const PodPtr* pod;
    int members = 0;
    std::optional<PodNeed> need = std::nullopt;
    std::vector<double> room = {};  // by row
  };
  struct Candidate {
    const PlacementTier* tier;
    const NodePlacement* placement;
    int64_t most = 0;        // so many members at most, by sums
    double room = 0;         // for the first kind of members
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
  Candidate Judge(const PlacementTier& tier, const NodePlacement& placement) const;
  double RoomOf(const Alike& kind, const NodePlacement& placement) const;
  std::vector<Candidate> Candidates(const PlacementTier& tier, int want) const;
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
  bool PlaceIn(const PlacementTier& tier, int want);
  void Try(const Candidate& candidate, AttemptResult& other);
  void TryRuns(const Candidate& candidate, std::vector<MemberRun> runs, AttemptResult& other);
  std::vector<MemberRun> Slices(const Candidate& candidate) const;
  std::vector<MemberRun> EvenRuns(const NodePlacement& placement) const;
  std::vector<MemberRun> PartRuns(const NodePlacement& placement);
  bool Start(AttemptResult other);
  void Fail();
  bool WouldHaveRoomIfEmpty(const NodePlacement& placement) const;
  std::string Finding(const Candidate& best) const;
  AttemptResult FailureOf(const std::string& text) const;
  void Explain(const Candidate& best, AttemptResult& other) const;

  bool GoesOn(int placed, int remaining) const override {
    const Status status = RunPlacementFeasible(
        *request_.framework, Group(), *scoped_.placement,
        {.scheduled = static_cast<int>(assigned_nodes_.size()) + placed, .remaining = remaining},
        cluster_.nodes());
    return status.ok() || status.IsWait();
  }

  ClusterState& cluster_;
  PodScheduler& pod_scheduler_;
  GroupScheduler& group_scheduler_;
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
  std::vector<Alike> kinds_;
  // How many members found a place where it was tried; and the same of all that was tried before.
  absl::flat_hash_map<const NodePlacement*, int> placed_in_, most_seen_;
  bool all_tried_ = true;  // where sums do not prove that there is none, no place exists
  bool undecided_ = false;
  int64_t possibilities_ = 0;
  int cycles_ = 0;
};

bool GroupPlacements::Place(const AttemptRequest& request, AttemptResult& result) {
  const ProfilePlugins& plugins = request.framework->plugins();
  if (plugins.placement_generate.empty() || plugins.group == nullptr || request.group.empty()) {
    return false;
  }
  return Trial(*this, request, result).Run();
}

bool GroupPlacements::Trial::Run() {
  spec_ = request_.framework->plugins().group->Spec(request_.group);
  if (!spec_.has_value() || cluster_.nodes().size() == 0) return false;
  if (!Generate()) return true;  // a plugin rejected it
  const bool parts = FindParts();
  if (tiers_.empty() && !parts) return false;
  if (tiers_.empty()) {  // only its parts care
    auto cluster = std::make_shared<PlacementTier>();
    auto everywhere = std::make_shared<NodePlacement>();
    everywhere->name = "the cluster";
    everywhere->rows.resize(cluster_.nodes().size());
    absl::c_iota(everywhere->rows, 0);
    cluster->name = "cluster";
    cluster->placements.push_back(std::move(everywhere));
    tiers_.push_back(std::move(cluster));
  }
  for (const PodPtr& pod : request_.pods) {
    const std::string node = cluster_.nominations().NominatedNode(*pod);
    const NodeRow row = node.empty() ? -1 : cluster_.nodes().FindRow(Symbol::Intern(node));
    if (row >= 0) nominated_.push_back(row);
  }
  FindKinds();
  const int all = static_cast<int>(request_.pods.size());
  const int least = std::clamp(request_.minimum, 1, all);
  if (PlaceInAnyTier(all, all)) return true;
  if (least < all) {
    all_tried_ = true;
    undecided_ = false;
    placed_in_.clear();
    if (PlaceInAnyTier(least, request_.minimum)) return true;
  }
  Fail();
  return true;
}

bool GroupPlacements::Trial::PlaceInAnyTier(int want, int minimum) {
  scoped_.minimum = minimum;
  return absl::c_any_of(tiers_, [&](const auto& tier) { return PlaceIn(*tier, want); });
}

// --- What there is to choose from ---------------------------------------------------------------

// False if the group was rejected.
bool GroupPlacements::Trial::Generate() {
  if (const GroupMembers* const members = cluster_.groups().Find(request_.group)) {
    members_ = members->members();
  }
  for (const GroupMember& member : members_) {
    if (!member.node_name.empty()) assigned_nodes_.push_back(Symbol::Intern(member.node_name));
  }
  const Status status =
      RunPlacementGenerate(*request_.framework, Group(), cluster_.nodes(), tiers_);
  if (status.ok()) return true;
  PodFailure failure = pod_scheduler_.Refused(request_, request_.pods.front(), status);
  failure.message = status.message();
  failure.nominated_node.reset();
  result_.failed.push_back(std::move(failure));
  result_.minimum_reached = request_.minimum == 0 && !status.IsError();
  return false;
}

// Whether a subgroup has a wish of its own. Those of one that is above others are not read: the
// door says so.
bool GroupPlacements::Trial::FindParts() {
  const std::vector<Subgroup>& parts = spec_->subgroups;
  if (!request_.quorum.has_parts() ||
      absl::c_all_of(parts, [](const Subgroup& part) { return part.topology.empty(); })) {
    return false;
  }
  const GroupPlugin& plugin = *request_.framework->plugins().group;
  assigned_by_part_.resize(parts.size());
  for (const GroupMember& member : members_) {
    const int part = plugin.SubgroupOf(*member.pod, *spec_);
    if (member.node_name.empty() || part < 0 || part >= static_cast<int>(parts.size())) continue;
    assigned_by_part_[part].push_back(Symbol::Intern(member.node_name));
  }
  tiers_of_part_.resize(parts.size());
  bool any = false;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].topology.empty() || parts[i].min_subgroups > 0) continue;
    const Status status = RunPlacementGenerate(*request_.framework, Group(static_cast<int>(i)),
                                               cluster_.nodes(), tiers_of_part_[i]);
    if (!status.ok()) {  // nowhere
      tiers_of_part_[i] = {std::make_shared<const PlacementTier>()};
    }
    any = any || !tiers_of_part_[i].empty();
  }
  return any;
}

void GroupPlacements::Trial::FindKinds() {
  constexpr size_t kMostKinds = 8;  // of more the sums are not worth their time
  for (const PodPtr& pod : request_.pods) {
    const auto known = absl::c_find_if(kinds_, [&](const Alike& kind) {
      return pod->SharesSpec(**kind.pod) || pod->requests() == (*kind.pod)->requests();
    });
    if (known != kinds_.end()) {
      ++known->members;
    } else {
      kinds_.push_back({&pod, 1});
    }
  }
  for (size_t i = 0; i < kinds_.size() && i < kMostKinds; ++i) {
    Alike& kind = kinds_[i];
    kind.need = FindNeed(*request_.framework, cluster_.nodes(), **kind.pod);
    if (kind.need.has_value()) RoomByRow(kind.need->needed, cluster_.nodes(), kind.room);
  }
}

double GroupPlacements::Trial::RoomOf(const Alike& kind, const NodePlacement& placement) const {
  double room = 0;
  for (const NodeRow row : placement.rows) room += kind.room[row];
  return room;
}

GroupPlacements::Trial::Candidate GroupPlacements::Trial::Judge(
    const PlacementTier& tier, const NodePlacement& placement) const {
  Candidate candidate{&tier, &placement};
  for (const Alike& kind : kinds_) {
    if (!kind.need.has_value()) {
      candidate.most += kind.members;
      continue;
    }
    double room = RoomOf(kind, placement);
    if (&kind == &kinds_.front()) candidate.room = room;
    if (tier.slice_size > 0 && kinds_.size() == 1) {  // whole slices, and what is left over
      double in_slices = kind.members % tier.slice_size;
      for (const NodePlacementPtr& part : placement.parts) {
        in_slices += std::floor(RoomOf(kind, *part) / tier.slice_size) * tier.slice_size;
      }
      room = std::min(room, in_slices);
    }
    candidate.most += static_cast<int64_t>(std::min<double>(room, kind.members));
  }
  candidate.nominated = absl::c_any_of(
      nominated_, [&](NodeRow row) { return absl::c_binary_search(placement.rows, row); });
  return candidate;
}

// Those that may have room for so many, the best first: the one that is held for the group already,
// then the tightest.
std::vector<GroupPlacements::Trial::Candidate> GroupPlacements::Trial::Candidates(
    const PlacementTier& tier, int want) const {
  std::vector<Candidate> candidates;
  for (const NodePlacementPtr& placement : tier.placements) {
    const Candidate candidate = Judge(tier, *placement);
    if (candidate.most >= want) candidates.push_back(candidate);
  }
  absl::c_stable_sort(candidates, [](const Candidate& a, const Candidate& b) {
    return a.nominated != b.nominated ? a.nominated : a.room < b.room;
  });
  return candidates;
}

// --- Placing ------------------------------------------------------------------------------------

// Places the group where `want` members or more find a place. If that is less than all, where as
// many do as can be, as far as is known.
bool GroupPlacements::Trial::PlaceIn(const PlacementTier& tier, int want) {
  std::vector<Candidate> candidates = Candidates(tier, want);
  if (want < static_cast<int>(request_.pods.size())) {
    absl::c_stable_sort(candidates, [&](const Candidate& a, const Candidate& b) {
      return std::min(a.most, MostSeenIn(a)) > std::min(b.most, MostSeenIn(b));
    });
  }
  const bool scores = !request_.framework->plugins().placement_score.empty();
  int64_t highest = -1;
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    AttemptResult other;
    Try(candidate, other);
    const int placed = static_cast<int>(other.placed.size());
    most_seen_[candidate.placement] = std::max(placed, other.most_placed);
    placed_in_[candidate.placement] = placed > 0 ? placed : other.most_placed;
    if (placed < want) {
      undecided_ |= other.answer == GroupAnswer::kUndecided ||
                    (scoped_.group_search_steps == 0 && request_.group_search_steps > 0);
      all_tried_ &= other.answer == GroupAnswer::kInfeasible;
      pod_scheduler_.RollBack(other);
      continue;
    }
    if (!scores) return Start(std::move(other));
    PlacementAssignments assignments;
    for (const Binder::Member& member : other.placed) {
      assignments.pods.push_back(
          {member.placement.pod.get(), cluster_.nodes().FindRow(member.placement.node)});
    }
    const absl::StatusOr<int64_t> score = RunPlacementScore(
        *request_.framework, Group(), *candidate.placement, assignments, cluster_.nodes());
    pod_scheduler_.RollBack(other);
    if (!score.ok()) {
      result_.failed.push_back(
          pod_scheduler_.Refused(request_, request_.pods.front(), Status::Error(score.status())));
      return true;
    }
    if (*score > highest) {
      highest = *score;
      best = &candidate;
    }
  }
  if (best == nullptr) return false;
  AttemptResult other;
  Try(*best, other);
  return Start(std::move(other));
}

bool GroupPlacements::Trial::Start(AttemptResult other) {
  result_ = std::move(other);
  result_.cycles = cycles_;
  result_.possibilities = possibilities_;
  result_.answer = GroupAnswer::kPlaced;
  return true;
}

void GroupPlacements::Trial::Try(const Candidate& candidate, AttemptResult& other) {
  const NodePlacement& placement = *candidate.placement;
  scoped_.placement = &placement;
  if (scoped_.watch != nullptr && !GoesOn(0, static_cast<int>(request_.pods.size()))) return;
  if (candidate.tier->slice_size > 0) {
    TryRuns(candidate, Slices(candidate), other);
  } else if (!tiers_of_part_.empty()) {
    TryRuns(candidate, PartRuns(placement), other);
  } else {
    if (std::vector<MemberRun> runs = EvenRuns(placement); !runs.empty()) {
      TryRuns(candidate, std::move(runs), other);
      if (other.placed.size() == request_.pods.size()) return;
      pod_scheduler_.RollBack(other);
      other = AttemptResult();
    }
    scoped_.placement = &placement;
    group_scheduler_.Place(scoped_, other);
    cycles_ += other.cycles;
    possibilities_ += other.possibilities;
    // One budget for all placements.
    scoped_.group_search_steps =
        std::max<int64_t>(0, scoped_.group_search_steps - other.possibilities);
  }
}

void GroupPlacements::Trial::TryRuns(const Candidate& candidate, std::vector<MemberRun> runs,
                                     AttemptResult& other) {
  const RunsOutcome outcome = PlaceRuns(scoped_, std::move(runs), cluster_, pod_scheduler_, other);
  scoped_.placement = candidate.placement;
  cycles_ += other.cycles;
  other.minimum_reached = outcome == RunsOutcome::kPlaced;
  other.answer = outcome == RunsOutcome::kExhausted   ? GroupAnswer::kInfeasible
                 : outcome == RunsOutcome::kUndecided ? GroupAnswer::kUndecided
                                                      : GroupAnswer::kPlaced;
  if (!other.minimum_reached) return;
  for (const PodPtr& pod : request_.pods) {  // those beyond the minimum that found no place
    const bool is_placed = absl::c_any_of(
        other.placed, [&](const Binder::Member& member) { return member.placement.pod == pod; });
    if (is_placed) continue;
    AttemptResult failed = FailureOf("no place is left in its topology domain");
    failed.failed.front().pod = pod;
    other.failed.push_back(std::move(failed.failed.front()));
  }
}

// Consecutive members, by their ranks. One whose siblings run has to be where they are.
std::vector<MemberRun> GroupPlacements::Trial::Slices(const Candidate& candidate) const {
  const int size = candidate.tier->slice_size;
  std::vector<MemberRun> runs = InRuns(request_.pods, size);
  for (MemberRun& run : runs) {
    for (const NodePlacementPtr& part : candidate.placement->parts) {
      run.placements.push_back(part.get());
    }
    if (!run.slice.has_value()) continue;
    for (const GroupMember& member : members_) {
      const std::optional<int> rank = RankOf(*member.pod);
      if (member.node_name.empty() || !rank.has_value() || *rank / size != *run.slice) continue;
      const NodeRow row = cluster_.nodes().FindRow(Symbol::Intern(member.node_name));
      run.placements.erase(std::remove_if(run.placements.begin(), run.placements.end(),
                                          [&](const NodePlacement* part) {
                                            return row >= 0 &&
                                                   !absl::c_binary_search(part->rows, row);
                                          }),
                           run.placements.end());
    }
  }
  return runs;
}

// Over as few parts of the placement as can be, as evenly as can be. Empty if that is not wanted or
// not known to be possible; of members that are all alike.
std::vector<MemberRun> GroupPlacements::Trial::EvenRuns(const NodePlacement& placement) const {
  std::vector<MemberRun> runs;
  const int members = static_cast<int>(request_.pods.size());
  if (placement.parts.empty() || kinds_.size() != 1 || !kinds_.front().need.has_value() ||
      !assigned_nodes_.empty()) {
    return runs;
  }
  std::vector<std::pair<int, const NodePlacement*>> parts;  // with room for so many
  for (const NodePlacementPtr& part : placement.parts) {
    const int room = static_cast<int>(std::min<double>(RoomOf(kinds_.front(), *part), members));
    if (room > 0) parts.emplace_back(room, part.get());
  }
  const auto by_room = [](const auto& a, const auto& b) { return a.first > b.first; };
  absl::c_stable_sort(parts, by_room);
  size_t few = 0;
  for (int room = 0; room < members; ++few) {
    if (few == parts.size()) return runs;
    room += parts[few].first;
  }
  // Of those that have room for an even share the tightest; else the largest there are.
  const int share = (members + static_cast<int>(few) - 1) / static_cast<int>(few);
  const auto enough = absl::c_find_if(parts, [&](const auto& part) { return part.first < share; });
  const size_t with_room = static_cast<size_t>(enough - parts.begin());
  const size_t begin = with_room >= few ? with_room - few : 0;
  parts = {parts.begin() + static_cast<std::ptrdiff_t>(begin),
           parts.begin() + static_cast<std::ptrdiff_t>(begin + few)};
  // The smallest first: what one cannot take the others share.
  std::vector<int> sizes(few);
  int left = members;
  for (size_t i = few; i-- > 0;) {
    sizes[i] = std::min(parts[i].first, left / static_cast<int>(i + 1));
    left -= sizes[i];
  }
  for (size_t i = 0; i < few && left > 0; ++i) {
    const int more = std::min(parts[i].first - sizes[i], left);
    sizes[i] += more;
    left -= more;
  }
  const std::vector<PodPtr> ranked = ByRank(request_.pods);
  auto pod = ranked.begin();
  for (size_t i = 0; i < few; ++i) {
    MemberRun& run = runs.emplace_back();
    run.pods.assign(pod, pod + sizes[i]);
    run.minimum = sizes[i];
    run.placements = {parts[i].second};
    pod += sizes[i];
  }
  return runs;
}

// The members of each part in one of its placements, those of the others anywhere.
std::vector<MemberRun> GroupPlacements::Trial::PartRuns(const NodePlacement& placement) {
  std::vector<MemberRun> runs(request_.quorum.counts());
  for (size_t i = 0; i < request_.pods.size(); ++i) {
    runs[request_.PartOf(i)].pods.push_back(request_.pods[i]);
  }
  for (int part = 0; part < request_.quorum.counts(); ++part) {
    MemberRun& run = runs[part];
    run.minimum = std::max(request_.quorum.MissingIn(part), 0);
    if (part == 0 || tiers_of_part_[part - 1].empty()) {
      run.placements = {&placement};
      continue;
    }
    for (const auto& tier : tiers_of_part_[part - 1]) {
      for (const NodePlacementPtr& one : tier->placements) {
        auto within = std::make_shared<NodePlacement>();
        std::set_intersection(one->rows.begin(), one->rows.end(), placement.rows.begin(),
                              placement.rows.end(), std::back_inserter(within->rows));
        if (within->rows.empty()) continue;
        within->name = one->name;
        run.placements.push_back(within.get());
        run.tiers.push_back(static_cast<int>(&tier - tiers_of_part_[part - 1].data()));
        run.owned.push_back(std::move(within));
      }
    }
  }
  runs.erase(std::remove_if(runs.begin(), runs.end(),
                            [](const MemberRun& run) { return run.pods.empty(); }),
             runs.end());
  return runs;
}

// --- When it fits nowhere -----------------------------------------------------------------------

bool GroupPlacements::Trial::WouldHaveRoomIfEmpty(const NodePlacement& placement) const {
  int64_t room = 0;
  for (const Alike& kind : kinds_) {
    room += kind.need.has_value()
                ? RoomIfEmpty(kind.need->needed, cluster_.nodes(), placement.rows, kind.members)
                : kind.members;
  }
  return room >= request_.minimum;
}

void GroupPlacements::Trial::Fail() {
  scoped_.minimum = request_.minimum;
  scoped_.group_search_steps = request_.group_search_steps;
  const PlacementTier& last = *tiers_.back();
  std::vector<Candidate> candidates = Candidates(last, 0);
  if (candidates.empty()) {
    result_ = FailureOf(absl::StrCat("no node is in a ", last.name));
    result_.minimum_reached = request_.minimum == 0;
    return;
  }
  absl::c_stable_sort(candidates, [](const Candidate& a, const Candidate& b) {
    return a.nominated != b.nominated ? a.nominated
           : a.most != b.most         ? a.most > b.most
                                      : a.room > b.room;
  });
  const Candidate& best = candidates.front();
  const bool in_runs = last.slice_size > 0 || !tiers_of_part_.empty();
  AttemptResult chosen;
  if (in_runs) {  // evicting by member would not make room in the right places
    chosen = FailureOf("");
    chosen.minimum_reached = request_.minimum == 0;
    chosen.most_placed = static_cast<int>(MostIn(best));
  } else {
    scoped_.placement = best.placement;
    scoped_.plans_evictions = request_.plans_evictions;
    // Where room is held for it already, nobody else has to go.
    const size_t most = best.nominated ? 1 : kMostPlacementsToEvictIn;
    int tried = 0;
    for (size_t i = 0; i < candidates.size() && i < most; ++i) {
      if (i > 0 && (!request_.plans_evictions || !WouldHaveRoomIfEmpty(*candidates[i].placement))) {
        continue;
      }
      AttemptResult other;
      scoped_.placement = candidates[i].placement;
      group_scheduler_.Place(scoped_, other);
      cycles_ += other.cycles;
      const bool plans = !other.plans.empty() || !other.placed.empty();
      const bool better =
          tried == 0 ||
          (plans && (chosen.plans.empty() || CountVictims(other) < CountVictims(chosen)));
      ++tried;
      if (!better) {
        pod_scheduler_.RollBack(other);
        continue;
      }
      pod_scheduler_.RollBack(chosen);
      chosen = std::move(other);
    }
  }
  Explain(best, chosen);
  result_ = std::move(chosen);
  result_.cycles = cycles_;
  result_.possibilities = possibilities_;
}

// "2 members need 16 nvidia.com/gpu in one rack; the best, rack r7, has 12 free, room for 1."
std::string GroupPlacements::Trial::Finding(const Candidate& best) const {
  const PlacementTier& tier = *best.tier;
  const int least = std::clamp<int>(request_.minimum, 1, static_cast<int>(request_.pods.size()));
  const std::string members = absl::StrCat(least, least == 1 ? " member" : " members");
  std::string need = absl::StrCat(members, least == 1 ? " needs" : " need", " room");
  std::string has;
  if (kinds_.size() == 1 && kinds_.front().need.has_value()) {
    const NeededResources& needed = kinds_.front().need->needed;
    const ShortResource shortest =
        FindShortResource(needed, cluster_.nodes(), best.placement->rows);
    if (shortest.name != kPodsResource) {
      need =
          absl::StrCat(members, least == 1 ? " needs " : " need ",
                       AmountText(shortest.name, ClampToInt64(__int128{shortest.per_pod} * least)),
                       " ", shortest.name);
      has = absl::StrCat(" has ", AmountText(shortest.name, shortest.all_free), " free,");
    }
  }
  std::string where;
  const bool is_everywhere =
      static_cast<int>(best.placement->rows.size()) == cluster_.nodes().size();
  if (!is_everywhere) where = absl::StrCat(" in one ", tier.name);
  if (tier.slice_size > 0) {
    absl::StrAppend(&where, ", each ", tier.slice_size, " in one ", tier.part_name);
  }
  if (!tiers_of_part_.empty()) absl::StrAppend(&where, ", each subgroup where it wants to be");
  const int64_t room = MostIn(best);
  if (is_everywhere) return absl::StrCat(need, where, "; there is room for ", room, ".");
  return absl::StrCat(need, where, "; the best, ", best.placement->name, ",", has,
                      has.empty() ? " has room for " : " room for ", room, ".");
}

// A group that its topology keeps from starting.
AttemptResult GroupPlacements::Trial::FailureOf(const std::string& text) const {
  const ProfilePlugins& plugins = request_.framework->plugins();
  AttemptResult result;
  const Symbol plugin = plugins.placement_generate.front().name;
  PodFailure failure{request_.pods.front(), Status::Unschedulable(text).WithPlugin(plugin)};
  failure.rejecting_plugins = {plugin};
  for (const Hook<FilterPlugin>& hook : plugins.filter) {  // room may come by any of their events
    failure.rejecting_plugins.push_back(hook.name);
  }
  failure.message = text;
  failure.post_filter_ran = true;
  auto waiting = std::make_shared<WaitingFor>();
  waiting->reason = WaitingReason::kTopology;
  waiting->plugin = std::string(plugin.view());
  waiting->detail = text;
  waiting->nodes = cluster_.nodes().size();
  failure.waiting = std::move(waiting);
  result.failed.push_back(std::move(failure));
  return result;
}

// Says what its wishes have to do with it, if all nodes together have room.
void GroupPlacements::Trial::Explain(const Candidate& best, AttemptResult& other) const {
  if (other.answer == GroupAnswer::kPlan || !other.plans.empty() || !other.placed.empty() ||
      other.failed.empty()) {
    return;
  }
  const int least = std::clamp<int>(request_.minimum, 1, static_cast<int>(request_.pods.size()));
  const Symbol plugin = request_.framework->plugins().placement_generate.front().name;
  const bool is_restricted =
      static_cast<int>(best.placement->rows.size()) < cluster_.nodes().size() ||
      best.tier->slice_size > 0 || !tiers_of_part_.empty();
  if (!is_restricted) return;
  const bool by_sums = absl::c_all_of(best.tier->placements, [&](const NodePlacementPtr& one) {
    return Judge(*best.tier, *one).most < least;
  });
  const std::string finding = Finding(best);
  if (by_sums || (all_tried_ && !undecided_ && !placed_in_.empty())) {
    other.answer = GroupAnswer::kInfeasible;
    other.finding = absl::StrCat("No place exists: ", finding);
  } else if (undecided_) {
    other.answer = GroupAnswer::kUndecided;
    other.finding = absl::StrCat("Undecided: ", finding);
  } else {
    other.finding = finding;
  }
  int64_t everywhere = 0;
  for (const Alike& kind : kinds_) {
    double room = kind.need.has_value() ? 0 : kind.members;
    for (const double on_row : kind.room) room += on_row;
    everywhere += static_cast<int64_t>(std::min<double>(room, kind.members));
  }
  for (PodFailure& failure : other.failed) {
    if (!absl::c_linear_search(failure.rejecting_plugins, plugin) &&
        !failure.rejecting_plugins.empty()) {
      failure.rejecting_plugins.push_back(plugin);
    }
    if (failure.message.empty()) failure.message = finding;
    if (everywhere < least || failure.status.IsError()) continue;
    auto waiting = std::make_shared<WaitingFor>(*failure.waiting);
    waiting->reason = WaitingReason::kTopology;
    waiting->plugin = std::string(plugin.view());
    waiting->detail = finding;
    waiting->members_needed = least;
    waiting->members_placeable =
        static_cast<int>(std::min<int64_t>(best.most, request_.pods.size()));
    waiting->blocking_pod = failure.pod->key();
    failure.waiting = std::move(waiting);
  }
}

}  // namespace berth
