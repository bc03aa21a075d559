// Implementation of candidate_bound.h.
#include "preemption/pruning/candidate_bound.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/algorithm/container.h"
#include "berth/framework/vector_clones.h"
#include "preemption/candidate_scores.h"

namespace berth {
namespace {

constexpr int kMostRequests = EvictionChance::kShortages - 1;  // of more is known nothing
constexpr int kPlace = kMostRequests;  // the number of the need of a place for one more pod

// Whether sums of such amounts cannot overflow, and less is missing as pods go: none has one of
// these bits.
constexpr int64_t kNotPlain = ~((int64_t{1} << 56) - 1);
bool IsPlain(int64_t amount) { return (amount & kNotPlain) == 0; }

// If one frees so much at most.
int64_t VictimsToFree(int64_t missing, int64_t largest) {
  if (largest >= missing || largest <= 0) return 1;
  return (missing + largest - 1) / largest;
}

// What follows is of rows one after another, whose nodes have these places in columns of levels.

// All bits where priorities are below that, or none. Returns whether there are any.
BERTH_VECTOR_CLONES bool MarkBelow(const int64_t* priorities, int64_t below, const int32_t* places,
                                   size_t count, int64_t* marks) {
  int64_t any = 0;
  for (size_t i = 0; i < count; ++i) {
    marks[i] = -static_cast<int64_t>(priorities[places[i]] < below);
    any |= marks[i];
  }
  return any != 0;
}

struct Wanted {
  int64_t amount;
  const int64_t* has;
  const int64_t* used;
};

// `bits` gets those of all amounts. Returns whether anything is missing, perhaps.
BERTH_VECTOR_CLONES bool FindMissingOf(const Wanted& wanted, size_t count, int64_t* missing,
                                       int64_t* bits) {
  const uint64_t amount = static_cast<uint64_t>(wanted.amount);
  uint64_t any = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t has = static_cast<uint64_t>(wanted.has[i]);
    const uint64_t used = static_cast<uint64_t>(wanted.used[i]);
    const uint64_t more_than_enough = has - used - amount;
    bits[i] |= static_cast<int64_t>(amount | has | used);
    missing[i] = static_cast<int64_t>(0 - more_than_enough);
    any |= more_than_enough;
  }
  return any >> 63 != 0;
}

// What pods free that may go is missing no more.
template <class Amount>
inline void TakeFreed(const Amount* freed, const int64_t* may_go, const int32_t* places,
                      size_t count, int64_t* missing, int64_t* bits) {
  for (size_t i = 0; i < count; ++i) {
    const int64_t amount = freed[places[i]] & may_go[i];
    bits[i] |= amount;
    missing[i] =
        static_cast<int64_t>(static_cast<uint64_t>(missing[i]) - static_cast<uint64_t>(amount));
  }
}

// Where something is missing, the bit is set.
BERTH_VECTOR_CLONES void NoteMissing(const int64_t* missing, uint64_t bit, size_t count,
                                     uint64_t* short_of) {
  for (size_t i = 0; i < count; ++i) short_of[i] |= missing[i] > 0 ? bit : 0;
}

}  // namespace

UsedUpBudgets::UsedUpBudgets(const DisruptionBudgets& budgets) {
  for (const auto& [name_space, of_namespace] : budgets) {
    for (const DisruptionBudget& budget : of_namespace) {
      if (budget.disruptions_allowed <= 0) by_namespace_[name_space].push_back(&budget);
    }
  }
}

bool UsedUpBudgets::Protect(const PodInfo& pod) const {
  const auto found = by_namespace_.find(pod.namespace_name());
  if (found == by_namespace_.end() || pod.labels().empty()) return false;
  return absl::c_any_of(found->second, [&](const DisruptionBudget* budget) {
    return budget->selector.Matches(pod.labels()) && !budget->disrupted_pods.contains(pod.name());
  });
}

