// Implementation of eviction_bound.h.
#include "preemption/eviction_bound.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>

#include "absl/algorithm/container.h"
#include "preemption/scores.h"

namespace berth {
namespace {

constexpr int kMostRequests = 31;
constexpr int kPlace = kMostRequests;  // the number of the need of a place for one more pod

// Whether sums of such amounts cannot overflow, and less is missing as pods go.
bool IsPlain(int64_t amount) {
  constexpr int64_t kMost = int64_t{1} << 56;
  return 0 <= amount && amount < kMost;
}

}  // namespace

// What is missing of one thing that the pod needs, as pods go.
struct BoundFinder::Shortage {
  int need;  // an index in needs_, or kPlace
  int64_t at_first, now;
  int64_t largest;  // that one of the pods frees

  int64_t MinVictims() const { return largest <= 0 ? 1 : (at_first + largest - 1) / largest; }
};

bool EvictionBound::operator<(const EvictionBound& other) const {
  return std::tie(other.violations, other.highest_priority, other.priority_sum, other.victims,
                  latest_start_nanos) <
         std::tie(violations, highest_priority, priority_sum, victims, other.latest_start_nanos);
}

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

// Puts what the row lacks in `room`. Nothing if sums do not tell.
inline absl::Span<BoundFinder::Shortage> BoundFinder::FindShortages(
    NodeRow row, Pods nominated, absl::Span<Shortage> room) const {
  size_t size = 0;
  const auto add = [&](int need, int64_t wanted, int64_t has, int64_t used) {
    if (wanted > has - used) room[size++] = {need, wanted - (has - used), wanted - (has - used), 0};
  };
  for (size_t i = 0; i < needs_.size(); ++i) {
    const Need& need = needs_[i];
    int64_t wanted = need.amount;
    for (const auto& pod : nominated) {
      if (pod->priority() >= priority_) wanted += pod->requests().Get(need.resource);
    }
    const int64_t has = need.allocatable[row];
    const int64_t used = need.requested[row];
    if (!IsPlain(wanted | has | used)) return {};
    add(static_cast<int>(i), wanted, has, used);
  }
  if (!needs_place_) return room.first(size);
  int64_t wanted = 1;
  for (const auto& pod : nominated) wanted += pod->priority() >= priority_;
  if (!IsPlain(allowed_pods_[row] | pod_count_[row])) return {};
  add(kPlace, wanted, allowed_pods_[row], pod_count_[row]);
  return room.first(size);
}

// The pods of a level go. False if sums do not tell what that frees.
inline bool BoundFinder::Ease(NodeRow row, size_t level, Shortage& shortage) const {
  int64_t freed = 0;
  int64_t largest = 0;
  if (shortage.need == kPlace) {
    freed = levels_[level].pods[row];
    largest = 1;
  } else if (const Freed& columns = needs_[shortage.need].freed[level];
             columns.requests != nullptr && columns.largest != nullptr) {
    freed = columns.requests[row];
    largest = columns.largest[row];
  }
  shortage.now -= freed;
  shortage.largest = std::max(shortage.largest, largest);
  return IsPlain(freed | largest);
}

// So many victims, the most important of that level.
inline EvictionBound BoundFinder::AtBest(NodeRow row, size_t highest, int64_t victims) const {
  EvictionBound bound;
  bound.kind = EvictionBound::Kind::kPossible;
  bound.victims = static_cast<int32_t>(victims);  // no more than there are pods
  const int64_t priority = levels_[highest].priority[row];
  bound.highest_priority = static_cast<int32_t>(priority);
  bound.priority_sum =
      InPrioritySum(priority) + (victims - 1) * InPrioritySum(levels_.front().priority[row]);
  bound.latest_start_nanos = levels_[highest].latest_start_nanos[row];
  return bound;
}

// One victim of the lowest priority, and the latest start of all that may go: whoever they are, and
// whichever of them comes first.
inline EvictionBound BoundFinder::AtBestOfAnyOrder(NodeRow row) const {
  EvictionBound bound = AtBest(row, 0, 1);
  for (size_t i = 1; i < level_count_; ++i) {
    const int64_t priority = levels_[i].priority[row];
    if (priority >= below_ || priority == EvictionOutlook::kNobody) break;
    bound.latest_start_nanos =
        std::max(bound.latest_start_nanos, levels_[i].latest_start_nanos[row]);
  }
  return bound;
}

EvictionBound BoundFinder::Find(NodeRow row, Pods nominated) const {
  EvictionBound bound;
  if (level_count_ == 0 || levels_.front().priority[row] >= below_) return bound;
  std::array<Shortage, kMostRequests + 1> room;
  const absl::Span<Shortage> shortages = FindShortages(row, nominated, absl::MakeSpan(room));
  bool is_short = !shortages.empty();
  size_t highest = 0;  // of the levels of which some pod has to go
  for (size_t i = 0; is_short && i < level_count_; ++i) {
    const int64_t priority = levels_[i].priority[row];
    if (priority >= below_ || priority == EvictionOutlook::kNobody) break;
    highest = i;
    is_short = false;
    for (Shortage& shortage : shortages) {
      if (!Ease(row, i, shortage)) return AtBestOfAnyOrder(row);
      is_short |= shortage.now > 0;
    }
  }
  if (is_short) {
    bound.kind = EvictionBound::Kind::kShort;
    if (outlook_.is_merged(row)) return bound;  // not all of the last level may go
    for (const Shortage& shortage : shortages) {
      if (shortage.now > 0) bound.short_of |= uint32_t{1} << shortage.need;
    }
    return bound;
  }
  if (!victims_by_priority_) return AtBestOfAnyOrder(row);
  int64_t victims = 1;
  for (const Shortage& shortage : shortages) victims = std::max(victims, shortage.MinVictims());
  return AtBest(row, highest, victims);
}

// All others go first that may: what is still missing then takes some of those that are protected.
EvictionBound BoundFinder::WithBudgets(EvictionBound bound, NodeRow row, Pods nominated,
                                       const UsedUpBudgets& budgets) const {
  bound.knows_budgets = true;
  std::array<Shortage, kMostRequests + 1> room;
  const absl::Span<Shortage> shortages = FindShortages(row, nominated, absl::MakeSpan(room));
  for (const auto& pod : nodes_.node(row).pods()) {
    if (pod->priority() >= below_) continue;
    const bool is_protected = budgets.Protect(*pod);
    for (Shortage& shortage : shortages) {
      const int64_t amount =
          shortage.need == kPlace ? 1 : pod->requests().Get(needs_[shortage.need].resource);
      if (!IsPlain(amount)) return bound;
      if (is_protected) {
        shortage.largest = std::max(shortage.largest, amount);
      } else {
        shortage.now -= amount;
      }
    }
  }
  for (const Shortage& shortage : shortages) {
    if (shortage.now <= 0 || shortage.largest <= 0) continue;
    const int64_t victims = (shortage.now + shortage.largest - 1) / shortage.largest;
    bound.violations = std::max(bound.violations, static_cast<int32_t>(victims));
  }
  return bound;
}

}  // namespace berth
