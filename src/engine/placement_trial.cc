// SPDX-License-Identifier: Apache-2.0
// Implementation of placement_trial.h: what there is to choose from, and placing.
#include "engine/placement_trial.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "engine/transaction.h"
#include "framework/nominated_rows.h"

namespace berth {
namespace {

using PodPtr = std::shared_ptr<const PodInfo>;

// Of members that are placed: they would count twice.
void EndNominations(const AttemptResult& result, Transaction& transaction) {
  for (const Binder::Member& member : result.placed) {
    transaction.Nominate(member.placement.pod, "");
  }
}

}  // namespace

PlacementTrial::PlacementTrial(const Context& context, const AttemptRequest& request,
                               AttemptResult& result)
    : cluster_(context.cluster),
      pod_scheduler_(context.pod_scheduler),
      group_scheduler_(context.group_scheduler),
      room_sums_(context.room_sums),
      validator_(context.validator),
      request_(request),
      result_(result),
      scoped_(request) {
  scoped_.plans_evictions = false;
  scoped_.work_budget = WorkBudget();  // a group does not yield
  if (!request.framework->plugins().placement_feasible.empty()) scoped_.watch = this;
}

bool PlacementTrial::Run() {
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
    if (request_.placement != nullptr) everywhere->rows = request_.placement->rows;
    cluster->name = "cluster";
    cluster->placements.push_back(std::move(everywhere));
    tiers_.push_back(std::move(cluster));
  }
  for (const PodPtr& pod : request_.pods) {
    const NodeRow row = NominatedRow(cluster_.nominations(), cluster_.nodes(), *pod);
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

bool PlacementTrial::PlaceInAnyTier(int want, int minimum) {
  scoped_.minimum = minimum;
  return absl::c_any_of(tiers_, [&](const auto& tier) { return PlaceIn(tier, want); });
}

// --- What there is to choose from ---------------------------------------------------------------

// False if the group was rejected.
bool PlacementTrial::Generate() {
  if (const GroupMembers* const members = cluster_.groups().Find(request_.group)) {
    members_ = members->members();
  }
  for (const GroupMember& member : members_) {
    if (!member.node_name.empty()) assigned_nodes_.push_back(Symbol::Intern(member.node_name));
  }
  Status status = RunPlacementGenerate(*request_.framework, Group(), cluster_.nodes(), tiers_);
  if (status.ok()) status = validator_.Validate(tiers_, cluster_.nodes());
  if (status.ok() && request_.placement != nullptr) tiers_ = Within(*request_.placement, tiers_);
  if (status.ok()) return true;
  PodFailure failure = pod_scheduler_.Refused(request_, request_.pods.front(), status);
  failure.message = status.message();
  failure.nominated_node.reset();
  result_.failed.push_back(std::move(failure));
  result_.minimum_reached = request_.minimum == 0 && !status.IsError();
  return false;
}

// Whether a subgroup has a wish of its own.
bool PlacementTrial::FindParts() {
  const std::vector<Subgroup>& parts = spec_->subgroups;
  if (!request_.quorum.has_parts() ||
      absl::c_all_of(parts, [](const Subgroup& part) { return part.topology.empty(); })) {
    return false;
  }
  const GroupPlugin& plugin = *request_.framework->plugins().group;
  assigned_by_part_.resize(parts.size());
  for (const GroupMember& member : members_) {
    const int part = plugin.SubgroupOf(*member.pod, *spec_);
    if (member.node_name.empty() || part >= static_cast<int>(parts.size())) continue;
    for (int above = part; above >= 0; above = parts[above].parent) {
      assigned_by_part_[above].push_back(Symbol::Intern(member.node_name));
    }
  }
  tiers_of_part_.resize(parts.size());
  bool any = false;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].topology.empty()) continue;
    Status status = RunPlacementGenerate(*request_.framework, Group(static_cast<int>(i)),
                                         cluster_.nodes(), tiers_of_part_[i]);
    if (status.ok()) status = validator_.Validate(tiers_of_part_[i], cluster_.nodes());
    if (!status.ok()) {  // nowhere
      tiers_of_part_[i] = {std::make_shared<const PlacementTier>()};
    }
    any = any || !tiers_of_part_[i].empty();
  }
  return any;
}

