// SPDX-License-Identifier: Apache-2.0
// The scoring strategies, once for both forms.
#include "plugins/node_resources/resource_scorer.h"

#include <algorithm>
#include <cmath>

#include "berth/api/amounts.h"
#include "berth/framework/score.h"
#include "plugins/node_resources/requests.h"
#include "plugins/node_resources/row_block.h"
#include "src/simd/vector_clones.h"

namespace berth {
namespace {

// kube-scheduler v1.35 helper/shape_score.go: linear between the points, truncated; the points'
// scores, 0 to 10, are scaled to 0 to 100.
int64_t ScoreOnShape(const std::vector<UtilizationShapePoint>& shape, int64_t utilization) {
  constexpr int64_t kScale = kMaxNodeScore / 10;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (utilization > shape[i].utilization) continue;
    if (i == 0) return shape[0].score * kScale;
    const int64_t low = shape[i - 1].score * kScale;
    const int64_t high = shape[i].score * kScale;
    return low + (high - low) * (utilization - shape[i - 1].utilization) /
                     (shape[i].utilization - shape[i - 1].utilization);
  }
  return shape.back().score * kScale;
}

// What there is (`least`) or is requested * 100 / capacity, truncated.
[[gnu::always_inline]] inline double PercentOf(bool least, int64_t requested, double pod_request,
                                               int64_t capacity) {
  const double most = ToDouble(capacity);
  const double free = Free(most, ToDouble(requested) + pod_request);
  return ToDouble(Truncated((least ? free : most - free) * kMaxNodeScore / most));
}

// Adds weight * PercentOf for each row. Returns whether all amounts are exact; otherwise the sums
// are worth nothing.
BERTH_VECTOR_CLONES bool AddScores(bool least, const BlockAmounts& amounts, double pod_request,
                                   double weight, size_t rows, double* sums) {
  const int64_t* const capacities = amounts.capacity();
  const int64_t* const requests = amounts.requested();
  uint64_t bits = 0;
  for (size_t i = 0; i < rows; ++i) {
    bits |= AmountBits(requests[i], capacities[i]);
    sums[i] += PercentOf(least, requests[i], pod_request, capacities[i]) * weight;
  }
  return IsExact(bits);
}

BERTH_VECTOR_CLONES bool AreExact(const BlockAmounts& amounts, size_t rows) {
  uint64_t bits = 0;
  for (size_t i = 0; i < rows; ++i) {
    bits |= AmountBits(amounts.requested()[i], amounts.capacity()[i]);
  }
  return IsExact(bits);
}

// Adds weight * what the shape makes of requested * 100 / capacity, truncated, for each row, and
// the weight unless that is 0. `score_at` is by utilization in percent. The amounts are exact.
BERTH_VECTOR_CLONES void AddShapedScores(const int64_t* score_at, const BlockAmounts& amounts,
                                         double pod_request, double weight, size_t rows,
                                         double* sums, double* weights) {
  const int64_t* const capacities = amounts.capacity();
  const int64_t* const requests = amounts.requested();
  for (size_t i = 0; i < rows; ++i) {
    const double capacity = ToDouble(capacities[i]);
    const double used = capacity - Free(capacity, ToDouble(requests[i]) + pod_request);
    const double score = ToDouble(score_at[Truncated(used * kMaxNodeScore / capacity)]);
    sums[i] += score * weight;
    weights[i] += score > 0 ? weight : 0;
  }
}

// sums / weights, rounded; 0 where nothing counts. No quotient is so near to a half that the
// addition would round it up.
BERTH_VECTOR_CLONES void DivideRounded(const double* sums, const double* weights, size_t rows,
                                       int64_t* scores) {
  for (size_t i = 0; i < rows; ++i) {
    scores[i] = Truncated(sums[i] / (weights[i] > 0 ? weights[i] : 1) + 0.5);
  }
}

// sums / weights, truncated. The half keeps the quotients away from integers, so that products may
// stand for them.
BERTH_VECTOR_CLONES void Divide(const double* sums, double weights, size_t rows, int64_t* scores) {
  const double inverse = 1 / weights;
  for (size_t i = 0; i < rows; ++i) scores[i] = Truncated((sums[i] + 0.5) * inverse);
}

// One resource of a block.
struct WeightedAmounts {
  const BlockAmounts& amounts;
  double pod_request, weight;
};

// AddScores and Divide for two resources, as most profiles have: no sum is stored in between.
// Returns whether all amounts are exact; otherwise the scores are worth nothing.
[[gnu::always_inline]] inline bool ScoreTwo(bool least, const WeightedAmounts& a,
                                            const WeightedAmounts& b, size_t rows,
                                            int64_t* scores) {
  const int64_t* const requests_a = a.amounts.requested();
  const int64_t* const requests_b = b.amounts.requested();
  const int64_t* const capacities_a = a.amounts.capacity();
  const int64_t* const capacities_b = b.amounts.capacity();
  const double request_a = a.pod_request, request_b = b.pod_request;
  const double weight_a = a.weight, weight_b = b.weight;
  const double inverse = 1 / (weight_a + weight_b);
  uint64_t bits = 0;
  for (size_t i = 0; i < rows; ++i) {
    bits |= AmountBits(requests_a[i], capacities_a[i]) | AmountBits(requests_b[i], capacities_b[i]);
    const double sum = PercentOf(least, requests_a[i], request_a, capacities_a[i]) * weight_a +
                       PercentOf(least, requests_b[i], request_b, capacities_b[i]) * weight_b;
    scores[i] = Truncated((sum + 0.5) * inverse);
  }
  return IsExact(bits);
}

BERTH_VECTOR_CLONES bool LeastOfTwo(const WeightedAmounts& a, const WeightedAmounts& b, size_t rows,
                                    int64_t* scores) {
  return ScoreTwo(true, a, b, rows, scores);
}
BERTH_VECTOR_CLONES bool MostOfTwo(const WeightedAmounts& a, const WeightedAmounts& b, size_t rows,
                                   int64_t* scores) {
  return ScoreTwo(false, a, b, rows, scores);
}

}  // namespace

