// The scores that decide between candidates, and what they can be at best.
#ifndef BERTH_SRC_PREEMPTION_SCORES_H_
#define BERTH_SRC_PREEMPTION_SCORES_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "berth/framework/preemption.h"

namespace berth {

// In the order in which they decide: compared as a whole, the greater one wins.
constexpr size_t kDefaultScores = 5;
using CandidateScores = absl::InlinedVector<int64_t, kDefaultScores>;

// When a pod started, in nanoseconds since 1970; the far future if it has not.
int64_t StartNanos(const PodInfo& pod);

// All of DefaultCandidateScores(). The candidate has victims.
CandidateScores DefaultScores(const PreemptionCandidate& candidate);

// The highest that these can be if the victims, whoever they are, have at least that priority and
// started at the latest then: one victim, and no budget violated.
CandidateScores DefaultScoresAtBest(int64_t lowest_priority, int64_t latest_start_nanos);

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_SCORES_H_
