// SPDX-License-Identifier: Apache-2.0
// Devices as quotas count them: what ResourceSlices offer, and what ResourceClaims ask for and
// have.
#ifndef BERTH_QUOTA_QUOTA_DEVICES_H_
#define BERTH_QUOTA_QUOTA_DEVICES_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/gpu_milli.h"
#include "berth/api/labels.h"
#include "berth/api/object.h"
#include "berth/api/symbol.h"
#include "berth/devices/device_id.h"
#include "berth/quota/quota_line.h"

namespace berth {

namespace api {
class DeviceClass;
class ResourceClaim;
}  // namespace api

// In thousandths of a GPU, what a device of the class counts as: as kGpuMilliOfClass says; else a
// whole one if its name is that of a GPU driver ("gpu.nvidia.com"), or its extendedResourceName is
// a resource of whole GPUs ("nvidia.com/gpu"); else 0.
int64_t GpuMilliOf(const api::DeviceClass& device_class);

// What the lines of a tree see of slices. Threads: none of its own.
class QuotaDevices {
 public:
  // The slices as they are, each pool's newest generation.
  void Read(absl::Span<const Object* const> slices, absl::Span<const QuotaLine> lines);

  // Whether any line goes by attributes of devices.
  bool has_attribute_lines() const { return !attribute_lines_.empty(); }
  // What QuotaLine::Covers() is asked with: the node's labels and, for each line by attribute, a
  // mark if a device for the node alone has it. Valid until the next call with another node, or
  // Read().
  const LabelSet& LabelsOf(Symbol node, const LabelSet& labels) const;

  // The GPUs that the slices offer to the node alone, in thousandths: devices of GPU drivers; of
  // those that are parts, the counter sets that they are parts of.
  int64_t GpuMilliOn(Symbol node) const;
  // For each line `gpu{attribute:…}` those that have it.
  void AddGpus(Symbol node, PodAmounts& allocatable) const;

  // Adds `count` devices of the class that stand for an extended resource, of which it is not known
  // yet which they are. What counts whole GPUs by its name is in `amounts` as such.
  void AddBehind(ResourceId resource, const api::DeviceClass& device_class, int64_t count,
                 PodAmounts& amounts) const;

  // Adds what the claim asks for, or has. `find_class`: null if there is no class of that name.
  using FindClass = absl::FunctionRef<const api::DeviceClass*(absl::string_view name)>;
  void AddClaim(const api::ResourceClaim& claim, FindClass find_class, PodAmounts& amounts) const;

 private:
  struct OnNode {
    std::vector<Symbol> marks;
    int64_t gpu_milli = 0;
    std::vector<int64_t> gpu_milli_of_line;  // by attribute line
  };
  std::vector<QuotaLine> attribute_lines_;
  absl::flat_hash_map<Symbol, OnNode> nodes_;
  // Devices of some attribute line, and of which.
  absl::flat_hash_map<DeviceId, std::vector<int>> devices_;
  mutable LabelSet labels_;
};

}  // namespace berth

#endif  // BERTH_QUOTA_QUOTA_DEVICES_H_
