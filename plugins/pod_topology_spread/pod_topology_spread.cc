// SPDX-License-Identifier: Apache-2.0
// Which constraints apply to a pod, and the filter: kube-scheduler v1.35
// podtopologyspread/filtering.go.
#include "plugins/pod_topology_spread/pod_topology_spread.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/check.h"
#include "berth/columns/node_verdicts.h"
#include "berth/incremental/domain_counts.h"

namespace berth {
namespace {

constexpr char kSkewReason[] = "node(s) didn't match pod topology spread constraints";
constexpr char kLabelReason[] =
    "node(s) didn't match pod topology spread constraints (missing required label)";

// The domains of one constraint: those with a node that it counts.
struct SpreadDomains {
  DomainCounts pods;
  bool counts_itself = false;  // the selector selects the pod
  MinimumPods fewest;          // before dry runs changed anything

  // The fewest pods of a domain. Right as long as dry runs change one domain only, as they do:
  // pods of one node come and go.
  int64_t Minimum() const {
    int64_t of_changed = MinimumPods::kNone, with_minimum = fewest.with_minimum;
    for (const auto& [domain, difference] : pods.added()) {
      const int64_t now = pods.at(domain);
      of_changed = std::min(of_changed, now);
      const bool is_known = pods.HasNodes(domain);  // to `fewest`; the node may be of no table
      if (is_known && now - difference == fewest.pods) --with_minimum;
    }
    return std::min(with_minimum > 0 ? fewest.pods : fewest.next, of_changed);
  }
};

// What the pod asks for.
struct SpreadRules {
  SpreadConstraints constraints;
  absl::InlinedVector<NodeScope, 2> scopes;  // by constraint: the nodes that it counts
};

struct SpreadFilterState final : StateData {
  std::shared_ptr<const SpreadRules> rules;
  std::vector<SpreadDomains> domains;  // by constraint

