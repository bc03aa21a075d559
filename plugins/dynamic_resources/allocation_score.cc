// SPDX-License-Identifier: Apache-2.0
// Implementation of allocation_score.h.
#include "plugins/dynamic_resources/allocation_score.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "berth/framework/score.h"

namespace berth {
namespace {

// resource.k8s.io FirstAvailableDeviceRequestMaxSize.
constexpr int kLongestList = 8;

// A score by `scoring`: the place in the lists times kStep, and the score of the devices around the
// middle of a step.
constexpr int64_t kStep = int64_t{1} << 44;
constexpr int64_t kMiddle = kStep / 2;
constexpr int64_t kMostUnits = 8;

int64_t InLists(int64_t score) { return score / kStep; }
int64_t OfDevices(int64_t score) { return score % kStep - kMiddle; }

int64_t ScoreInLists(const NodeAllocation& allocation, absl::Span<const ClaimToAllocate> claims) {
  int64_t score = 0;
  for (size_t c = 0; c < claims.size(); ++c) {
    const std::vector<ClaimedRequest>& requests = claims[c].requests;
    for (size_t r = 0; r < requests.size(); ++r) {
      if (requests[r].is_list) score += kLongestList - allocation.alternatives[c][r];
    }
  }
  return score;
}

}  // namespace

int64_t ScoreOfAllocation(const NodeAllocation& allocation,
                          absl::Span<const ClaimToAllocate> claims, DeviceScoring scoring) {
  if (allocation.outcome != NodeAllocation::Outcome::kAllocated) return 0;
  const int64_t in_lists = ScoreInLists(allocation, claims);
  if (scoring == DeviceScoring::kFirstFit) return in_lists;
  return in_lists * kStep + kMiddle + std::clamp(allocation.score, -kMiddle, kMiddle - 1);
}

bool CanScoresDiffer(absl::Span<const ClaimToAllocate> claims, DeviceScoring scoring) {
  return scoring != DeviceScoring::kFirstFit ||
         absl::c_any_of(claims, [](const ClaimToAllocate& claim) {
           return absl::c_any_of(claim.requests,
                                 [](const ClaimedRequest& request) { return request.is_list; });
         });
}

void NormalizeAllocationScores(DeviceScoring scoring, absl::Span<int64_t> scores) {
  if (scoring == DeviceScoring::kFirstFit) {
    DefaultNormalizeScores(ScoreDirection::kHigherIsBetter, scores);
    return;
  }
  if (scores.empty()) return;
  const auto [lowest_at, highest_at] = std::minmax_element(scores.begin(), scores.end());
  const int64_t lowest = *lowest_at, highest = *highest_at;
  if (InLists(lowest) == InLists(highest)) {
    for (int64_t& score : scores) {
      score = highest == lowest ? kMaxNodeScore
                                : static_cast<int64_t>(static_cast<double>(score - lowest) /
                                                       static_cast<double>(highest - lowest) *
                                                       static_cast<double>(kMaxNodeScore));
    }
    return;
  }
  constexpr int64_t kRange = 2 * kMostUnits * kScoreOfUnit;
  for (int64_t& score : scores) {
    const int64_t in_range = std::clamp<int64_t>(OfDevices(score) + kRange / 2, 0, kRange);
    score =
        kMaxNodeScore * (InLists(score) * kRange + in_range) / ((InLists(highest) + 1) * kRange);
  }
}

}  // namespace berth
