// SPDX-License-Identifier: Apache-2.0
// ResourceFilter: a Filter plugin that compares what a pod requests with what is left of a node,
// and says so, so that preemption knows without a try where evicting pods cannot make room.
#ifndef BERTH_INCREMENTAL_RESOURCE_FILTER_H_
#define BERTH_INCREMENTAL_RESOURCE_FILTER_H_

#include <cstdint>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "berth/api/resources.h"
#include "berth/api/symbol.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/pod_info.h"

namespace berth {

// What a pod needs of a node besides a place for one more pod (NodeTable::allowed_pods()).
struct NeededResources {
  // So much of each must be left, of what is allocatable, beside the requests of the node's pods:
  // NodeTable::allocatable() - requested(), in the same units.
  using Requests = absl::InlinedVector<std::pair<ResourceId, int64_t>, 4>;
  Requests requests;
  // False if Filter() looks at more than that on some nodes. Then it is called.
  bool is_all = true;
  friend bool operator==(const NeededResources&, const NeededResources&) = default;
};

class ResourceFilter {
 public:
  virtual ~ResourceFilter() = default;

  // What Filter() needs in this cycle: it rejects every node without such a place or with less of
  // anything, as Unschedulable if pods take it; then its message depends only on what of it is
  // lacking. `state` is as PreFilter left it, which did not say Skip. Scheduling thread.
  virtual NeededResources ResourcesNeededBy(const CycleState& state, const PodInfo& pod) const = 0;
};

}  // namespace berth

#endif  // BERTH_INCREMENTAL_RESOURCE_FILTER_H_
