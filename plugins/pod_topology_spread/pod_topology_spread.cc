// SPDX-License-Identifier: Apache-2.0
// Which constraints apply to a pod, and the filter: kube-scheduler v1.35
// podtopologyspread/filtering.go.
#include "plugins/pod_topology_spread/pod_topology_spread.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/incremental/domain_counts.h"

namespace berth {
namespace {

constexpr DomainRejection kSkewed = {Code::kUnschedulable,
                                     "node(s) didn't match pod topology spread constraints"};
constexpr DomainRejection kNoLabel = {
    Code::kUnschedulableAndUnresolvable,
    "node(s) didn't match pod topology spread constraints (missing required label)"};

// A domain takes the pod if (matching pods + 1 if the pod itself matches) - minimum <= maxSkew.
DomainRule RuleOf(const TopologySpreadConstraint& constraint, bool matches_itself) {
  return {.limit = DomainLimit::AtMostAboveMinimum(constraint.max_skew - (matches_itself ? 1 : 0),
                                                   constraint.min_domains),
          .otherwise = kSkewed,
          .without_key = kNoLabel};
}

SpreadConstraints SystemDefaults() {
  SpreadConstraints constraints(2);
  constraints[0].topology_key = Symbol::Intern("kubernetes.io/hostname");
  constraints[0].max_skew = 3;
  constraints[1].topology_key = Symbol::Intern("topology.kubernetes.io/zone");
  constraints[1].max_skew = 5;
  for (TopologySpreadConstraint& constraint : constraints) {
    constraint.when_unsatisfiable = UnsatisfiableAction::kScheduleAnyway;
  }
  return constraints;
}

// The configuration was checked. matchLabelKeys have nothing to be merged into.
TopologySpreadConstraint DefaultConstraint(const api::TopologySpreadConstraint& from) {
  TopologySpreadConstraint constraint;
  constraint.max_skew = from.max_skew();
  constraint.topology_key = Symbol::Intern(from.topology_key());
  constraint.when_unsatisfiable = from.when_unsatisfiable() == "ScheduleAnyway"
                                      ? UnsatisfiableAction::kScheduleAnyway
                                      : UnsatisfiableAction::kDoNotSchedule;
  if (from.has_min_domains()) constraint.min_domains = from.min_domains();
  const auto policy = [](bool is_set, absl::string_view text, NodeInclusionPolicy fallback) {
    if (!is_set) return fallback;
    return text == "Honor" ? NodeInclusionPolicy::kHonor : NodeInclusionPolicy::kIgnore;
  };
  constraint.node_affinity_policy =
      policy(from.has_node_affinity_policy(), from.node_affinity_policy(),
             constraint.node_affinity_policy);
  constraint.node_taints_policy = policy(from.has_node_taints_policy(), from.node_taints_policy(),
                                         constraint.node_taints_policy);
  return constraint;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> PodTopologySpread::Create(const PluginArgs& args,
                                                                  Handle& handle) {
  const auto& spread_args = args.As<PodTopologySpreadArgs>();
  DefaultSpread defaults;
  defaults.from_system = spread_args.defaulting_type == "System";
  if (defaults.from_system) {
    defaults.constraints = SystemDefaults();
  } else {
    for (const auto& constraint : spread_args.default_constraints) {
      defaults.constraints.push_back(DefaultConstraint(*constraint));
    }
  }
  if (!defaults.constraints.empty()) {  // they select the pods of the services, sets and
                                        // controllers that the pod belongs to
    for (const Kind kind :
         {Kind::kService, Kind::kReplicationController, Kind::kReplicaSet, Kind::kStatefulSet}) {
      handle.Watch(kind);
    }
  }
  return std::make_unique<PodTopologySpread>(std::move(defaults), handle);
}

absl::StatusOr<SpreadConstraints> PodTopologySpread::ConstraintsOf(
    const PodInfo& pod, UnsatisfiableAction action) const {
  const auto of_action = [action](absl::Span<const TopologySpreadConstraint> all) {
    SpreadConstraints constraints;
    for (const TopologySpreadConstraint& constraint : all) {
      if (constraint.when_unsatisfiable == action) constraints.push_back(constraint);
    }
    return constraints;
  };
  if (!pod.topology_spread_status().ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "obtaining pod's ", action == UnsatisfiableAction::kDoNotSchedule ? "hard" : "soft",
        " topology spread constraints: ", pod.topology_spread_status().message()));
  }
  if (!pod.topology_spread_constraints().empty()) {
    return of_action(pod.topology_spread_constraints());
  }
  const bool any = absl::c_any_of(defaults_.constraints, [action](const auto& constraint) {
    return constraint.when_unsatisfiable == action;
  });
  if (!any) return SpreadConstraints();
  const LabelSelector selector = default_selectors_.For(pod, handle_.objects());
  if (selector.SelectsEverything()) return SpreadConstraints();
  SpreadConstraints constraints = of_action(defaults_.constraints);
  for (TopologySpreadConstraint& constraint : constraints) constraint.selector = selector;
  return constraints;
}

Status PodTopologySpread::ListRules(const PodInfo& pod, const NodeTable& nodes,
                                    DomainRules& rules) {
  absl::StatusOr<SpreadConstraints> constraints =
      ConstraintsOf(pod, UnsatisfiableAction::kDoNotSchedule);
  if (!constraints.ok()) {
    return Status::Error(
        absl::StrCat("get constraints from pod: ", constraints.status().message()));
  }
  // With a single one, nodes without the label are in no domain anyway.
  const NodeScope with_keys =
      constraints->size() > 1 ? NodesWithTopologyKeys(*constraints) : NodeScope();
  const Symbol ns = pod.namespace_name();
  for (TopologySpreadConstraint& constraint : *constraints) {
    const Symbol key = constraint.topology_key;
    const DomainRule rule = RuleOf(constraint, constraint.selector.Matches(pod.labels()));
    NodeScope counted = CountedNodes(constraint, pod, with_keys);
    DomainCounts counts(key, nodes.label_column(key),
                        MatchingPods(nodes, constraint.selector, ns, counted));
    // Dry runs count pods that are being deleted, too, and those of empty selectors, as upstream's
    // AddPod and RemovePod do; the table does not.
    rules.Add({.topology_key = key,
               .selector = {.namespaces = {ns}, .labels = std::move(constraint.selector)},
               .nodes = std::move(counted)},
              std::move(counts), rule);
  }
  return Status::Success();
}

Status PodTopologySpread::SignPod(const PodInfo& pod, PodSignature&) const {
  if (!pod.topology_spread_constraints().empty() || !pod.topology_spread_status().ok()) {
    return Status::Unschedulable("pods with topology constraints are not signable");
  }
  if (!defaults_.constraints.empty() &&
      !default_selectors_.For(pod, handle_.objects()).SelectsEverything()) {
    return Status::Unschedulable("pods with default topology constraints are not signable");
  }
  return Status::Success();
}

}  // namespace berth
