// Which constraints apply to a pod, and the filter: kube-scheduler v1.35
// podtopologyspread/filtering.go.
#include "plugins/pod_topology_spread/pod_topology_spread.h"

#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/check.h"

namespace berth {
namespace {

constexpr char kSkewReason[] = "node(s) didn't match pod topology spread constraints";
constexpr char kLabelReason[] =
    "node(s) didn't match pod topology spread constraints (missing required label)";

// The two domains with the fewest pods. Enough to know the minimum while the pods of one node come
// and go, which is all that dry runs do.
class LowestDomains {
 public:
  void Update(Symbol value, int64_t count) {
    if (value == lowest_.value || value == second_.value) {
      (value == lowest_.value ? lowest_ : second_).count = count;
      if (lowest_.count > second_.count) std::swap(lowest_, second_);
    } else if (count < lowest_.count) {
      second_ = std::exchange(lowest_, {value, count});
    } else if (count < second_.count) {
      second_ = {value, count};
    }
  }
  int64_t minimum() const { return lowest_.count; }

 private:
  struct Domain {
    Symbol value;
    int64_t count = std::numeric_limits<int32_t>::max();
  };
  Domain lowest_, second_;
};

// The pods that one constraint counts.
struct DomainCounts {
  bool counts_itself = false;  // the selector selects the pod
  absl::flat_hash_map<Symbol, int64_t> count;
  LowestDomains lowest;
};

struct SpreadFilterState final : StateData {
  std::shared_ptr<const SpreadConstraints> constraints;
  std::vector<DomainCounts> domains;  // by constraint

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

// Judging criterion: matching pods + 1 if the pod matches - the minimum <= maxSkew.
Code Judge(const TopologySpreadConstraint& constraint, const DomainCounts& domains,
           const Symbol* value) {
  if (value == nullptr) return Code::kUnschedulableAndUnresolvable;
  const bool too_few = static_cast<int64_t>(domains.count.size()) < constraint.min_domains;
  const int64_t minimum = too_few ? 0 : domains.lowest.minimum();
  const auto it = domains.count.find(*value);
  const int64_t matching = it == domains.count.end() ? 0 : it->second;
  const int64_t skew = matching + (domains.counts_itself ? 1 : 0) - minimum;
  return skew > constraint.max_skew ? Code::kUnschedulable : Code::kSuccess;
}

std::vector<DomainCounts> CountDomains(const SpreadConstraints& constraints, const PodInfo& pod,
                                       const NodeTable& nodes) {
  constexpr int64_t kNoDomain = -1;
  const LabelColumns columns = TopologyColumns(nodes, constraints);
  std::vector<std::vector<int64_t>> counts;  // by constraint and value
  for (const auto* column : columns) counts.emplace_back(column->values().size(), kNoDomain);
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    if (!HasTopologyKeys(columns, row)) continue;
    const NodeInfo& node = nodes.node(row);
    for (size_t i = 0; i < constraints.size(); ++i) {
      if (!Counts(constraints[i], pod, node)) continue;
      int64_t& count = counts[i][columns[i]->index(row)];
      if (count == kNoDomain) count = 0;
      count += CountMatchingPods(node, constraints[i].selector, pod.namespace_name());
    }
  }
  std::vector<DomainCounts> domains(constraints.size());
  for (size_t i = 0; i < constraints.size(); ++i) {
    domains[i].counts_itself = constraints[i].selector.Matches(pod.labels());
    for (size_t index = 0; index < counts[i].size(); ++index) {
      if (counts[i][index] == kNoDomain) continue;
      const Symbol value = columns[i]->values()[index].value;
      domains[i].count.emplace(value, counts[i][index]);
      domains[i].lowest.Update(value, counts[i][index]);
    }
  }
  return domains;
}

// Of pods being deleted too, and by selectors that select everything, as upstream.
void Follow(CycleState& state, const PodInfo& pod, const PodInfo& changed, const NodeInfo& node,
            int64_t difference) {
  SpreadFilterState* const s = state.FindMutable(kFilterState);
  if (s == nullptr || changed.namespace_name() != pod.namespace_name()) return;
  const SpreadConstraints& constraints = *s->constraints;
  if (!HasTopologyKeys(node.labels(), constraints)) return;
  for (size_t i = 0; i < constraints.size(); ++i) {
    if (!constraints[i].selector.Matches(changed.labels())) continue;
    if (!Counts(constraints[i], pod, node)) continue;
    const Symbol value = *node.labels().Find(constraints[i].topology_key);
    int64_t& count = s->domains[i].count[value];
    count += difference;
    s->domains[i].lowest.Update(value, count);
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
  data->domains = CountDomains(*constraints, pod, nodes);
  data->constraints = std::make_shared<const SpreadConstraints>(*std::move(constraints));
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
  const SpreadFilterState* const s = state.Find(kFilterState);
  BERTH_CHECK(s != nullptr);
  for (size_t i = 0; i < s->constraints->size(); ++i) {
    const TopologySpreadConstraint& constraint = (*s->constraints)[i];
    switch (Judge(constraint, s->domains[i], node.labels().Find(constraint.topology_key))) {
      case Code::kUnschedulable:
        return Status::Unschedulable(kSkewReason);
      case Code::kUnschedulableAndUnresolvable:
        return Status::UnschedulableAndUnresolvable(kLabelReason);
      default:
        break;
    }
  }
  return Status::Success();
}

// The first constraint that rejects a node gives it its code.
Status PodTopologySpread::FilterNodes(const CycleState& state, const PodInfo&,
                                      const NodeTable& nodes, NodeVerdicts& verdicts) const {
  const SpreadFilterState* const s = state.Find(kFilterState);
  BERTH_CHECK(s != nullptr);
  const absl::Span<const NodeRow> rows = verdicts.candidates();
  std::vector<Code> codes(rows.size(), Code::kSuccess);
  for (size_t i = 0; i < s->constraints->size(); ++i) {
    const TopologySpreadConstraint& constraint = (*s->constraints)[i];
    const std::vector<Code> of_constraint = JudgeLabels<Code>(
        nodes.label_column(constraint.topology_key), rows, [&](const LabelValue& label) {
          return Judge(constraint, s->domains[i], label.present ? &label.value : nullptr);
        });
    for (size_t k = 0; k < rows.size(); ++k) {
      if (codes[k] == Code::kSuccess) codes[k] = of_constraint[k];
    }
  }
  for (size_t k = 0; k < rows.size(); ++k) {
    if (codes[k] != Code::kSuccess) verdicts.Set(rows[k], codes[k]);
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
