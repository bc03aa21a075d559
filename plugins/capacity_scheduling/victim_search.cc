// SPDX-License-Identifier: Apache-2.0
// Implementation of victim_search.h.
#include "plugins/capacity_scheduling/victim_search.h"

#include <algorithm>
#include <limits>

#include "absl/algorithm/container.h"

namespace berth {
namespace {

constexpr int kMostSteps = 256, kMostElsewhere = 16;

}  // namespace

VictimSearch::VictimSearch(const VictimQuery& query, SurplusByNode& units, const PodRoom& room,
                           EvictableUnits& evictable, BudgetTurns& turns, const SparedUnits& spared,
                           SpentBudgets& spent)
    : query_(query),
      units_(units),
      room_(room),
      evictable_(evictable),
      turns_(turns),
      spared_(spared),
      spent_(spent) {}

std::optional<NodeRow> VictimSearch::Find(const absl::flat_hash_set<NodeRow>& too_late,
                                          EvictedUnits& gone) {
  std::vector<NodeRow> rows, likely;
  for (const NodeRow row : query_.rows) {
    if (!SumsHoldWithoutAll(row)) continue;
    rows.push_back(row);
    // Each takes two steps at least.
    const bool counts = too_late.contains(row) && likely.size() < kMostSteps / 4;
    if (counts && FitsWithoutAll(row, gone)) likely.push_back(row);
  }
  // Single units first, as the large one mostly is the last.
  Bounds bounds = {.steps_left = kMostSteps / 2, .most_units = 1, .aim = Aim::kWhatLacks};
  if (const auto row = FindOnAny(likely, bounds, gone)) return row;
  bounds.most_units = std::numeric_limits<int>::max();
  if (const auto row = FindOnAny(likely, bounds, gone)) return row;
  bounds.steps_left += kMostSteps / 2;
  bounds.aim = Aim::kAnything;
  return FindOnAny(rows, bounds, gone);
}

bool VictimSearch::SumsHoldWithoutAll(NodeRow row) {
  Deficit deficit = room_.DeficitOf(row);
  for (const int unit : units_.OnRow(row)) room_.Remove(unit, row, deficit);
  return deficit.met();
}

bool VictimSearch::FitsWithoutAll(NodeRow row, EvictedUnits& gone) {
  for (const int unit : units_.OnRow(row)) gone.Evict(unit);
  const bool fits = room_.Filter(row, gone).ok();
  gone.SpareAll();
  return fits;
}

std::optional<NodeRow> VictimSearch::FindOnAny(const std::vector<NodeRow>& rows, Bounds& bounds,
                                               EvictedUnits& gone) {
  for (const NodeRow row : rows) {
    if (bounds.steps_left <= 0) return std::nullopt;
    evictable_.PlaceOn(row);
    std::set<std::vector<int>> seen;
    if (!FindOn(row, seen, bounds, gone)) continue;
    spared_.SpareOn(row, gone, SparedUnits::Orders::kWeighed);
    return row;
  }
  return std::nullopt;
}

bool VictimSearch::FindOn(NodeRow row, std::set<std::vector<int>>& seen, Bounds& bounds,
                          EvictedUnits& gone) {
  if (!seen.emplace(gone.all().begin(), gone.all().end()).second || --bounds.steps_left < 0)
    return false;
  const bool has_room = gone.LeavesGangsWhole() && query_.trial.HasRoom().ok();
  const bool fits = (has_room || bounds.aim == Aim::kWhatLacks) && room_.SumsHold(row, gone) &&
                    room_.Filter(row, gone).ok();
  if (has_room && fits) return true;
  if (static_cast<int>(gone.all().size()) >= bounds.most_units) return false;
  const int most_elsewhere = fits || bounds.aim == Aim::kAnything ? kMostElsewhere : 0;
  for (const int unit : Next(row, most_elsewhere, gone)) {
    if (bounds.steps_left <= 0) return false;
    if (gone.contains(unit) || !evictable_.MayGoToo(unit).status.ok()) continue;
    gone.Evict(unit);
    if (FindOn(row, seen, bounds, gone)) return true;
    gone.Spare(unit);
  }
  return false;
}

std::vector<int> VictimSearch::Next(NodeRow row, int most_elsewhere, EvictedUnits& gone) {
  std::vector<int> next = units_.OnRow(row);
  for (int position = 0; position < most_elsewhere; ++position) {
    const int listed = units_.At(position);
    if (listed < 0) break;
    next.push_back(units_.ForRow(listed, row));
  }
  if (turns_.matter()) {
    std::stable_partition(next.begin(), next.end(), [&](int unit) {
      return !turns_.MustWait(gone.AllThatGoWith(unit), spent_);
    });
  }
  return next;
}

}  // namespace berth
