// SPDX-License-Identifier: Apache-2.0
// What may end a rejection by PodTopologySpread: kube-scheduler v1.35 podtopologyspread/plugin.go.
#include "absl/algorithm/container.h"
#include "plugins/pod_topology_spread/pod_topology_spread.h"

namespace berth {
namespace {

// Whether `changed` is the rejected pod itself or one that its constraints may count.
bool Concerns(const PodInfo& changed, const PodInfo& pod) {
  return changed.uid() == pod.uid() ||
         (!changed.node_name().empty() && changed.namespace_name() == pod.namespace_name());
}

// Whether a topology key has another value; no label is as good as an empty one.
bool TopologyChanged(const LabelSet& before, const LabelSet& after,
                     const SpreadConstraints& constraints) {
  const auto value_of = [](const LabelSet& labels, Symbol key) {
    const Symbol* const value = labels.Find(key);
    return value == nullptr ? Symbol() : *value;
  };
  return absl::c_any_of(constraints, [&](const TopologySpreadConstraint& constraint) {
    return value_of(before, constraint.topology_key) != value_of(after, constraint.topology_key);
  });
}

}  // namespace

std::vector<ClusterEventWithHint> PodTopologySpread::EventsToRegister() const {
  return {{{EventResource::Pod(), action::kAdd | action::kUpdatePodLabel |
                                      action::kUpdatePodToleration | action::kDelete},
           [this](const PodInfo& pod, const ObjectChange& change) {
             return AfterPodChange(pod, change);
           }},
          {{EventResource::Node(),
            action::kAdd | action::kDelete | action::kUpdateNodeLabel | action::kUpdateNodeTaint},
           [this](const PodInfo& pod, const ObjectChange& change) {
             return AfterNodeChange(pod, change);
           }}};
}

// Only hard constraints reject; default ones depend on Services and the like.
bool PodTopologySpread::HintsReadSpecOnly() const {
  return absl::c_none_of(defaults_.constraints, [](const TopologySpreadConstraint& constraint) {
    return constraint.when_unsatisfiable == UnsatisfiableAction::kDoNotSchedule;
  });
}

bool PodTopologySpread::IndexPod(const PodInfo& pod, std::vector<uint64_t>& values) const {
  const absl::StatusOr<SpreadConstraints> constraints =
      ConstraintsOf(pod, UnsatisfiableAction::kDoNotSchedule);
  if (!constraints.ok()) return false;
  return absl::c_all_of(*constraints, [&](const TopologySpreadConstraint& constraint) {
    return AppendSelectorValues(constraint.selector, values);
  });
}

bool PodTopologySpread::IndexChange(const ObjectChange& change,
                                    std::vector<uint64_t>& values) const {
  return AppendLabelsOfNewPod(change, values);
}

absl::StatusOr<QueueingHint> PodTopologySpread::AfterPodChange(const PodInfo& pod,
                                                               const ObjectChange& change) const {
  const PodInfo* const before = change.old_pod.get();
  const PodInfo* const after = change.new_pod.get();
  for (const PodInfo* changed : {before, after}) {
    if (changed != nullptr && !Concerns(*changed, pod)) return QueueingHint::kSkip;
  }
  const absl::StatusOr<SpreadConstraints> constraints =
      ConstraintsOf(pod, UnsatisfiableAction::kDoNotSchedule);
  if (!constraints.ok()) return constraints.status();

  if (before == nullptr || after == nullptr) {
    const LabelSet& labels = (after != nullptr ? after : before)->labels();
    return QueueIf(absl::c_any_of(*constraints, [&](const TopologySpreadConstraint& constraint) {
      return constraint.selector.Matches(labels);
    }));
  }
  const bool minds_taints =
      absl::c_any_of(*constraints, [](const TopologySpreadConstraint& constraint) {
        return constraint.node_taints_policy == NodeInclusionPolicy::kHonor;
      });
  if (pod.uid() == after->uid() && after->tolerations() != before->tolerations() && minds_taints) {
    return QueueingHint::kQueue;
  }
  return QueueIf(absl::c_any_of(*constraints, [&](const TopologySpreadConstraint& constraint) {
    return constraint.selector.Matches(before->labels()) !=
           constraint.selector.Matches(after->labels());
  }));
}

absl::StatusOr<QueueingHint> PodTopologySpread::AfterNodeChange(const PodInfo& pod,
                                                                const ObjectChange& change) const {
  const absl::StatusOr<SpreadConstraints> constraints =
      ConstraintsOf(pod, UnsatisfiableAction::kDoNotSchedule);
  if (!constraints.ok()) return constraints.status();
  const NodeInfo* const before = change.old_node.get();
  const NodeInfo* const after = change.new_node.get();
  const bool had_keys = before != nullptr && HasTopologyKeys(before->labels(), *constraints);
  const bool has_keys = after != nullptr && HasTopologyKeys(after->labels(), *constraints);
  if (before == nullptr || after == nullptr) return QueueIf(had_keys || has_keys);
  if (had_keys != has_keys) return QueueingHint::kQueue;
  return QueueIf(has_keys && (TopologyChanged(before->labels(), after->labels(), *constraints) ||
                              before->taints() != after->taints()));
}

}  // namespace berth
