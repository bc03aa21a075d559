// SPDX-License-Identifier: Apache-2.0
// Implementation of extender_preemption.h.
#include "preemption/extender_preemption.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/columns/node_table.h"
#include "berth/extensions/extender.h"
#include "framework/extender_guard.h"
#include "preemption/dry_run_node.h"

namespace berth {
namespace {

using Answer = std::map<std::string, SchedulerExtender::Victims>;

absl::StatusOr<Answer> Ask(SchedulerExtender& extender, const PodInfo& pod,
                           absl::Span<const ScoredCandidatePtr> candidates) {
  std::vector<const PreemptionCandidate*> asked;
  asked.reserve(candidates.size());
  for (const ScoredCandidatePtr& scored : candidates) asked.push_back(&scored->candidate);
  return GuardExtender(extender, [&] { return extender.ProcessPreemption(pod, asked); });
}

// convertToVictims: an extender may name any node, and any pods on it.
absl::Status AddCandidate(const SchedulerExtender& extender, const std::string& node_name,
                          const SchedulerExtender::Victims& victims, const NodeTable& nodes,
                          const PreemptionQuery& query,
                          std::vector<ScoredCandidatePtr>& candidates) {
  const NodeRow row = nodes.FindRow(node_name);
  if (row < 0) {
    return absl::NotFoundError(absl::StrCat("extender \"", extender.Name(), "\" names a node \"",
                                            node_name,
                                            "\" for preemption which is not in the cluster"));
  }
  auto scored = std::make_shared<ScoredCandidate>();
  PreemptionCandidate& candidate = scored->candidate;
  candidate.row = row;
  candidate.node = node_name;
  candidate.pdb_violations = static_cast<int>(
      std::clamp<int64_t>(victims.pdb_violations, 0, std::numeric_limits<int>::max()));
  const absl::Span<const std::shared_ptr<const PodInfo>> pods = nodes.node(row).pods();
  for (const std::string& uid : victims.uids) {
    const auto pod = absl::c_find_if(pods, [&](const auto& other) { return other->uid() == uid; });
    if (pod == pods.end()) {
      return absl::NotFoundError(
          absl::StrCat("extender: ", extender.Name(), " claims to preempt pod (UID: ", uid,
                       ") on node: ", node_name, ", but the pod is not found on that node"));
    }
    if (!absl::c_linear_search(candidate.victims, *pod)) candidate.victims.push_back(*pod);
  }
  if (candidate.victims.empty()) {
    if (extender.IsIgnorable()) return absl::OkStatus();  // this node is left out
    return absl::InvalidArgumentError(
        absl::StrCat("extender \"", extender.Name(),
                     "\": expected at least one victim pod on node \"", node_name, "\""));
  }
  scored->scores = ScoresOf(candidate, query);
  candidates.push_back(std::move(scored));
  return absl::OkStatus();
}

absl::Status CallExtender(SchedulerExtender& extender, const NodeTable& nodes,
                          const PreemptionQuery& query,
                          std::vector<ScoredCandidatePtr>& candidates) {
  const absl::StatusOr<Answer> answer = Ask(extender, query.pod, candidates);
  if (!answer.ok()) return answer.status();
  std::vector<ScoredCandidatePtr> left;
  for (const auto& [node_name, victims] : *answer) {
    absl::Status added = AddCandidate(extender, node_name, victims, nodes, query, left);
    if (!added.ok()) return added;
  }
  candidates = std::move(left);
  return absl::OkStatus();
}

}  // namespace

bool ExtendersPreempt(const Handle& handle, const PodInfo& pod) {
  return absl::c_any_of(handle.extenders(), [&](const auto& extender) {
    return extender->SupportsPreemption() && extender->IsInterested(pod);
  });
}

bool AnyExtenderInterested(const Handle& handle, const PodInfo& pod) {
  return absl::c_any_of(handle.extenders(),
                        [&](const auto& extender) { return extender->IsInterested(pod); });
}

Status CallExtenders(Handle& handle, const PreemptionQuery& query,
                     std::vector<ScoredCandidatePtr>& candidates) {
  for (const auto& extender : handle.extenders()) {
    if (candidates.empty()) break;
    if (!extender->SupportsPreemption() || !extender->IsInterested(query.pod)) continue;
    absl::Status asked = CallExtender(*extender, handle.nodes(), query, candidates);
    if (asked.ok()) continue;
    handle.CounterOf(absl::StrCat(kExtenderName, " ", extender->Name(), "/failed preempt calls"))
        .Add(1);
    if (!extender->IsIgnorable()) return Status::Error(asked);
  }
  absl::c_sort(candidates, [](const ScoredCandidatePtr& a, const ScoredCandidatePtr& b) {
    return a->candidate.row < b->candidate.row;
  });
  return Status::Success();
}

}  // namespace berth
