// SPDX-License-Identifier: Apache-2.0
// The scores that decide between candidates.
#ifndef BERTH_SRC_PREEMPTION_CANDIDATE_SCORES_H_
#define BERTH_SRC_PREEMPTION_CANDIDATE_SCORES_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "berth/preemption/preemption.h"

namespace berth {

// In the order in which they decide: compared as a whole, the greater one wins.
constexpr size_t kDefaultScores = 5;
using CandidateScores = absl::InlinedVector<int64_t, kDefaultScores>;

struct ScoredCandidate {
  PreemptionCandidate candidate;
  CandidateScores scores;
};
using ScoredCandidatePtr = std::shared_ptr<const ScoredCandidate>;

// Of the pods of the unit.
int32_t HighestPriority(const VictimUnit& unit);

// When a pod started, in nanoseconds since 1970; the far future if it has not.
int64_t StartNanos(const PodInfo& pod);

// All of DefaultCandidateScores(). The candidate has victims.
CandidateScores DefaultScoresOf(const PreemptionCandidate& candidate);

// The positions of those with the highest scores, the first score first.
std::vector<int> BestOf(absl::Span<const ScoredCandidatePtr> candidates);

// What a victim of that priority adds to the third of these, which is the sum's negative.
// Moved above 0: otherwise few victims of negative priority would lose to many.
inline int64_t InPrioritySum(int64_t priority) {
  return priority + std::numeric_limits<int32_t>::max() + 1;
}

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_CANDIDATE_SCORES_H_
