// SPDX-License-Identifier: Apache-2.0
// What may end a rejection by InterPodAffinity: kube-scheduler v1.35 interpodaffinity/plugin.go.
#include "absl/algorithm/container.h"
#include "plugins/inter_pod_affinity/affinity_terms.h"
#include "plugins/inter_pod_affinity/inter_pod_affinity.h"

namespace berth {
namespace {

// Whether a term matches `pod`; its namespace's labels are not at hand, so a term that selects
// namespaces counts as matching.
bool MayMatch(const AffinityTerm& term, const PodInfo& pod) {
  return Matches(term, pod) ||
         (!term.namespace_selector.SelectsNothing() && term.selector.Matches(pod.labels()));
}
bool MatchesAll(absl::Span<const AffinityTerm> terms, const PodInfo& pod) {
  return !terms.empty() &&
         absl::c_all_of(terms, [&](const AffinityTerm& term) { return MayMatch(term, pod); });
}

// Upstream asks for a running pod that matches the waiting one's affinity now, or all its
// anti-affinity no more. But one anti-affinity term of several is enough to keep a pod away, so is
// a running pod's, and a pod that matches its own affinity may start anywhere only where no other
// matches: without these it would sleep until the next flush.
absl::StatusOr<QueueingHint> AfterPodChange(const PodInfo& pod, const ObjectChange& change) {
  const PodInfo* const before = change.old_pod.get();
  const PodInfo* const after = change.new_pod.get();
  if (!pod.pod_affinity_status().ok()) return pod.pod_affinity_status();
  // Its own labels changed: it may match its own terms now, or no longer those of others.
  if (after != nullptr && after->uid() == pod.uid()) return QueueingHint::kQueue;
  for (const PodInfo* changed : {before, after}) {
    if (changed != nullptr && changed->node_name().empty()) return QueueingHint::kSkip;
  }
  const auto attracts = [&](const PodInfo* running) {
    return running != nullptr && MatchesAll(pod.required_affinity_terms(), *running);
  };
  if (attracts(before) != attracts(after) && (attracts(after) || attracts(&pod))) {
    return QueueingHint::kQueue;
  }
  const auto no_longer_matched = [&](const AffinityTerm& term) {
    return before != nullptr && MayMatch(term, *before) &&
           (after == nullptr || !MayMatch(term, *after));
  };
  if (absl::c_any_of(pod.required_anti_affinity_terms(), no_longer_matched)) {
    return QueueingHint::kQueue;
  }
  return QueueIf(after == nullptr &&
                 absl::c_any_of(before->required_anti_affinity_terms(),
                                [&](const AffinityTerm& term) { return MayMatch(term, pod); }));
}

// A new node helps unless the pod could not run there for want of a topology key. Labels that
// change may end or move a domain in which a running pod's anti-affinity keeps the pod away;
// upstream looks at the waiting pod's own terms only, and a pod that others keep away sleeps until
// the next flush.
absl::StatusOr<QueueingHint> AfterNodeChange(const PodInfo& pod, const ObjectChange& change) {
  if (!pod.pod_affinity_status().ok()) return pod.pod_affinity_status();
  if (change.old_node != nullptr) return QueueingHint::kQueue;  // relabelled, or gone with its pods
  return QueueIf(absl::c_all_of(pod.required_affinity_terms(), [&](const AffinityTerm& term) {
    return change.new_node->labels().Has(term.topology_key);
  }));
}

}  // namespace

// A pod that comes helps only where all required affinity terms match it: one of them will do.
bool InterPodAffinity::IndexPod(const PodInfo& pod, std::vector<uint64_t>& values) const {
  if (!pod.pod_affinity_status().ok()) return false;
  if (pod.required_affinity_terms().empty()) return true;
  return absl::c_any_of(pod.required_affinity_terms(), [&](const AffinityTerm& term) {
    return AppendSelectorValues(term.selector, values);
  });
}

bool InterPodAffinity::IndexChange(const ObjectChange& change,
                                   std::vector<uint64_t>& values) const {
  return AppendLabelsOfNewPod(change, values);
}

std::vector<ClusterEventWithHint> InterPodAffinity::EventsToRegister() const {
  return {{{EventResource::Pod(), action::kAdd | action::kUpdatePodLabel | action::kDelete},
           &AfterPodChange},
          {{EventResource::Node(), action::kAdd | action::kUpdateNodeLabel | action::kDelete},
           &AfterNodeChange}};
}

}  // namespace berth
