// SPDX-License-Identifier: Apache-2.0
// What the queue asks about room on nodes.
#ifndef BERTH_SRC_QUEUE_FREE_RESOURCES_VIEW_H_
#define BERTH_SRC_QUEUE_FREE_RESOURCES_VIEW_H_

#include <cstdint>

#include "berth/framework/pod_info.h"

namespace berth {

// An amount of what every pod may request.
struct FreeResources {
  int64_t milli_cpu = 0;
  int64_t memory_bytes = 0;

  bool Has(const FreeResources& needed) const {
    return needed.milli_cpu <= milli_cpu && needed.memory_bytes <= memory_bytes;
  }
};

// As of now. Scheduling thread.
class FreeResourcesView {
 public:
  virtual ~FreeResourcesView() = default;

  // What is free at most on the node for a pod more; less than nothing if no pod may be added.
  virtual FreeResources FreeOn(Symbol node) const = 0;
  // Whether an attempt on the pod must fail unless a node has room for it: no pod could be
  // evicted for it, and nothing but plugins decides. If it was true for some pods of a profile and
  // of a priority, it is for all of these or for none of them.
  virtual bool OnlyFreeResourcesHelp(const PodInfo& pod) = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_FREE_RESOURCES_VIEW_H_