BoundFinder::BoundFinder(const EvictionQuestion& question, const NodeTable& nodes,
                         const EvictionOutlook& outlook)
    : priority_(question.priority),
      below_(question.below()),
      victims_by_priority_(question.victims_by_priority),
      pod_count_(nodes.pod_count().data()),
      allowed_pods_(nodes.allowed_pods().data()),
      outlook_(outlook),
      nodes_(nodes) {
  for (const EvictionLevel& level : outlook.levels()) {
    levels_[level_count_++] = {level.priority.data(), level.pods.data(),
                               level.latest_start_nanos.data()};
  }
  if (!question.room.has_value()) return;
  const NeededRoom::Requests& requests = question.room->needed.requests;
  if (requests.size() > size_t{kMostRequests}) return;
  for (const auto& [resource, amount] : requests) {
    if (!IsPlain(amount)) {
      needs_.clear();
      return;
    }
    Need& need = needs_.emplace_back();
    need.resource = resource;
    need.amount = amount;
    need.allocatable = nodes.allocatable(resource).data();
    need.requested = nodes.requested(resource).data();
    for (size_t i = 0; i < level_count_; ++i) {
      const auto column = [&need](const std::vector<EvictionLevel::Amounts>& amounts) {
        const size_t id = static_cast<size_t>(need.resource);
        return id < amounts.size() && !amounts[id].empty() ? amounts[id].data() : nullptr;
      };
      need.freed[i] = {column(outlook.levels()[i].requests), column(outlook.levels()[i].largest)};
    }
  }
  needs_place_ = true;
}

// Of the i-th thing that the pod needs, how much the row lacks: 0 or less if it does not. False if
// sums do not tell.
inline bool BoundFinder::FindMissing(NodeRow row, size_t i, Pods nominated,
                                     int64_t& missing) const {
  const bool is_place = i == needs_.size();
  int64_t wanted = is_place ? 1 : needs_[i].amount;
  for (const auto& pod : nominated) {
    if (pod->priority() < priority_) continue;
    wanted += is_place ? 1 : pod->requests().Get(needs_[i].resource);
  }
  const int64_t has = (is_place ? allowed_pods_ : needs_[i].allocatable)[row];
  const int64_t used = (is_place ? pod_count_ : needs_[i].requested)[row];
  if (!IsPlain(wanted | has | used)) return false;
  missing = wanted - (has - used);
  return true;
}

// What the pods of a level free of the i-th thing.
inline int64_t BoundFinder::FreedBy(int32_t place, size_t level, size_t i) const {
  if (i == needs_.size()) return levels_[level].pods[place];
  const int64_t* const requests = needs_[i].freed[level].requests;
  return requests == nullptr ? 0 : requests[place];
}

// What one of them frees at most.
inline int64_t BoundFinder::LargestOf(int32_t place, size_t level, size_t i) const {
  if (i == needs_.size()) return 1;
  const int64_t* const largest = needs_[i].freed[level].largest;
  return largest == nullptr ? 0 : largest[place];
}

// So many victims, one of them of that level or a higher one: the first one, if victims are in the
// order of their priority.
inline EvictionBound BoundFinder::AtBest(int32_t place, size_t highest, int64_t victims) const {
  EvictionBound bound;
  bound.victims = static_cast<int32_t>(victims);  // no more than there are pods
  const int64_t priority = levels_[highest].priority[place];
  bound.highest_priority = static_cast<int32_t>(priority);
  bound.priority_sum =
      InPrioritySum(priority) + (victims - 1) * InPrioritySum(levels_.front().priority[place]);
  bound.latest_start_nanos = levels_[highest].latest_start_nanos[place];
  return bound;
}

// The same number and sum, whichever of them comes first: one of the lowest priority, and that
// started last of all that may go.
EvictionBound BoundFinder::InAnyOrder(EvictionBound bound, int32_t place, size_t levels) const {
  bound.highest_priority = static_cast<int32_t>(levels_.front().priority[place]);
  for (size_t i = 0; i < levels; ++i) {
    bound.latest_start_nanos =
        std::max(bound.latest_start_nanos, levels_[i].latest_start_nanos[place]);
  }
  return bound;
}

// If levels are merged, not all pods of the last one may go.
inline EvictionChance BoundFinder::ShortOf(NodeRow row, uint32_t bits) const {
  return EvictionChance(EvictionChance::Kind::kShort, outlook_.is_merged(row) ? 0 : bits);
}

// For each need one.
inline uint32_t BoundFinder::BitOf(size_t need) const {
  return uint32_t{1} << (need == needs_.size() ? kPlace : need);
}

