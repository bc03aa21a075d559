// SPDX-License-Identifier: Apache-2.0
// Implementation of incremental_evaluator.h.
#include "evaluation/incremental/incremental_evaluator.h"

#include <utility>

#include "absl/algorithm/container.h"

namespace berth {

using Outcome = RejectionCache::Outcome;

std::optional<Evaluation> IncrementalEvaluator::Recall(const EvaluationRequest& request) {
  added_rejections_ = false;
  if (!EvaluatesEveryNode(request)) return std::nullopt;
  caches_.SelectClass(request);
  const bool was_rejected = caches_.WasRejected();
  if (was_rejected) {
    std::optional<Evaluation> rejection = RecallRejection(request);
    if (rejection.has_value()) return rejection;
  }
  CycleState own;  // of the plugins that are not in the cache
  ScoreCache* const scores = FindScores(request, !was_rejected, own);
  if (scores == nullptr) return std::nullopt;
  Evaluation placement;
  if (best_node_.Find(request, own, *scores, placement)) {
    if (was_rejected) caches_.SetPlaced();
    ++recalled_;
    request.state = std::move(own);
    return placement;
  }
  if (was_rejected || !caches_.HasRejections()) return std::nullopt;
  return RecallRejection(request);
}

Evaluation IncrementalEvaluator::Evaluate(const EvaluationRequest& request,
                                          const PreFilterOutcome& pre_filter) {
  const bool may_cache = EvaluatesEveryNode(request) && pre_filter.is_everywhere();
  // A nominated pod tries its node before anything is recalled.
  if (may_cache && !request.nominated_node.empty()) {
    std::optional<Evaluation> recalled = Recall(request);
    if (recalled.has_value()) return *std::move(recalled);
  }
  NodeVerdicts* rejections = nullptr;
  if (may_cache && !request.state.for_explanation()) {
    caches_.SelectClass(request);
    if (!caches_.WasRejected()) {
      Evaluation evaluation;
      if (SelectFewRows(request)) {
        if (EvaluateFewRows(request, evaluation)) return evaluation;
      } else if (score_first_search_.Find(request, caches_.plugins(), evaluation)) {
        ++scored_first_;
        return evaluation;
      } else {
        rejections = score_first_search_.rejections();
      }
    }
  }
  Evaluation evaluation = full_.Evaluate(request, pre_filter, rejections);
  if (!may_cache || !evaluation.status.ok()) return evaluation;
  caches_.SelectClass(request);
  if (evaluation.best >= 0) {
    if (caches_.WasRejected()) caches_.SetPlaced();
  } else if (Diagnosis* const cached = CacheRejection(request); cached != nullptr) {
    evaluation.diagnosis = cached;
  }
  return evaluation;
}

// Whether a filter rejects the pod on all but few nodes: few_rows_ are these then.
bool IncrementalEvaluator::SelectFewRows(const EvaluationRequest& request) {
  constexpr int kFewOf = 8;
  return request.framework.filters().SelectRows(request.state, *request.pod, request.nodes,
                                                request.nodes.size() / kFewOf, few_rows_) &&
         !SomeFilterReadsObjects(request, caches_.plugins());
}

// If one of few_rows_ is feasible, the best of them is the best of all. If none is, or something
// fails, the full evaluation will say why.
bool IncrementalEvaluator::EvaluateFewRows(const EvaluationRequest& request,
                                           Evaluation& evaluation) {
  if (few_rows_.empty()) return false;
  evaluation = full_.EvaluateRows(request, few_rows_);
  if (!evaluation.status.ok() || evaluation.best < 0) return false;
  ++of_few_rows_;
  return true;
}

bool IncrementalEvaluator::EvaluatesEveryNode(const EvaluationRequest& request) const {
  const int nodes = request.nodes.size();
  const bool scores = !request.framework.plugins().score.empty();
  return FeasibleNodesToFind(nodes, request.percentage, scores) >= nodes;
}

// The score cache of the pod's class, up to date, and in `own` the state of the plugins that are
// not in the cache. Null if there is none, or it is of no use for this pod. `add`: whether it may
// be made.
ScoreCache* IncrementalEvaluator::FindScores(const EvaluationRequest& request, bool add,
                                             CycleState& own) {
  const int rows = request.nodes.size();
  const PodInfo& pod = *request.pod;
  ScoreCache* const by_spec = caches_.ScoresBySpec();
  ScoreCache* scores = by_spec != nullptr ? by_spec : caches_.Scores(rows, add);
  if (scores == nullptr) return nullptr;
  const PreFilterOutcome pre_filter = request.framework.filters().RunPreFilter(
      own, pod, request.nodes, ~scores->SkippablePreFilters());
  if (!pre_filter.status.ok() || pre_filter.narrowed.node_names.has_value()) return nullptr;
  ScoreCache::ObjectInputs objects{own, {}};
  const bool with_objects = by_spec != nullptr &&
                            request.framework.dependencies().FindFilterInputs(
                                own, pod, by_spec->object_filters(), objects.inputs) &&
                            !objects.inputs.empty();
  if (by_spec != nullptr && !with_objects) {
    scores = caches_.Scores(rows, add);
    if (scores == nullptr) return nullptr;
  }
  const Status refreshed =
      scores->Refresh(request.nodes, request.nominator, pod, with_objects ? &objects : nullptr);
  if (!refreshed.ok()) {  // the full evaluation will report the error
    caches_.ForgetScores();
    return nullptr;
  }
  return scores->narrows() ? nullptr : scores;
}

// The rejection of a class that was rejected before, if no node changed so that the pod fits. The
// second pod of a class pays for the cache.
std::optional<Evaluation> IncrementalEvaluator::RecallRejection(const EvaluationRequest& request) {
  CycleState own;  // PostFilter wants that of all plugins
  const PodInfo& pod = *request.pod;
  const PreFilterOutcome pre_filter =
      request.framework.filters().RunPreFilter(own, pod, request.nodes);
  if (!pre_filter.status.ok() || pre_filter.narrowed.node_names.has_value()) return std::nullopt;
  DependenciesBeyondNode beyond_node;
  if (!request.framework.dependencies().FindBeyondNode(own, pod, caches_.plugins(), beyond_node)) {
    return std::nullopt;
  }
  const bool by_spec = !beyond_node.empty();
  RejectionCache* const cache = caches_.AddRejections(by_spec, request.nodes.size());
  added_rejections_ = true;
  if (cache == nullptr) return std::nullopt;
  own.SetWorkBudget(request.state.work_budget());
  own.work_budget().Refill();
  const Outcome outcome = cache->Refresh(own, pod, request.nodes, request.nominator, beyond_node);
  request.state.SetWorkBudget(own.work_budget());
  if (outcome == Outcome::kYielded) return Evaluation();
  if (outcome == Outcome::kUnknown) caches_.ForgetRejections(by_spec);
  if (outcome != Outcome::kRejected) return std::nullopt;
  cache->set_last_pod_was_rejected(true);
  ++recalled_;
  request.state = std::move(own);
  Evaluation rejection;
  rejection.diagnosis = &diagnosis_.emplace(request.framework, *cache, request.nodes);
  return rejection;
}

// After a full evaluation: caches its rejections for the next pod of the class. Null if that does
// not pay.
Diagnosis* IncrementalEvaluator::CacheRejection(const EvaluationRequest& request) {
  DependenciesBeyondNode beyond_node;
  if (!request.framework.dependencies().FindBeyondNode(request.state, *request.pod,
                                                       caches_.plugins(), beyond_node)) {
    return nullptr;
  }
  const bool by_spec = !beyond_node.empty();
  RejectionCache* const cache = added_rejections_
                                    ? caches_.Rejections(by_spec)
                                    : caches_.AddRejections(by_spec, request.nodes.size());
  if (cache == nullptr) return nullptr;
  request.state.work_budget().Lift();
  const Outcome outcome =
      cache->Refresh(request.state, *request.pod, request.nodes, request.nominator, beyond_node);
  if (outcome == Outcome::kUnknown) caches_.ForgetRejections(by_spec);
  if (outcome != Outcome::kRejected) return nullptr;
  cache->set_last_pod_was_rejected(true);
  return &diagnosis_.emplace(request.framework, *cache, request.nodes);
}

}  // namespace berth
