// SPDX-License-Identifier: Apache-2.0
// Implementation of group_preemptions.h.
#include "engine/group_preemptions.h"

#include <utility>

namespace berth {

void GroupPreemptions::Nominate(const std::shared_ptr<const PodInfo>& pod,
                                absl::string_view node_name) {
  std::string before = cluster_.nominations().NominatedNode(*pod);
  if (before == node_name) return;
  cluster_.nominations().Nominate(pod, node_name);
  nominations_.push_back({pod, std::move(before)});
}

void GroupPreemptions::Preempt(const std::shared_ptr<const PodInfo>& preemptor,
                               const PostFilterResult& plan, absl::Time now) {
  if (plan.nominated_node.has_value() && !plan.nominated_node->empty()) {
    const Symbol node_name = Symbol::Intern(*plan.nominated_node);
    const auto nominated = cluster_.nominations().NominatedPods(node_name);
    const std::vector<std::shared_ptr<const PodInfo>> pods(nominated.begin(), nominated.end());
    for (const auto& pod : pods) {
      if (pod->priority() < preemptor->priority()) Nominate(pod, "");
    }
  }
  for (const auto& victim : plan.victims) {
    const std::shared_ptr<const PodInfo> pod = cluster_.FindPod(*victim->identity());
    if (pod == nullptr || pod->deletion_time().has_value()) continue;  // expected to leave already
    cluster_.AssumeTerminating(*pod->identity(), "", now);
    terminating_.push_back(pod);
  }
  if (plan.nominated_node.has_value()) Nominate(preemptor, *plan.nominated_node);
  cluster_.Refresh();
}

void GroupPreemptions::RollBack() {
  if (terminating_.empty() && nominations_.empty()) return;
  for (; !terminating_.empty(); terminating_.pop_back()) {
    cluster_.ForgetTerminating(*terminating_.back()->identity());
  }
  for (; !nominations_.empty(); nominations_.pop_back()) {
    cluster_.nominations().Nominate(nominations_.back().pod, nominations_.back().node_name);
  }
  cluster_.Refresh();
}

}  // namespace berth