void PlacementTrial::FindKinds() {
  constexpr size_t kMostKinds = 8;  // of more the sums are not worth their time
  for (const PodPtr& pod : request_.pods) {
    const auto known = absl::c_find_if(kinds_, [&](const RequestKind& kind) {
      return pod->SharesSpec(**kind.pod) || pod->requests() == (*kind.pod)->requests();
    });
    if (known != kinds_.end()) {
      ++known->members;
    } else {
      kinds_.push_back({&pod, 1});
    }
  }
  for (size_t i = 0; i < kinds_.size() && i < kMostKinds; ++i) {
    RequestKind& kind = kinds_[i];
    kind.need = FindNeed(*request_.framework, cluster_.nodes(), **kind.pod);
    if (kind.need.has_value()) kind.room = &room_sums_.For(kind.need->needed, cluster_.nodes());
  }
}

double PlacementTrial::RoomOf(const RequestKind& kind, const NodePlacement& placement) const {
  double room = 0;
  for (const NodeRow row : placement.rows) room += kind.room->by_row[row];
  return room;
}

PackingBound::Verdict PlacementTrial::CheckPacking(const NodePlacement& placement, int want,
                                                   int32_t gone_below) {
  if (!packing_.has_value()) packing_ = PackingOf(request_, cluster_.nodes());
  if (!packing_->has_value()) return {false, want};
  return (*packing_)->Check(cluster_.nodes(), &placement.rows, want, gone_below);
}

// What is known of the placement of that position.
PlacementTrial::Candidate PlacementTrial::Judge(const std::shared_ptr<const PlacementTier>& tier,
                                                size_t position) const {
  const NodePlacement& placement = *tier->placements[position];
  Candidate candidate{tier.get(), &placement};
  double times = std::numeric_limits<double>::infinity();
  for (const RequestKind& kind : kinds_) {
    if (kind.room == nullptr) {
      candidate.most += kind.members;
      continue;
    }
    double room = kind.room->Of(tier)[position];
    times = std::min(times, room / kind.members);
    if (tier->slice_size > 0 && kinds_.size() == 1) {  // whole slices, and what is left over
      double in_slices = kind.members % tier->slice_size;
      for (const NodePlacementPtr& part : placement.parts) {
        in_slices += std::floor(RoomOf(kind, *part) / tier->slice_size) * tier->slice_size;
      }
      room = std::min(room, in_slices);
    }
    candidate.most += static_cast<int64_t>(std::min<double>(room, kind.members));
  }
  candidate.times = times;
  candidate.nominated = absl::c_any_of(
      nominated_, [&](NodeRow row) { return absl::c_binary_search(placement.rows, row); });
  return candidate;
}

// Those that may have room for so many, the best first: the one that is held for the group already,
// then the tightest.
std::vector<PlacementTrial::Candidate> PlacementTrial::Candidates(
    const std::shared_ptr<const PlacementTier>& tier, int want) const {
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < tier->placements.size(); ++i) {
    const Candidate candidate = Judge(tier, i);
    if (candidate.most >= want) candidates.push_back(candidate);
  }
  absl::c_stable_sort(candidates, [](const Candidate& a, const Candidate& b) {
    return a.nominated != b.nominated ? a.nominated : a.times < b.times;
  });
  return candidates;
}

// --- Placing ------------------------------------------------------------------------------------

