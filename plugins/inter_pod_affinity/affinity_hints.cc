// What may end a rejection by InterPodAffinity: kube-scheduler v1.35 interpodaffinity/plugin.go.
#include "plugins/inter_pod_affinity/affinity_terms.h"
#include "plugins/inter_pod_affinity/inter_pod_affinity.h"

namespace berth {
namespace {

QueueingHint QueueIf(bool useful) { return useful ? QueueingHint::kQueue : QueueingHint::kSkip; }

// As upstream, a pod that goes wakes only pods whose own anti-affinity it matched.
absl::StatusOr<QueueingHint> AfterPodChange(const PodInfo& pod, const ObjectChange& change) {
  const PodInfo* const before = change.old_pod.get();
  const PodInfo* const after = change.new_pod.get();
  for (const PodInfo* changed : {before, after}) {
    if (changed != nullptr && changed->node_name().empty()) return QueueingHint::kSkip;
  }
  if (!pod.pod_affinity_status().ok()) return pod.pod_affinity_status();
  const absl::Span<const AffinityTerm> affinity = pod.required_affinity_terms();
  const absl::Span<const AffinityTerm> anti_affinity = pod.required_anti_affinity_terms();
  if (before == nullptr) return QueueIf(MatchesAll(affinity, *after));
  if (after == nullptr) return QueueIf(MatchesAll(anti_affinity, *before));
  return QueueIf((!MatchesAll(affinity, *before) && MatchesAll(affinity, *after)) ||
                 (MatchesAll(anti_affinity, *before) && !MatchesAll(anti_affinity, *after)));
}

absl::StatusOr<QueueingHint> AfterNodeChange(const PodInfo& pod, const ObjectChange& change) {
  if (!pod.pod_affinity_status().ok()) return pod.pod_affinity_status();
  const auto value_before = [&](const AffinityTerm& term) {
    return change.old_node->labels().Find(term.topology_key);
  };
  const auto value_after = [&](const AffinityTerm& term) {
    return change.new_node->labels().Find(term.topology_key);
  };
  for (const AffinityTerm& term : pod.required_affinity_terms()) {
    const Symbol* const after = value_after(term);
    if (after == nullptr) continue;
    if (change.old_node == nullptr) return QueueingHint::kQueue;
    const Symbol* const before = value_before(term);
    if (before == nullptr || *before != *after) return QueueingHint::kQueue;
  }
  for (const AffinityTerm& term : pod.required_anti_affinity_terms()) {
    // A new node without the label takes any pod, one with it may be a domain of its own.
    if (change.old_node == nullptr) return QueueingHint::kQueue;
    const Symbol* const before = value_before(term);
    const Symbol* const after = value_after(term);
    if (before != nullptr && (after == nullptr || *before != *after)) return QueueingHint::kQueue;
  }
  return QueueingHint::kSkip;
}

}  // namespace

std::vector<ClusterEventWithHint> InterPodAffinity::EventsToRegister() const {
  return {{{EventResource::Pod(), action::kAdd | action::kUpdatePodLabel | action::kDelete},
           &AfterPodChange},
          {{EventResource::Node(), action::kAdd | action::kUpdateNodeLabel}, &AfterNodeChange}};
}

}  // namespace berth
