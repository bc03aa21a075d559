// SPDX-License-Identifier: Apache-2.0
// The soft constraints of PodTopologySpread: kube-scheduler v1.35 podtopologyspread/scoring.go.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/check.h"
#include "berth/columns/match_rows.h"
#include "plugins/pod_topology_spread/pod_topology_spread.h"
#include "src/simd/exact_doubles.h"
#include "src/simd/vector_clones.h"

namespace berth {
namespace {

// What one constraint adds to the scores of nodes. Those without the label get nothing.
struct SpreadTerm {
  const LabelColumn* column = nullptr;
  std::shared_ptr<const PodCounts> pods;
  bool by_host = false;  // over hostname: a node counts its own pods, not those of its domain
  // If it is, by row; else by domain.
  absl::Span<const int64_t> counts;
  // The domains of nodes without the label, and of those where it is empty, if there may be both:
  // Go's maps do not tell them apart.
  std::optional<std::pair<uint32_t, uint32_t>> none_and_empty;
  double weight = 1;  // of each matching pod; known when the feasible nodes are
  double base = 0;    // of no pod

  double Of(int64_t pods) const { return static_cast<double>(pods) * weight + base; }
  double OfDomain(uint32_t domain) const {
    int64_t pods = counts[domain];
    if (none_and_empty.has_value() && domain == none_and_empty->second) {
      pods += counts[none_and_empty->first];
    }
    return Of(pods);
  }
};

struct SpreadScoreState final : StateData {
  SpreadConstraints constraints;
  std::vector<SpreadTerm> terms;  // by constraint
  bool ignores_some = false;      // nodes without one of the topology keys are not scored

  std::unique_ptr<StateData> Clone() const override {
    return std::make_unique<SpreadScoreState>(*this);
  }
  bool Ignores(NodeRow row) const {
    return ignores_some && absl::c_any_of(terms, [row](const SpreadTerm& term) {
             return !term.column->at(row).present;
           });
  }
};

constexpr StateKey<SpreadScoreState> kScoreState{"PodTopologySpread score"};

bool IsHostname(Symbol key) {
  static const Symbol hostname = Symbol::Intern("kubernetes.io/hostname");
  return key == hostname;
}

// As Go's math.Round(), for numbers that are not negative.
int64_t Round(double x) {
  const auto whole = static_cast<int64_t>(x);
  return whole + (x - static_cast<double>(whole) >= 0.5 ? 1 : 0);
}

std::optional<std::pair<uint32_t, uint32_t>> NoneAndEmpty(const LabelColumn& column) {
  const std::optional<uint32_t> none = column.Find(LabelValue{});
  const std::optional<uint32_t> empty = column.Find({true, Symbol()});
  if (!none.has_value() || !empty.has_value()) return std::nullopt;
  return std::pair(*none, *empty);
}

// In how many domains the nodes are that are scored.
int CountDomains(const EquivalentNodes& feasible, const SpreadScoreState& s,
                 const SpreadTerm& term) {
  const auto is_scored = [&](NodeRow row) { return !s.Ignores(row); };
  const int domains = feasible.CountDomains(*term.column, is_scored);
  if (!term.none_and_empty.has_value()) return domains;
  const auto has_scored_in = [&](uint32_t domain) {
    return absl::c_any_of(feasible.rows, [&](NodeRow row) {
      return term.column->index(row) == domain && is_scored(row);
    });
  };
  const bool are_two =
      has_scored_in(term.none_and_empty->first) && has_scored_in(term.none_and_empty->second);
  return domains - (are_two ? 1 : 0);
}

int CountNodes(const EquivalentNodes& feasible, const SpreadScoreState& s) {
  int nodes = 0;
  for (size_t i = 0; i < feasible.rows.size(); ++i) {
    if (!s.Ignores(feasible.rows[i])) nodes += feasible.count(i);
  }
  return nodes;
}

// Whether the one constraint, over hosts, comes to the same points at any weight: no host has a
// matching pod, or each at most one and none allowed before it counts; those with a pod get
// nothing then if there are others.
bool WeightChangesNoScore(const SpreadScoreState& s) {
  if (s.terms.size() != 1 || s.ignores_some || !s.terms.front().by_host) return false;
  const SpreadTerm& term = s.terms.front();
  int64_t most = 0;
  for (const int64_t pods : term.counts) most = std::max(most, pods);
  return most == 0 || (most == 1 && term.base == 0);
}

// Scores, none of them negative, and what becomes of one of them.
struct ScoreRange {
  int64_t min = std::numeric_limits<int64_t>::max();
  int64_t max = 0;

