// SPDX-License-Identifier: Apache-2.0
// PreemptionToleration: the shared search with exemptions by PriorityClass.
#include "plugins/preemption_toleration/preemption_toleration.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/scheduling_v1.pb.h"
#include "berth/handle/object_store.h"

namespace berth {

absl::StatusOr<std::unique_ptr<Plugin>> PreemptionToleration::Create(const PluginArgs& args,
                                                                     Handle& handle) {
  handle.Watch(Kind::kPriorityClass);
  return std::make_unique<PreemptionToleration>(args.As<PreemptionTolerationArgs>(), handle);
}

Status PreemptionToleration::PostFilter(CycleState& state, const PodInfo& pod,
                                        const NodeStatuses& statuses, PostFilterResult& result) {
  return preemption_.Run(rules_, state, pod, statuses, result);
}

absl::StatusOr<bool> TolerationRules::MayEvict(const NodeInfo&, const PodInfo& victim,
                                               const PodInfo& preemptor) {
  const std::string& class_name = victim.spec().priority_class_name();
  if (class_name.empty()) return true;
  absl::StatusOr<std::optional<TolerationPolicy>> policy = PolicyOf(class_name);
  if (!policy.ok()) return policy.status();
  if (!policy->has_value()) return true;
  return !Exempts(**policy, victim, preemptor, handle_.clock().Now());
}

Status TolerationRules::SelectVictims(DryRun& run, const DisruptionBudgets& budgets,
                                      PreemptionCandidate& candidate) {
  std::vector<Protected> pods;
  for (const std::shared_ptr<const PodInfo>& victim : run.node().pods()) {
    const std::string& class_name = victim->spec().priority_class_name();
    if (class_name.empty() || victim->priority() >= run.pod().priority()) continue;
    const absl::StatusOr<std::optional<TolerationPolicy>> policy = PolicyOf(class_name);
    if (!policy.ok() || !policy->has_value()) continue;
    const std::optional<absl::Time> end = ExemptUntil(**policy, *victim, run.pod());
    if (end.has_value() && *end > handle_.clock().Now()) pods.push_back({*end, victim});
  }
  Status status = PriorityPreemptionRules::SelectVictims(run, budgets, candidate);
  if (status.IsRejected() && !pods.empty()) NoteWhenItHelps(run, std::move(pods));
  return status;
}

// All others that may go are off the node: of the protected `pods`, those go that may go first.
void TolerationRules::NoteWhenItHelps(DryRun& run, std::vector<Protected> pods) {
  std::stable_sort(pods.begin(), pods.end(),
                   [](const Protected& a, const Protected& b) { return a.until < b.until; });
  for (const Protected& next : pods) {
    if (!run.Remove(*next.pod).ok()) return;
    if (run.Filter().ok()) return run.SetRetryAt(next.until);
  }
}

bool TolerationRules::IsVictimLeaving(const NodeInfo&, const PodInfo& victim, const PodInfo&) {
  return victim.deletion_time().has_value();
}

std::string TolerationRules::NoVictimsReason(const NodeInfo* node, const PodInfo& preemptor) const {
  return NoVictimsFound(node, preemptor);
}

absl::StatusOr<std::optional<TolerationPolicy>> TolerationRules::PolicyOf(
    const std::string& class_name) {
  const uint64_t version = handle_.objects().version(Kind::kPriorityClass);
  if (version_ != version) policies_.clear();
  version_ = version;
  const auto known = policies_.find(class_name);
  if (known != policies_.end()) return known->second;
  const auto* priority_class = handle_.objects().Find<api::PriorityClass>("", class_name);
  if (priority_class == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("priorityclass.scheduling.k8s.io \"", class_name, "\" not found"));
  }
  absl::StatusOr<TolerationPolicy> policy = ParseTolerationPolicy(*priority_class);
  std::optional<TolerationPolicy>& entry = policies_[class_name];
  if (policy.ok()) entry = *policy;
  return entry;
}

}  // namespace berth
