// SPDX-License-Identifier: Apache-2.0
// Preferred terms: kube-scheduler v1.35 interpodaffinity/scoring.go.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/check.h"
#include "berth/columns/pod_table.h"
#include "plugins/inter_pod_affinity/affinity_terms.h"
#include "plugins/inter_pod_affinity/inter_pod_affinity.h"
#include "src/simd/exact_doubles.h"
#include "src/simd/vector_clones.h"

namespace berth {
namespace {

// Domains that are added up at once; of more of them, those that are asked about.
constexpr size_t kFewDomains = 64;
constexpr size_t kMostParts = 16;

// The terms of one topology key: of each domain, the sum of the weights of those that match there.
struct TopologyScores {
  Symbol key;
  DomainSum sum;
  // By index in the column, 0 for nodes without the label. Not made where only few nodes are asked
  // about.
  std::vector<int64_t> sums;

  const LabelColumn& column() const { return *sum.column; }
  bool is_worth_sums() const {
    return column().values().size() <= kFewDomains ||
           (!HasOneNodePerValue(column()) && sum.parts.size() > kMostParts);
  }
  std::vector<int64_t> OfDomains() const {
    std::vector<int64_t> scores(column().values().size());
    for (const auto& [pods, weight] : sum.parts) {
      pods->AddToDomains(column(), weight, absl::MakeSpan(scores));
    }
    return scores;
  }
};

struct AffinityScoreState final : StateData {
  std::vector<TopologyScores> topologies;
  bool matches = false;  // some term

  std::unique_ptr<StateData> Clone() const override {
    return std::make_unique<AffinityScoreState>(*this);
  }

