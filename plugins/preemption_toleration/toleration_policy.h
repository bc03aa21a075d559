// SPDX-License-Identifier: Apache-2.0
// How long, and by which preemptors, pods of a PriorityClass are not preempted: two annotations.
#ifndef BERTH_PLUGINS_PREEMPTION_TOLERATION_TOLERATION_POLICY_H_
#define BERTH_PLUGINS_PREEMPTION_TOLERATION_TOLERATION_POLICY_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "berth/api/kinds.h"
#include "berth/framework/pod_info.h"

namespace berth {

struct TolerationPolicy {
  // Pods of this priority or more preempt at once.
  int32_t minimum_preemptable_priority = 0;
  // Others only this long after the victim was scheduled; never if negative.
  int64_t toleration_seconds = 0;
};

// From the annotations preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority (the
// class's value + 1 if absent) and /toleration-seconds (0). InvalidArgument if one is no number.
absl::StatusOr<TolerationPolicy> ParseTolerationPolicy(const api::PriorityClass& priority_class);

// Until when `policy`, of the victim's class, saves `victim` from `preemptor`; absent if the time
// does not matter.
std::optional<absl::Time> ExemptUntil(const TolerationPolicy& policy, const PodInfo& victim,
                                      const PodInfo& preemptor);

// Whether `policy`, of the victim's class, saves `victim` from `preemptor`.
bool Exempts(const TolerationPolicy& policy, const PodInfo& victim, const PodInfo& preemptor,
             absl::Time now);

}  // namespace berth

#endif  // BERTH_PLUGINS_PREEMPTION_TOLERATION_TOLERATION_POLICY_H_
