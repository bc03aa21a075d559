// SPDX-License-Identifier: Apache-2.0
// Implementation of victim_sites.h.
#include "plugins/capacity_scheduling/victim_sites.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"

namespace berth {

// --- One site ---

void VictimSite::Add(int unit, const VictimList& list) {
  units.push_back(unit);
  pods += static_cast<int>(list.unit(unit).pods.size());
  for (const std::shared_ptr<const PodInfo>& pod : list.unit(unit).pods) {
    priority = std::max(priority, pod->priority());
  }
}

bool VictimSite::IsBetterThan(const VictimSite& other, const VictimList& list) const {
  if (Cost() != other.Cost()) return Cost() < other.Cost();
  const int last = units.back(), last_of_other = other.units.back();
  if (list.Before(last, last_of_other)) return true;
  return !list.Before(last_of_other, last) && row < other.row;
}

// --- What rows lack ---

// By sums where these say it. Lives as long as nothing changes but who is gone.
class VictimSites::SumsOfRows {
 public:
  enum class Victims { kNone, kAny };  // whether the sums say how many have to go at least
  SumsOfRows(const VictimSites& sites, Victims victims)
      : sites_(sites),
        summer_(sites.nodes_, sites.query_.expected, ResourcesOf(sites, victims),
                sites.query_.pod.priority()),
        kept_(sites.query_.state.full_evaluation() ? nullptr
                                                   : &sites.query_.short_rows.For(summer_)),
        own_row_(
            sites.nodes_.FindRow(sites.query_.handle.nominator().NominatedNode(sites.query_.pod))) {
  }
  RowSums Of(NodeRow row) const {
    RowSums sums;
    // Where the pod itself is nominated, or takes another's place, sums count that.
    const bool is_counted = row != own_row_ && !sites_.taken_.AnyOn(row);
    const bool found = is_counted && (kept_ != nullptr ? kept_->FindSums(summer_, row, sums)
                                                       : summer_.FindSums(row, sums));
    if (found) return sums;
    return {.is_short = !sites_.room_.DeficitOf(row).met(), .is_possible = true, .pods = 1};
  }

 private:
  static RowSummer::Resources ResourcesOf(const VictimSites& sites, Victims victims) {
    RowSummer::Resources resources;
    sites.query_.pod.requests().ForEach([&](ResourceId id, int64_t amount) {
      if (amount <= 0) return;
      const int64_t most = victims == Victims::kAny ? sites.units_.MostRequested(id) : 0;
      resources.push_back({id, amount, most, sites.room_.IsOfDevices(id)});
    });
    return resources;
  }

  const VictimSites& sites_;
  const RowSummer summer_;
  ShortRows::Kept* const kept_;
  const NodeRow own_row_;  // that the pod is nominated to, or -1
};

// --- All sites ---

VictimSites::VictimSites(const VictimQuery& query, VictimList& units, const PodRoom& room,
                         EvictableUnits& evictable, BudgetTurns& turns, const TakenPlaces& taken)
    : query_(query),
      nodes_(query.handle.nodes()),
      units_(units),
      room_(room),
      evictable_(evictable),
      turns_(turns),
      taken_(taken) {}

// Room in quotas differs between nodes of one kind by nothing but who has to go for room on the
// node.
bool VictimSites::IsClosed(NodeRow row) const {
  constexpr int kMostWithoutRoom = 16;
  return without_room_[query_.book.KindOf(row)] >= kMostWithoutRoom;
}

bool VictimSites::FindFree(absl::FunctionRef<bool(NodeRow)> is_enough) {
  without_room_.assign(query_.book.kinds_of_nodes(), 0);
  const SumsOfRows sums_of_rows(*this, SumsOfRows::Victims::kNone);
  return absl::c_any_of(query_.rows, [&](NodeRow row) {
    return !sums_of_rows.Of(row).is_short && !IsClosed(row) && is_enough(row);
  });
}

void VictimSites::Split() {
  without_room_.assign(query_.book.kinds_of_nodes(), 0);
  const SumsOfRows sums_of_rows(*this, SumsOfRows::Victims::kAny);
  needs_victims_.assign(nodes_.size(), false);
  least_pods_ = std::numeric_limits<int64_t>::max();
  for (const NodeRow row : query_.rows) {
    const RowSums sums = sums_of_rows.Of(row);
    if (!sums.is_short) {
      free_rows_.push_back(row);
    } else if (sums.is_possible) {
      needs_victims_[row] = true;
      least_pods_ = std::min(least_pods_, sums.pods);
    }
  }
}

// Goes through the units, the first to go first, and weighs the nodes that it comes to, until no
// node with later units alone can be better.
std::optional<VictimSite> VictimSites::Best() {
  std::optional<VictimSite> best;
  if (!absl::c_any_of(query_.rows, [this](NodeRow row) { return IsOpen(row); })) return best;
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
        std::optional<VictimSite> site = Weigh(row);
        if (site.has_value() && (!best.has_value() || site->IsBetterThan(*best, units_))) {
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

std::vector<VictimSite> VictimSites::AllBut(NodeRow left_out) {
  std::vector<VictimSite> sites;
  for (const NodeRow row : query_.rows) {
    if (!IsOpen(row) || row == left_out) continue;
    if (std::optional<VictimSite> site = Weigh(row)) sites.push_back(*std::move(site));
  }
  absl::c_sort(sites, [this](const VictimSite& a, const VictimSite& b) {
    return a.IsBetterThan(b, units_);
  });
  return sites;
}

// Nothing if evicting does not help there.
std::optional<VictimSite> VictimSites::Weigh(NodeRow row) {
  Deficit deficit = room_.DeficitOf(row);
  VictimSite site{.row = row};
  SpentBudgets spent(query_.budgets);
  evictable_.PlaceOn(row);
  const auto add = [&](int unit) {
    if (!room_.Remove(unit, row, deficit)) return;
    site.violations += spent.Add(units_.unit(unit));
    site.Add(unit, units_);
  };
  std::vector<int> violating;
  for (const int unit : units_.OnRow(row)) {
    if (deficit.met()) break;
    if (!evictable_.MayGo(unit)) continue;
    if (turns_.MustWait({unit}, spent)) {
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

}  // namespace berth
