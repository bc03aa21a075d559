// SPDX-License-Identifier: Apache-2.0
// Implementation of preemption_executor.h.
#include "engine/preemption_executor.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace berth {

PreemptionExecutor::PreemptionExecutor(const SchedulerOptions& options,
                                       std::function<void(std::function<void()>)> post,
                                       const Parts& parts)
    : options_(options),
      cluster_(parts.cluster),
      profiles_(parts.profiles),
      queue_(parts.queue),
      binder_(parts.binder),
      recorder_(parts.recorder),
      failure_handler_(parts.failure_handler),
      metrics_(parts.metrics),
      evictions_(*options.executor, std::move(post), *this) {}

void PreemptionExecutor::Execute(const AttemptResult::Plan& to_do, const std::string& group) {
  const std::shared_ptr<const PodInfo>& preemptor = to_do.pod;
  const PostFilterResult& plan = to_do.result;
  const bool moves = !to_do.move_to.empty();
  const std::string node = plan.nominated_node.value_or("");
  // kube-scheduler v1.35 preemption.go prepareCandidateAsync: where all victims leave already,
  // nothing is done.
  const bool evicts =
      absl::c_any_of(plan.victims, [this](const std::shared_ptr<const PodInfo>& victim) {
        return !victim->deletion_time().has_value() && !cluster_.IsOnlyNominated(*victim);
      });
  if (evicts && !node.empty()) failure_handler_.ClearLowerNominations(*preemptor, node);
  const std::string message =
      absl::StrCat(preemptor->scheduler_name().view(),
                   moves ? ": moving to make room in one piece for a group"
                         : ": preempting to accommodate a higher priority pod");
  std::vector<Evictions::Victim> victims;
  bool takes_places = false;
  for (const auto& victim : plan.victims) {
    if (cluster_.IsOnlyNominated(*victim)) {
      failure_handler_.EndNomination(victim);
      takes_places = true;
      continue;
    }
    RecordedEvent event{.regarding = victim->identity(),
                        .scheduler_name = preemptor->scheduler_name(),
                        .warning = false,
                        .reason = moves ? "Moved" : "Preempted",
                        .action = moves ? "Moving" : "Preempting",
                        .text = absl::StrCat(moves ? "Moved for pod " : "Preempted by pod ",
                                             preemptor->uid(), " on node ", node),
                        .related = preemptor->identity()};
    if (WaitingPod* waiting = binder_.FindWaitingPod(victim->uid()); waiting != nullptr) {
      waiting->Reject(plan.plugin.view(), "preempted");
      recorder_.Record(std::move(event));
      continue;
    }
    if (victim->deletion_time().has_value()) continue;  // on its way out already
    ++evicted_;
    cluster_.AssumeTerminating(*victim->identity(), message, options_.clock->Now());
    // Of a gang that goes whole some may not have been in the way.
    if (!group.empty() && !cluster_.groups().GroupOfPod(victim->uid()).has_value()) {
      awaited_.Add(group, *victim);
    }
    victims.push_back({message, std::move(event)});
  }
  if (victims.empty()) {
    // Perhaps nobody leaves: then no event would have it tried again.
    if (takes_places) queue_.Retry(preemptor->uid(), SchedulingQueue::RetryBackoff::kUnlessIdle);
    return;
  }
  metrics_.EvictionsBegan(preemptor->uid());
  evictions_.Start(*options_.cluster, preemptor, std::move(victims));
}

// One that is not bound yet only loses its placement.
void PreemptionExecutor::EvictGroup(const std::vector<std::shared_ptr<const PodInfo>>& members,
                                    absl::string_view reason, const std::string& why) {
  std::vector<Evictions::Victim> victims;
  for (const auto& pod : members) {
    RecordedEvent event{.regarding = pod->identity(),
                        .scheduler_name = pod->scheduler_name(),
                        .warning = true,
                        .reason = reason,
                        .action = "Evicting",
                        .text = absl::StrCat("Evicted: ", why)};
    if (WaitingPod* waiting = binder_.FindWaitingPod(pod->uid()); waiting != nullptr) {
      waiting->Reject(pod->scheduler_name().view(), why);
      recorder_.Record(std::move(event));
      continue;
    }
    const std::string message = absl::StrCat(pod->scheduler_name().view(), ": ", why);
    ++evicted_;
    cluster_.AssumeTerminating(*pod->identity(), message, options_.clock->Now());
    victims.push_back({message, std::move(event)});
  }
  if (victims.empty()) return;
  const std::shared_ptr<const PodInfo>& first = members.front();
  metrics_.EvictionsBegan(first->uid());
  evictions_.Start(*options_.cluster, first, std::move(victims));
}

void PreemptionExecutor::OnEvictionRefused(absl::string_view victim_uid) {
  --evicted_;
  ++refused_;
  cluster_.ForgetTerminating(victim_uid);
  if (const std::string group = awaited_.Stays(victim_uid); !group.empty()) {
    queue_.RetryGroup(group, SchedulingQueue::RetryBackoff::kUnlessIdle);
  }
  // Its own binding may have failed meanwhile, and it was not queued again since it was to go.
  const std::shared_ptr<const PodInfo> pod = cluster_.FindPod(victim_uid);
  if (pod == nullptr || cluster_.cache().FindPod(victim_uid) != nullptr) return;
  if (pod->deletion_time().has_value() || profiles_.Find(pod->scheduler_name()) == nullptr) return;
  if (!queue_.Contains(victim_uid)) queue_.Add(pod, cluster_.GroupOf(*pod));
}

void PreemptionExecutor::OnEvictionsAnswered(const std::shared_ptr<const PodInfo>& preemptor,
                                             bool all_go) {
  metrics_.EvictionsEnded(preemptor->uid(), all_go);
  if (all_go) return queue_.RecheckGates(preemptor->uid());
  // Of a group: the member that it was planned for may have gone.
  if (const std::optional<std::string> group = cluster_.GroupOf(*preemptor); group.has_value()) {
    queue_.RetryGroup(*group, SchedulingQueue::RetryBackoff::kAlways);
  } else {
    queue_.Retry(preemptor->uid(), SchedulingQueue::RetryBackoff::kAlways);
  }
}

}  // namespace berth
