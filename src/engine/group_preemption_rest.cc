// SPDX-License-Identifier: Apache-2.0
// Implementation of group_preemption.h: plans for what does not start of a group that does.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/group_preemption.h"

namespace berth {
namespace {

using PodPtr = std::shared_ptr<const PodInfo>;

// Of a pod without a place; as the first one, if nothing else is known.
PodFailure& FailureToTell(const PodPtr& pod, AttemptResult& result) {
  const auto known =
      absl::c_find_if(result.failed, [&](const PodFailure& f) { return f.pod == pod; });
  if (known != result.failed.end()) return *known;
  PodFailure failure = result.failed.front();
  failure.pod = pod;
  failure.nominated_node.reset();
  return result.failed.emplace_back(std::move(failure));
}

// Those of `request` that `wanted(position)` wants, which start by `quorum`.
template <class Wanted>
AttemptRequest RestOf(const AttemptRequest& request, const Quorum& quorum, Wanted wanted) {
  AttemptRequest rest = request;
  rest.pods.clear();
  rest.parts.clear();
  for (size_t i = 0; i < request.pods.size(); ++i) {
    if (!wanted(i)) continue;
    rest.pods.push_back(request.pods[i]);
    if (quorum.has_parts()) rest.parts.push_back(request.PartOf(i));
  }
  rest.quorum = quorum;
  rest.minimum = quorum.missing();
  return rest;
}

// Where members are placed, or will be.
class Places {
 public:
  Places(const NodeTable& nodes, const AttemptResult& result) : nodes_(nodes) {
    for (const Binder::Member& member : result.placed) {
      Note(*member.placement.pod, member.placement.node);
    }
  }
  void Note(const PodInfo& pod, Symbol node) {
    if (const NodeRow row = nodes_.FindRow(node); row >= 0) row_of_[&pod] = row;
  }
  std::vector<NodeRow> RowsOf(const PodSet& pod_set) const {
    std::vector<NodeRow> rows;
    for (const PodPtr& pod : pod_set.pods) {
      if (const auto row = row_of_.find(pod.get()); row != row_of_.end()) {
        rows.push_back(row->second);
      }
    }
    return rows;
  }

