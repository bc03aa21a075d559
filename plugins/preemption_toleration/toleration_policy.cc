// SPDX-License-Identifier: Apache-2.0
// The annotations and their meaning. scheduler-plugins preemptiontoleration.
#include "plugins/preemption_toleration/toleration_policy.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/scheduling_v1.pb.h"
#include "berth/api/time.h"

namespace berth {
namespace {

constexpr absl::string_view kPrefix = "preemption-toleration.scheduling.x-k8s.io/";

// Sets `value` from the annotation, if there is one.
template <class Integer>
absl::Status ReadAnnotation(const api::PriorityClass& priority_class, absl::string_view name,
                            Integer& value) {
  const auto& annotations = priority_class.metadata().annotations();
  const std::string key = absl::StrCat(kPrefix, name);
  const auto it = annotations.find(key);
  if (it == annotations.end() || absl::SimpleAtoi(it->second, &value)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("PriorityClass ", priority_class.metadata().name(),
                                                 ": annotation ", key, ": \"", it->second,
                                                 "\" is not a whole number"));
}

// When the pod was bound, as far as the cluster says.
std::optional<absl::Time> ScheduledTime(const PodInfo& pod) {
  for (const api::PodCondition& condition : pod.object().status().conditions()) {
    if (condition.type() != "PodScheduled") continue;
    if (condition.status() != "True") return std::nullopt;
    return ToTime(condition.last_transition_time());
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<TolerationPolicy> ParseTolerationPolicy(const api::PriorityClass& priority_class) {
  constexpr int32_t kHighest = std::numeric_limits<int32_t>::max();
  TolerationPolicy policy{std::min(priority_class.value(), kHighest - 1) + 1, 0};
  absl::Status status = ReadAnnotation(priority_class, "minimum-preemptable-priority",
                                       policy.minimum_preemptable_priority);
  status.Update(ReadAnnotation(priority_class, "toleration-seconds", policy.toleration_seconds));
  if (!status.ok()) return status;
  return policy;
}

std::optional<absl::Time> ExemptUntil(const TolerationPolicy& policy, const PodInfo& victim,
                                      const PodInfo& preemptor) {
  if (preemptor.priority() >= policy.minimum_preemptable_priority) return std::nullopt;
  if (policy.toleration_seconds < 0) return std::nullopt;
  const std::optional<absl::Time> scheduled = ScheduledTime(victim);
  if (!scheduled.has_value()) return std::nullopt;
  return *scheduled + absl::Seconds(policy.toleration_seconds);
}

bool Exempts(const TolerationPolicy& policy, const PodInfo& victim, const PodInfo& preemptor,
             absl::Time now) {
  if (preemptor.priority() >= policy.minimum_preemptable_priority) return false;
  const std::optional<absl::Time> end = ExemptUntil(policy, victim, preemptor);
  return !end.has_value() || *end > now;
}

}  // namespace berth
