// SPDX-License-Identifier: Apache-2.0
// Implementation of free_capacity.h.
#include "evaluation/free_capacity.h"

#include <algorithm>
#include <limits>

#include "berth/api/resources.h"
#include "simd/vector_clones.h"

namespace berth {

FreeColumn::FreeColumn(const NodeTable& nodes, absl::string_view resource) {
  const bool pods = resource == kPodsResource;
  const ResourceId id = pods ? 0 : ResourceIdOf(resource);
  has_ = (pods ? nodes.allowed_pods() : nodes.allocatable(id)).data();
  used_ = (pods ? nodes.pod_count() : nodes.requested(id)).data();
}

int64_t ClampToInt64(__int128 sum) {
  using Limits = std::numeric_limits<int64_t>;
  return static_cast<int64_t>(std::clamp<__int128>(sum, Limits::min(), Limits::max()));
}

namespace {

int64_t OnlyIf(bool condition, int64_t value) { return value & -static_cast<int64_t>(condition); }

BERTH_VECTOR_CLONES FreeCapacity LookAtAll(FreeColumn column, const uint8_t* rejectors,
                                           NodeRow rows, uint8_t rejector, int64_t needed) {
  // The sum in two halves, neither of which can overflow: amounts are what users write.
  int64_t high = 0, low = 0, most_free = 0;
  for (NodeRow row = 0; row < rows; ++row) {
    const int64_t of_node = column.free(row);
    const int64_t free = OnlyIf(rejectors[row] == rejector, OnlyIf(of_node < needed, of_node));
    high += free >> 32;
    low += free & 0xffffffff;
    most_free = std::max(most_free, free);
  }
  return {.all_free = ClampToInt64(__int128{high} * (int64_t{1} << 32) + low),
          .most_free = most_free};
}

}  // namespace

FreeCapacity MeasureFreeCapacity(const FreeCapacityQuestion& question, const NodeTable& nodes,
                                 const NodeVerdicts& verdicts) {
  return LookAtAll(FreeColumn(nodes, question.resource), verdicts.rejectors().data(),
                   verdicts.rows(), question.rejector, question.needed);
}

}  // namespace berth
