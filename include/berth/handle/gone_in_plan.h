// SPDX-License-Identifier: Apache-2.0
// Which pods an attempt takes for gone, because it plans to evict them.
#ifndef BERTH_HANDLE_GONE_IN_PLAN_H_
#define BERTH_HANDLE_GONE_IN_PLAN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "berth/framework/pod_info.h"

namespace berth {

// Handle::Shared<GoneInPlan>(): the engine fills it. Scheduling thread.
struct GoneInPlan {
  // Pods that are not on Handle::nodes() only because the attempt makes a plan as if they had gone,
  // as a group does, which preempts as a whole: what they hold by objects, such as claims, will be
  // free then. In the order in which they were taken off. While an AssignmentObserver is called for
  // one that goes or is back, it is one of them. Mostly empty.
  std::vector<std::shared_ptr<const PodInfo>> pods;
  // Of the plan of evictions that a group is making, another one for each; 0: none is made. A plan
  // says where the group will start, so what is on its way back by then counts as free.
  uint64_t number = 0;
  uint64_t plans = 0;  // so far
};

}  // namespace berth

#endif  // BERTH_HANDLE_GONE_IN_PLAN_H_
