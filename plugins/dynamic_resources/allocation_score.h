// SPDX-License-Identifier: Apache-2.0
// How good a node is for what its devices give the claims of a pod.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_ALLOCATION_SCORE_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_ALLOCATION_SCORE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "berth/devices/device_allocator.h"

namespace berth {

// The score of an allocation, by alternative: for each prioritised list 8 less the place in it. As
// kube-scheduler v1.35 computeScore, but for claims to allocate only: upstream takes their
// allocations for those of the pod's first claims, and fails if there are fewer. With a `scoring`
// the score of the devices decides between nodes that have the same.
int64_t ScoreOfAllocation(const NodeAllocation& allocation,
                          absl::Span<const ClaimToAllocate> claims, DeviceScoring scoring);

// Whether nodes on which the claims get devices can have different scores.
bool CanScoresDiffer(absl::Span<const ClaimToAllocate> claims, DeviceScoring scoring);

// Brings them to 0..100. With a `scoring`: if all give the same of the lists, from the lowest to
// the highest; else an equal part of the range to each place in the lists, in which the score of
// the devices, held to 8 units around 0, decides.
void NormalizeAllocationScores(DeviceScoring scoring, absl::Span<int64_t> scores);

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_ALLOCATION_SCORE_H_