// Places the group where `want` members or more find a place. If that is less than all, where as
// many do as can be, as far as is known.
bool PlacementTrial::PlaceIn(const std::shared_ptr<const PlacementTier>& tier, int want) {
  std::vector<Candidate> candidates = Candidates(tier, want);
  if (want < static_cast<int>(request_.pods.size())) {
    absl::c_stable_sort(candidates, [&](const Candidate& a, const Candidate& b) {
      return std::min(a.most, MostSeenIn(a)) > std::min(b.most, MostSeenIn(b));
    });
  }
  const bool scores = !request_.framework->plugins().placement_score.empty();
  int64_t highest = -1;
  const Candidate* best = nullptr;
  bool any_failed = false;
  for (const Candidate& candidate : candidates) {
    // Mostly the first one has room, and there is nothing to prove.
    if (any_failed) {
      const PackingBound::Verdict verdict = CheckPacking(*candidate.placement, want);
      if (verdict.is_proof) {
        placed_in_[candidate.placement] = static_cast<int>(verdict.most);
        continue;
      }
    }
    AttemptResult other;
    Try(candidate, other);
    const int placed = static_cast<int>(other.placed.size());
    most_seen_[candidate.placement] = std::max(placed, other.most_placed);
    placed_in_[candidate.placement] = placed > 0 ? placed : other.most_placed;
    if (placed < want) {
      any_failed = true;
      undecided_ |= other.answer == GroupAnswer::kUndecided ||
                    (scoped_.group_search_steps == 0 && request_.group_search_steps > 0);
      all_tried_ &= other.answer == GroupAnswer::kInfeasible;
      pod_scheduler_.RollBack(other);
      continue;
    }
    if (!scores) return Start(candidate, std::move(other));
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
  return Start(*best, std::move(other));
}

// What does not start of it may evict.
bool PlacementTrial::Start(const Candidate& candidate, AttemptResult other) {
  const bool by_slices = candidate.tier->slice_size > 0;
  if (!by_slices && other.placed.size() < request_.pods.size()) PlaceRest(candidate, other);
  if (request_.plans_evictions && other.placed.size() < request_.pods.size() &&
      (by_slices || !tiers_of_part_.empty())) {
    scoped_.placement = candidate.placement;
    scoped_.plans_evictions = true;
    scoped_.group_search_steps = request_.group_search_steps;
    group_scheduler_.preemption().PlanMore(
        scoped_, by_slices ? Slices(candidate) : PodSetsOfParts(*candidate.placement), other);
    scoped_.plans_evictions = false;
  }
  result_ = std::move(other);
  result_.cycles = cycles_;
  result_.possibilities = possibilities_;
  result_.answer = GroupAnswer::kPlaced;
  return true;
}

// Members of what starts that found no place with their siblings go where late ones would: around
// them. A placement of slices has none: a slice is whole or waits.
void PlacementTrial::PlaceRest(const Candidate& candidate, AttemptResult& other) {
  Transaction planned(cluster_, other.placed);
  EndNominations(other, planned);
  if (tiers_of_part_.empty()) {
    const NodeRow home = candidate.placement->rows.front();
    std::vector<const NodePlacement*> around;
    auto tier = absl::c_find_if(tiers_, [&](const auto& t) { return t.get() == candidate.tier; });
    for (; tier != tiers_.end(); ++tier) {
      for (const NodePlacementPtr& placement : (*tier)->placements) {
        if (absl::c_binary_search(placement->rows, home)) around.push_back(placement.get());
      }
    }
    return PlaceAround(around, MissingMembers(request_.pods, other), planned, other);
  }
  for (const PodSet& pod_set : PodSetsOfParts(*candidate.placement)) {
    MemberOrder missing = MissingMembers(pod_set.pods, other);
    const NodeRow home = missing.empty() ? -1 : FindSibling(pod_set, other);
    if (home < 0) continue;
    std::vector<std::pair<int, const NodePlacement*>> by_tier;
    for (size_t i = 0; i < pod_set.placements.size(); ++i) {
      const NodePlacement* const placement = pod_set.placements[i];
      if (!absl::c_binary_search(placement->rows, home)) continue;
      by_tier.emplace_back(pod_set.tiers.empty() ? 0 : pod_set.tiers[i], placement);
    }
    absl::c_stable_sort(by_tier, [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<const NodePlacement*> around;
    for (const auto& [tier, placement] : by_tier) around.push_back(placement);
    PlaceAround(around, std::move(missing), planned, other);
  }
}

// Of `pods` those that have no place and will have none, though their part starts.
MemberOrder PlacementTrial::MissingMembers(absl::Span<const PodPtr> pods,
                                           const AttemptResult& other) const {
  absl::flat_hash_set<const PodInfo*> others;
  for (const Binder::Member& member : other.placed) others.insert(member.placement.pod.get());
  for (const AttemptResult::Plan& plan : other.plans) others.insert(plan.pod.get());
  if (request_.quorum.has_parts()) {
    const std::vector<bool> starts =
        request_.quorum.PartsThatStart(request_.CountByPart(other.placed));
    for (size_t i = 0; i < request_.pods.size(); ++i) {
      if (!starts[request_.PartOf(i)]) others.insert(request_.pods[i].get());
    }
  }
  MemberOrder missing;
  for (const PodPtr& pod : pods) {
    if (!others.contains(pod.get())) missing.push_back(pod);
  }
  return missing;
}

// The node of one that runs or is placed, of those that are to be together with the pod set; -1 if
// there is none.
NodeRow PlacementTrial::FindSibling(const PodSet& pod_set, const AttemptResult& other) const {
  for (const Binder::Member& member : other.placed) {
    if (absl::c_linear_search(pod_set.pods, member.placement.pod)) {
      return cluster_.nodes().FindRow(member.placement.node);
    }
  }
  const auto first = absl::c_find(request_.pods, pod_set.pods.front());
  const int part = request_.PartOf(static_cast<size_t>(first - request_.pods.begin()));
  if (part == 0 || assigned_by_part_[part - 1].empty()) return -1;
  return cluster_.nodes().FindRow(assigned_by_part_[part - 1].front());
}

// In the first of these placements that has room; in the last one, where they have to be, they may
// evict. In the very first they were tried.
void PlacementTrial::PlaceAround(absl::Span<const NodePlacement* const> placements,
                                 MemberOrder missing, Transaction& planned, AttemptResult& other) {
  AttemptRequest rest = scoped_;
  rest.minimum = 0;
  rest.quorum = Quorum(0);
  rest.parts.clear();
  rest.watch = nullptr;
  for (size_t i = 0; i < placements.size() && !missing.empty(); ++i) {
    rest.plans_evictions = request_.plans_evictions && i + 1 == placements.size();
    if (i == 0 && !rest.plans_evictions) continue;
    rest.placement = placements[i];
    rest.pods.assign(missing.begin(), missing.end());
    std::erase_if(other.failed, [&](const PodFailure& failure) {
      return absl::c_linear_search(rest.pods, failure.pod);
    });
    AttemptResult more;
    more.placed = std::move(other.placed);
    group_scheduler_.Place(rest, more);
    cycles_ += more.cycles;
    other.post_filters += more.post_filters;
    other.placed = std::move(more.placed);
    EndNominations(other, planned);
    for (AttemptResult::Plan& plan : more.plans) {
      planned.Preempt(plan.pod, plan.result, request_.now);
      other.plans.push_back(std::move(plan));
    }
    missing.clear();
    for (PodFailure& failure : more.failed) {
      missing.push_back(failure.pod);
      other.failed.push_back(std::move(failure));
    }
  }
}

void PlacementTrial::Try(const Candidate& candidate, AttemptResult& other) {
  const NodePlacement& placement = *candidate.placement;
  scoped_.placement = &placement;
  if (scoped_.watch != nullptr && !Continues(0, static_cast<int>(request_.pods.size()))) return;
  if (candidate.tier->slice_size > 0) {
    TryPodSets(candidate, Slices(candidate), other);
  } else if (!tiers_of_part_.empty()) {
    TryPodSets(candidate, PodSetsOfParts(placement), other);
  } else {
    if (TryShares(candidate, other)) return;
    scoped_.placement = &placement;
    group_scheduler_.Place(scoped_, other);
    cycles_ += other.cycles;
    possibilities_ += other.possibilities;
    // One budget for all placements.
    scoped_.group_search_steps =
        std::max<int64_t>(0, scoped_.group_search_steps - other.possibilities);
  }
}

void PlacementTrial::TryPodSets(const Candidate& candidate, const std::vector<PodSet>& pod_sets,
                                AttemptResult& other) {
  const PodSetsOutcome outcome = PlacePodSets(scoped_, pod_sets, cluster_, pod_scheduler_, other);
  scoped_.placement = candidate.placement;
  cycles_ += other.cycles;
  other.minimum_reached = outcome == PodSetsOutcome::kPlaced;
  other.answer = outcome == PodSetsOutcome::kExhausted   ? GroupAnswer::kInfeasible
                 : outcome == PodSetsOutcome::kUndecided ? GroupAnswer::kUndecided
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
std::vector<PodSet> PlacementTrial::Slices(const Candidate& candidate) const {
  const int size = candidate.tier->slice_size;
  std::vector<PodSet> pod_sets = SlicesByRank(request_.pods, size);
  for (PodSet& pod_set : pod_sets) {
    for (const NodePlacementPtr& part : candidate.placement->parts) {
      pod_set.placements.push_back(part.get());
    }
    if (!pod_set.slice.has_value()) continue;
    for (const GroupMember& member : members_) {
      const std::optional<int> rank = RankOf(*member.pod);
      if (member.node_name.empty() || !rank.has_value() || *rank / size != *pod_set.slice) continue;
      const NodeRow row = cluster_.nodes().FindRow(member.node_name);
      pod_set.placements.erase(std::remove_if(pod_set.placements.begin(), pod_set.placements.end(),
                                              [&](const NodePlacement* part) {
                                                return row >= 0 &&
                                                       !absl::c_binary_search(part->rows, row);
                                              }),
                               pod_set.placements.end());
    }
  }
  return pod_sets;
}

// The members of each part in one of its placements, which is in one of those of each part above
// it; those of parts without wishes anywhere. Parts below the same one share its domain.
std::vector<PodSet> PlacementTrial::PodSetsOfParts(const NodePlacement& placement) {
  std::vector<PodSet> pod_sets(request_.quorum.counts());
  for (size_t i = 0; i < request_.pods.size(); ++i) {
    pod_sets[request_.PartOf(i)].pods.push_back(request_.pods[i]);
  }
  for (int part = 0; part < request_.quorum.counts(); ++part) {
    PodSet& pod_set = pod_sets[part];
    pod_set.minimum = std::max(request_.quorum.MissingIn(part), 0);
    std::vector<int> levels;  // the widest first
    for (int above = part; above > 0; above = request_.quorum.ParentOf(above)) {
      if (!tiers_of_part_[above - 1].empty()) levels.insert(levels.begin(), above - 1);
    }
    if (levels.empty() || pod_set.pods.empty()) {
      pod_set.placements = {&placement};
      continue;
    }
    for (const int level : levels) {
      if (level != part - 1) pod_set.scopes.push_back(level);
    }
    AddWithin(placement, levels, 0, {}, pod_set);
  }
  pod_sets.erase(std::remove_if(pod_sets.begin(), pod_sets.end(),
                                [](const PodSet& pod_set) { return pod_set.pods.empty(); }),
                 pod_sets.end());
  return pod_sets;
}

// Of the placements of the levels, which are wishes of parts, each combination that has nodes
// within `outer`.
void PlacementTrial::AddWithin(const NodePlacement& outer, absl::Span<const int> levels, int tier,
                               const std::vector<const NodePlacement*>& domains, PodSet& pod_set) {
  const PlacementTiers& tiers = tiers_of_part_[levels.front()];
  std::vector<bool> is_outer(cluster_.nodes().size(), false);
  for (const NodeRow row : outer.rows) is_outer[row] = true;
  for (size_t t = 0; t < tiers.size(); ++t) {
    for (const NodePlacementPtr& one : tiers[t]->placements) {
      const auto is_within = [&](NodeRow row) { return is_outer[row]; };
      const auto first = absl::c_find_if(one->rows, is_within);
      if (first == one->rows.end()) continue;
      auto within = std::make_shared<NodePlacement>();
      std::copy_if(first, one->rows.end(), std::back_inserter(within->rows), is_within);
      within->name = one->name;
      std::vector<const NodePlacement*> domains_of_one = domains;
      if (domains_of_one.size() < pod_set.scopes.size()) domains_of_one.push_back(one.get());
      const int tier_of_one = tier + static_cast<int>(t);
      if (levels.size() > 1) {
        AddWithin(*within, levels.subspan(1), tier_of_one, domains_of_one, pod_set);
        continue;
      }
      pod_set.placements.push_back(within.get());
      pod_set.tiers.push_back(tier_of_one);
      if (!pod_set.scopes.empty()) pod_set.domains.push_back(std::move(domains_of_one));
      pod_set.owned.push_back(std::move(within));
    }
  }
}

bool PlacementTrial::Continues(int placed, int remaining) const {
  const Status status = RunPlacementFeasible(
      *request_.framework, Group(), *scoped_.placement,
      {.scheduled = static_cast<int>(assigned_nodes_.size()) + placed, .remaining = remaining},
      cluster_.nodes());
  return status.ok() || status.IsWait();
}

}  // namespace berth
