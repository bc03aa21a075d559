// SPDX-License-Identifier: Apache-2.0
// What evicting pods of a node can come to at best, known without a try.
#ifndef BERTH_SRC_PREEMPTION_PRUNING_BOUND_CALCULATOR_H_
#define BERTH_SRC_PREEMPTION_PRUNING_BOUND_CALCULATOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "berth/framework/handle.h"
#include "berth/preemption/preemption.h"
#include "framework/resource_need.h"
#include "preemption/candidate_scores.h"
#include "preemption/pruning/priority_levels.h"

namespace berth {

// The pod that room is made for, and the pods that may go.
struct PreemptorClass {
  std::optional<ResourceNeed> need;  // if that is known
  int64_t priority = 0;
  bool by_priority = false;  // only pods of a lower priority may go
  int64_t below() const { return by_priority ? priority : std::numeric_limits<int64_t>::max(); }
  // Where all of them make too little room, a dry run fails as the filters do.
  bool fails_as_filters = false;
  // PreemptionHints::FirstVictimHasHighestPriority().
  bool victims_by_priority = false;

  friend bool operator==(const PreemptorClass&, const PreemptorClass&) = default;
};

// Whether `less` is as `preemptor`, but needs less, by an eighth at most. Upper bounds for it are
// upper bounds for `preemptor`, too.
bool RequestsSlightlyLess(const PreemptorClass& less, const PreemptorClass& preemptor);

// Whether evictions can make room on one node. There is one for each of very many rows.
class EvictionFeasibility {
 public:
  enum class Kind : uint8_t {
    kPossible,           // perhaps
    kNoVictims,          // no pod may be evicted
    kStillInsufficient,  // even if all go that may, there is too little room
  };
  static constexpr int kShortages = 30;  // bits of short_of()

  EvictionFeasibility() : EvictionFeasibility(Kind::kNoVictims) {}
  explicit EvictionFeasibility(Kind kind, uint32_t short_of = 0)
      : bits_(short_of << 2 | static_cast<uint32_t>(kind)) {}

  Kind kind() const { return static_cast<Kind>(bits_ & 3); }
  // If it is short: of what, a bit for each request, and one more for places for pods. 0 if it is
  // short of other things too, perhaps.
  uint32_t short_of() const { return bits_ >> 2; }

  friend bool operator==(const EvictionFeasibility&, const EvictionFeasibility&) = default;

 private:
  uint32_t bits_;
};

// An upper bound of DefaultScoresOf(), if evictions can make room. Of the best candidate: how many
// victims, how many of them violate a budget, the first one's priority, the latest start of one
// with that priority, and the priority sum of DefaultScoresOf().
struct CandidateBound {
  int32_t victims = 0;
  int32_t violations = 0;
  bool knows_budgets = false;  // or these are not counted
  int32_t highest_priority = 0;
  int64_t priority_sum = 0;
  int64_t latest_start_nanos = 0;

  CandidateScores scores() const {
    return {-int64_t{violations}, -int64_t{highest_priority}, -priority_sum, -int64_t{victims},
            latest_start_nanos};
  }
  // Whether `other` may come to more than this one.
  bool operator<(const CandidateBound& other) const {
    return std::tie(other.violations, other.highest_priority, other.priority_sum, other.victims,
                    latest_start_nanos) <
           std::tie(violations, highest_priority, priority_sum, victims, other.latest_start_nanos);
  }
  friend bool operator==(const CandidateBound&, const CandidateBound&) = default;
};

// Bounds for the preemptors of one class. Valid until the table changes; `priority_levels` are as
// of now.
class BoundCalculator {
 public:
  BoundCalculator(const PreemptorClass& preemptor, const NodeTable& nodes,
                  const PriorityLevels& priority_levels);

  // `nominated`: the pods nominated to the node. Those of at least the pod's priority need room
  // too. `bound` is set if something is possible.
  using Pods = absl::Span<const std::shared_ptr<const PodInfo>>;
  EvictionFeasibility Compute(NodeRow row, Pods nominated, CandidateBound& bound) const;
  // `bound` with budgets: its `violations` are how many protected pods have to go at least.
  CandidateBound WithBudgets(CandidateBound bound, NodeRow row, Pods nominated,
                             const DisruptionBudgets& budgets) const;

 private:
  // The columns of a PriorityLevel, by slot.
  struct Level {
    const int64_t* priority;
    const int32_t* pods;
    const int64_t* latest_start_nanos;
  };
  // What pods of one level request, by slot; null where all are 0.
  struct Freed {
    const int64_t* requests = nullptr;
    const int64_t* largest = nullptr;
  };
  struct Need {
    ResourceId resource;
    int64_t amount;
    const int64_t* allocatable;
    const int64_t* requested;
    std::array<Freed, PriorityLevels::kMostLevels> freed;  // by level
  };

  bool FindMissing(NodeRow row, size_t i, Pods nominated, int64_t& missing) const;
  int64_t FreedBy(int32_t slot, size_t level, size_t i) const;
  int64_t LargestOf(int32_t slot, size_t level, size_t i) const;
  CandidateBound AtBest(int32_t slot, size_t highest, int64_t victims) const;
  CandidateBound InAnyOrder(CandidateBound bound, int32_t slot, size_t levels) const;
  EvictionFeasibility ShortOf(NodeRow row, uint32_t bits) const;
  uint32_t BitOf(size_t need) const;
  size_t NeedCount() const { return needs_.size() + (needs_pods_ ? 1 : 0); }

  const int64_t priority_;
  const int64_t below_;
  const bool victims_by_priority_;
  const int64_t* const pod_count_;
  const int64_t* const allowed_pods_;
  const PriorityLevels& priority_levels_;
  const NodeTable& nodes_;
  std::array<Level, PriorityLevels::kMostLevels> levels_;
  size_t level_count_ = 0;
  std::vector<PriorityLevel::Amounts> rare_columns_;  // what Freed points to of rare resources
  // None, and no places, if not all amounts can be compared.
  absl::InlinedVector<Need, 4> needs_;
  bool needs_pods_ = false;
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_PRUNING_BOUND_CALCULATOR_H_
