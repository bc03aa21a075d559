// SPDX-License-Identifier: Apache-2.0
// Implementation of victim_plan.h.
#include "plugins/capacity_scheduling/victim_plan.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "berth/framework/placement.h"
#include "berth/preemption/held_elsewhere.h"
#include "plugins/capacity_scheduling/deficit.h"
#include "plugins/capacity_scheduling/evicted_units.h"
#include "plugins/capacity_scheduling/spent_budgets.h"
#include "plugins/capacity_scheduling/surplus_by_node.h"
#include "plugins/capacity_scheduling/taken_places.h"

namespace berth {
namespace {

// A node and the units that would go for it, as far as sums of requests say.
struct Site {
  NodeRow row = -1;
  absl::InlinedVector<int, 8> units;  // in order
  // By these, then by the last unit, then by the row, the best is chosen.
  int violations = 0;
  int32_t priority = std::numeric_limits<int32_t>::min();
  int pods = 0;
  auto Cost() const { return std::tie(violations, priority, pods); }
};

// In which order units go: those that violate no PodDisruptionBudget first, as far as that leaves a
// choice, or as they are listed.
enum class GoFirst { kWithinBudgets, kAsListed };

class Planner {
 public:
  Planner(const VictimQuery& query, GoFirst go_first)
      : query_(query),
        keeps_budgets_(go_first == GoFirst::kWithinBudgets && !query.budgets.empty()),
        nodes_(query.handle.nodes()),
        units_(nodes_, query.units),
        rows_(query.rows),
        spent_(query.budgets) {
    query_.pod.requests().ForEach([this](ResourceId id, int64_t amount) {
      if (amount > 0 && query_.book.IsOfDevices(id)) of_devices_.push_back(id);
    });
  }

  // Whether some unit had to wait for its turn since it violates a budget.
  bool passed_over() const { return passed_over_; }
  // No other pod has to go.
  bool waits() const { return waits_; }

  Status Plan(PostFilterResult& result) {
    if (OnlyWaits(result)) return not_now_;
    if (!query_.places.empty()) {
      taken_.Take(query_.places);
      legal_.clear();
      if (OnlyWaits(result)) return not_now_;
    }
    Status last = Status::Success();
    FindFreeRows();
    without_room_.assign(query_.book.kinds_of_nodes(), 0);
    for (const NodeRow row : free_rows_) {
      if (IsHopeless(row)) continue;
      last = TryOn({.row = row}, More::kYes, result);
      if (last.ok() || waits_) return last;
    }
    if (TryWhereEvictingHelps(last, result)) return last;
    if (is_order_to_blame_ && TryInAnyOrder(result)) return Status::Success();
    return WhyNot(std::move(last), result);
  }

 private:
  // On whatever node.
  EvictedUnits NoneGone() { return {query_.handle, query_.trial, units_, spent_}; }

  // --- Nodes ---

  // What rows lack, by sums where these say it.
  class SumsOfRows {
   public:
    SumsOfRows(const Planner& planner, RowSummer::Resources resources)
        : planner_(planner),
          summer_(planner.nodes_, planner.query_.expected, std::move(resources),
                  planner.query_.pod.priority()),
          kept_(planner.query_.state.full_evaluation() ? nullptr
                                                       : &planner.query_.short_rows.For(summer_)),
          own_row_(planner.OwnRow()) {}
    RowSums Of(NodeRow row) const {
      RowSums sums;
      // Where the pod itself is nominated, or takes another's place, sums count that.
      const bool is_counted = row != own_row_ && !planner_.taken_.AnyOn(row);
      const bool found = is_counted && (kept_ != nullptr ? kept_->FindSums(summer_, row, sums)
                                                         : summer_.FindSums(row, sums));
      if (found) return sums;
      return {.is_short = !planner_.DeficitOf(row).met(), .is_possible = true, .pods = 1};
    }

