// The soft constraints of PodTopologySpread: kube-scheduler v1.35 podtopologyspread/scoring.go.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "berth/check.h"
#include "plugins/pod_topology_spread/pod_topology_spread.h"

namespace berth {
namespace {

struct SpreadScoreState final : StateData {
  SpreadConstraints constraints;
  bool requires_all_keys = true;  // nodes without one of the topology keys are not scored
  std::vector<uint8_t> ignored;   // by row: 1 for those nodes
  // By constraint. Hosts are counted as they are scored.
  std::vector<absl::flat_hash_map<Symbol, int64_t>> counts;
  std::vector<double> weights;

  std::unique_ptr<StateData> Clone() const override {
    return std::make_unique<SpreadScoreState>(*this);
  }

  // What a domain with `count` matching pods adds to the score of its nodes.
  double Share(size_t i, int64_t count) const {
    return static_cast<double>(count) * weights[i] +
           static_cast<double>(constraints[i].max_skew - 1);
  }
  double ShareOfDomain(size_t i, Symbol value) const {
    const auto it = counts[i].find(value);
    return Share(i, it == counts[i].end() ? 0 : it->second);
  }
};

constexpr StateKey<SpreadScoreState> kScoreState{"PodTopologySpread score"};

bool IsHostname(Symbol key) {
  static const Symbol hostname = Symbol::Intern("kubernetes.io/hostname");
  return key == hostname;
}

// Collects the domains of one constraint, by the values of a label column.
class Domains {
 public:
  explicit Domains(const DictionaryColumn<LabelValue>& column)
      : column_(column),
        same_as_(column.values().size()),
        counts_(column.values().size(), kNoCandidate) {
    // No label and an empty one are one domain, as in Go's maps.
    uint32_t empty = kNone;
    for (uint32_t i = 0; i < same_as_.size(); ++i) {
      same_as_[i] = i;
      if (!column.values()[i].value.empty()) continue;
      if (empty == kNone) empty = i;
      same_as_[i] = empty;
    }
  }

  void AddCandidate(NodeRow row) {
    int64_t& count = counts_[same_as_[column_.index(row)]];
    if (count != kNoCandidate) return;
    count = 0;
    ++size_;
  }
  bool IsCandidate(NodeRow row) const {
    return counts_[same_as_[column_.index(row)]] != kNoCandidate;
  }
  void Count(NodeRow row, int64_t pods) { counts_[same_as_[column_.index(row)]] += pods; }

  int size() const { return size_; }
  absl::flat_hash_map<Symbol, int64_t> ByValue() const {
    absl::flat_hash_map<Symbol, int64_t> counts;
    for (size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] != kNoCandidate) counts.emplace(column_.values()[i].value, counts_[i]);
    }
    return counts;
  }

 private:
  static constexpr int64_t kNoCandidate = -1;
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  const DictionaryColumn<LabelValue>& column_;
  std::vector<uint32_t> same_as_;
  std::vector<int64_t> counts_;
  int size_ = 0;
};

// Counts the pods of the domains that have a candidate, and weighs the topologies.
void CountCandidateDomains(const PodInfo& pod, const NodeTable& nodes,
                           absl::Span<const NodeRow> feasible, SpreadScoreState& s) {
  const SpreadConstraints& constraints = s.constraints;
  const LabelColumns columns = TopologyColumns(nodes, constraints);
  std::vector<Domains> domains;
  std::vector<size_t> wide;  // the constraints that are not about hosts
  for (size_t i = 0; i < constraints.size(); ++i) {
    domains.emplace_back(*columns[i]);
    if (!IsHostname(constraints[i].topology_key)) wide.push_back(i);
  }

  s.ignored.assign(nodes.size(), 0);
  size_t scored = 0;
  for (const NodeRow row : feasible) {
    if (s.requires_all_keys && !HasTopologyKeys(columns, row)) {
      s.ignored[row] = 1;
      continue;
    }
    ++scored;
    for (const size_t i : wide) domains[i].AddCandidate(row);
  }
  for (NodeRow row = 0; row < nodes.size() && !wide.empty(); ++row) {
    if (s.requires_all_keys && !HasTopologyKeys(columns, row)) continue;
    const NodeInfo& node = nodes.node(row);
    for (const size_t i : wide) {
      if (!domains[i].IsCandidate(row) || !Counts(constraints[i], pod, node)) continue;
      domains[i].Count(row, CountMatchingPods(node, constraints[i].selector, pod.namespace_name()));
    }
  }

  for (size_t i = 0; i < constraints.size(); ++i) {
    s.counts.push_back(domains[i].ByValue());
    const size_t size = IsHostname(constraints[i].topology_key) ? scored : domains[i].size();
    s.weights.push_back(std::log(static_cast<double>(size + 2)));
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
  CountCandidateDomains(pod, nodes, feasible, *data);
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
    const Symbol* const value = node.labels().Find(constraint.topology_key);
    if (value == nullptr) continue;
    score += IsHostname(constraint.topology_key)
                 ? s->Share(i, CountMatchingPods(node, constraint.selector, pod.namespace_name()))
                 : s->ShareOfDomain(i, *value);
  }
  return static_cast<int64_t>(std::round(score));
}

absl::Status PodTopologySpread::ScoreNodes(const CycleState& state, const PodInfo& pod,
                                           const NodeTable& nodes, absl::Span<const NodeRow> rows,
                                           absl::Span<int64_t> scores) const {
  const SpreadScoreState* const s = state.Find(kScoreState);
  BERTH_CHECK(s != nullptr);
  std::vector<double> sums(rows.size(), 0);
  for (size_t i = 0; i < s->constraints.size(); ++i) {
    const TopologySpreadConstraint& constraint = s->constraints[i];
    const auto& column = nodes.label_column(constraint.topology_key);
    if (IsHostname(constraint.topology_key)) {
      for (size_t k = 0; k < rows.size(); ++k) {
        if (!column.at(rows[k]).present) continue;
        sums[k] += s->Share(
            i, CountMatchingPods(nodes.node(rows[k]), constraint.selector, pod.namespace_name()));
      }
      continue;
    }
    const std::vector<double> shares =
        JudgeLabels<double>(column, rows, [&](const LabelValue& label) {
          return label.present ? s->ShareOfDomain(i, label.value) : 0.0;
        });
    for (size_t k = 0; k < rows.size(); ++k) sums[k] += shares[k];
  }
  for (size_t k = 0; k < rows.size(); ++k) {
    scores[k] = s->ignored[rows[k]] != 0 ? 0 : static_cast<int64_t>(std::round(sums[k]));
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
    if (s->ignored[rows[k]] != 0) continue;
    min = std::min(min, scores[k]);
    max = std::max(max, scores[k]);
  }
  for (size_t k = 0; k < rows.size(); ++k) {
    if (s->ignored[rows[k]] != 0) {
      scores[k] = 0;
    } else {
      scores[k] = max == 0 ? kMaxNodeScore : kMaxNodeScore * (max + min - scores[k]) / max;
    }
  }
  return absl::OkStatus();
}

}  // namespace berth