ResourceScorer::ResourceScorer(const ScoringStrategy& strategy)
    : type_(strategy.type == "MostAllocated"    ? Type::kMostAllocated
            : strategy.type == "LeastAllocated" ? Type::kLeastAllocated
                                                : Type::kRequestedToCapacityRatio) {
  for (const ResourceSpec& spec : strategy.resources) {
    const ResourceId id = ResourceIdOf(spec.name);
    const bool is_scalar = IsScalarResourceName(spec.name);
    // kube-scheduler keeps no account of any other resource, so it never counts.
    if (id > kEphemeralStorage && !is_scalar) continue;
    resources_.push_back({id, spec.weight, is_scalar});
  }
  if (type_ == Type::kRequestedToCapacityRatio) {
    for (size_t utilization = 0; utilization < score_at_.size(); ++utilization) {
      score_at_[utilization] = ScoreOnShape(strategy.requested_to_capacity_ratio->shape,
                                            static_cast<int64_t>(utilization));
    }
  }
}

// One node at a time, for any amounts.
template <ResourceScorer::Type type>
class ResourceScorer::Mean {
 public:
  explicit Mean(const ResourceScorer& scorer) : scorer_(scorer) {}

  // `requested` includes the pod's own request. A node without the resource is evaluated by the
  // others alone.
  void Add(int64_t requested, int64_t capacity, int64_t weight) {
    if (capacity == 0) return;
    int64_t score;
    if constexpr (type == Type::kLeastAllocated) {
      // (capacity - requested) * 100 / capacity, truncated.
      score =
          requested > capacity ? 0 : PercentOf(SaturatingSubtract(capacity, requested), capacity);
    } else if constexpr (type == Type::kMostAllocated) {
      // requested * 100 / capacity, truncated.
      score = PercentOf(std::min(requested, capacity), capacity);
    } else {
      // requested * 100 / capacity, truncated, through the shape. A score of 0 does not count.
      const int64_t percent = requested > capacity ? 100 : PercentOf(requested, capacity);
      score = scorer_.score_at_[std::clamp<int64_t>(percent, 0, 100)];
      if (score == 0) return;
    }
    sum_ += score * weight;
    weights_ += weight;
  }

  int64_t Result() const {
    if (weights_ == 0) return 0;
    if constexpr (type == Type::kRequestedToCapacityRatio) {
      return std::llround(static_cast<double>(sum_) / static_cast<double>(weights_));
    }
    return sum_ / weights_;
  }

 private:
  const ResourceScorer& scorer_;
  int64_t sum_ = 0;
  int64_t weights_ = 0;
};

ResourceScorer::Terms ResourceScorer::TermsOf(const PodInfo& pod) const {
  Terms terms;
  for (const Resource& resource : resources_) {
    const int64_t request = pod.nonzero_scoring_requests().Get(resource.id);
    if (resource.is_scalar && request == 0) continue;
    terms.push_back({resource.id, resource.weight, request});
  }
  return terms;
}

template <ResourceScorer::Type type>
int64_t ResourceScorer::ScoreAs(const Terms& terms, const NodeInfo& node,
                                const ExtendedResourceClasses* classes) const {
  Mean<type> mean(*this);
  for (const Term& term : terms) {
    const ResourceVector& requested =
        HasNonzeroDefault(term.resource) ? node.nonzero_requested() : node.requested();
    const ResourceUse use = UseOf(term.resource, requested, node, classes);
    mean.Add(SaturatingAdd(use.requested, term.pod_request), use.capacity, term.weight);
  }
  return mean.Result();
}

bool ResourceScorer::AreAnyBacked(const Terms& terms, const ExtendedResourceClasses* classes) {
  return classes != nullptr && std::any_of(terms.begin(), terms.end(), [&](const Term& term) {
           return classes->ClassOf(term.resource) != nullptr;
         });
}

struct ResourceScorer::Columns {
  const int64_t* requested;
  const int64_t* allocatable;
  int64_t pod_request;
  int64_t weight;
};

