// SPDX-License-Identifier: Apache-2.0
// What a pod asks of GPUs, in whichever of its neighbours' words.
#ifndef BERTH_PLUGINS_GPU_GPU_REQUEST_H_
#define BERTH_PLUGINS_GPU_GPU_REQUEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "berth/api/resources.h"
#include "berth/api/symbol.h"
#include "berth/framework/pod_info.h"

namespace berth {

// More cards than any node has: what a node or a pod says beyond that is refused.
inline constexpr int64_t kMaxCards = 1024;

inline constexpr int64_t kMilliPerGpu = 1000;

// Where the choice of cards is recorded on the pod: "0-3" are cards 0 and 3. gpu-share's name.
inline constexpr absl::string_view kGpuIndexAnnotation = "alibabacloud.com/gpu-index";
// Koordinator's record: {"gpu":[{"minor":0,"resources":{...}}]}.
inline constexpr absl::string_view kDeviceAllocatedAnnotation =
    "scheduling.koordinator.sh/device-allocated";

// Ways in which cards of a node are close to each other.
enum class GpuGroupKind : uint8_t { kNone, kNuma, kPcie, kNvlink };

// In whose words a pod asks, and so where the cards are recorded.
enum class GpuDialect : uint8_t { kResource, kGpuShare, kKai, kKoordinator };

struct GpuRequest {
  int cards = 0;                             // how many; 0: the pod needs none
  int64_t milli = 0;                         // of each card
  int64_t memory_bytes = 0;                  // of each card; 0: in proportion to milli
  std::vector<Symbol> models;                // allowed ones, the preferred first; empty: any
  GpuGroupKind group = GpuGroupKind::kNone;  // all cards of one group of this kind
  bool group_required = false;               // or else preferred
  GpuDialect dialect = GpuDialect::kResource;
  std::string problem;  // why this cannot be meant; then nothing else counts

  bool whole() const { return milli >= kMilliPerGpu; }
};

// Reads the request. Whole cards are asked for by any of `whole_resources`; shares by annotations
// of gpu-share (alibabacloud.com/gpu-milli and gpu-count) or KAI (gpu-fraction or gpu-memory, and
// gpu-fraction-num-devices), or by Koordinator's resources (koordinator.sh/gpu, gpu-core,
// gpu-memory, gpu-memory-ratio, gpu.shared). docs/gpu.md has the words and what is refused.
GpuRequest ReadGpuRequest(const PodInfo& pod, const std::vector<ResourceId>& whole_resources);

// What a pod that runs holds at least, if its request is nonsense to us and another scheduler
// placed it all the same: the whole cards that it has as resources.
GpuRequest HeldDespiteProblem(const PodInfo& pod, const std::vector<ResourceId>& whole_resources);

}  // namespace berth

#endif  // BERTH_PLUGINS_GPU_GPU_REQUEST_H_