  // `pods` match a term of this topology key, or have it.
  void Add(std::shared_ptr<const PodCounts> pods, Symbol key, int64_t weight,
           const NodeTable& nodes) {
    if (pods->total() == 0) return;
    auto it = absl::c_find_if(topologies, [key](const auto& scores) { return scores.key == key; });
    if (it == topologies.end()) {
      it = topologies.insert(it, {key, {.column = &nodes.label_column(key), .parts = {}}});
    }
    matches = matches || pods->any_labelled(it->column());
    it->sum.parts.push_back({std::move(pods), weight});
  }
};

constexpr StateKey<AffinityScoreState> kScoreState{"InterPodAffinity score"};

void AddScores(const TopologyScores& topology, absl::Span<const NodeRow> rows,
               absl::Span<int64_t> scores) {
  const LabelColumn& column = topology.column();
  if (!topology.sums.empty()) {
    for (size_t i = 0; i < rows.size(); ++i) scores[i] += topology.sums[column.index(rows[i])];
    return;
  }
  const bool each_alone = HasOneNodePerValue(column);
  const std::optional<uint32_t> none = column.Find(LabelValue{});
  const bool all_labelled = !none.has_value() || column.row_count(*none) == 0;
  const bool are_all = rows.size() == column.indexes().size() && AreConsecutive(rows);
  for (const auto& [pods, weight] : topology.sum.parts) {
    if (each_alone && all_labelled && are_all) {
      pods->AddToRows(weight, scores);  // mostly few nodes have such pods
      continue;
    }
    absl::Span<const int64_t> of_domains;
    if (!each_alone) of_domains = pods->of_domains(column);
    for (size_t i = 0; i < rows.size(); ++i) {
      const uint32_t domain = column.index(rows[i]);
      if (!column.values()[domain].present) continue;
      scores[i] += weight * (each_alone ? pods->of_row(rows[i]) : of_domains[domain]);
    }
  }
}

// What a term of a running pod weighs in the score of a pod that it matches.
int64_t WeightOf(const PodTerm& term, int64_t hard_weight) {
  switch (term.kind) {
    case TermKind::kRequiredAffinity:
      return hard_weight;
    case TermKind::kPreferredAntiAffinity:
      return -term.weight;
    default:
      return term.weight;
  }
}

BERTH_VECTOR_CLONES std::pair<int64_t, int64_t> Extremes(absl::Span<const int64_t> scores) {
  int64_t min = scores.front(), max = scores.front();
  for (const int64_t score : scores) {  // one pass of vector instructions
    min = std::min(min, score);
    max = std::max(max, score);
  }
  return {min, max};
}

// As NormalizeScores() below; all differences are from 0 to `difference`.
BERTH_VECTOR_CLONES void Scale(int64_t min, int64_t difference, int64_t* scores, size_t size) {
  const double divisor = static_cast<double>(difference);
  for (size_t i = 0; i < size; ++i) {
    const double share = ToDouble(scores[i] - min) / divisor;
    scores[i] = Truncated(static_cast<double>(kMaxNodeScore) * share);
  }
}

}  // namespace

Status InterPodAffinity::PreScore(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                                  absl::Span<const NodeRow>) {
  std::vector<DomainSum> sums;
  Status status = *PreScoreDomains(state, pod, nodes, sums);
  if (!status.ok()) return status;
  for (TopologyScores& topology : state.FindMutable(kScoreState)->topologies) {
    if (topology.sums.empty()) topology.sums = topology.OfDomains();
  }
  return status;
}

std::optional<Status> InterPodAffinity::PreScoreDomains(CycleState& state, const PodInfo& pod,
                                                        const NodeTable& nodes,
                                                        std::vector<DomainSum>& sums) {
  if (!pod.pod_affinity_status().ok()) {
    return Status::Error(
        absl::StrCat("failed to parse pod: ", pod.pod_affinity_status().message()));
  }
  const bool has_preferences =
      !pod.preferred_affinity_terms().empty() || !pod.preferred_anti_affinity_terms().empty();
  if (args_.ignore_preferred_terms_of_existing_pods && !has_preferences) return Status::Skip();

  TermKinds kinds = TermKind::kPreferredAffinity | TermKind::kPreferredAntiAffinity;
  if (args_.hard_pod_affinity_weight > 0) kinds |= TermKind::kRequiredAffinity;
  const PodTable& pods = nodes.pods();
  const auto about_pod =
      pods.TermsAbout(pod, handle_.objects().NamespaceLabels(pod.namespace_name()), kinds);
  if (!has_preferences && about_pod.empty()) return Status::Skip();

  auto data = std::make_unique<AffinityScoreState>();
  const auto add_own = [&](const WeightedAffinityTerm& own, int64_t sign) {
    const PodSelector selector = namespaces_.PodsOf(own.term, handle_.objects());
    data->Add(pods.Count(selector), own.term.topology_key, sign * own.weight, nodes);
  };
  for (const WeightedAffinityTerm& own : pod.preferred_affinity_terms()) add_own(own, 1);
  for (const WeightedAffinityTerm& own : pod.preferred_anti_affinity_terms()) add_own(own, -1);
  for (const PodTerm* its : about_pod) {
    const int64_t weight = WeightOf(*its, args_.hard_pod_affinity_weight);
    // The term stays as long as the cycle lasts.
    std::shared_ptr<const PodCounts> counts(std::shared_ptr<void>(), &its->counts);
    data->Add(std::move(counts), its->term.topology_key, weight, nodes);
  }
  if (!data->matches) return Status::Skip();
  for (TopologyScores& topology : data->topologies) {
    if (topology.is_worth_sums()) topology.sums = topology.OfDomains();
    sums.push_back(topology.sum);
  }
  state.Write(kScoreState, std::move(data));
  return Status::Success();
}

absl::StatusOr<int64_t> InterPodAffinity::Score(const CycleState& state, const PodInfo&,
                                                const NodeInfo& node) const {
  const absl::StatusOr<const AffinityScoreState*> read = state.Read(kScoreState);
  if (!read.ok()) return read.status();
  const AffinityScoreState* const s = *read;
  int64_t score = 0;
  for (const TopologyScores& topology : s->topologies) {
    const Symbol* const value = node.labels().Find(topology.key);
    if (value == nullptr) continue;
    const std::optional<uint32_t> domain = topology.column().Find({true, *value});
    if (!domain.has_value()) continue;
    score += topology.sums.empty() ? topology.OfDomains()[*domain] : topology.sums[*domain];
  }
  return score;
}

absl::Status InterPodAffinity::ScoreNodes(const CycleState& state, const PodInfo&, const NodeTable&,
                                          absl::Span<const NodeRow> rows,
                                          absl::Span<int64_t> scores) const {
  const absl::StatusOr<const AffinityScoreState*> read = state.Read(kScoreState);
  if (!read.ok()) return read.status();
  const AffinityScoreState* const s = *read;
  absl::c_fill(scores, 0);
  for (const TopologyScores& topology : s->topologies) AddScores(topology, rows, scores);
  return absl::OkStatus();
}

// 100 * ((score - min) / (max - min)) in doubles, truncated; 0 if all scores are equal.
absl::Status InterPodAffinity::NormalizeScores(const CycleState&, const PodInfo&,
                                               absl::Span<const NodeRow>,
                                               absl::Span<int64_t> scores) const {
  if (scores.empty()) return absl::OkStatus();
  const auto [min, max] = Extremes(scores);
  const int64_t difference = max - min;
  if (difference == 0) {
    absl::c_fill(scores, 0);
  } else if (difference < kExactAmounts) {
    Scale(min, difference, scores.data(), scores.size());
  } else {
    for (int64_t& score : scores) {
      const double share = static_cast<double>(score - min) / static_cast<double>(difference);
      score = static_cast<int64_t>(static_cast<double>(kMaxNodeScore) * share);
    }
  }
  return absl::OkStatus();
}

}  // namespace berth