  void Add(int64_t score) {
    min = std::min(min, score);
    max = std::max(max, score);
  }
  // 100 * (max + min - score) / max, truncated; 100 if max is 0.
  int64_t Normalized(int64_t score) const {
    return max == 0 ? kMaxNodeScore : kMaxNodeScore * (max + min - score) / max;
  }
};

BERTH_VECTOR_CLONES void NormalizeAll(int64_t* scores, size_t size) {
  ScoreRange range;
  for (size_t i = 0; i < size; ++i) range.Add(scores[i]);
  if (range.max == 0 || range.max >= kExactAmounts) {
    for (size_t i = 0; i < size; ++i) scores[i] = range.Normalized(scores[i]);
    return;
  }
  const double max = static_cast<double>(range.max);
  const int64_t sum = range.max + range.min;
  for (size_t i = 0; i < size; ++i) {
    scores[i] = Truncated(ToDouble(sum - scores[i]) * kMaxNodeScore / max);
  }
}

// The scores by one constraint. False, and nothing done, where that is not faster: if a node has no
// such label or, unless the constraint is over hosts, domains are more than the nodes asked about.
bool ScoreByOne(const SpreadTerm& term, absl::Span<const NodeRow> rows,
                absl::Span<int64_t> scores) {
  const LabelColumn& column = *term.column;
  const std::optional<uint32_t> none = column.Find(LabelValue{});
  if (none.has_value() && column.row_count(*none) > 0) return false;
  if (term.by_host) {
    for (size_t k = 0; k < rows.size(); ++k) scores[k] = Round(term.Of(term.counts[rows[k]]));
    return true;
  }
  if (column.values().size() > rows.size()) return false;
  std::vector<int64_t> of_domains(column.values().size());
  for (size_t i = 0; i < of_domains.size(); ++i) {
    of_domains[i] = Round(term.OfDomain(static_cast<uint32_t>(i)));
  }
  for (size_t k = 0; k < rows.size(); ++k) scores[k] = of_domains[column.index(rows[k])];
  return true;
}

}  // namespace

Status PodTopologySpread::PreScore(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                                   absl::Span<const NodeRow> feasible) {
  Status status = FindTerms(state, pod, nodes);
  if (!status.ok()) return status;
  SetFeasible(state, {.rows = feasible, .counts = {}});
  return status;
}

std::optional<Status> PodTopologySpread::PreScoreDomains(CycleState& state, const PodInfo& pod,
                                                         const NodeTable& nodes,
                                                         std::vector<DomainSum>& sums) {
  Status status = FindTerms(state, pod, nodes);
  if (!status.ok()) return status;
  for (const SpreadTerm& term : state.Find(kScoreState)->terms) {
    // Two nodes of one host name are a domain, but score by their own pods; and nodes without the
    // label may be in the domain of one that has it.
    const bool sum_decides_score =
        term.by_host ? HasOneNodePerValue(*term.column) : !term.none_and_empty.has_value();
    if (!sum_decides_score) return std::nullopt;
    sums.push_back({.column = term.column, .parts = {{.pods = term.pods}}});
  }
  return status;
}

// The constraints that score `pod`, and the pods that they count.
Status PodTopologySpread::FindTerms(CycleState& state, const PodInfo& pod,
                                    const NodeTable& nodes) const {
  if (nodes.size() == 0) return Status::Skip();
  absl::StatusOr<SpreadConstraints> constraints =
      ConstraintsOf(pod, UnsatisfiableAction::kScheduleAnyway);
  if (!constraints.ok()) {
    return Status::Error(
        absl::StrCat("calculating preScoreState: ", constraints.status().message()));
  }
  if (constraints->empty()) return Status::Skip();
  auto data = std::make_unique<SpreadScoreState>();
  data->constraints = *std::move(constraints);
  const bool all_keys = !pod.topology_spread_constraints().empty() || !defaults_.from_system;
  const NodeScope scored = all_keys ? NodesWithTopologyKeys(data->constraints) : NodeScope();
  data->ignores_some = !MatchesAllRows(scored, nodes);
  for (const TopologySpreadConstraint& constraint : data->constraints) {
    const bool by_host = IsHostname(constraint.topology_key);
    const NodeScope counted = by_host ? NodeScope() : CountedNodes(constraint, pod, scored);
    SpreadTerm& term = data->terms.emplace_back();
    term.column = &nodes.label_column(constraint.topology_key);
    term.pods = MatchingPods(nodes, constraint.selector, pod.namespace_name(), counted);
    term.by_host = by_host;
    term.counts = by_host ? term.pods->of_rows() : term.pods->of_domains(*term.column);
    if (!by_host) term.none_and_empty = NoneAndEmpty(*term.column);
    term.base = static_cast<double>(constraint.max_skew - 1);
  }
  state.Write(kScoreState, std::move(data));
  return Status::Success();
}

void PodTopologySpread::SetFeasible(CycleState& state, const EquivalentNodes& feasible) {
  SpreadScoreState* const s = state.FindMutable(kScoreState);
  BERTH_CHECK(s != nullptr);
  // Topologies with few domains weigh less.
  for (SpreadTerm& term : s->terms) {
    const int domains = term.by_host ? CountNodes(feasible, *s) : CountDomains(feasible, *s, term);
    term.weight = std::log(static_cast<double>(domains + 2));
  }
}

// Hosts weigh by how many are scored. A node that is not scored must not stand for its domain.
DomainScorer::Feasible PodTopologySpread::ScoresDependOn(const CycleState& state) const {
  const SpreadScoreState* const s = state.Find(kScoreState);
  if (s != nullptr && WeightChangesNoScore(*s)) return Feasible::kNothing;
  const bool on_nodes = s == nullptr || s->ignores_some ||
                        absl::c_any_of(s->terms, [](const auto& of) { return of.by_host; });
  return on_nodes ? Feasible::kNodes : Feasible::kDomains;
}

absl::StatusOr<int64_t> PodTopologySpread::Score(const CycleState& state, const PodInfo& pod,
                                                 const NodeInfo& node) const {
  const absl::StatusOr<const SpreadScoreState*> read = state.Read(kScoreState);
  if (!read.ok()) return read.status();
  const SpreadScoreState* const s = *read;
  if (s->ignores_some && !HasTopologyKeys(node.labels(), s->constraints)) return 0;
  double score = 0;
  for (size_t i = 0; i < s->constraints.size(); ++i) {
    const TopologySpreadConstraint& constraint = s->constraints[i];
    const SpreadTerm& term = s->terms[i];
    const Symbol* const value = node.labels().Find(constraint.topology_key);
    if (value == nullptr) continue;
    if (term.by_host) {
      score += term.Of(CountMatchingPods(node, constraint.selector, pod.namespace_name()));
    } else {
      const std::optional<uint32_t> domain = term.column->Find({true, *value});
      score += domain.has_value() ? term.OfDomain(*domain) : term.base;
    }
  }
  return Round(score);
}

absl::Status PodTopologySpread::ScoreNodes(const CycleState& state, const PodInfo&,
                                           const NodeTable&, absl::Span<const NodeRow> rows,
                                           absl::Span<int64_t> scores) const {
  const absl::StatusOr<const SpreadScoreState*> read = state.Read(kScoreState);
  if (!read.ok()) return read.status();
  const SpreadScoreState* const s = *read;
  if (s->terms.size() == 1 && ScoreByOne(s->terms.front(), rows, scores)) {
    return absl::OkStatus();
  }
  for (size_t k = 0; k < rows.size(); ++k) {
    const NodeRow row = rows[k];
    double score = 0;
    for (const SpreadTerm& term : s->terms) {
      const uint32_t domain = term.column->index(row);
      if (!term.column->values()[domain].present) continue;
      score += term.by_host ? term.Of(term.counts[row]) : term.OfDomain(domain);
    }
    scores[k] = s->Ignores(row) ? 0 : Round(score);
  }
  return absl::OkStatus();
}

// As ScoreRange says; 0 for nodes that are not scored.
absl::Status PodTopologySpread::NormalizeScores(const CycleState& state, const PodInfo&,
                                                absl::Span<const NodeRow> rows,
                                                absl::Span<int64_t> scores) const {
  const absl::StatusOr<const SpreadScoreState*> read = state.Read(kScoreState);
  if (!read.ok()) return read.status();
  const SpreadScoreState* const s = *read;
  if (!s->ignores_some) {
    NormalizeAll(scores.data(), scores.size());
    return absl::OkStatus();
  }
  ScoreRange range;
  for (size_t k = 0; k < rows.size(); ++k) {
    if (!s->Ignores(rows[k])) range.Add(scores[k]);
  }
  for (size_t k = 0; k < rows.size(); ++k) {
    scores[k] = s->Ignores(rows[k]) ? 0 : range.Normalized(scores[k]);
  }
  return absl::OkStatus();
}

}  // namespace berth
