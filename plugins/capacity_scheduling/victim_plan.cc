// SPDX-License-Identifier: Apache-2.0
// Implementation of victim_plan.h.
#include "plugins/capacity_scheduling/victim_plan.h"

#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "berth/framework/placement.h"
#include "berth/preemption/preemption.h"
#include "plugins/capacity_scheduling/evictable_units.h"
#include "plugins/capacity_scheduling/evicted_units.h"
#include "plugins/capacity_scheduling/holding_units.h"
#include "plugins/capacity_scheduling/pod_room.h"
#include "plugins/capacity_scheduling/spared_units.h"
#include "plugins/capacity_scheduling/spent_budgets.h"
#include "plugins/capacity_scheduling/surplus_by_node.h"
#include "plugins/capacity_scheduling/taken_places.h"
#include "plugins/capacity_scheduling/victim_search.h"
#include "plugins/capacity_scheduling/victim_sites.h"

namespace berth {
namespace {

// Tries one site after the other, the best first: evicts the site's units for room on the node, and
// others for room in the quotas, then spares who is not needed.
class Planner {
 public:
  Planner(const VictimQuery& query, GoFirst go_first)
      : query_(query),
        units_(query.handle.nodes(), query.units),
        turns_(go_first, query.budgets, units_) {}

  // Whether some unit had to wait for its turn since it violates a budget.
  bool passed_over() const { return turns_.any_waited(); }
  // No other pod has to go.
  bool waits() const { return waits_; }

  Status Plan(PostFilterResult& result) {
    if (OnlyWaits(result)) return not_now_;
    if (query_.find_places != nullptr && taken_.Take(query_.find_places())) {
      evictable_.Forget();
      if (OnlyWaits(result)) return not_now_;
    }
    Status last = Status::Success();
    sites_.Split();
    for (const NodeRow row : sites_.free_rows()) {
      if (sites_.IsClosed(row)) continue;
      last = TryOn({.row = row}, More::kYes, result);
      if (last.ok() || waits_) return last;
    }
    if (TryWhereEvictingHelps(last, result)) return last;
    if (IsOrderToBlame() && TryInAnyOrder(result)) return Status::Success();
    return WhyNot(std::move(last), result);
  }

 private:
  EvictedUnits NoneGone() { return {query_.handle, query_.trial, units_, spent_}; }

  // --- Which node ---

  // Whether the pod only has to wait for pods that leave already, and to take places. Looks for no
  // victims: most of many pods that wait for the same victims come to this.
  bool OnlyWaits(PostFilterResult& result) {
    // Lines of some nodes say no more where quotas are full without them.
    if (query_.book.kinds_of_nodes() == 1 && !query_.trial.HasRoom().ok()) return false;
    return sites_.FindFree([&](NodeRow row) {
      not_now_ = TryOn({.row = row}, More::kNo, result);
      return waits_ || not_now_.ok();
    });
  }

  // Whether that decides; `last` is what the last node came to, Success if none was tried.
  bool TryWhereEvictingHelps(Status& last, PostFilterResult& result) {
    NodeRow tried = -1;
    if (!query_.state.full_evaluation()) {
      const std::optional<VictimSite> best = sites_.Best();
      if (!best.has_value()) return false;
      last = TryOn(*best, More::kYes, result);
      if (last.ok() || waits_) return true;
      tried = best->row;
    }
    for (const VictimSite& site : sites_.AllBut(tried)) {
      if (sites_.IsClosed(site.row)) continue;
      last = TryOn(site, More::kYes, result);
      if (last.ok() || waits_) return true;
    }
    return false;
  }

  // A pod might have gone, but not after others.
  bool IsOrderToBlame() const { return evictable_.any_unless_others_go() || came_too_late_; }

  bool TryInAnyOrder(PostFilterResult& result) {
    EvictedUnits gone = NoneGone();
    VictimSearch search(query_, units_, room_, evictable_, turns_, spared_, spent_);
    const std::optional<NodeRow> row = search.Find(rows_too_late_, gone);
    return row.has_value() && Decide(*row, gone, result).ok();
  }

  // --- One node ---

