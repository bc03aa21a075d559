// SPDX-License-Identifier: Apache-2.0
// Implementation of failure_handler.h.
#include "engine/failure_handler.h"

namespace berth {

void FailureHandler::Handle(PodFailure& failure) {
  UpdateNomination(failure);
  recorder_.Failed(failure);
}

void FailureHandler::UpdateNomination(PodFailure& failure) {
  if (!failure.nominated_node.has_value()) return;
  const PodInfo& pod = *failure.pod;
  const std::string had = cluster_.nominations().NominatedNode(pod);
  if (failure.nominated_node->empty() && pod.nominated_node_name().empty() && had.empty()) {
    failure.nominated_node.reset();
    return;
  }
  cluster_.nominations().Nominate(failure.pod, *failure.nominated_node);
  if (!had.empty() && had != *failure.nominated_node) RequeuePodsBlockedByNomination(failure.pod);
}

// kube-scheduler v1.35 eventhandlers.go updatePodInSchedulingQueue: as if it had run there. Not for
// its group: an attempt that nominates one member elsewhere has tried the others, and would have
// them tried again for ever.
void FailureHandler::RequeuePodsBlockedByNomination(const std::shared_ptr<const PodInfo>& pod) {
  queue_.MoveAllOnEvent({EventResource::AssignedPod(), action::kDelete, "AssignedPodDelete"},
                        {.old_pod = pod},
                        {.highest_priority = pod->priority(),
                         .own = false,
                         .except_group = cluster_.GroupOf(*pod).value_or("")});
}

// A copy, for those who end nominations.
std::vector<std::shared_ptr<const PodInfo>> FailureHandler::PodsNominatedTo(
    Symbol node_name) const {
  const auto pods = cluster_.nominations().NominatedPods(node_name);
  return {pods.begin(), pods.end()};
}

void FailureHandler::EndNominations(Symbol node_name) {
  for (const auto& nominated : PodsNominatedTo(node_name)) {
    EndNomination(nominated);
    queue_.Retry(nominated->uid(), SchedulingQueue::RetryBackoff::kUnlessIdle);
  }
}

void FailureHandler::ClearLowerNominations(const PodInfo& pod, const std::string& node_name) {
  for (const auto& nominated : PodsNominatedTo(Symbol::Intern(node_name))) {
    if (nominated->priority() >= pod.priority() || nominated->uid() == pod.uid()) continue;
    EndNomination(nominated);
  }
}

// A stand-in for a pod that is moved (MovedPods) is no pod of the cluster.
void FailureHandler::EndNomination(const std::shared_ptr<const PodInfo>& pod) {
  cluster_.nominations().Nominate(pod, "");
  if (cluster_.FindPod(*pod->identity()) != nullptr) recorder_.PatchNomination(*pod, "");
}

}  // namespace berth
