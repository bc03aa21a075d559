// SPDX-License-Identifier: Apache-2.0
// Implementation of unbound_report.h.
#include "engine/unbound_report.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "engine/rejection_reasons.h"

namespace berth {
namespace {

UnboundPod::State StateOf(QueueState state) {
  switch (state) {
    case QueueState::kActive:
    case QueueState::kInFlight:
      return UnboundPod::State::kActive;
    case QueueState::kBackoff:
    case QueueState::kErrorBackoff:
      return UnboundPod::State::kBackoff;
    case QueueState::kUnschedulable:
      return UnboundPod::State::kUnschedulable;
    case QueueState::kGated:
      return UnboundPod::State::kGated;
  }
  return UnboundPod::State::kActive;
}

// Reasons that say more than "it is in backoff".
bool OutlastsBackoff(WaitingReason reason) {
  return reason == WaitingReason::kPluginError || reason == WaitingReason::kBindingFailed;
}

}  // namespace

// What a pod in the queue waits for at this moment: its last verdict, unless something has happened
// to it since.
WaitingFor UnboundReport::Explain(const PendingReport& report) const {
  const PodInfo& pod = *report.pod;
  const Framework& framework = *profiles_.Find(pod.scheduler_name());
  WaitingFor waiting;
  if (report.state == QueueState::kGated) {
    waiting = *WhyRejected(framework, pod, cluster_.nodes(), report.status);
    if (waiting.reason == WaitingReason::kRejected) waiting.reason = WaitingReason::kGated;
  } else if (report.waiting != nullptr) {
    waiting = *report.waiting;
  }
  if (!report.behind.empty()) {
    waiting = WaitingFor();
    waiting.blocking_pod = report.behind;
  }
  waiting.alone = WhyAlone(framework, pod);
  if (WaitsForVictims(pod, waiting)) return waiting;
  const bool backing_off =
      report.state == QueueState::kBackoff || report.state == QueueState::kErrorBackoff;
  if (backing_off) {
    if (!OutlastsBackoff(waiting.reason)) waiting.reason = WaitingReason::kBackoff;
    waiting.until = report.backoff_end;
    waiting.next_events = {"BackoffComplete"};
  }
  return waiting;
}

// Whether pods on the node that the pod is nominated to are on their way out.
bool UnboundReport::WaitsForVictims(const PodInfo& pod, WaitingFor& waiting) const {
  const std::string nominated = cluster_.nominations().NominatedNode(pod);
  if (nominated.empty()) return false;
  const NodeInfo* node = cluster_.FindNode(Symbol::Intern(nominated));
  if (node == nullptr) return false;
  const auto& pods = node->pods();
  const auto leaving = std::count_if(pods.begin(), pods.end(), [&](const auto& other) {
    return other->deletion_time().has_value() && other->priority() < pod.priority();
  });
  if (leaving == 0) return false;
  waiting.reason = WaitingReason::kWaitingForVictims;
  waiting.node = nominated;
  waiting.victims = static_cast<int>(leaving);
  waiting.next_events = {"AssignedPod/Delete"};
  return true;
}

WaitingFor UnboundReport::Explain(const Binder::Unbound& unbound) const {
  const Framework& framework = *profiles_.Find(unbound.pod->scheduler_name());
  WaitingFor waiting;
  if (unbound.pre_bind.IsWait()) {
    waiting = *WhyRejected(framework, *unbound.pod, cluster_.nodes(), unbound.pre_bind);
  }
  waiting.alone = WhyAlone(framework, *unbound.pod);
  waiting.node = std::string(unbound.node_name);
  waiting.reason = WaitingReason::kBinding;
  if (unbound.waiting_for.empty()) return waiting;
  waiting.reason = WaitingReason::kWaitingForPermit;
  waiting.plugin = std::string(unbound.waiting_for.front());
  waiting.until = unbound.until;
  return waiting;
}

std::vector<UnboundPod> UnboundReport::Pods() const {
  std::vector<UnboundPod> list;
  for (const PendingReport& report : queue_.Pending()) {
    UnboundPod pod;
    pod.pod = report.pod->key();
    pod.group = report.group;
    pod.state = StateOf(report.state);
    pod.plugin = std::string(report.status.plugin());
    pod.message = report.status.message();
    pod.waiting = Explain(report);
    list.push_back(std::move(pod));
  }
  for (const Binder::Unbound& unbound : binder_.unbound()) {
    UnboundPod pod;
    pod.pod = unbound.pod->key();
    pod.group = cluster_.GroupOf(*unbound.pod).value_or("");
    pod.state =
        unbound.waiting_for.empty() ? UnboundPod::State::kBinding : UnboundPod::State::kWaiting;
    if (!unbound.waiting_for.empty()) {
      pod.plugin = std::string(unbound.waiting_for.front());
      pod.message = absl::StrCat("waiting to be permitted by ", pod.plugin);
    }
    pod.waiting = Explain(unbound);
    list.push_back(std::move(pod));
  }
  return list;
}

std::vector<PodGroupState> UnboundReport::Groups() const {
  // All members of a group that waits have the same reason; the first one's is shown.
  absl::flat_hash_map<std::string, WaitingFor> waiting;
  for (UnboundPod& pod : Pods()) {
    if (!pod.group.empty()) waiting.try_emplace(pod.group, std::move(pod.waiting));
  }
  std::vector<PodGroupState> list;
  for (const GroupMembers* group : cluster_.groups().All()) {
    // All members' profiles must agree on what the group is; the first one's is as good as any.
    const Framework* framework = profiles_.Find(group->members().front().pod->scheduler_name());
    const std::optional<GroupSpec> spec = framework->plugins().group->Spec(group->name());
    if (!spec.has_value()) continue;
    PodGroupState& state = list.emplace_back();
    state.group = std::string(group->name());
    state.min_member = spec->min_member;
    const MemberCounts& counts = group->counts();
    state.bound = counts.bound;
    state.waiting_pods = counts.assigned - counts.bound;
    state.pending = counts.members - counts.assigned;
    if (const auto why = waiting.find(group->name()); why != waiting.end()) {
      state.waiting = why->second;
    }
  }
  return list;
}

std::optional<WaitingFor> UnboundReport::ExplainWaiting(absl::string_view uid) const {
  if (const std::optional<PendingReport> report = queue_.Report(uid); report.has_value()) {
    return Explain(*report);
  }
  for (const Binder::Unbound& unbound : binder_.unbound()) {
    if (unbound.pod->uid() == uid) return Explain(unbound);
  }
  const std::shared_ptr<const PodInfo> pod = cluster_.FindPod(uid);
  if (pod == nullptr || !pod->node_name().empty()) return std::nullopt;
  if (profiles_.Find(pod->scheduler_name()) != nullptr) return std::nullopt;
  WaitingFor waiting;
  waiting.reason = WaitingReason::kUnknownProfile;
  waiting.detail =
      absl::StrCat("profile not found for scheduler name \"", pod->scheduler_name().view(), "\"");
  return waiting;
}

}  // namespace berth
