// SPDX-License-Identifier: Apache-2.0
// The annotations by which pods ask for GPUs; docs/gpu.md has what they mean.
#ifndef BERTH_GPU_REQUEST_MARKS_H_
#define BERTH_GPU_REQUEST_MARKS_H_

#include "absl/strings/string_view.h"

namespace berth {

// gpu-share.
inline constexpr absl::string_view kGpuMilliAnnotation = "alibabacloud.com/gpu-milli";
inline constexpr absl::string_view kGpuCountAnnotation = "alibabacloud.com/gpu-count";
// KAI.
inline constexpr absl::string_view kGpuFractionAnnotation = "gpu-fraction";
inline constexpr absl::string_view kGpuMemoryAnnotation = "gpu-memory";

// Each of them alone asks for GPUs.
inline constexpr absl::string_view kGpuRequestMarks[] = {
    kGpuMilliAnnotation, kGpuCountAnnotation, kGpuFractionAnnotation, kGpuMemoryAnnotation};
// The plugin that reads them.
inline constexpr absl::string_view kGpuRequestReader = "GpuDevices";

}  // namespace berth

#endif  // BERTH_GPU_REQUEST_MARKS_H_
