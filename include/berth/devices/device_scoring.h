// SPDX-License-Identifier: Apache-2.0
// By which rule a claim gets one device rather than another, and one node is better than another.
#ifndef BERTH_DEVICES_DEVICE_SCORING_H_
#define BERTH_DEVICES_DEVICE_SCORING_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace berth {

// The rules below speak of units. Devices of a pool that draw on the same shared counters are one
// unit for each counter set (a GPU that is offered whole and in slices); any other device is a unit
// of its own. What is left of a unit is the mean of what is left of its counters or, if claims
// share the device, of its capacity, each as a part of the whole; of a device that is taken or
// free, 0 or 1.
enum class DeviceScoring : uint8_t {
  // The first devices that fit, in their order; all nodes are alike. As kube-scheduler.
  kFirstFit,
  // The devices, and the node, whose loss makes the fewest later claims impossible. A unit is worth
  // the sizes of those of its devices that can still be had, as a part of all of them; a device
  // that
  // claims share, the square of what is left. To that come the blocks of 2, 4 and 8 units that the
  // idle ones of the pool make up: of n idle units n / k, rounded down, times k, averaged over the
  // k
  // that the pool is large enough for. The size of a device is the mean part that it takes of the
  // counters of its sets.
  kExpectedWaste,
  // Units with the least left afterwards; the node whose pools have the least left.
  kBestFit,
  // Units with the most left afterwards; the node whose pools have the most left.
  kSpread,
};

// "FirstFit", "ExpectedWaste", "BestFit" or "Spread"; any other name is the first.
DeviceScoring DeviceScoringNamed(absl::string_view name);

// One unit in NodeAllocation::score.
inline constexpr int64_t kScoreOfUnit = 1'000'000;

}  // namespace berth

#endif  // BERTH_DEVICES_DEVICE_SCORING_H_
