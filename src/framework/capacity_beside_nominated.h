// SPDX-License-Identifier: Apache-2.0
// What a node lacks for a pod beside the pods that are nominated to it, from columns.
#ifndef BERTH_SRC_FRAMEWORK_CAPACITY_BESIDE_NOMINATED_H_
#define BERTH_SRC_FRAMEWORK_CAPACITY_BESIDE_NOMINATED_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "berth/framework/pod_info.h"

namespace berth {

// What a pod needs, and what of it nominated pods may take, in columns: of most nodes it tells what
// a ResourceFilter says.
class CapacityBesideNominated {
 public:
  static constexpr size_t kMostNeeds = 31;

  CapacityBesideNominated(const NeededResources& needed, const NodeTable& nodes)
      : pod_count_(nodes.pod_count().data()), allowed_pods_(nodes.allowed_pods().data()) {
    for (const auto& [resource, amount] : needed.requests) {
      needs_.push_back(
          {resource, amount, nodes.allocatable(resource).data(), nodes.requested(resource).data()});
    }
  }

  // What the node of `row` is short of beside `pods` nominated ones that request so much, a bit for
  // each thing; 0 if it lacks nothing, would lack it without pods too, or sums do not tell.
  uint32_t ShortageFor(NodeRow row, size_t pods, const ResourceVector& requests) const {
    bool tells = allowed_pods_[row] > 0;
    uint32_t shortage = pod_count_[row] + static_cast<int64_t>(pods) >= allowed_pods_[row];
    uint32_t bit = 1;
    for (const Need& need : needs_) {  // no branch: there is one row after the other
      const int64_t has = need.allocatable[row];
      const int64_t used = need.requested[row];
      const int64_t taken = requests.Get(need.resource);
      const bool is_plain = IsPlain(need.amount | has | used | taken);
      tells &= is_plain & (need.amount <= has);
      bit <<= 1;
      if (!is_plain) return 0;
      shortage |= used + taken + need.amount > has ? bit : 0;
    }
    return tells ? shortage : 0;
  }

 private:
  struct Need {
    ResourceId resource;
    int64_t amount;
    const int64_t* allocatable;
    const int64_t* requested;
  };

  // Whether sums of such amounts cannot overflow.
  static bool IsPlain(int64_t amount) { return (amount & ~((int64_t{1} << 56) - 1)) == 0; }

  absl::InlinedVector<Need, 4> needs_;
  const int64_t* pod_count_;
  const int64_t* allowed_pods_;
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_CAPACITY_BESIDE_NOMINATED_H_
