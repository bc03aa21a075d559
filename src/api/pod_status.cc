// SPDX-License-Identifier: Apache-2.0
// Implementation of pod_status.h.
#include "berth/api/pod_status.h"

#include <string>

#include "berth/api/core_v1.pb.h"

namespace berth {

bool HasEnded(const api::PodStatus& status) {
  return status.phase() == "Succeeded" || status.phase() == "Failed";
}

api::PodCondition& SetCondition(absl::string_view type, bool is_true, absl::Time now,
                                api::PodStatus& status) {
  api::PodCondition* condition = nullptr;
  for (api::PodCondition& existing : *status.mutable_conditions()) {
    if (existing.type() == type) condition = &existing;
  }
  if (condition == nullptr) condition = status.add_conditions();
  condition->set_type(std::string(type));
  const char* const truth = is_true ? "True" : "False";
  if (condition->status() != truth) {
    condition->set_status(truth);
    condition->mutable_last_transition_time()->set_seconds(absl::ToUnixSeconds(now));
    condition->mutable_last_transition_time()->clear_nanos();
  }
  condition->clear_reason();
  condition->clear_message();
  return *condition;
}

}  // namespace berth