  std::unique_ptr<StateData> Clone() const override {
    return std::make_unique<SpreadFilterState>(*this);
  }
};

constexpr StateKey<SpreadFilterState> kFilterState{"PodTopologySpread filter"};

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

// Of a checked configuration. matchLabelKeys have nothing to be merged into.
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

// How many matching pods a domain may have without the pod. Judging criterion: matching pods + 1 if
// the pod matches - the minimum <= maxSkew.
int64_t MostPods(const TopologySpreadConstraint& constraint, const SpreadDomains& domains) {
  const int64_t minimum = domains.fewest.domains < constraint.min_domains ? 0 : domains.Minimum();
  return constraint.max_skew + minimum - (domains.counts_itself ? 1 : 0);
}

// The nodes that each constraint counts.
void FindScopes(const PodInfo& pod, SpreadRules& rules) {
  // Of a single one, nodes without the label are in no domain anyway.
  const bool one_only = rules.constraints.size() == 1;
  const NodeScope nodes = one_only ? NodeScope() : NodesWithTopologyKeys(rules.constraints);
  for (const TopologySpreadConstraint& constraint : rules.constraints) {
    rules.scopes.push_back(CountedNodes(constraint, pod, nodes));
  }
}

SpreadDomains FindDomains(const TopologySpreadConstraint& constraint, const NodeScope& scope,
                          const PodInfo& pod, const NodeTable& nodes) {
  const LabelColumn& column = nodes.label_column(constraint.topology_key);
  std::shared_ptr<const PodCounts> pods =
      MatchingPods(nodes, constraint.selector, pod.namespace_name(), scope);
  const MinimumPods fewest = pods->fewest(column);
  return {DomainCounts(constraint.topology_key, column, std::move(pods)),
          constraint.selector.Matches(pod.labels()), fewest};
}

// Of pods being deleted too, and by selectors that select everything, as upstream.
void Follow(CycleState& state, const PodInfo& pod, const PodInfo& changed, const NodeInfo& node,
            int64_t difference) {
  SpreadFilterState* const s = state.FindMutable(kFilterState);
  if (s == nullptr || changed.namespace_name() != pod.namespace_name()) return;
  const SpreadConstraints& constraints = s->rules->constraints;
  if (!HasTopologyKeys(node.labels(), constraints)) return;
  for (size_t i = 0; i < constraints.size(); ++i) {
    if (!constraints[i].selector.Matches(changed.labels())) continue;
    if (!s->rules->scopes[i].Includes(node.spec())) continue;
    DomainCounts& pods = s->domains[i].pods;
    pods.Add(*pods.FindDomain(node.labels()), difference);
  }
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
  SpreadConstraints constraints = of_action(defaults_.constraints);
  if (constraints.empty()) return constraints;
  const LabelSelector selector = default_selectors_.For(pod, handle_.objects());
  if (selector.SelectsEverything()) return SpreadConstraints();
  for (TopologySpreadConstraint& constraint : constraints) constraint.selector = selector;
  return constraints;
}

Status PodTopologySpread::PreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                                    PreFilterResult&) {
  absl::StatusOr<SpreadConstraints> constraints =
      ConstraintsOf(pod, UnsatisfiableAction::kDoNotSchedule);
  if (!constraints.ok()) {
    return Status::Error(
        absl::StrCat("get constraints from pod: ", constraints.status().message()));
  }
  if (constraints->empty()) return Status::Skip();
  auto data = std::make_unique<SpreadFilterState>();
  auto rules = std::make_shared<SpreadRules>();
  rules->constraints = *std::move(constraints);
  FindScopes(pod, *rules);
  for (size_t i = 0; i < rules->constraints.size(); ++i) {
    data->domains.push_back(FindDomains(rules->constraints[i], rules->scopes[i], pod, nodes));
  }
  data->rules = std::move(rules);
  state.Write(kFilterState, std::move(data));
  return Status::Success();
}

Status PodTopologySpread::AddPod(CycleState& state, const PodInfo& pod, const PodInfo& added,
                                 const NodeInfo& node) {
  Follow(state, pod, added, node, 1);
  return Status::Success();
}

Status PodTopologySpread::RemovePod(CycleState& state, const PodInfo& pod, const PodInfo& removed,
                                    const NodeInfo& node) {
  Follow(state, pod, removed, node, -1);
  return Status::Success();
}

Status PodTopologySpread::Filter(const CycleState& state, const PodInfo&,
                                 const NodeInfo& node) const {
  const absl::StatusOr<const SpreadFilterState*> read = state.Read(kFilterState);
  if (!read.ok()) return Status::Error(read.status());
  const SpreadFilterState* const s = *read;
  for (size_t i = 0; i < s->rules->constraints.size(); ++i) {
    const SpreadDomains& domains = s->domains[i];
    const std::optional<uint32_t> domain = domains.pods.FindDomain(node.labels());
    if (!domain.has_value()) return Status::UnschedulableAndUnresolvable(kLabelReason);
    if (domains.pods.at(*domain) > MostPods(s->rules->constraints[i], domains)) {
      return Status::Unschedulable(kSkewReason);
    }
  }
  return Status::Success();
}

// The first constraint that rejects a node gives it its code, so the last one is written first.
Status PodTopologySpread::FilterNodes(const CycleState& state, const PodInfo&, const NodeTable&,
                                      NodeVerdicts& verdicts) const {
  const absl::StatusOr<const SpreadFilterState*> read = state.Read(kFilterState);
  if (!read.ok()) return Status::Error(read.status());
  const SpreadFilterState* const s = *read;
  const absl::Span<const NodeRow> rows = verdicts.candidates();
  for (size_t i = s->rules->constraints.size(); i-- > 0;) {
    const SpreadDomains& domains = s->domains[i];
    const LabelColumn& column = domains.pods.column();
    const int64_t most = MostPods(s->rules->constraints[i], domains);
    column.JudgeRows(
        rows,
        [&](uint32_t domain) {
          if (!column.values()[domain].present) return Code::kUnschedulableAndUnresolvable;
          return domains.pods.at(domain) > most ? Code::kUnschedulable : Code::kSuccess;
        },
        [&](size_t k, Code code) {
          if (code != Code::kSuccess) verdicts.Set(rows[k], code, 0);
        });
  }
  return Status::Success();
}

void PodTopologySpread::FilterDomains(const CycleState& state,
                                      std::vector<DomainVerdictRule>& rules) const {
  const SpreadFilterState* const s = state.Find(kFilterState);
  BERTH_CHECK(s != nullptr);
  for (size_t i = 0; i < s->rules->constraints.size(); ++i) {
    const SpreadDomains& domains = s->domains[i];
    rules.push_back(
        {.counts = domains.pods,
         .limits = {.most = MostPods(s->rules->constraints[i], domains),
                    .above_max = static_cast<uint8_t>(Code::kUnschedulable),
                    .without_label = static_cast<uint8_t>(Code::kUnschedulableAndUnresolvable)}});
  }
}

// What counts is how many matching pods have to leave a domain before it lets the pod in. Where
// they leave one domain, the minimum of all others stays what it is: that of the domain with the
// fewest is no matter, as it lets the pod in.
bool PodTopologySpread::DescribeDomainsForDryRun(const CycleState& state, const PodInfo& pod,
                                                 std::vector<DomainExcessRule>& rules,
                                                 FilterInputs& basis) const {
  const SpreadFilterState* const s = state.Find(kFilterState);
  if (s == nullptr) return false;
  for (size_t i = 0; i < s->rules->constraints.size(); ++i) {
    const SpreadDomains& domains = s->domains[i];
    rules.push_back(
        {.counts = domains.pods,
         .limits = {.most = MostPods(s->rules->constraints[i], domains), .without_label = -1}});
  }
  if (pod.topology_spread_constraints().empty()) {  // its Services and its owner select
    for (const TopologySpreadConstraint& constraint : s->rules->constraints) {
      basis.Add(constraint.selector.ToString());
    }
  }
  return true;
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
