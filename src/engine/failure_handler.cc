// SPDX-License-Identifier: Apache-2.0
// Implementation of failure_handler.h.
#include "engine/failure_handler.h"

#include <limits>
#include <utility>

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
  if (!had.empty() && had != *failure.nominated_node) {
    RequeuePodsBlockedByNomination(failure.pod, had);
  }
}

// kube-scheduler v1.35 eventhandlers.go updatePodInSchedulingQueue: as if it had run there. Pods of
// higher priority were not held back by it, unless a plugin has rules of its own. Not for
// its group: an attempt that nominates one member elsewhere has tried the others, and would have
// them tried again for ever. Hints go by what the pod's status says, which may be behind.
void FailureHandler::RequeuePodsBlockedByNomination(const std::shared_ptr<const PodInfo>& pod,
                                                    absl::string_view node_name) {
  const bool is_told = !pod->nominated_node_name().empty();
  const int32_t highest_priority =
      cluster_.HasNominationRules() ? std::numeric_limits<int32_t>::max() : pod->priority();
  queue_.MoveAllOnEvent({EventResource::AssignedPod(), action::kDelete, "AssignedPodDelete"},
                        {.old_pod = is_told ? pod : AsAssigned(*pod, node_name)},
                        {.highest_priority = highest_priority,
                         .own = false,
                         .except_group = cluster_.GroupOf(*pod).value_or("")});
}

// A copy, since its users end nominations.
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

void FailureHandler::EndNominations(const GroupMembers& group) {
  std::vector<std::pair<std::shared_ptr<const PodInfo>, std::string>> nominated;
  for (const GroupMember& member : group.members()) {
    std::string node_name = cluster_.nominations().NominatedNode(*member.pod);
    if (!node_name.empty()) nominated.emplace_back(member.pod, std::move(node_name));
  }
  for (const auto& [pod, node_name] : nominated) EndNomination(pod);
  for (const auto& [pod, node_name] : nominated) RequeuePodsBlockedByNomination(pod, node_name);
}

void FailureHandler::ClearLowerNominations(const PodInfo& pod, const std::string& node_name) {
  for (const auto& nominated : cluster_.NominationsEndedBy(pod, Symbol::Intern(node_name))) {
    EndNomination(nominated);
  }
}

// A stand-in for a pod that is moved (MovedPods) is no pod of the cluster.
void FailureHandler::EndNomination(const std::shared_ptr<const PodInfo>& pod) {
  cluster_.nominations().Nominate(pod, "");
  if (cluster_.FindPod(*pod->identity()) != nullptr) recorder_.PatchNomination(*pod, "");
}

}  // namespace berth
