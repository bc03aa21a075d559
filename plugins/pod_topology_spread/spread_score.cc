// The soft constraints of PodTopologySpread: kube-scheduler v1.35 podtopologyspread/scoring.go.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/check.h"
#include "berth/framework/match_rows.h"
#include "plugins/pod_topology_spread/pod_topology_spread.h"

namespace berth {
namespace {

// What one constraint adds to the scores of nodes. Those without the label get nothing.
struct SpreadShares {
  double weight = 0;  // of each matching pod
  double base = 0;    // of no pod
  const LabelColumn* column;
  // Hosts are domains of their own, whose pods count as they are; of others, the share of each
  // domain.
  std::shared_ptr<const PodCounts> pods_of_hosts;
  absl::Span<const int64_t> of_hosts;  // by row
  std::vector<double> of_domains;

  double Of(int64_t pods) const { return static_cast<double>(pods) * weight + base; }
};

struct SpreadScoreState final : StateData {
  SpreadConstraints constraints;
  bool requires_all_keys = true;     // nodes without one of the topology keys are not scored
  std::vector<uint8_t> ignored;      // by row: 1 for those nodes; empty if there are none
  std::vector<SpreadShares> shares;  // by constraint

  std::unique_ptr<StateData> Clone() const override {
    return std::make_unique<SpreadScoreState>(*this);
  }
  bool Ignores(NodeRow row) const { return !ignored.empty() && ignored[row] != 0; }
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

// The domains of one constraint that have a node to be scored, and their pods.
class CandidateDomains {
 public:
  // Nodes without the label are in the domain of those where it is empty, as in Go's maps.
  explicit CandidateDomains(const LabelColumn& column)
      : column_(column), counts_(column.values().size(), kNoCandidate) {
    const std::optional<uint32_t> none = column.Find(LabelValue{});
    const std::optional<uint32_t> empty = column.Find({true, Symbol()});
    if (none.has_value() && empty.has_value()) alias_ = {*none, *empty};
  }

  void AddCandidate(NodeRow row) {
    int64_t& count = counts_[DomainOf(column_.index(row))];
    if (count != kNoCandidate) return;
    count = 0;
    ++size_;
  }
  void CountDomain(uint32_t index, int64_t pods) {
    int64_t& count = counts_[DomainOf(index)];
    if (count != kNoCandidate) count += pods;
  }
  int size() const { return size_; }
  int64_t pods(uint32_t index) const { return std::max<int64_t>(counts_[DomainOf(index)], 0); }

 private:
  static constexpr int64_t kNoCandidate = -1;

  uint32_t DomainOf(uint32_t index) const { return index == alias_.first ? alias_.second : index; }

