// Preferred terms: kube-scheduler v1.35 interpodaffinity/scoring.go.
#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "berth/check.h"
#include "plugins/inter_pod_affinity/affinity_terms.h"
#include "plugins/inter_pod_affinity/inter_pod_affinity.h"

namespace berth {
namespace {

// The sums of the weights of the terms of one topology key.
struct TopologyScores {
  Symbol key;
  absl::flat_hash_map<Symbol, int64_t> of_value;

  int64_t Of(Symbol value) const {
    const auto it = of_value.find(value);
    return it == of_value.end() ? 0 : it->second;
  }
};

struct AffinityScoreState final : StateData {
  std::vector<TopologyScores> topologies;

  std::unique_ptr<StateData> Clone() const override {
    return std::make_unique<AffinityScoreState>(*this);
  }

  void Add(const NodeInfo& node, Symbol key, int64_t weight) {
    const Symbol* const value = node.labels().Find(key);
    if (value == nullptr) return;
    auto it = absl::c_find_if(topologies, [key](const auto& scores) { return scores.key == key; });
    if (it == topologies.end()) it = topologies.insert(it, {key, {}});
    it->of_value[*value] += weight;
  }
};

constexpr StateKey<AffinityScoreState> kScoreState{"InterPodAffinity score"};

// Sums up for one pod being scheduled.
class Scorer {
 public:
  Scorer(const PodInfo& pod, const ObjectStore& objects, int64_t hard_weight,
         AffinityScoreState& scores)
      : pod_(pod),
        namespace_labels_(objects.NamespaceLabels(pod.namespace_name())),
        hard_weight_(hard_weight),
        scores_(scores) {
    for (const WeightedAffinityTerm& term : pod.preferred_affinity_terms()) own_.push_back(term);
    for (const WeightedAffinityTerm& term : pod.preferred_anti_affinity_terms()) {
      own_.push_back({term.term, -term.weight});
    }
    for (WeightedAffinityTerm& term : own_) AddSelectedNamespaces(objects, term.term);
  }

  // `other` runs on `node`: what its terms and those of the pod make of each other.
  void Count(const PodInfo& other, const NodeInfo& node) {
    for (const WeightedAffinityTerm& own : own_) {
      if (Matches(own.term, other)) scores_.Add(node, own.term.topology_key, own.weight);
    }
    if (hard_weight_ > 0) {
      for (const AffinityTerm& term : other.required_affinity_terms()) {
        CountItsTerm(term, hard_weight_, node);
      }
    }
    for (const WeightedAffinityTerm& its : other.preferred_affinity_terms()) {
      CountItsTerm(its.term, its.weight, node);
    }
    for (const WeightedAffinityTerm& its : other.preferred_anti_affinity_terms()) {
      CountItsTerm(its.term, -its.weight, node);
    }
  }

 private:
  void CountItsTerm(const AffinityTerm& term, int64_t weight, const NodeInfo& node) {
    if (term.Matches(pod_.namespace_name(), pod_.labels(), namespace_labels_)) {
      scores_.Add(node, term.topology_key, weight);
    }
  }

  const PodInfo& pod_;
  const LabelSet* const namespace_labels_;
  const int64_t hard_weight_;
  AffinityScoreState& scores_;
  std::vector<WeightedAffinityTerm> own_;  // anti-affinity with negative weight
};

}  // namespace

Status InterPodAffinity::PreScore(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                                  absl::Span<const NodeRow>) {
  if (!pod.pod_affinity_status().ok()) {
    return Status::Error(
        absl::StrCat("failed to parse pod: ", pod.pod_affinity_status().message()));
  }
  const bool has_preferences =
      !pod.preferred_affinity_terms().empty() || !pod.preferred_anti_affinity_terms().empty();
  if (args_.ignore_preferred_terms_of_existing_pods && !has_preferences) return Status::Skip();

  auto data = std::make_unique<AffinityScoreState>();
  Scorer scorer(pod, handle_.objects(), args_.hard_pod_affinity_weight, *data);
  const absl::Span<const uint8_t> has_terms = nodes.has_pods_with_affinity();
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    if (!has_preferences && has_terms[row] == 0) continue;
    const NodeInfo& node = nodes.node(row);
    for (const auto& other : has_preferences ? node.pods() : node.pods_with_affinity()) {
      scorer.Count(*other, node);
    }
  }
  if (data->topologies.empty()) return Status::Skip();
  state.Write(kScoreState, std::move(data));
  return Status::Success();
}

absl::StatusOr<int64_t> InterPodAffinity::Score(const CycleState& state, const PodInfo&,
                                                const NodeInfo& node) const {
  const AffinityScoreState* const s = state.Find(kScoreState);
  BERTH_CHECK(s != nullptr);
  int64_t score = 0;
  for (const TopologyScores& topology : s->topologies) {
    const Symbol* const value = node.labels().Find(topology.key);
    if (value != nullptr) score += topology.Of(*value);
  }
  return score;
}

absl::Status InterPodAffinity::ScoreNodes(const CycleState& state, const PodInfo&,
                                          const NodeTable& nodes, absl::Span<const NodeRow> rows,
                                          absl::Span<int64_t> scores) const {
  const AffinityScoreState* const s = state.Find(kScoreState);
  BERTH_CHECK(s != nullptr);
  absl::c_fill(scores, 0);
  for (const TopologyScores& topology : s->topologies) {
    const std::vector<int64_t> of_key = JudgeRows<int64_t>(
        nodes.label_column(topology.key), rows,
        [&](const LabelValue& label) { return label.present ? topology.Of(label.value) : 0; });
    for (size_t i = 0; i < rows.size(); ++i) scores[i] += of_key[i];
  }
  return absl::OkStatus();
}

// 100 * ((score - min) / (max - min)) in doubles, truncated; 0 if all scores are equal.
absl::Status InterPodAffinity::NormalizeScores(const CycleState&, const PodInfo&,
                                               absl::Span<const NodeRow>,
                                               absl::Span<int64_t> scores) const {
  if (scores.empty()) return absl::OkStatus();
  const auto [min_it, max_it] = std::minmax_element(scores.begin(), scores.end());
  const int64_t min = *min_it;
  const int64_t difference = *max_it - min;
  for (int64_t& score : scores) {
    if (difference == 0) {
      score = 0;
      continue;
    }
    const double share = static_cast<double>(score - min) / static_cast<double>(difference);
    score = static_cast<int64_t>(static_cast<double>(kMaxNodeScore) * share);
  }
  return absl::OkStatus();
}

}  // namespace berth
