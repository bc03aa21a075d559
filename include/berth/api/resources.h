// SPDX-License-Identifier: Apache-2.0
// Resource names as small ids, and vectors of amounts by id.
#ifndef BERTH_API_RESOURCES_H_
#define BERTH_API_RESOURCES_H_

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "berth/api/quantity.h"

namespace berth {

// A resource name, numbered from 0 in the order in which names appear in the process. Nothing that
// a user sees may follow its order beyond the three below.
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

// The resources with a lower id are the common ones: amounts of them lie by their ids, of all
// others by what there is. A cluster may have a resource of its own for each node.
inline constexpr ResourceId kCommonResources = 16;

// An amount for every resource; those not set are 0. Sums saturate at the ends of int64.
class ResourceVector {
 public:
  // The amounts of resources that are not common: by rising id, none is 0.
  using Rare = absl::InlinedVector<std::pair<ResourceId, int64_t>, 1>;

  ResourceVector() = default;

  int64_t Get(ResourceId id) const {
    if (static_cast<size_t>(id) < common_.size()) return common_[id];
    return rare_.empty() ? 0 : GetRare(id);
  }
  void Set(ResourceId id, int64_t amount);
  void Add(ResourceId id, int64_t amount);
  void Add(const ResourceVector& other);
  void Subtract(const ResourceVector& other);
  // Each amount becomes the larger of the two.
  void Max(const ResourceVector& other);

  // One more than the highest id of a common resource with an amount other than 0.
  int common_size() const { return static_cast<int>(common_.size()); }
  const Rare& rare() const { return rare_; }
  bool IsZero() const { return common_.empty() && rare_.empty(); }

  // Calls visit(ResourceId, int64_t) for every amount other than 0, by rising id.
  template <typename Visitor>
  void ForEach(Visitor visit) const {
    for (int id = 0; id < common_size(); ++id) {
      if (common_[id] != 0) visit(id, common_[id]);
    }
    for (const auto& [id, amount] : rare_) visit(id, amount);
  }

  friend bool operator==(const ResourceVector& a, const ResourceVector& b) {
    return a.common_ == b.common_ && a.rare_ == b.rare_;
  }
  friend bool operator!=(const ResourceVector& a, const ResourceVector& b) { return !(a == b); }
  template <typename H>
  friend H AbslHashValue(H h, const ResourceVector& v) {
    return H::combine(std::move(h), v.common_, v.rare_);
  }
  // "cpu: 1500m, memory: 1Gi", by name.
  std::string ToString() const;
  friend std::ostream& operator<<(std::ostream& out, const ResourceVector& v);

 private:
  int64_t GetRare(ResourceId id) const;
  void SetRare(ResourceId id, int64_t amount);
  template <class Combine>  // int64_t(int64_t mine, int64_t other)
  void CombineWith(const ResourceVector& other, Combine combine);
  void DropTrailingZeros();

  absl::InlinedVector<int64_t, 4> common_;  // never ends in a 0, so that == compares values
  Rare rare_;
};

// The "pods" entry of a list of resources is left out of its vector; this is its name.
inline constexpr absl::string_view kPodsResource = "pods";

// The vector of a map<string, api::Quantity> (requests, limits, capacity, allocatable …), and in
// `*pods`, unless null, its entry "pods" (0 without one). Error: InvalidArgument that names the
// resource and what is wrong with its quantity. A template so that this header needs no protobuf.
template <typename QuantityMap>
absl::StatusOr<ResourceVector> ParseResources(const QuantityMap& map, int64_t* pods = nullptr) {
  absl::InlinedVector<std::pair<ResourceId, int64_t>, 8> amounts;
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
      amounts.emplace_back(id, AmountOf(id, *quantity));
    }
  }
  std::sort(amounts.begin(), amounts.end());
  ResourceVector result;
  for (const auto& [id, amount] : amounts) result.Set(id, amount);
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
