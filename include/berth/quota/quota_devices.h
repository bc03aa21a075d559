// SPDX-License-Identifier: Apache-2.0
// Devices as quotas count them: what ResourceSlices offer, and what ResourceClaims ask for and
// have.
#ifndef BERTH_QUOTA_QUOTA_DEVICES_H_
#define BERTH_QUOTA_QUOTA_DEVICES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/gpu_milli.h"
#include "berth/api/labels.h"
#include "berth/api/object.h"
#include "berth/api/symbol.h"
#include "berth/devices/device_id.h"
#include "berth/devices/device_selectors.h"
#include "berth/quota/quota_line.h"

namespace berth {

namespace api {
class DeviceClass;
class DeviceRequest;
class ResourceClaim;
}  // namespace api

// In thousandths of a GPU, what a device of the class counts as: as kGpuMilliOfClass says; else a
// whole one if its name is that of a GPU driver ("gpu.nvidia.com"), or its extendedResourceName is
// a resource of whole GPUs ("nvidia.com/gpu"); else 0.
int64_t GpuMilliOf(const api::DeviceClass& device_class);

// What the lines of a tree see of slices. Threads: none of its own.
class QuotaDevices {
 public:
  // In what lines see slices differ from those before. What nobody has asked about since, as other
  // selectors, may differ as well.
  struct Difference {
    bool any = false;
    bool in_selected = false;               // what selectors match that were asked about
    absl::flat_hash_set<DeviceId> devices;  // of which other lines see the attribute now
    absl::flat_hash_set<Symbol> nodes;      // that alone have such devices, or had
  };

  // The slices as they are, each pool's newest generation. Looks only at slices that it has not
  // read before. With other lines than before what it returns says nothing.
  Difference Read(absl::Span<const Object* const> slices, absl::Span<const QuotaLine> lines);

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
  // yet which they are: by attribute those that the selectors of the class match. What counts whole
  // GPUs by its name is in `amounts` as such.
  void AddBehind(ResourceId resource, const api::DeviceClass& device_class, int64_t count,
                 PodAmounts& amounts) const;

  // Adds what the claim asks for, or has. By attribute a claim without devices has what a request
  // asks for if its selectors and those of its class match devices with the attribute alone. If
  // they match others as well, so much is possible, at most what one node has of them; of those
  // that are for no node alone, all together. Of a prioritised list, alternatives do not count that
  // no node could give, unless that is all of them; nor does All for more than one node has.
  // `find_class`: null if there is no class of that name.
  using FindClass = absl::FunctionRef<const api::DeviceClass*(absl::string_view name)>;
  void AddClaim(const api::ResourceClaim& claim, FindClass find_class, PodAmounts& amounts) const;
  // What a device that a request for the class has is charged on the line, by the device alone:
  // whether a node is covered is left to QuotaLine::Covers().
  int64_t ChargeOf(const DeviceId& device, const api::DeviceClass& device_class,
                   const QuotaLine& line) const;
  // Whether a claim that has no devices may be charged something else once it has: lines go by
  // attributes, or they count GPUs and it asks for one of several amounts.
  bool ChangesWithDevices(const api::ResourceClaim& claim) const;

 private:
  struct OnNode {
    std::vector<Symbol> marks;
    int64_t gpu_milli = 0;
    std::vector<int64_t> gpu_milli_of_line;  // by attribute line
  };
  // What selectors match of the devices with the attribute of a line.
  struct OfLine {
    int64_t most = 0;         // on one node
    bool has_others = false;  // they match devices without it, too
  };
  // What selectors match.
  struct Selected {
    std::vector<OfLine> of_lines;  // by attribute line
    // Of all devices, for one node: the most, and the fewest where there are any.
    int64_t most = 0, fewest = 0;
    bool any_is_shared = false;  // some may be given several times
  };
  // Valid until it is called again.
  const Selected& SelectedBy(const std::vector<std::string>& expressions) const;
  void ForgetSelected();
  // Devices that are asked for.
  struct Wanted {
    int64_t count;
    bool all;           // or all that match, if that is less
    int64_t gpu_milli;  // each
  };
  // Adds what is taken, or may be, of lines with an attribute by devices of the class that the
  // expressions select.
  void AddSelected(const api::DeviceClass& device_class,
                   const std::vector<std::string>& expressions, const Wanted& wanted,
                   PodAmounts& amounts) const;
  // The GPUs among them.
  void AddSelectedGpus(const std::vector<std::string>& expressions, const Wanted& wanted,
                       PodAmounts& amounts) const;
  // Whether some node has as many, in use or not.
  bool MayBeGiven(const std::vector<std::string>& expressions, const Wanted& wanted) const;
  void AddRequest(const api::DeviceRequest& request, FindClass find_class,
                  PodAmounts& amounts) const;

  // What lines see of one slice.
  struct Slice;
  using SlicePtr = std::shared_ptr<const Slice>;
  SlicePtr See(const Object& slice) const;
  // Of the slices in the first list and not in the second one, or the reverse.
  Difference DifferenceOf(absl::Span<const SlicePtr> before, absl::Span<const SlicePtr> now) const;
  void Sum();  // nodes_ and devices_

  std::vector<QuotaLine> attribute_lines_;
  bool counts_gpus_ = false;  // some line does
  bool looks_at_devices() const { return counts_gpus_ || !attribute_lines_.empty(); }
  absl::flat_hash_map<DeviceSelectors::SlicePtr, SlicePtr> seen_;
  std::vector<SlicePtr> slices_;  // those of each pool's newest generation
  absl::flat_hash_map<Symbol, OnNode> nodes_;
  std::shared_ptr<DeviceSelectors> selectors_;
  mutable std::map<std::vector<std::string>, Selected> selected_;  // by expressions
  mutable bool has_forgotten_ = false;  // some that were asked about since slices changed for them
  // Devices of some attribute line, and of which.
  absl::flat_hash_map<DeviceId, std::vector<int>> devices_;
  mutable LabelSet labels_;
};

}  // namespace berth

#endif  // BERTH_QUOTA_QUOTA_DEVICES_H_