   private:
    const Planner& planner_;
    const RowSummer summer_;
    ShortRows::Kept* const kept_;
    const NodeRow own_row_;
  };

  // Room in quotas differs between nodes of one kind by nothing but who has to go for room on the
  // node.
  bool IsHopeless(NodeRow row) const {
    constexpr int kMostWithoutRoom = 16;
    return without_room_[query_.book.KindOf(row)] >= kMostWithoutRoom;
  }

  bool IsOpen(NodeRow row) const { return needs_victims_[row] && !IsHopeless(row); }

  // Whether the pod only has to wait for pods that leave already, and to take places. Looks for no
  // victims: most of many pods that wait for the same victims come to this.
  bool OnlyWaits(PostFilterResult& result) {
    // Lines of some nodes say no more where quotas are full without them.
    if (query_.book.kinds_of_nodes() == 1 && !query_.trial.HasRoom().ok()) return false;
    RowSummer::Resources resources;
    query_.pod.requests().ForEach([&](ResourceId id, int64_t amount) {
      if (amount > 0) resources.push_back({id, amount, 0, IsOfDevices(id)});
    });
    const SumsOfRows sums_of_rows(*this, std::move(resources));
    without_room_.assign(query_.book.kinds_of_nodes(), 0);
    for (const NodeRow row : rows_) {
      if (sums_of_rows.Of(row).is_short || IsHopeless(row)) continue;
      not_now_ = TryOn({.row = row}, More::kNo, result);
      if (waits_ || not_now_.ok()) return true;
    }
    return false;
  }

  // Splits the rows into those that have room for the pod and those where pods have to go; and
  // finds how many have to go at least on any of these.
  void FindFreeRows() {
    RowSummer::Resources resources;
    query_.pod.requests().ForEach([&](ResourceId id, int64_t amount) {
      if (amount <= 0) return;
      resources.push_back({id, amount, units_.MostRequested(id), IsOfDevices(id)});
    });
    const SumsOfRows sums_of_rows(*this, std::move(resources));
    needs_victims_.assign(nodes_.size(), false);
    least_pods_ = std::numeric_limits<int64_t>::max();
    for (const NodeRow row : rows_) {
      const RowSums sums = sums_of_rows.Of(row);
      if (!sums.is_short) {
        free_rows_.push_back(row);
      } else if (sums.is_possible) {
        needs_victims_[row] = true;
        least_pods_ = std::min(least_pods_, sums.pods);
      }
    }
  }

  // That the pod is nominated to, or -1.
  NodeRow OwnRow() const {
    return nodes_.FindRow(query_.handle.nominator().NominatedNode(query_.pod));
  }

  bool IsOfDevices(ResourceId id) const { return absl::c_linear_search(of_devices_, id); }

  Deficit DeficitOf(const NodeInfo& node) const {
    std::vector<const PodInfo*> others;
    for (const auto& nominated : query_.handle.nominator().NominatedPods(node.name())) {
      if (nominated->uid() != query_.pod.uid() && Counts(*nominated)) {
        others.push_back(nominated.get());
      }
    }
    return Deficit(node, query_.pod, others, of_devices_);
  }
  // Whether the nominated pod counts on its node.
  bool Counts(const PodInfo& nominated) const {
    std::optional<bool> by_rules;
    if (query_.nominations != nullptr) {
      by_rules = query_.nominations->NominationCountsFor(nominated, query_.pod);
    }
    return by_rules.value_or(nominated.priority() >= query_.pod.priority());
  }
  Deficit DeficitOf(NodeRow row) const { return DeficitOf(nodes_.node(row)); }

  // From now on units are judged for the pod on that node.
  void PlaceOn(NodeRow row) {
    if (query_.trial.PlaceOn(query_.book.LabelsOf(nodes_.node(row)))) legal_.clear();
  }

