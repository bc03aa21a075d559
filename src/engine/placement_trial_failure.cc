// SPDX-License-Identifier: Apache-2.0
// Implementation of placement_trial.h: when the group fits nowhere, evictions and reasons.
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/placement_trial.h"
#include "evaluation/free_capacity.h"
#include "search/room.h"

namespace berth {
namespace {

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

bool PlacementTrial::WouldHaveRoomIfEmpty(const NodePlacement& placement) const {
  int64_t room = 0;
  for (const Alike& kind : kinds_) {
    room += kind.need.has_value()
                ? RoomIfEmpty(kind.need->needed, cluster_.nodes(), placement.rows, kind.members)
                : kind.members;
  }
  return room >= request_.minimum;
}

void PlacementTrial::Fail() {
  scoped_.minimum = request_.minimum;
  scoped_.group_search_steps = request_.group_search_steps;
  const PlacementTier& last = *tiers_.back();
  std::vector<Candidate> candidates = Candidates(tiers_.back(), 0);
  if (candidates.empty()) {
    result_ = FailureOf(request_.placement == nullptr ? absl::StrCat("no node is in a ", last.name)
                                                      : request_.placement->outside);
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
std::string PlacementTrial::Finding(const Candidate& best) const {
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
AttemptResult PlacementTrial::FailureOf(const std::string& text) const {
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
void PlacementTrial::Explain(const Candidate& best, AttemptResult& other) const {
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
  const bool by_sums = Candidates(tiers_.back(), least).empty();
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
    if (kind.room != nullptr) {
      for (const double on_row : kind.room->by_row) room += on_row;
    }
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
    waiting->detail = finding.substr(0, finding.size() - 1);  // a part of a sentence
    waiting->nodes = waiting->rejecting_nodes = 0;
    waiting->members_needed = least;
    waiting->members_placeable =
        static_cast<int>(std::min<int64_t>(best.most, request_.pods.size()));
    waiting->blocking_pod = failure.pod->key();
    failure.waiting = std::move(waiting);
  }
}

}  // namespace berth
