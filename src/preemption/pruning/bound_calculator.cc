// SPDX-License-Identifier: Apache-2.0
// Implementation of bound_calculator.h.
#include "preemption/pruning/bound_calculator.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "berth/incremental/resource_filter.h"
#include "preemption/candidate_scores.h"

namespace berth {
namespace {

constexpr int kMostRequests = EvictionFeasibility::kShortages - 1;  // nothing is known of more
constexpr int kPodsBit = kMostRequests;  // the number of the need of a slot for one more pod

// Whether sums of such amounts cannot overflow, and less is missing as pods go: none has one of
// these bits.
constexpr int64_t kOverflowBits = ~((int64_t{1} << 56) - 1);
bool CannotOverflow(int64_t amount) { return (amount & kOverflowBits) == 0; }

// If one frees so much at most.
int64_t VictimsToFree(int64_t missing, int64_t largest) {
  if (largest >= missing || largest <= 0) return 1;
  return (missing + largest - 1) / largest;
}

}  // namespace

bool RequestsSlightlyLess(const PreemptorClass& less, const PreemptorClass& preemptor) {
  if (!less.need.has_value() || !preemptor.need.has_value()) return false;
  const NeededResources::Requests& requests = preemptor.need->needed.requests;
  const NeededResources::Requests& lesser = less.need->needed.requests;
  const auto is_little_less = [](const auto& a, const auto& b) {
    return a.first == b.first && a.second <= b.second && a.second >= b.second - b.second / 8;
  };
  if (!std::equal(lesser.begin(), lesser.end(), requests.begin(), requests.end(), is_little_less)) {
    return false;
  }
  PreemptorClass same = less;
  same.need->needed = preemptor.need->needed;
  return same == preemptor && less != preemptor;
}

BoundCalculator::BoundCalculator(const PreemptorClass& preemptor, const NodeTable& nodes,
                                 const PriorityLevels& priority_levels)
    : priority_(preemptor.priority),
      below_(preemptor.below()),
      victims_by_priority_(preemptor.victims_by_priority),
      pod_count_(nodes.pod_count().data()),
      allowed_pods_(nodes.allowed_pods().data()),
      priority_levels_(priority_levels),
      nodes_(nodes) {
  for (const PriorityLevel& level : priority_levels.levels()) {
    levels_[level_count_++] = {level.priority.data(), level.pods.data(),
                               level.latest_start_nanos.data()};
  }
  if (!preemptor.need.has_value()) return;
  const NeededResources::Requests& requests = preemptor.need->needed.requests;
  if (requests.size() > size_t{kMostRequests}) return;
  for (const auto& [resource, amount] : requests) {
    if (!CannotOverflow(amount)) {
      needs_.clear();
      return;
    }
    Need& need = needs_.emplace_back();
    need.resource = resource;
    need.amount = amount;
    need.allocatable = nodes.allocatable(resource).data();
    need.requested = nodes.requested(resource).data();
    for (size_t i = 0; i < level_count_; ++i) {
      const PriorityLevel& level = priority_levels.levels()[i];
      const auto column = [&](const std::vector<PriorityLevel::Amounts>& common,
                              const RareAmounts& rare) -> const int64_t* {
        const size_t id = static_cast<size_t>(need.resource);
        if (id < common.size() && !common[id].empty()) return common[id].data();
        if (!rare.Has(need.resource)) return nullptr;
        PriorityLevel::Amounts& amounts = rare_columns_.emplace_back(level.pods.size(), 0);
        rare.ForEach(need.resource, [&](int32_t slot, int64_t amount) { amounts[slot] = amount; });
        return amounts.data();
      };
      need.freed[i] = {column(level.requests, level.rare_requests),
                       column(level.largest, level.rare_largest)};
    }
  }
  needs_pods_ = true;
}

// How much the row lacks of the i-th thing that the pod needs: 0 or less if it does not. False if
// sums do not tell.
inline bool BoundCalculator::FindMissing(NodeRow row, size_t i, Pods nominated,
                                         int64_t& missing) const {
  const bool is_pods = i == needs_.size();
  int64_t wanted = is_pods ? 1 : needs_[i].amount;
  for (const auto& pod : nominated) {
    if (pod->priority() < priority_) continue;
    wanted += is_pods ? 1 : pod->requests().Get(needs_[i].resource);
  }
  const int64_t has = (is_pods ? allowed_pods_ : needs_[i].allocatable)[row];
  const int64_t used = (is_pods ? pod_count_ : needs_[i].requested)[row];
  if (!CannotOverflow(wanted | has | used)) return false;
  missing = wanted - (has - used);
  return true;
}

// What the pods of a level free of the i-th thing.
inline int64_t BoundCalculator::FreedBy(int32_t slot, size_t level, size_t i) const {
  if (i == needs_.size()) return levels_[level].pods[slot];
  const int64_t* const requests = needs_[i].freed[level].requests;
  return requests == nullptr ? 0 : requests[slot];
}

// What one of them frees at most.
inline int64_t BoundCalculator::LargestOf(int32_t slot, size_t level, size_t i) const {
  if (i == needs_.size()) return 1;
  const int64_t* const largest = needs_[i].freed[level].largest;
  return largest == nullptr ? 0 : largest[slot];
}

// So many victims, one of them of that level or a higher one: the first one, if victims are in the
// order of their priority.
inline CandidateBound BoundCalculator::AtBest(int32_t slot, size_t highest, int64_t victims) const {
  CandidateBound bound;
  bound.victims = static_cast<int32_t>(victims);  // no more than there are pods
  const int64_t priority = levels_[highest].priority[slot];
  bound.highest_priority = static_cast<int32_t>(priority);
  bound.priority_sum =
      InPrioritySum(priority) + (victims - 1) * InPrioritySum(levels_.front().priority[slot]);
  bound.latest_start_nanos = levels_[highest].latest_start_nanos[slot];
  return bound;
}

// The same number and sum, whichever of them comes first: one of the lowest priority, and that
// started last of all that may go.
CandidateBound BoundCalculator::InAnyOrder(CandidateBound bound, int32_t slot,
                                           size_t levels) const {
  bound.highest_priority = static_cast<int32_t>(levels_.front().priority[slot]);
  for (size_t i = 0; i < levels; ++i) {
    bound.latest_start_nanos =
        std::max(bound.latest_start_nanos, levels_[i].latest_start_nanos[slot]);
  }
  return bound;
}

// If levels are merged, not all pods of the last one may go.
inline EvictionFeasibility BoundCalculator::ShortOf(NodeRow row, uint32_t bits) const {
  return EvictionFeasibility(EvictionFeasibility::Kind::kStillInsufficient,
                             priority_levels_.is_merged(row) ? 0 : bits);
}

// One for each need.
inline uint32_t BoundCalculator::BitOf(size_t need) const {
  return uint32_t{1} << (need == needs_.size() ? kPodsBit : need);
}

EvictionFeasibility BoundCalculator::Compute(NodeRow row, Pods nominated,
                                             CandidateBound& bound) const {
  const EvictionFeasibility possible(EvictionFeasibility::Kind::kPossible);
  const int32_t slot = priority_levels_.slot(row);
  size_t levels = 0;  // from which some pod may go
  while (levels < level_count_ && levels_[levels].priority[slot] < below_) ++levels;
  if (levels == 0) return EvictionFeasibility(EvictionFeasibility::Kind::kNoVictims);
  const auto sums_do_not_tell = [&] {  // one victim, any of them
    bound = InAnyOrder(AtBest(slot, 0, 1), slot, levels);
    return possible;
  };
  std::array<int64_t, kMostRequests + 1> missing;
  size_t highest = 0;  // of the levels of which some pod has to go
  uint32_t short_of = 0;
  const size_t needs = NeedCount();
  for (size_t i = 0; i < needs; ++i) {
    if (!FindMissing(row, i, nominated, missing[i])) return sums_do_not_tell();
    int64_t left = missing[i];
    for (size_t level = 0; left > 0 && level < levels; ++level) {
      const int64_t freed = FreedBy(slot, level, i);
      if (!CannotOverflow(freed)) return sums_do_not_tell();
      left -= freed;
      highest = std::max(highest, level);
    }
    if (left > 0) short_of |= BitOf(i);
  }
  if (short_of != 0) return ShortOf(row, short_of);
  int64_t victims = 1;
  // In the order of priorities, a victim of a higher level would make all the rest worse.
  const size_t levels_of_best = victims_by_priority_ ? highest + 1 : levels;
  for (size_t i = 0; i < needs; ++i) {
    if (missing[i] <= 0) continue;
    int64_t largest = 0;
    for (size_t level = 0; level < levels_of_best; ++level) {
      const int64_t of_level = LargestOf(slot, level, i);
      if (!CannotOverflow(of_level)) return sums_do_not_tell();
      largest = std::max(largest, of_level);
    }
    victims = std::max(victims, VictimsToFree(missing[i], largest));
  }
  bound = AtBest(slot, highest, victims);
  if (!victims_by_priority_) bound = InAnyOrder(bound, slot, levels);
  return possible;
}

// All unprotected victims go first: what is still missing then takes some that are protected.
CandidateBound BoundCalculator::WithBudgets(CandidateBound bound, NodeRow row, Pods nominated,
                                            const DisruptionBudgets& budgets) const {
  bound.knows_budgets = true;
  const size_t needs = NeedCount();
  const auto pods = nodes_.node(row).pods();
  absl::InlinedVector<bool, 64> is_protected;
  for (const auto& pod : pods) {
    is_protected.push_back(pod->priority() < below_ && budgets.Protect(*pod));
  }
  for (size_t i = 0; i < needs; ++i) {
    int64_t missing = 0;
    if (!FindMissing(row, i, nominated, missing)) return bound;
    int64_t largest = 0;  // of those that are protected
    for (size_t k = 0; missing > 0 && k < pods.size(); ++k) {
      if (pods[k]->priority() >= below_) continue;
      const int64_t amount = i == needs_.size() ? 1 : pods[k]->requests().Get(needs_[i].resource);
      if (!CannotOverflow(amount)) return bound;
      if (is_protected[k]) {
        largest = std::max(largest, amount);
      } else {
        missing -= amount;
      }
    }
    if (missing <= 0 || largest <= 0) continue;
    bound.violations =
        std::max(bound.violations, static_cast<int32_t>(VictimsToFree(missing, largest)));
  }
  return bound;
}

}  // namespace berth