  // Whether that decides; `last` is what the last node came to, Success if none was tried.
  bool TryWhereEvictingHelps(Status& last, PostFilterResult& result) {
    NodeRow tried = -1;
    if (!query_.state.full_evaluation()) {
      const std::optional<Site> best = BestSite();
      if (!best.has_value()) return false;
      last = TryOn(*best, More::kYes, result);
      if (last.ok() || waits_) return true;
      tried = best->row;
    }
    std::vector<Site> sites;
    for (const NodeRow row : rows_) {
      if (!IsOpen(row) || row == tried) continue;
      if (std::optional<Site> site = Weigh(row)) sites.push_back(*std::move(site));
    }
    absl::c_sort(sites, [this](const Site& a, const Site& b) { return IsBetter(a, b); });
    for (const Site& site : sites) {
      if (IsHopeless(site.row)) continue;
      last = TryOn(site, More::kYes, result);
      if (last.ok() || waits_) return true;
    }
    return false;
  }

  bool IsBetter(const Site& a, const Site& b) const {
    if (a.Cost() != b.Cost()) return a.Cost() < b.Cost();
    const int last_of_a = a.units.back(), last_of_b = b.units.back();
    if (units_.Before(last_of_a, last_of_b)) return true;
    return !units_.Before(last_of_b, last_of_a) && a.row < b.row;
  }

  // The first in the order of IsBetter(), if any. Goes through the units, the first to go first,
  // and weighs the nodes that it comes to, until no node with later units alone can be better.
  std::optional<Site> BestSite() {
    std::optional<Site> best;
    if (!absl::c_any_of(rows_, [this](NodeRow row) { return IsOpen(row); })) return best;
    std::vector<bool> is_weighed(nodes_.size(), false);
    std::set<std::string> gangs;
    for (int position = 0;; ++position) {
      const int unit = units_.At(position);
      if (unit < 0) return best;
      if (best.has_value()) {
        const int violations = 0;
        const int32_t priority = units_.LeastPriorityFrom(position);
        const int pods =
            static_cast<int>(std::min<int64_t>(least_pods_, std::numeric_limits<int32_t>::max()));
        const auto bound = std::tie(violations, priority, pods);
        if (best->Cost() < bound) return best;
        if (best->Cost() == bound && units_.Before(best->units.back(), unit)) return best;
      }
      const auto weigh_nodes_of = [&](int number) {
        // By position: a node that is weighed adds units.
        for (size_t i = 0; i < units_.unit(number).nodes.size(); ++i) {
          const NodeRow row = nodes_.FindRow(units_.unit(number).nodes[i]);
          if (row < 0 || is_weighed[row] || !IsOpen(row)) continue;
          is_weighed[row] = true;
          std::optional<Site> site = Weigh(row);
          if (site.has_value() && (!best.has_value() || IsBetter(*site, *best))) {
            best = std::move(site);
          }
        }
      };
      weigh_nodes_of(unit);
      // Whoever of its gang stands on another node may have this place in the order there.
      const std::string& group = units_.unit(unit).group;
      if (group.empty() || !gangs.insert(group).second) continue;
      for (const int other : units_.OfGang(unit)) weigh_nodes_of(other);
    }
    return best;
  }

  // Whom it would cost; nothing if evicting does not help there.
  std::optional<Site> Weigh(NodeRow row) {
    const Symbol name = nodes_.node(row).name();
    Deficit deficit = DeficitOf(row);
    Site site{.row = row};
    SpentBudgets spent(query_.budgets);
    PlaceOn(row);
    const auto add = [&](int unit) {
      if (!RemoveOn(name, unit, deficit)) return;
      site.violations += spent.Add(units_.unit(unit));
      Add(unit, site);
    };
    std::vector<int> violating;
    for (const int unit : units_.OnRow(row)) {
      if (deficit.met()) break;
      if (!IsLegal(unit)) continue;
      if (keeps_budgets_ && MustWait({unit}, spent)) {
        violating.push_back(unit);
      } else {
        add(unit);
      }
    }
    for (size_t i = 0; i < violating.size() && !deficit.met(); ++i) add(violating[i]);
    if (!deficit.met() || site.units.empty()) return std::nullopt;
    if (!violating.empty()) absl::c_sort(site.units, EvictedUnits::ByOrder{&units_});
    return site;
  }

