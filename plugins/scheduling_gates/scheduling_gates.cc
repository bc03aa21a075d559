// SPDX-License-Identifier: Apache-2.0
// The rule of SchedulingGates and the event that ends the wait.
#include "plugins/scheduling_gates/scheduling_gates.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace berth {

absl::StatusOr<std::unique_ptr<Plugin>> SchedulingGates::Create(const PluginArgs&, Handle&) {
  return std::make_unique<SchedulingGates>();
}

Status SchedulingGates::PreEnqueue(const PodInfo& pod) {
  if (pod.scheduling_gates().empty()) return Status::Success();
  return Status::UnschedulableAndUnresolvable(absl::StrCat(
      "waiting for scheduling gates: [", absl::StrJoin(pod.scheduling_gates(), " "), "]"));
}

std::vector<ClusterEventWithHint> SchedulingGates::EventsToRegister() const {
  return {{{EventResource::Pod(), action::kUpdatePodSchedulingGatesEliminated},
           [](const PodInfo& pod, const ObjectChange& change) -> absl::StatusOr<QueueingHint> {
             return QueueIf(change.new_pod->uid() == pod.uid());
           }}};
}

}  // namespace berth
