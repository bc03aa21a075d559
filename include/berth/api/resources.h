// SPDX-License-Identifier: Apache-2.0
// Resource names as small dense ids, and vectors of amounts by id.
#ifndef BERTH_API_RESOURCES_H_
#define BERTH_API_RESOURCES_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "berth/api/quantity.h"

namespace berth {

// A resource name, numbered from 0 in the order in which names appear in the process. Use it as an
// index; nothing that a user sees may follow its order beyond the three below.
// "pods" is not among them: the number of pods on a node is counted on its own.
using ResourceId = int;

inline constexpr ResourceId kCpu = 0;               // amounts in thousandths of a CPU
inline constexpr ResourceId kMemory = 1;            // bytes
inline constexpr ResourceId kEphemeralStorage = 2;  // bytes

// The id of `name`, added when it is new. Threads: any.
ResourceId ResourceIdOf(absl::string_view name);
// The name of an id that ResourceIdOf() returned. Valid until the process ends; takes no lock.
absl::string_view ResourceName(ResourceId id);
// The number of ids given out so far.
int ResourceCount();

// The unit in which amounts of `id` are kept: MilliValue() for cpu, Value() for everything else.
int64_t AmountOf(ResourceId id, const Quantity& quantity);
// The other way, e.g. for messages: 1500 of kCpu is "1500m".
Quantity QuantityOf(ResourceId id, int64_t amount);

// An amount for every resource; those not set are 0. Sums saturate at the ends of int64.
class ResourceVector {
 public:
  ResourceVector() = default;

  int64_t Get(ResourceId id) const {
    return static_cast<size_t>(id) < amounts_.size() ? amounts_[id] : 0;
  }
  void Set(ResourceId id, int64_t amount);
  void Add(ResourceId id, int64_t amount);
  void Add(const ResourceVector& other);
  void Subtract(const ResourceVector& other);
  // Each amount becomes the larger of the two.
  void Max(const ResourceVector& other);

  // One more than the highest id with an amount other than 0; amounts()[id] up to there.
  int size() const { return static_cast<int>(amounts_.size()); }
  const int64_t* data() const { return amounts_.data(); }
  bool IsZero() const { return amounts_.empty(); }

  // Calls visit(ResourceId, int64_t) for every amount other than 0, by rising id.
  template <typename Visitor>
  void ForEach(Visitor visit) const {
    for (int id = 0; id < size(); ++id) {
      if (amounts_[id] != 0) visit(id, amounts_[id]);
    }
  }

  friend bool operator==(const ResourceVector& a, const ResourceVector& b) {
    return a.amounts_ == b.amounts_;
  }
  friend bool operator!=(const ResourceVector& a, const ResourceVector& b) { return !(a == b); }
  template <typename H>
  friend H AbslHashValue(H h, const ResourceVector& v) {
    return H::combine(std::move(h), v.amounts_);
  }
  // "cpu: 1500m, memory: 1Gi", by name.
  std::string ToString() const;
  friend std::ostream& operator<<(std::ostream& out, const ResourceVector& v);

 private:
  void DropTrailingZeros();

  absl::InlinedVector<int64_t, 4> amounts_;  // never ends in a 0, so that == compares values
};

// The "pods" entry of a list of resources is left out of its vector; this is its name.
inline constexpr absl::string_view kPodsResource = "pods";

// The vector of a map<string, api::Quantity> (requests, limits, capacity, allocatable …), and in
// `*pods`, unless null, its entry "pods" (0 without one). Error: InvalidArgument that names the
// resource and what is wrong with its quantity. A template so that this header needs no protobuf.
template <typename QuantityMap>
absl::StatusOr<ResourceVector> ParseResources(const QuantityMap& map, int64_t* pods = nullptr) {
  ResourceVector result;
  if (pods != nullptr) *pods = 0;
  for (const auto& [name, message] : map) {
    absl::StatusOr<Quantity> quantity = Quantity::Parse(message.string());
    if (!quantity.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": ", quantity.status().message()));
    }
    if (name == kPodsResource) {
      if (pods != nullptr) *pods = quantity->Value();
    } else {
      const ResourceId id = ResourceIdOf(name);
      result.Set(id, AmountOf(id, *quantity));
    }
  }
  return result;
}

// kube-scheduler v1.35 pkg/apis/core/v1/helper and pkg/scheduler/util: what kind of name it is.
// Unprefixed, or with a "…kubernetes.io/" prefix.
bool IsNativeResource(absl::string_view name);
// Not native, not "requests.…", and a qualified name: example.com/gpu.
bool IsExtendedResourceName(absl::string_view name);
bool IsHugePageResourceName(absl::string_view name);          // hugepages-2Mi
bool IsAttachableVolumeResourceName(absl::string_view name);  // attachable-volumes-csi-…
bool IsPrefixedNativeResource(absl::string_view name);        // contains "kubernetes.io/"
// Kept per node besides cpu, memory, ephemeral-storage and pods: any of the four above.
bool IsScalarResourceName(absl::string_view name);

}  // namespace berth

#endif  // BERTH_API_RESOURCES_H_