  // Whether the units violate a budget beside what is spent, and others are to go first.
  bool MustWait(const std::vector<int>& units, SpentBudgets& spent) {
    int violations = 0;
    for (const int unit : units) violations += spent.Add(units_.unit(unit));
    for (const int unit : units) spent.Remove(units_.unit(unit));
    passed_over_ |= violations > 0;
    return violations > 0;
  }

  // Whether it makes a difference on that node that the unit is gone; then it is.
  bool RemoveOn(Symbol node, int number, Deficit& deficit) const {
    const VictimUnit& unit = units_.unit(number);
    bool helps = false;
    for (size_t i = 0; i < unit.pods.size(); ++i) {
      if (unit.nodes[i] == node) helps |= deficit.Remove(*unit.pods[i]);
    }
    return helps;
  }

  void Add(int unit, Site& site) const {
    site.units.push_back(unit);
    site.pods += static_cast<int>(units_.unit(unit).pods.size());
    for (const std::shared_ptr<const PodInfo>& pod : units_.unit(unit).pods) {
      site.priority = std::max(site.priority, pod->priority());
    }
  }

  // Whether the unit may go at all, before anything is gone: to be asked then.
  bool IsLegal(int unit) {
    const auto [legal, is_new] = legal_.try_emplace(unit, false);
    if (is_new) {
      const VictimTrial::Verdict verdict = query_.trial.MayEvict(units_.unit(unit));
      legal->second = verdict.status.ok();
      is_order_to_blame_ |= verdict.unless_others_go;
      if (!legal->second) retry_at_ = std::min(retry_at_, verdict.until);
    }
    return legal->second;
  }

  bool IsKnownIllegal(int unit) const {
    const auto known = legal_.find(unit);
    return known != legal_.end() && !known->second;
  }

  // --- One node ---

  // Whether more may go than the site says, if sums of requests were not all.
  enum class More { kNo, kYes };
  Status TryOn(const Site& site, More more, PostFilterResult& result) {
    const NodeInfo& original = nodes_.node(site.row);
    PlaceOn(site.row);
    std::vector<int> too_late;
    Status status;
    {
      EvictedUnits gone = NoneGone();
      status = Gather(site, more, original, gone, too_late);
      if (status.ok()) status = SpareOthers(original, gone, result);
      const NodeInfo* node = &original;
      if (status.ok() && more == More::kYes) node = &SpareOnTheWay(site.row, gone, result, status);
      if (status.ok()) Fill(*node, gone, result);
    }
    if (status.ok() || too_late.empty()) return status;
    rows_too_late_.insert(site.row);
    for (const int unit : too_late) {
      if (is_order_to_blame_) break;
      if (IsLegal(unit)) is_order_to_blame_ = true;
    }
    return status;
  }

