// SPDX-License-Identifier: Apache-2.0
// The annotation of a DeviceClass that says what its devices count as.
#ifndef BERTH_API_GPU_MILLI_H_
#define BERTH_API_GPU_MILLI_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace berth {

// What the line `gpu` of a quota counts a device of the class as, in thousandths of a GPU.
inline constexpr absl::string_view kGpuMilliOfClass = "scheduling.berth.dev/gpu-milli";

// What it says: "143". Error: what is wrong with it, which is then as if it were not there.
absl::StatusOr<int64_t> ParseGpuMilli(absl::string_view text);

}  // namespace berth

#endif  // BERTH_API_GPU_MILLI_H_
