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
#include "berth/incremental/resource_filter.h"
#include "framework/nominated_rows.h"

namespace berth {

// What a pod needs, and what of it nominated pods may take, in columns: for most nodes it says what
// a ResourceFilter says.
class CapacityBesideNominated {
 public:
  static constexpr size_t kMostNeeds = 30;

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
    if (allowed_pods_[row] <= 0) return 0;
    uint32_t shortage = pod_count_[row] + static_cast<int64_t>(pods) >= allowed_pods_[row];
    uint32_t bit = 1;
    for (const Need& need : needs_) {
      bit <<= 1;
      shortage |= ShortageOf(need, row, requests.Get(need.resource), bit);
    }
    return (shortage & kUntold) != 0 ? 0 : shortage;
  }
  // The same of each of `rows`, in order, which `nominated` contains, beside all that are
  // nominated.
  void ShortagesOf(absl::Span<const NodeRow> rows, const NominatedRows& nominated,
                   absl::Span<uint32_t> shortages) const;

 private:
  static constexpr uint32_t kUntold = uint32_t{1} << 31;
  // Sums of amounts that have none of these bits cannot overflow.
  static constexpr int64_t kOverflowBits = ~((int64_t{1} << 56) - 1);

  struct Need {
    ResourceId resource;
    int64_t amount;
    const int64_t* allocatable;
    const int64_t* requested;
  };

  void ShortagesOfBlock(absl::Span<const NodeRow> rows, const NominatedRows& nominated,
                        absl::Span<uint32_t> shortages) const;
  // `bit` if there is too little, 0 if not, kUntold if that does not tell.
  static uint32_t ShortageOf(const Need& need, NodeRow row, int64_t taken, uint32_t bit) {
    const int64_t has = need.allocatable[row];
    const int64_t used = need.requested[row];
    const bool tells = CannotOverflow(need.amount | has | used | taken) && need.amount <= has;
    // Unsigned, as a sum that does not tell may overflow.
    const uint64_t wanted = Unsigned(used) + Unsigned(taken) + Unsigned(need.amount);
    const uint32_t shortage = wanted > Unsigned(has) ? bit : 0;
    return tells ? shortage : kUntold;
  }

  static uint64_t Unsigned(int64_t amount) { return static_cast<uint64_t>(amount); }
  static bool CannotOverflow(int64_t amount) { return (amount & kOverflowBits) == 0; }

  absl::InlinedVector<Need, 4> needs_;
  const int64_t* pod_count_;
  const int64_t* allowed_pods_;
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_CAPACITY_BESIDE_NOMINATED_H_