  // Whether more may go than the site says, if sums of requests were not all.
  enum class More { kNo, kYes };
  Status TryOn(const VictimSite& site, More more, PostFilterResult& result) {
    evictable_.PlaceOn(site.row);
    std::vector<int> too_late;
    Status status;
    {
      EvictedUnits gone = NoneGone();
      status = Gather(site, more, gone, too_late);
      if (status.ok()) {
        NodeRow row = site.row;
        spared_.SpareOn(row, gone, SparedUnits::Orders::kAsListed);
        if (more == More::kYes) row = spared_.SpareOnTheWay(row, gone);
        status = Decide(row, gone, result);
      }
    }
    if (status.ok() || too_late.empty()) return status;
    rows_too_late_.insert(site.row);
    for (size_t i = 0; i < too_late.size() && !IsOrderToBlame(); ++i) {
      came_too_late_ = evictable_.MayGo(too_late[i]);
    }
    return status;
  }

  // Evicts the units of the site, more of the node if the filters want it, and more elsewhere
  // until the quotas have room. `too_late`: who may not go any more, or never might.
  Status Gather(const VictimSite& site, More may_be_more, EvictedUnits& gone,
                std::vector<int>& too_late) {
    const auto evict_one = [&](int unit) {
      if (gone.contains(unit) || evictable_.IsKnownToStay(unit)) return false;
      if (gone.all().empty() && !evictable_.MayGo(unit)) return false;
      const VictimTrial::Verdict verdict = evictable_.MayGoToo(unit);
      if (!verdict.status.ok()) {
        too_late.push_back(unit);
        evictable_.WaitsUntil(verdict.until);
        return false;
      }
      gone.Evict(unit);
      return true;
    };
    // And the rest of its gang, if that would be below its minimum.
    const auto evict = [&](int unit) {
      if (!evict_one(unit)) return false;
      if (gone.LeavesGangWhole(unit)) return true;
      std::vector<int> went = {unit};
      for (const int other : units_.OfGang(unit)) {
        if (gone.contains(other)) continue;
        if (!evict_one(other)) {
          for (const int back : went) gone.Spare(back);
          return false;
        }
        went.push_back(other);
      }
      return true;
    };
    for (const int unit : site.units) evict(unit);
    Status room = query_.trial.HasRoom();
    if (may_be_more == More::kNo && !room.ok()) {
      sites_.AddWithoutRoom(site.row);
      return room;
    }
    Status fits = room_.Filter(site.row, gone);
    if (!fits.ok()) {
      if (may_be_more == More::kNo) return fits;
      bool more = false;
      for (const int unit : units_.OnRow(site.row)) more |= evict(unit);
      if (more) fits = room_.Filter(site.row, gone);
      if (!fits.ok()) fits = GatherHolders(site.row, gone, std::move(fits), evict);
      if (!fits.ok()) return fits;
      room = query_.trial.HasRoom();
    }
    std::vector<int> violating;
    for (int position = 0; !room.ok(); ++position) {
      const int listed = units_.At(position);
      if (listed < 0) break;
      const int unit = units_.ForRow(listed, site.row);
      if (turns_.matter() && !evictable_.IsKnownToStay(unit) &&
          evictable_.MayGoToo(unit).status.ok() &&
          turns_.MustWait(gone.AllThatGoWith(unit), spent_)) {
        violating.push_back(unit);
      } else if (evict(unit)) {
        room = query_.trial.HasRoom();
      }
    }
    for (size_t i = 0; i < violating.size() && !room.ok(); ++i) {
      if (evict(violating[i])) room = query_.trial.HasRoom();
    }
    if (!room.ok()) sites_.AddWithoutRoom(site.row);
    return room;
  }

  // Where the pod still does not fit: those of other nodes that hold something together go until it
  // does. Those of a holding of which one may not go stay.
  template <class Evict>
  Status GatherHolders(NodeRow row, EvictedUnits& gone, Status fits, const Evict& evict) {
    const Symbol node = query_.handle.nodes().node(row).name();
    for (const auto& [holding, units] : holding_.All()) {
      if (!holding.CanBeUsedOn(node) || !holding.HasUserElsewhere(node)) continue;
      if (!holding_.MayTryOne()) return fits;
      std::vector<int> went;
      bool all_go = true;
      for (size_t i = 0; i < units.size() && all_go; ++i) {
        if (gone.contains(units[i])) continue;
        const std::vector<int> before(gone.all().begin(), gone.all().end());
        all_go = evict(units[i]);
        absl::c_copy_if(gone.all(), std::back_inserter(went),
                        [&](int now) { return !absl::c_linear_search(before, now); });
      }
      if (all_go) {
        fits = room_.Filter(row, gone);
        if (fits.ok()) return fits;
      } else {
        for (const int unit : went) gone.Spare(unit);
      }
    }
    return fits;
  }