  const LabelColumn& column_;
  std::pair<uint32_t, uint32_t> alias_ = {std::numeric_limits<uint32_t>::max(), 0};
  std::vector<int64_t> counts_;  // by index in the column
  int size_ = 0;
};

// Marks the nodes that are not scored, as they are not in `scope`. Returns how many are scored.
size_t FindIgnored(const NodeScope& scope, const NodeTable& nodes,
                   absl::Span<const NodeRow> feasible, SpreadScoreState& s) {
  if (MatchesAllRows(scope, nodes)) return feasible.size();
  s.ignored.assign(nodes.size(), 0);
  size_t scored = feasible.size();
  const RowMatches is_scored = MatchRows(scope, nodes, feasible);
  for (size_t i = 0; i < feasible.size(); ++i) {
    if (is_scored[i] != 0) continue;
    s.ignored[feasible[i]] = 1;
    --scored;
  }
  return scored;
}

// Counts the pods of the domains that have a candidate, wherever they are in it.
void CountPods(const TopologySpreadConstraint& constraint, const PodInfo& pod,
               const NodeScope& scope, const NodeTable& nodes, const LabelColumn& column,
               CandidateDomains& domains) {
  const std::shared_ptr<const PodCounts> pods = MatchingPods(
      nodes, constraint.selector, pod.namespace_name(), CountedNodes(constraint, pod, scope));
  const absl::Span<const int64_t> of_domains = pods->of_domains(column);
  for (uint32_t i = 0; i < of_domains.size(); ++i) domains.CountDomain(i, of_domains[i]);
}

// Weighs the topologies: those with few domains less.
void FindShares(const PodInfo& pod, const NodeTable& nodes, absl::Span<const NodeRow> feasible,
                SpreadScoreState& s) {
  const NodeScope scope = s.requires_all_keys ? NodesWithTopologyKeys(s.constraints) : NodeScope();
  const size_t scored = FindIgnored(scope, nodes, feasible, s);
  for (const TopologySpreadConstraint& constraint : s.constraints) {
    const LabelColumn& column = nodes.label_column(constraint.topology_key);
    SpreadShares shares{.base = static_cast<double>(constraint.max_skew - 1), .column = &column};
    const auto weight = [](size_t domains) { return std::log(static_cast<double>(domains + 2)); };
    if (IsHostname(constraint.topology_key)) {
      shares.weight = weight(scored);
      shares.pods_of_hosts =
          MatchingPods(nodes, constraint.selector, pod.namespace_name(), NodeScope());
      shares.of_hosts = shares.pods_of_hosts->of_rows();
    } else {
      CandidateDomains domains(column);
      for (const NodeRow row : feasible) {
        if (!s.Ignores(row)) domains.AddCandidate(row);
      }
      CountPods(constraint, pod, scope, nodes, column, domains);
      shares.weight = weight(domains.size());
      for (uint32_t index = 0; index < column.values().size(); ++index) {
        const bool has_label = column.values()[index].present;
        shares.of_domains.push_back(has_label ? shares.Of(domains.pods(index)) : 0);
      }
    }
    s.shares.push_back(std::move(shares));
  }
}

}  // namespace

Status PodTopologySpread::PreScore(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                                   absl::Span<const NodeRow> feasible) {
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
  data->requires_all_keys = !pod.topology_spread_constraints().empty() || !defaults_.from_system;
  FindShares(pod, nodes, feasible, *data);
  state.Write(kScoreState, std::move(data));
  return Status::Success();
}

absl::StatusOr<int64_t> PodTopologySpread::Score(const CycleState& state, const PodInfo& pod,
                                                 const NodeInfo& node) const {
  const SpreadScoreState* const s = state.Find(kScoreState);
  BERTH_CHECK(s != nullptr);
  if (s->requires_all_keys && !HasTopologyKeys(node.labels(), s->constraints)) return 0;
  double score = 0;
  for (size_t i = 0; i < s->constraints.size(); ++i) {
    const TopologySpreadConstraint& constraint = s->constraints[i];
    const SpreadShares& shares = s->shares[i];
    const Symbol* const value = node.labels().Find(constraint.topology_key);
    if (value == nullptr) continue;
    if (shares.pods_of_hosts != nullptr) {
      score += shares.Of(CountMatchingPods(node, constraint.selector, pod.namespace_name()));
    } else {
      const std::optional<uint32_t> domain = shares.column->Find({true, *value});
      score += domain.has_value() ? shares.of_domains[*domain] : shares.base;
    }
  }
  return Round(score);
}

absl::Status PodTopologySpread::ScoreNodes(const CycleState& state, const PodInfo&,
                                           const NodeTable&, absl::Span<const NodeRow> rows,
                                           absl::Span<int64_t> scores) const {
  const SpreadScoreState* const s = state.Find(kScoreState);
  BERTH_CHECK(s != nullptr);
  for (size_t k = 0; k < rows.size(); ++k) {
    const NodeRow row = rows[k];
    double score = 0;
    for (const SpreadShares& shares : s->shares) {
      const uint32_t domain = shares.column->index(row);
      if (shares.pods_of_hosts == nullptr) {
        score += shares.of_domains[domain];
      } else if (shares.column->values()[domain].present) {
        score += shares.Of(shares.of_hosts[row]);
      }
    }
    scores[k] = s->Ignores(row) ? 0 : Round(score);
  }
  return absl::OkStatus();
}

// 100 * (max + min - score) / max, truncated; 100 if max is 0; 0 for nodes that are not scored.
absl::Status PodTopologySpread::NormalizeScores(const CycleState& state, const PodInfo&,
                                                absl::Span<const NodeRow> rows,
                                                absl::Span<int64_t> scores) const {
  const SpreadScoreState* const s = state.Find(kScoreState);
  BERTH_CHECK(s != nullptr);
  int64_t min = std::numeric_limits<int64_t>::max();
  int64_t max = 0;
  for (size_t k = 0; k < rows.size(); ++k) {
    if (s->Ignores(rows[k])) continue;
    min = std::min(min, scores[k]);
    max = std::max(max, scores[k]);
  }
  for (size_t k = 0; k < rows.size(); ++k) {
    if (s->Ignores(rows[k])) {
      scores[k] = 0;
    } else {
      scores[k] = max == 0 ? kMaxNodeScore : kMaxNodeScore * (max + min - scores[k]) / max;
    }
  }
  return absl::OkStatus();
}

}  // namespace berth
