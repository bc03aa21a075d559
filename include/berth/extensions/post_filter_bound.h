// SPDX-License-Identifier: Apache-2.0
// A cheap answer to whether a PostFilter plugin can do anything for a pod.
#ifndef BERTH_EXTENSIONS_POST_FILTER_BOUND_H_
#define BERTH_EXTENSIONS_POST_FILTER_BOUND_H_

#include "berth/framework/pod_info.h"

namespace berth {

// Optional, implemented by a PostFilter plugin beside PostFilter. A plan for a group takes many
// cycles: none is begun if each PostFilter plugin of the profile says that it can do nothing for
// any of its pods. A plugin without it is always asked.
class PostFilterBound {
 public:
  virtual ~PostFilterBound() = default;

  // False only if PostFilter would find no victim for `pod`, and do nothing else for it, on
  // whatever node and whatever its group's other pods do. Once it was false for several pods of a
  // priority, it may become true only for all of them at once: one then answers for all.
  // Scheduling thread.
  virtual bool MayHelp(const PodInfo& pod) = 0;

  // Whether all that PostFilter could free for `pod` is what pods of a lower priority take. Then
  // sums say beforehand if that is too little for a group.
  virtual bool FreesLowerPriorityOnly(const PodInfo& pod) {
    (void)pod;
    return false;
  }
};

}  // namespace berth

#endif  // BERTH_EXTENSIONS_POST_FILTER_BOUND_H_
