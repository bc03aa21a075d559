// SPDX-License-Identifier: Apache-2.0
// What a quota counts: a resource, GPUs in parts, or pods; on all nodes or on those with a label.
#ifndef BERTH_QUOTA_QUOTA_LINE_H_
#define BERTH_QUOTA_QUOTA_LINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "berth/api/labels.h"
#include "berth/api/quantity.h"
#include "berth/api/resources.h"
#include "berth/api/symbol.h"

namespace berth {

class PodInfo;
struct PodAmounts;

// Behind a class: the devices of it that ResourceClaims ask for, as quotas of Kubernetes spell it.
inline constexpr absl::string_view kDevicesOfClass = ".deviceclass.resource.k8s.io/devices";

// Before the name of an attribute of devices, where else a label of nodes stands.
inline constexpr absl::string_view kAttributeOfDevices = "attribute:";

// A key of min, max and their like: "cpu", "pods", "gpu", "nvidia.com/gpu{zone=a}",
// "gpu{model=H100}", "gpu{attribute:gpu.nvidia.com/architecture=Hopper}".
struct QuotaLine {
  enum class Counts : uint8_t { kResource, kGpu, kPods };

  Counts counts = Counts::kResource;
  ResourceId resource = 0;  // of kResource
  Symbol label;             // empty: on all nodes; "model": any of the labels that name GPU models
  Symbol value;
  // Of a line of GPUs or claimed devices that goes by an attribute: "attribute:NAME=VALUE", which
  // stands among the labels that Covers() is asked with if some device of the node has it.
  Symbol mark;

  // Absent if the text is no line: an empty name, a brace without its other one, a label without a
  // value, an attribute of what is no device.
  static std::optional<QuotaLine> Parse(absl::string_view text);
  std::string ToString() const;

  bool of_some_nodes() const { return !label.empty(); }
  // "gpu.nvidia.com/architecture"; empty for most.
  absl::string_view attribute() const {
    return mark.empty() ? absl::string_view() : label.view().substr(kAttributeOfDevices.size());
  }
  // Whether it counts what runs on a node with these labels.
  bool Covers(const LabelSet& node) const;
  // The amount of a quantity in the line's unit: thousandths of a CPU or GPU, bytes, plain counts.
  int64_t Amount(const Quantity& quantity) const;
  Quantity QuantityOf(int64_t amount) const;
  // What a node with these labels has of it, and can run so many pods; 0 where it does not count.
  int64_t OfNode(const LabelSet& labels, const PodAmounts& allocatable, int64_t allowed_pods) const;
  // Whether nodes say how much there is. Of devices that claims ask for by class, selectors would
  // have to tell: such a line is limited by quotas alone.
  bool has_known_capacity() const;
  // Neither cpu, memory nor ephemeral-storage: what a pod holds of it no other can share.
  bool is_scalar() const {
    return counts != Counts::kPods && (counts == Counts::kGpu || resource > kEphemeralStorage);
  }

  friend bool operator==(const QuotaLine&, const QuotaLine&) = default;
};

// What a pod is charged, whatever the lines are.
struct PodAmounts {
  // max(sum of containers, each init container) + overhead, as scheduler-plugins
  // capacity_scheduling.go computePodResourceRequest: neither sidecars nor pod-level resources.
  ResourceVector resources;
  int64_t gpu_milli = 0;  // whole GPUs of any vendor and parts, in thousandths
  // Of these, what claims that have no devices may do without: where fewer are left.
  int64_t possible_gpu_milli = 0;
  int64_t pods = 1;  // 0: these are amounts beside those of a pod
  // By line with an attribute, what claims that have no devices may get of it: on nodes that have
  // any.
  using OfLines = std::vector<std::pair<QuotaLine, int64_t>>;
  OfLines possible;
  // What claims have of it. Wherever the pod runs.
  OfLines decided;
  // Adds up; stops at the ends of int64.
  void Add(const PodAmounts& other);
  void AddDecided(const QuotaLine& line, int64_t amount);
  void AddPossible(const QuotaLine& line, int64_t amount);
  int64_t DecidedOf(const QuotaLine& line) const;
  // Of Of(), what claims may do without.
  int64_t PossibleOf(const QuotaLine& line) const;

  // In the unit of `line`, on a node that it covers.
  int64_t Of(const QuotaLine& line) const;
};
PodAmounts AmountsOf(const PodInfo& pod);
// Whole GPUs of any vendor among the resources, in thousandths.
int64_t GpuMilliOf(const ResourceVector& resources);

// Amounts by the position of their line in QuotaTree::lines(), by rising position; none is 0.
using LineAmounts = absl::InlinedVector<std::pair<int, int64_t>, 4>;
int64_t AmountOfLine(const LineAmounts& amounts, int line);
// Adds amount by amount; stops at the ends of int64.
void AddAmounts(const LineAmounts& more, LineAmounts& sum);

}  // namespace berth

#endif  // BERTH_QUOTA_QUOTA_LINE_H_
