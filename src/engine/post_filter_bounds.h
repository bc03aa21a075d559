// SPDX-License-Identifier: Apache-2.0
// Whether PostFilter can come to anything for pods.
#ifndef BERTH_SRC_ENGINE_POST_FILTER_BOUNDS_H_
#define BERTH_SRC_ENGINE_POST_FILTER_BOUNDS_H_

#include <vector>

#include "berth/extensions/post_filter_bound.h"
#include "berth/framework/pod_info.h"
#include "framework/framework.h"

namespace berth {

// What the PostFilter plugins of a profile say (PostFilterBound).
class PostFilterBounds {
 public:
  // `framework` outlives this.
  explicit PostFilterBounds(const Framework& framework);

  // Whether one of them might do something for the pod. The node table is up to date.
  bool MayAnyHelp(const PodInfo& pod) const;
  // Whether nothing of what they might do for the pod frees more than pods of a lower priority and
  // their groups take.
  bool FreeLowerPriorityOnly(const PodInfo& pod) const;

 private:
  bool MayHelp(const Hook<PostFilterBound>& hook, const PodInfo& pod) const;

  const Framework& framework_;
  bool all_have_one_ = true;
  std::vector<Hook<PostFilterBound>> bounds_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_POST_FILTER_BOUNDS_H_
