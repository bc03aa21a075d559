// SPDX-License-Identifier: Apache-2.0
// Selectors of devices in the Common Expression Language, as in DeviceClass and ResourceClaim.
#ifndef BERTH_SRC_CEL_DEVICE_SELECTOR_H_
#define BERTH_SRC_CEL_DEVICE_SELECTOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cel/device.h"
#include "cel/paths_read.h"

namespace berth::cel {

class Program;

// A compiled selector, as kube-scheduler v1.35 dynamic-resource-allocation/cel compiles it for
// stored objects. Immutable and cheap to copy; any thread may call Matches.
class DeviceSelector {
 public:
  // Error: InvalidArgument with the text that kube-scheduler puts after "CEL compile error: ".
  static absl::StatusOr<DeviceSelector> Compile(absl::string_view expression);

  // Whether `device` matches. An error has the text that follows "CEL runtime error: ". If `cost`
  // is not null, it gets what the evaluation cost.
  absl::StatusOr<bool> Matches(const Device& device, uint64_t* cost = nullptr) const;

  // What Matches() may depend on: {"driver"}, {"attributes", "domain", "name"}, ..., shorter where
  // the rest is not constant. And on Device::status().
  const std::vector<PathRead>& paths_read() const;

 private:
  explicit DeviceSelector(std::shared_ptr<const Program> program);

  std::shared_ptr<const Program> program_;
};

// resource.k8s.io CELSelectorExpressionMaxLength, in bytes.
inline constexpr size_t kLongestSelector = 10 * 1024;

// resource.k8s.io CELSelectorExpressionMaxCost: of an evaluation, and of what it is estimated to
// cost at most.
inline constexpr uint64_t kSelectorCostLimit = 1'000'000;

// What `expression` may cost at most, as an API server estimates it. Error: as Compile().
absl::StatusOr<uint64_t> EstimateSelectorCost(absl::string_view expression);

// Whether `expression` is at most 10 KiB long, compiles, and does not use
// `device.allowMultipleAllocations`, which belongs to a feature that is off: what an API server
// asks besides a low estimate of its cost. Error: InvalidArgument.
absl::Status ValidateSelector(absl::string_view expression);

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_DEVICE_SELECTOR_H_
