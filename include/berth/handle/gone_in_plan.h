// SPDX-License-Identifier: Apache-2.0
// Which pods an attempt takes for gone, because it plans to evict them.
#ifndef BERTH_HANDLE_GONE_IN_PLAN_H_
#define BERTH_HANDLE_GONE_IN_PLAN_H_

#include <memory>
#include <vector>

#include "berth/framework/pod_info.h"

namespace berth {

// Handle::Shared<GoneInPlan>(): the engine fills it. Pods that are not on Handle::nodes() only
// because the attempt makes a plan as if they had gone, as a group does, which preempts as a whole:
// what they hold by objects, such as claims, will be free then. Empty mostly. Scheduling thread.
struct GoneInPlan {
  std::vector<std::shared_ptr<const PodInfo>> pods;
};

}  // namespace berth

#endif  // BERTH_HANDLE_GONE_IN_PLAN_H_
