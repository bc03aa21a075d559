// SPDX-License-Identifier: Apache-2.0
// Which devices of slices selectors match, wherever they are.
#ifndef BERTH_DEVICES_DEVICE_SELECTORS_H_
#define BERTH_DEVICES_DEVICE_SELECTORS_H_

#include <memory>
#include <string>

#include "absl/types/span.h"

namespace berth {

namespace api {
class ResourceSlice;
}  // namespace api

// Evaluates a selector once for each device, as long as its slice is kept and not too many others
// are asked about. Threads: none of its own.
class DeviceSelectors {
 public:
  using SlicePtr = std::shared_ptr<const api::ResourceSlice>;

  DeviceSelectors();
  ~DeviceSelectors();

  // Forgets all slices but these.
  void Keep(absl::Span<const SlicePtr> slices);
  // Whether all of the CEL expressions match the device, by its position in the slice. One that
  // does not compile, or that fails for the device, does not match it.
  bool AllMatch(const SlicePtr& slice, int device, absl::Span<const std::string> expressions);

 private:
  class Index;
  const std::unique_ptr<Index> index_;
};

}  // namespace berth

#endif  // BERTH_DEVICES_DEVICE_SELECTORS_H_
