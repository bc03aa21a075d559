// SPDX-License-Identifier: Apache-2.0
// DefaultPreemption: the shared search with the rules of priority.
#include "plugins/default_preemption/default_preemption.h"

#include "absl/strings/str_cat.h"

namespace berth {

absl::StatusOr<std::unique_ptr<Plugin>> DefaultPreemption::Create(const PluginArgs& args,
                                                                  Handle& handle) {
  return std::make_unique<DefaultPreemption>(args.As<DefaultPreemptionArgs>(), handle);
}

Status DefaultPreemption::PostFilter(CycleState& state, const PodInfo& pod,
                                     const NodeStatuses& statuses, PostFilterResult& result) {
  Status status = preemption_.Run(rules_, state, pod, statuses, result);
  if (status.ok()) return status;
  return Status::Make(status.code(), {absl::StrCat("preemption: ", status.message())});
}

Status DefaultPreemption::PreEnqueue(const PodInfo& pod) {
  if (!handle_.IsPreempting(pod.uid())) return Status::Success();
  return Status::UnschedulableAndUnresolvable(
      "waiting for the preemption for this pod to be finished");
}

}  // namespace berth