template <ResourceScorer::Type type>
void ResourceScorer::ScoreNodesAs(const Terms& terms, const NodeTable& nodes,
                                  absl::Span<const NodeRow> rows,
                                  absl::Span<int64_t> scores) const {
  absl::InlinedVector<Columns, 4> columns;
  for (const Term& term : terms) {
    const absl::Span<const int64_t> requested = HasNonzeroDefault(term.resource)
                                                    ? nodes.nonzero_requested(term.resource)
                                                    : nodes.requested(term.resource);
    columns.push_back(
        {requested.data(), nodes.allocatable(term.resource).data(), term.pod_request, term.weight});
  }
  ForEachBlock(rows, scores, [&](absl::Span<const NodeRow> rows, absl::Span<int64_t> scores) {
    if (rows.size() >= kFewRows && ScoreBlock<type>(columns, rows, scores)) return;
    for (size_t i = 0; i < rows.size(); ++i) {
      Mean<type> mean(*this);
      for (const Columns& c : columns) {
        mean.Add(SaturatingAdd(c.requested[rows[i]], c.pod_request), c.allocatable[rows[i]],
                 c.weight);
      }
      scores[i] = mean.Result();
    }
  });
}

// What Mean makes of the rows of a block. False, and nothing done, unless every node has every
// resource and all amounts are exact as doubles.
template <ResourceScorer::Type type>
bool ResourceScorer::ScoreBlock(absl::Span<const Columns> columns, absl::Span<const NodeRow> rows,
                                absl::Span<int64_t> scores) const {
  constexpr bool kHasShape = type == Type::kRequestedToCapacityRatio;
  constexpr bool kLeast = type == Type::kLeastAllocated;
  const RowBlock block(rows);
  const size_t size = block.size();
  const auto is_exact = [](const Columns& c) {
    return c.pod_request >= 0 && c.pod_request < kExactAmounts;
  };
  if (!kHasShape && columns.size() == 2) {
    const auto& [a, b] = std::pair(columns[0], columns[1]);
    if (!is_exact(a) || !is_exact(b) || a.weight + b.weight == 0) return false;
    const BlockAmounts of_a(block, a.requested, a.allocatable);
    const BlockAmounts of_b(block, b.requested, b.allocatable);
    BlockScores out(block, scores);
    const WeightedAmounts first = {of_a, static_cast<double>(a.pod_request),
                                   static_cast<double>(a.weight)};
    const WeightedAmounts second = {of_b, static_cast<double>(b.pod_request),
                                    static_cast<double>(b.weight)};
    return kLeast ? LeastOfTwo(first, second, size, out.values())
                  : MostOfTwo(first, second, size, out.values());
  }
  double sums[kRowBlock] = {};
  double weights_of_rows[kRowBlock];  // with a shape
  if (kHasShape) std::fill_n(weights_of_rows, size, 0);
  double weights = 0;
  for (const Columns& c : columns) {
    const BlockAmounts amounts(block, c.requested, c.allocatable);
    if (!is_exact(c)) return false;
    const double weight = static_cast<double>(c.weight);
    const double pod_request = static_cast<double>(c.pod_request);
    if constexpr (kHasShape) {
      if (!AreExact(amounts, size)) return false;
      AddShapedScores(score_at_.data(), amounts, pod_request, weight, size, sums, weights_of_rows);
    } else {
      if (!AddScores(kLeast, amounts, pod_request, weight, size, sums)) return false;
    }
    weights += weight;
  }
  if (weights == 0) return false;
  BlockScores out(block, scores);
  if constexpr (kHasShape) {
    DivideRounded(sums, weights_of_rows, size, out.values());
  } else {
    Divide(sums, weights, size, out.values());
  }
  return true;
}

int64_t ResourceScorer::Score(const PodInfo& pod, const NodeInfo& node,
                              const ExtendedResourceClasses* classes) const {
  const Terms terms = TermsOf(pod);
  switch (type_) {
    case Type::kLeastAllocated:
      return ScoreAs<Type::kLeastAllocated>(terms, node, classes);
    case Type::kMostAllocated:
      return ScoreAs<Type::kMostAllocated>(terms, node, classes);
    case Type::kRequestedToCapacityRatio:
      break;
  }
  return ScoreAs<Type::kRequestedToCapacityRatio>(terms, node, classes);
}

void ResourceScorer::ScoreNodes(const PodInfo& pod, const NodeTable& nodes,
                                absl::Span<const NodeRow> rows, absl::Span<int64_t> scores,
                                const ExtendedResourceClasses* classes) const {
  const Terms terms = TermsOf(pod);
  if (AreAnyBacked(terms, classes)) {  // there are no columns of devices
    for (size_t i = 0; i < rows.size(); ++i) scores[i] = Score(pod, nodes.node(rows[i]), classes);
    return;
  }
  switch (type_) {
    case Type::kLeastAllocated:
      return ScoreNodesAs<Type::kLeastAllocated>(terms, nodes, rows, scores);
    case Type::kMostAllocated:
      return ScoreNodesAs<Type::kMostAllocated>(terms, nodes, rows, scores);
    case Type::kRequestedToCapacityRatio:
      return ScoreNodesAs<Type::kRequestedToCapacityRatio>(terms, nodes, rows, scores);
  }
}

}  // namespace berth