  // Evicts the units of the site, more of the node if the filters want it, and more elsewhere
  // until the quotas have room. `too_late`: who may not go any more, or never might.
  Status Gather(const Site& site, More may_be_more, const NodeInfo& original, EvictedUnits& gone,
                std::vector<int>& too_late) {
    const auto evict_one = [&](int unit) {
      if (gone.contains(unit) || IsKnownIllegal(unit)) return false;
      if (gone.all().empty() && !IsLegal(unit)) return false;
      const VictimTrial::Verdict verdict = query_.trial.MayEvict(units_.unit(unit));
      if (!verdict.status.ok()) {
        too_late.push_back(unit);
        retry_at_ = std::min(retry_at_, verdict.until);
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
      ++without_room_[query_.book.KindOf(site.row)];
      return room;
    }
    Status fits = Filter(original, gone);
    if (!fits.ok()) {
      if (may_be_more == More::kNo) return fits;
      bool more = false;
      for (const int unit : units_.OnRow(site.row)) more |= evict(unit);
      if (more) fits = Filter(original, gone);
      if (!fits.ok()) fits = GatherHolders(original, gone, std::move(fits), evict);
      if (!fits.ok()) return fits;
      room = query_.trial.HasRoom();
    }
    std::vector<int> violating;
    for (int position = 0; !room.ok(); ++position) {
      const int listed = units_.At(position);
      if (listed < 0) break;
      const int unit = units_.ForRow(listed, site.row);
      if (keeps_budgets_ && !IsKnownIllegal(unit) &&
          query_.trial.MayEvict(units_.unit(unit)).status.ok() &&
          MustWait(gone.AllThatGoWith(unit), spent_)) {
        violating.push_back(unit);
      } else if (evict(unit)) {
        room = query_.trial.HasRoom();
      }
    }
    for (size_t i = 0; i < violating.size() && !room.ok(); ++i) {
      if (evict(violating[i])) room = query_.trial.HasRoom();
    }
    without_room_[query_.book.KindOf(site.row)] += room.ok() ? 0 : 1;
    return room;
  }

  // Where the pod still does not fit: pods of other nodes that hold something together, as a claim
  // that it names itself, go until it does, in the order of units. Those of a holding of which one
  // may not go stay.
  template <class Evict>
  Status GatherHolders(const NodeInfo& node, EvictedUnits& gone, Status fits, const Evict& evict) {
    FindHoldings();
    for (const Holders& holders : holders_) {
      const SharedHolding& holding = holders.holding;
      if (!holding.CanBeUsedOn(node.name()) || !holding.HasUserElsewhere(node.name())) continue;
      if (--holders_left_ < 0) return fits;
      std::vector<int> went;
      const bool all_go = absl::c_all_of(holders.units, [&](int unit) {
        if (gone.contains(unit)) return true;
        const std::vector<int> before(gone.all().begin(), gone.all().end());
        if (!evict(unit)) return false;
        absl::c_copy_if(gone.all(), std::back_inserter(went),
                        [&](int now) { return !absl::c_linear_search(before, now); });
        return true;
      });
      if (all_go) {
        fits = Filter(node, gone);
        if (fits.ok()) return fits;
      } else {
        for (const int unit : went) gone.Spare(unit);
      }
    }
    return fits;
  }

  // Those whose users may go, as far as they are in units.
  void FindHoldings() {
    if (std::exchange(knows_holders_, true)) return;
    for (SharedHolding& holding : query_.handle.Shared<SharedHoldings>()->For(
             query_.handle.profile_name(), query_.state, query_.pod)) {
      Holders holders{.holding = std::move(holding)};
      const VictimUnit& users = holders.holding.users;
      for (size_t i = 0; i < users.pods.size(); ++i) {
        holders.units.push_back(UnitOf(*users.pods[i], users.nodes[i]));
      }
      if (absl::c_linear_search(holders.units, -1)) continue;
      absl::c_sort(holders.units, EvictedUnits::ByOrder{&units_});
      holders_.push_back(std::move(holders));
    }
    absl::c_stable_sort(holders_, [this](const Holders& a, const Holders& b) {
      return units_.Before(a.units.back(), b.units.back());
    });
  }

  // The unit in which the pod would go; -1: in none.
  int UnitOf(const PodInfo& pod, Symbol node) {
    const NodeRow row = nodes_.FindRow(node);
    if (row < 0) return -1;
    for (const int unit : units_.OnRow(row)) {
      const bool is_in_it = absl::c_any_of(
          units_.unit(unit).pods, [&](const auto& one) { return one->uid() == pod.uid(); });
      if (is_in_it) return unit;
    }
    return -1;
  }

  // --- In any order ---

  // Who goes first may leave the quota too little for others to go: two small ones go by the order,
  // though it takes the large one that the quota would lose for a part of it. Or others may go only
  // then, when a quota above the pod's is within its bound. Tries the sets that the rules allow,
  // one unit after the other, as long as the budget lasts: half of it where somebody came too late
  // and the pod would fit if all of the row's units went. Single units come first there, as the
  // large one mostly is the last.
  bool TryInAnyOrder(PostFilterResult& result) {
    std::vector<NodeRow> rows, likely;
    for (const NodeRow row : rows_) {
      Deficit deficit = DeficitOf(row);
      for (const int unit : units_.OnRow(row)) {
        RemoveOn(nodes_.node(row).name(), unit, deficit);
      }
      if (!deficit.met()) continue;
      rows.push_back(row);
      // Each takes two steps at least.
      const bool counts = rows_too_late_.contains(row) && likely.size() < kMostSteps / 4;
      if (counts && FitsWithoutAll(row)) likely.push_back(row);
    }
    SearchOf search = {.steps_left = kMostSteps / 2, .most_units = 1, .aim = Aim::kWhatLacks};
    if (FindSet(likely, search, result)) return true;
    search.most_units = std::numeric_limits<int>::max();
    if (FindSet(likely, search, result)) return true;
    search.steps_left += kMostSteps / 2;
    search.aim = Aim::kAnything;
    return FindSet(rows, search, result);
  }

  bool FitsWithoutAll(NodeRow row) {
    EvictedUnits gone = NoneGone();
    for (const int unit : units_.OnRow(row)) gone.Evict(unit);
    return Filter(nodes_.node(row), gone).ok();
  }

  // Whether units elsewhere go only once the pod fits on the node, or also before: filters may look
  // beyond it.
  enum class Aim { kWhatLacks, kAnything };
  struct SearchOf {
    int steps_left;
    int most_units;
    Aim aim;
  };
  bool FindSet(const std::vector<NodeRow>& rows, SearchOf& search, PostFilterResult& result) {
    for (const NodeRow row : rows) {
      if (search.steps_left <= 0) return false;
      const NodeInfo& node = nodes_.node(row);
      PlaceOn(row);
      EvictedUnits gone = NoneGone();
      std::set<std::vector<int>> seen;
      const bool found = Search(node, gone, seen, search) &&
                         SpareOthers(node, gone, result, Orders::kWeighed).ok();
      if (found) Fill(node, gone, result);
      if (found) return true;
    }
    return false;
  }

  bool Search(const NodeInfo& node, EvictedUnits& gone, std::set<std::vector<int>>& seen,
              SearchOf& search) {
    if (!seen.emplace(gone.all().begin(), gone.all().end()).second || --search.steps_left < 0)
      return false;
    const bool has_room = gone.LeavesGangsWhole() && query_.trial.HasRoom().ok();
    const bool fits = (has_room || search.aim == Aim::kWhatLacks) && SumsHold(node, gone) &&
                      Filter(node, gone).ok();
    if (has_room && fits) return true;
    if (static_cast<int>(gone.all().size()) >= search.most_units) return false;
    const auto finds_with = [&](int unit) {
      if (gone.contains(unit) || !query_.trial.MayEvict(units_.unit(unit)).status.ok())
        return false;
      gone.Evict(unit);
      if (Search(node, gone, seen, search)) return true;
      gone.Spare(unit);
      return false;
    };
    const NodeRow row = nodes_.FindRow(node.name());
    std::vector<int> next = units_.OnRow(row);
    const int most_elsewhere = fits || search.aim == Aim::kAnything ? kMostElsewhere : 0;
    for (int position = 0; position < most_elsewhere; ++position) {
      const int listed = units_.At(position);
      if (listed < 0) break;
      next.push_back(units_.ForRow(listed, row));
    }
    if (keeps_budgets_) {
      std::stable_partition(next.begin(), next.end(),
                            [&](int unit) { return !MustWait(gone.AllThatGoWith(unit), spent_); });
    }
    return absl::c_any_of(next,
                          [&](int unit) { return search.steps_left > 0 && finds_with(unit); });
  }
  static constexpr int kMostSteps = 256, kMostElsewhere = 16;

  // The most important first, so that the least important stay evicted; those that violate a budget
  // beside less important ones before all others.
  enum class Orders { kAsListed, kWeighed };
  Status SpareOthers(const NodeInfo& original, EvictedUnits& gone, PostFilterResult& result,
                     Orders orders = Orders::kAsListed) {
    std::vector<std::pair<Site, int>> order;
    SpentBudgets spent(query_.budgets);
    for (const int unit : gone.all()) {
      Site& alone = order.emplace_back(Site(), unit).first;
      alone.violations = spent.Add(units_.unit(unit));
      Add(unit, alone);
    }
    absl::c_sort(order,
                 [this](const auto& a, const auto& b) { return IsBetter(b.first, a.first); });
    for (const auto& [alone, unit] : order) {
      if (!SumsHold(original, gone, unit)) continue;
      gone.Spare(unit);
      if (gone.LeavesGangWhole(unit) && query_.trial.HasRoom().ok() &&
          Filter(original, gone).ok() &&
          (orders == Orders::kAsListed || gone.IsAllowedInSomeOrder())) {
        continue;
      }
      gone.Evict(unit);
    }
    taken_.GiveBackNeedless([&] {
      return SumsHold(original, gone) && query_.trial.HasRoom().ok() &&
             Filter(original, gone).ok() && (gone.all().empty() || gone.IsAllowedInSomeOrder());
    });
    if (!gone.all().empty() || !taken_.empty()) return Status::Success();
    waits_ = true;
    result.nominated_node.reset();
    return Status::Unschedulable("waiting for terminating pods to give back their quota");
  }

  // Who went elsewhere, for the quotas, may have made room there too: then those who went for room
  // on the site may stay. Returns the node that the pod gets.
  const NodeInfo& SpareOnTheWay(NodeRow site, EvictedUnits& gone, PostFilterResult& result,
                                Status& status) {
    const NodeInfo& original = nodes_.node(site);
    constexpr size_t kMostRows = 16;
    bool any_on_site = false;
    std::set<NodeRow> elsewhere;
    for (const int unit : gone.all()) {
      for (const Symbol name : units_.unit(unit).nodes) {
        const NodeRow row = nodes_.FindRow(name);
        if (row == site) any_on_site = true;
        const bool is_open = row != site && absl::c_binary_search(rows_, row) &&
                             query_.book.KindOf(row) == query_.book.KindOf(site);
        if (is_open && elsewhere.size() < kMostRows) elsewhere.insert(row);
      }
    }
    if (!any_on_site) return original;
    for (const NodeRow row : elsewhere) {
      const NodeInfo& node = nodes_.node(row);
      if (!SumsHold(node, gone) || !Filter(node, gone).ok()) continue;
      const size_t before = gone.all().size();
      status = SpareOthers(node, gone, result, Orders::kWeighed);
      if (!status.ok() || gone.all().size() < before) return node;
    }
    return original;
  }

  // Whether sums of requests allow the pod on the node, if `spared` stayed. That mostly says no,
  // and costs little.
  bool SumsHold(const NodeInfo& node, const EvictedUnits& gone, int spared = -1) const {
    Deficit deficit = DeficitOf(node);
    for (const int unit : gone.all()) {
      if (deficit.met()) return true;
      if (unit != spared) RemoveOn(node.name(), unit, deficit);
    }
    return deficit.met();
  }

  // The first reason why a unit may not go, in their order; or why no node would do with those that
  // may.
  Status WhyNot(Status last, PostFilterResult& result) {
    if (!rows_.empty()) PlaceOn(rows_.front());
    bool any_legal = false;
    Status refused;
    for (int position = 0;; ++position) {
      const int unit = units_.At(position);
      if (unit < 0) break;
      if (IsLegal(unit)) {
        any_legal = true;
      } else if (refused.ok()) {
        refused = query_.trial.MayEvict(units_.unit(unit)).status;
      }
    }
    result.retry_at = retry_at_;
    result.nominated_node = "";  // no pod leaves for it: what it was promised is for others
    if (!any_legal) {
      return refused.ok() ? query_.trial.WhyNobody() : refused;
    }
    if (last.ok()) last = refused;
    return last.ok() ? Status::Unschedulable("no pod may be evicted that would make room") : last;
  }

  // Whether the pod fits on the node without those that are gone, there and elsewhere.
  Status Filter(const NodeInfo& original, const EvictedUnits& gone) {
    CycleState state = query_.state.Clone();
    std::map<NodeRow, NodeInfo> changed;
    NodeInfo& own = changed.emplace(nodes_.FindRow(original.name()), original).first->second;
    for (const std::shared_ptr<const PodInfo>& pod : original.pods()) {
      if (!pod->deletion_time().has_value() || !own.RemovePod(*pod)) continue;
      if (Status status =
              query_.handle.RunPreFilterExtensionRemovePod(state, query_.pod, *pod, own);
          !status.ok()) {
        return status;
      }
    }
    for (const int unit : gone.all()) {
      const VictimUnit& of = units_.unit(unit);
      for (size_t i = 0; i < of.pods.size(); ++i) {
        const NodeRow row = nodes_.FindRow(of.nodes[i]);
        if (row < 0) continue;
        auto node = changed.find(row);
        if (node == changed.end()) node = changed.emplace(row, nodes_.node(row)).first;
        if (!node->second.RemovePod(*of.pods[i])) continue;
        if (Status status = query_.handle.RunPreFilterExtensionRemovePod(state, query_.pod,
                                                                         *of.pods[i], node->second);
            !status.ok()) {
          return status;
        }
      }
    }
    return query_.handle.RunFilterPluginsWithNominatedPods(state, query_.pod, own);
  }

  void Fill(const NodeInfo& node, const EvictedUnits& gone, PostFilterResult& result) const {
    auto candidate = std::make_shared<PreemptionCandidate>();
    candidate->node = std::string(node.name().view());
    candidate->row = nodes_.FindRow(node.name());
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

  const VictimQuery& query_;
  const bool keeps_budgets_;
  const NodeTable& nodes_;
  SurplusByNode units_;
  const std::vector<NodeRow>& rows_;      // in row order
  std::vector<ResourceId> of_devices_;    // what the pod requests for which devices stand
  std::vector<NodeRow> free_rows_;        // of these, where no pod has to go
  std::vector<bool> needs_victims_;       // by row
  int64_t least_pods_ = 0;                // that go where some have to
  absl::flat_hash_map<int, bool> legal_;  // by unit, on the node of the last PlaceOn()
  absl::Time retry_at_ = absl::InfiniteFuture();
  bool waits_ = false;                          // no other pod has to go
  Status not_now_;                              // then
  bool is_order_to_blame_ = false;              // a pod might have gone, but not after others
  absl::flat_hash_set<NodeRow> rows_too_late_;  // where somebody might not go after others
  std::vector<int> without_room_;  // sites for which the quotas had no room, by kind of node
  SpentBudgets spent_;             // by the units that are gone
  TakenPlaces taken_{query_.handle, query_.trial};
  bool passed_over_ = false;
  struct Holders {
    SharedHolding holding;
    std::vector<int> units;  // in order
  };
  std::vector<Holders> holders_;
  bool knows_holders_ = false;
  int holders_left_ = 256;  // so many are tried, on all nodes
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