 private:
  const NodeTable& nodes_;
  absl::flat_hash_map<const PodInfo*, NodeRow> row_of_;
};

// Leaves the pod set those of its placements that are where its siblings are that have places.
void KeepToSiblings(const std::vector<PodSet>& pod_sets, const Places& places, PodSet& pod_set) {
  if (pod_set.scopes.empty()) return;
  PodSet kept = pod_set;
  kept.placements.clear();
  kept.tiers.clear();
  kept.domains.clear();
  for (size_t k = 0; k < pod_set.placements.size(); ++k) {
    const bool is_there = absl::c_all_of(pod_sets, [&](const PodSet& other) {
      return absl::c_all_of(other.scopes, [&](int scope) {
        return IsInDomainOf(pod_set, k, scope, places.RowsOf(other));
      });
    });
    if (!is_there) continue;
    kept.placements.push_back(pod_set.placements[k]);
    kept.domains.push_back(pod_set.domains[k]);
    if (!pod_set.tiers.empty()) kept.tiers.push_back(pod_set.tiers[k]);
  }
  pod_set = std::move(kept);
}

}  // namespace

// Of a tree the uppermost parts that do not start, below one that does.
std::vector<GroupPreemption::Rest> GroupPreemption::WhatDoesNotStart(
    const AttemptRequest& request, const std::vector<PodSet>& pod_sets,
    const AttemptResult& result) {
  absl::flat_hash_set<const PodInfo*> has_place;  // or will have one
  for (const Binder::Member& member : result.placed) has_place.insert(member.placement.pod.get());
  for (const AttemptResult::Plan& plan : result.plans) has_place.insert(plan.pod.get());
  std::vector<Rest> rests;
  const auto add = [&](AttemptRequest rest) {
    const bool any_has =
        absl::c_any_of(rest.pods, [&](const PodPtr& pod) { return has_place.contains(pod.get()); });
    if (any_has || rest.pods.empty()) return;
    if (static_cast<int>(rest.pods.size()) < rest.minimum) return;
    if (rest.quorum.has_parts()) {  // too few of them are pending for it to start
      std::vector<int> all(rest.quorum.counts(), 0);
      for (const int part : rest.parts) ++all[part];
      if (!rest.quorum.IsReachedBy(all)) return;
    }
    Rest& added = rests.emplace_back(Rest{std::move(rest), {}});
    for (const PodSet& pod_set : pod_sets) {
      if (absl::c_linear_search(added.request.pods, pod_set.pods.front())) {
        added.pod_sets.push_back(pod_set);
      }
    }
  };
  if (!request.quorum.has_parts()) {
    for (const PodSet& pod_set : pod_sets) {
      add(RestOf(request, Quorum(pod_set.minimum),
                 [&](size_t i) { return absl::c_linear_search(pod_set.pods, request.pods[i]); }));
    }
    return rests;
  }
  const std::vector<bool> starts =
      request.quorum.PartsThatStart(request.CountByPart(result.placed));
  for (int part = 1; part < request.quorum.counts(); ++part) {
    if (starts[part] || !starts[request.quorum.ParentOf(part)]) continue;
    add(RestOf(request, request.quorum.OfPart(part),
               [&](size_t i) { return request.quorum.IsWithin(request.PartOf(i), part); }));
  }
  return rests;
}

void GroupPreemption::PlanMore(const AttemptRequest& request, const std::vector<PodSet>& pod_sets,
                               AttemptResult& result) {
  if (result.failed.empty()) return;                 // all have a place
  Transaction transaction(cluster_, result.placed);  // so that each sees what is planned by then
  for (const Binder::Member& member : result.placed) transaction.Nominate(member.placement.pod, "");
  for (const AttemptResult::Plan& plan : result.plans) {
    transaction.Preempt(plan.pod, plan.result, request.now);
  }
  Places places(cluster_.nodes(), result);
  for (Rest& rest : WhatDoesNotStart(request, pod_sets, result)) {
    for (PodSet& pod_set : rest.pod_sets) KeepToSiblings(pod_sets, places, pod_set);
    const PodPtr& first = rest.request.pods.front();
    AttemptResult other;
    other.failed.push_back(FailureToTell(first, result));
    if (rest.pod_sets.empty()) {
      Plan(rest.request, std::nullopt, other);
    } else {
      PlanPodSets(rest.request, rest.pod_sets, other);
    }
    result.cycles += other.cycles;
    result.post_filters += other.post_filters;
    result.retry_at = std::min(result.retry_at, other.retry_at);
    FailureToTell(first, result).waiting = other.failed.front().waiting;
    for (const PodFailure& failure : other.failed) {
      if (!failure.nominated_node.has_value()) continue;
      FailureToTell(failure.pod, result).nominated_node = failure.nominated_node;
      places.Note(*failure.pod, Symbol::Intern(*failure.nominated_node));
      transaction.Nominate(failure.pod, *failure.nominated_node);
    }
    for (const PodPtr& pod : rest.request.pods) {
      std::string& message = FailureToTell(pod, result).message;
      const std::string& finding =
          other.answer == GroupAnswer::kPlan ? other.finding : other.evictions_finding;
      if (finding.empty() || absl::EndsWith(message, finding)) continue;
      if (!message.empty()) absl::StrAppend(&message, message.back() == '.' ? " " : ". ");
      absl::StrAppend(&message, finding);
    }
    for (AttemptResult::Plan& plan : other.plans) {
      transaction.Preempt(plan.pod, plan.result, request.now);
      result.plans.push_back(std::move(plan));
    }
  }
}

}  // namespace berth
