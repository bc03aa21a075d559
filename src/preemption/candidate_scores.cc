// SPDX-License-Identifier: Apache-2.0
// Which candidate is best. kube-scheduler v1.35 framework/preemption/preemption.go
// pickOneNodeForPreemption, util/utils.go.
#include "preemption/candidate_scores.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "berth/preemption/preemption.h"

namespace berth {
namespace {

using PodPtr = std::shared_ptr<const PodInfo>;

// Pods that are bound but have not started are the youngest.
absl::Time StartTime(const PodInfo& pod) {
  return pod.start_time().value_or(absl::InfiniteFuture());
}

// The earliest start of all victims with the highest priority.
int64_t EarliestStartNanos(const PreemptionCandidate& candidate) {
  int32_t highest = std::numeric_limits<int32_t>::min();
  absl::Time earliest = absl::InfiniteFuture();
  for (const PodPtr& victim : candidate.victims) {
    if (victim->priority() > highest) {
      highest = victim->priority();
      earliest = StartTime(*victim);
    } else if (victim->priority() == highest) {
      earliest = std::min(earliest, StartTime(*victim));
    }
  }
  return absl::ToUnixNanos(earliest);
}

int64_t PrioritySum(const PreemptionCandidate& candidate) {
  int64_t sum = 0;
  for (const PodPtr& victim : candidate.victims) sum += InPrioritySum(victim->priority());
  return sum;
}

}  // namespace

bool MoreImportantPod(const PodInfo& a, const PodInfo& b) {
  if (a.priority() != b.priority()) return a.priority() > b.priority();
  return StartTime(a) < StartTime(b);
}

std::vector<PreemptionRules::CandidateScore> DefaultCandidateScores() {
  std::vector<PreemptionRules::CandidateScore> scores;
  for (size_t i = 0; i < kDefaultScores; ++i) {
    scores.push_back([i](const PreemptionCandidate& c) { return DefaultScoresOf(c)[i]; });
  }
  return scores;
}

int32_t HighestPriority(const VictimUnit& unit) {
  int32_t highest = std::numeric_limits<int32_t>::min();
  for (const PodPtr& pod : unit.pods) highest = std::max(highest, pod->priority());
  return highest;
}

int64_t StartNanos(const PodInfo& pod) {
  const std::optional<absl::Time> start = pod.start_time();
  return start.has_value() ? absl::ToUnixNanos(*start) : std::numeric_limits<int64_t>::max();
}

CandidateScores DefaultScoresOf(const PreemptionCandidate& candidate) {
  return {-int64_t{candidate.pdb_violations}, -int64_t{candidate.victims.front()->priority()},
          -PrioritySum(candidate), -static_cast<int64_t>(candidate.victims.size()),
          EarliestStartNanos(candidate)};
}

std::vector<int> BestOf(absl::Span<const ScoredCandidatePtr> candidates) {
  std::vector<int> best;
  for (int i = 0; i < static_cast<int>(candidates.size()); ++i) {
    if (!best.empty()) {
      const CandidateScores& scores = candidates[i]->scores;
      const CandidateScores& high = candidates[best.front()]->scores;
      if (scores < high) continue;
      if (scores != high) best.clear();
    }
    best.push_back(i);
  }
  return best;
}

}  // namespace berth