  // --- What comes of it ---

  // Success if those that are gone are to be evicted so that the pod gets the row.
  Status Decide(NodeRow row, const EvictedUnits& gone, PostFilterResult& result) {
    if (!gone.all().empty() || !taken_.empty()) {
      Fill(row, gone, result);
      return Status::Success();
    }
    waits_ = true;
    result.nominated_node.reset();
    return Status::Unschedulable("waiting for terminating pods to give back their quota");
  }

  void Fill(NodeRow row, const EvictedUnits& gone, PostFilterResult& result) const {
    auto candidate = std::make_shared<PreemptionCandidate>();
    candidate->node = std::string(query_.handle.nodes().node(row).name().view());
    candidate->row = row;
    for (const int unit : gone.all()) {
      for (const std::shared_ptr<const PodInfo>& pod : units_.unit(unit).pods) {
        candidate->victims.push_back(pod);
      }
    }
    candidate->pdb_violations =
        static_cast<int>(SplitByBudget(candidate->victims, query_.budgets).violating.size());
    taken_.AppendPods(candidate->victims);
    absl::c_stable_sort(candidate->victims,
                        [](const auto& a, const auto& b) { return MoreImportantPod(*a, *b); });
    result.nominated_node = candidate->node;
    result.victims = candidate->victims;
    result.candidates = {std::move(candidate)};
    result.equally_good = {0};
  }

  // The first reason why a unit may not go, in their order; or why no node would do with those that
  // may.
  Status WhyNot(Status last, PostFilterResult& result) {
    if (!query_.rows.empty()) evictable_.PlaceOn(query_.rows.front());
    bool any_legal = false;
    Status refused;
    for (int position = 0;; ++position) {
      const int unit = units_.At(position);
      if (unit < 0) break;
      if (evictable_.MayGo(unit)) {
        any_legal = true;
      } else if (refused.ok()) {
        refused = evictable_.MayGoToo(unit).status;
      }
    }
    result.retry_at = evictable_.retry_at();
    result.nominated_node = "";  // no pod leaves for it: what it was promised is for others
    if (!any_legal) {
      return refused.ok() ? query_.trial.WhyNobody() : refused;
    }
    if (last.ok()) last = refused;
    return last.ok() ? Status::Unschedulable("no pod may be evicted that would make room") : last;
  }

  const VictimQuery& query_;
  SurplusByNode units_;
  SpentBudgets spent_{query_.budgets};  // by the units that are gone
  BudgetTurns turns_;
  TakenPlaces taken_{query_.handle, query_.trial};
  const PodRoom room_{query_, units_};
  EvictableUnits evictable_{query_, units_};
  VictimSites sites_{query_, units_, room_, evictable_, turns_, taken_};
  HoldingUnits holding_{query_, units_};
  const SparedUnits spared_{query_, units_, room_, taken_};
  bool waits_ = false;                          // no other pod has to go
  Status not_now_;                              // then
  bool came_too_late_ = false;                  // somebody might have gone before others
  absl::flat_hash_set<NodeRow> rows_too_late_;  // where somebody might not go after others
};

}  // namespace

void KeepInPlacement(const CycleState& state, std::vector<NodeRow>& rows) {
  const NodePlacement* const placement = state.placement();
  if (placement == nullptr) return;
  std::erase_if(rows, [&](NodeRow row) { return !absl::c_binary_search(placement->rows, row); });
}

// Who goes first may leave a quota too little for others to go. So budgets keep nobody from a plan
// that the listed order has.
Status PlanVictims(const VictimQuery& query, PostFilterResult& result) {
  {
    Planner planner(query, GoFirst::kWithinBudgets);
    Status status = planner.Plan(result);
    if (status.ok() || planner.waits() || !planner.passed_over()) return status;
  }
  return Planner(query, GoFirst::kAsListed).Plan(result);
}

}  // namespace berth