EvictionChance BoundFinder::Find(NodeRow row, Pods nominated, EvictionBound& bound) const {
  const EvictionChance possible(EvictionChance::Kind::kPossible);
  const int32_t place = outlook_.place(row);
  size_t levels = 0;  // from which somebody may go
  while (levels < level_count_ && levels_[levels].priority[place] < below_) ++levels;
  if (levels == 0) return EvictionChance(EvictionChance::Kind::kNobody);
  const auto sums_do_not_tell = [&] {  // one victim, whoever it is
    bound = InAnyOrder(AtBest(place, 0, 1), place, levels);
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
      const int64_t freed = FreedBy(place, level, i);
      if (!IsPlain(freed)) return sums_do_not_tell();
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
      const int64_t of_level = LargestOf(place, level, i);
      if (!IsPlain(of_level)) return sums_do_not_tell();
      largest = std::max(largest, of_level);
    }
    victims = std::max(victims, VictimsToFree(missing[i], largest));
  }
  bound = AtBest(place, highest, victims);
  if (!victims_by_priority_) bound = InAnyOrder(bound, place, levels);
  return possible;
}

void BoundFinder::Sum(NodeRow begin, size_t count, Sums& sums) const {
  const int32_t* const places = outlook_.places() + begin;
  std::fill_n(sums.somebody, count, 0);
  std::fill_n(sums.short_of, count, 0);
  std::fill_n(sums.amounts, count, 0);
  int64_t may_go[EvictionOutlook::kMostLevels][kBlock];
  size_t levels = 0;  // from which somebody may go on one of the rows
  for (; levels < level_count_; ++levels) {
    if (!MarkBelow(levels_[levels].priority, below_, places, count, may_go[levels])) break;
  }
  if (levels == 0) return;
  std::copy_n(may_go[0], count, sums.somebody);
  int64_t missing[kBlock];
  for (size_t i = 0; i < NeedCount(); ++i) {
    const bool is_place = i == needs_.size();
    const int64_t* const has = is_place ? allowed_pods_ : needs_[i].allocatable;
    const int64_t* const used = is_place ? pod_count_ : needs_[i].requested;
    const Wanted wanted = {is_place ? 1 : needs_[i].amount, has + begin, used + begin};
    if (!FindMissingOf(wanted, count, missing, sums.amounts)) continue;  // mostly of one thing
    for (size_t level = 0; level < levels; ++level) {
      if (is_place) {
        TakeFreed(levels_[level].pods, may_go[level], places, count, missing, sums.amounts);
      } else if (const int64_t* const freed = needs_[i].freed[level].requests; freed != nullptr) {
        TakeFreed(freed, may_go[level], places, count, missing, sums.amounts);
      }
    }
    NoteMissing(missing, BitOf(i), count, sums.short_of);
  }
}

bool BoundFinder::Tell(const Sums& sums, size_t i, NodeRow row, EvictionChance& chance) const {
  if (sums.somebody[i] == 0) {
    chance = EvictionChance(EvictionChance::Kind::kNobody);
    return true;
  }
  if (sums.short_of[i] == 0 || !IsPlain(sums.amounts[i])) return false;
  chance = ShortOf(row, static_cast<uint32_t>(sums.short_of[i]));
  return true;
}

// Mostly sums tell already that there is too little room. Where they tell of few rows of a block,
// the next blocks are looked at without them.
void BoundFinder::FindAll(std::vector<EvictionChance>& chances,
                          std::vector<EvictionBound>& bounds) const {
  const NodeRow size = nodes_.size();
  chances.resize(size);
  bounds.clear();
  constexpr int kBlocksWithout = 15;
  int without = 0;
  Sums sums;
  for (NodeRow begin = 0; begin < size; begin += kBlock) {
    const size_t count = std::min(kBlock, static_cast<size_t>(size - begin));
    const bool with_sums = without == 0;
    if (with_sums) Sum(begin, count, sums);
    size_t told = 0;
    for (size_t i = 0; i < count; ++i) {
      const NodeRow row = begin + static_cast<NodeRow>(i);
      if (with_sums && Tell(sums, i, row, chances[row])) {
        ++told;
        continue;
      }
      EvictionBound bound;
      chances[row] = Find(row, {}, bound);
      if (chances[row].kind() != EvictionChance::Kind::kPossible) continue;
      if (bounds.empty()) bounds.resize(size);
      bounds[row] = bound;
    }
    if (!with_sums) {
      --without;
    } else if (told < count / 2) {
      without = kBlocksWithout;
    }
  }
}

// All others go first that may: what is still missing then takes some of those that are protected.
EvictionBound BoundFinder::WithBudgets(EvictionBound bound, NodeRow row, Pods nominated,
                                       const UsedUpBudgets& budgets) const {
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
      if (!IsPlain(amount)) return bound;
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
