// SPDX-License-Identifier: Apache-2.0
// Implementation of score_first_search.h.
#include "evaluation/incremental/score_first_search.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>

#include "absl/algorithm/container.h"
#include "table/extremes.h"

namespace berth {
namespace {

// If nodes are so few, all are filtered.
constexpr int kFewNodes = 8;
// Nodes that are filtered one by one for each question; then they are in blocks.
constexpr int kFewTries = 4;
constexpr size_t kBlock = 256;
// Raw scores of no feasible node, of one plugin.
constexpr int kMostSteps = 16;

constexpr int64_t kRejected = std::numeric_limits<int64_t>::min();

}  // namespace

bool SomeFilterReadsObjects(const EvaluationRequest& request, PluginMask node_plugins) {
  const PluginMask of_objects = request.framework.dependencies().object_filters() & ~node_plugins &
                                ~request.state.skips().filter;
  return absl::c_any_of(request.framework.plugins().filter, [&](const Hook<FilterPlugin>& hook) {
    return (of_objects & MaskOf(hook)) != 0;
  });
}

bool ScoreFirstSearch::Find(const EvaluationRequest& request, PluginMask node_plugins,
                            Evaluation& evaluation) {
  const bool filters_first = none_is_feasible_;
  failed_ = none_is_feasible_ = false;
  if (request.nodes.size() < kFewNodes || SomeFilterReadsObjects(request, node_plugins)) {
    return false;
  }
  const auto size = static_cast<size_t>(request.nodes.size());
  if (rows_.size() != size) {
    rows_.resize(size);
    absl::c_iota(rows_, 0);
  }
  verdicts_.Reset(request.nodes.size());
  if ((filters_first && !SomeIsFeasible(request)) || !PreScore(request, node_plugins) ||
      !ScoreAll(request)) {
    return false;
  }
  const NodeRow best = FindBest(request);
  if (failed_ || best < 0) return false;  // the full evaluation will say why
  evaluation.best = best;
  return true;
}

// Filters all nodes.
bool ScoreFirstSearch::SomeIsFeasible(const EvaluationRequest& request) {
  block_ = rows_;
  if (!FilterBlock(request)) return false;
  const bool some = absl::c_any_of(rows_, [&](NodeRow row) { return verdicts_.IsFeasible(row); });
  none_is_feasible_ = !some;
  return some;
}

// Whether the raw scores of all plugins that score this pod are known without the feasible nodes.
bool ScoreFirstSearch::PreScore(const EvaluationRequest& request, PluginMask node_plugins) {
  const ScoreRunner& scores = request.framework.scores();
  CycleState& state = request.state;
  sums_.clear();
  if (!scores.RunPreScoreDomains(state, *request.pod, request.nodes, ~node_plugins, sums_) ||
      scores.ScoresDependOnFeasible(state)) {
    return false;
  }
  const PluginMask other_skips = state.skips().score & ~node_plugins;
  if (!scores.RunPreScore(state, *request.pod, request.nodes, rows_, node_plugins).ok()) {
    return false;
  }
  state.skips().score = (state.skips().score & node_plugins) | other_skips;
  return true;
}

// False if a plugin fails, or the points of feasible nodes are not known.
bool ScoreFirstSearch::ScoreAll(const EvaluationRequest& request) {
  const ScoreRunner& runner = request.framework.scores();
  totals_.assign(rows_.size(), 0);
  for (const Hook<ScorePlugin>& hook : request.framework.plugins().score) {
    if ((request.state.skips().score & MaskOf(hook)) != 0) continue;
    const std::optional<int64_t> uniform =
        runner.UniformScore(hook, request.state, *request.pod, request.nodes);
    scores_.assign(uniform.has_value() ? 1 : rows_.size(), uniform.value_or(0));
    if (!uniform.has_value() && !runner
                                     .RunScorePlugin(hook, request.state, *request.pod,
                                                     request.nodes, rows_, absl::MakeSpan(scores_))
                                     .ok()) {
      return false;
    }
    if (hook.extensions != nullptr && !Normalize(request, hook)) return false;
    int64_t of_all = 0;  // what all nodes get makes none of them better
    const bool all_equal = scores_.size() == 1;
    if (!runner.AddScores(hook, scores_,
                          all_equal ? absl::MakeSpan(&of_all, 1) : absl::MakeSpan(totals_))) {
      return false;
    }
  }
  return true;
}

// Makes points of scores_, as they are over the feasible nodes: a single one, if all are equal.
// False if that cannot be said.
bool ScoreFirstSearch::Normalize(const EvaluationRequest& request, const Hook<ScorePlugin>& hook) {
  const std::optional<Extremes> range = RangeOfFeasible(request);
  if (!range.has_value()) return false;
  const size_t size = range->min == range->max ? 1 : rows_.size();
  // A score out of range may be one of a node that is not feasible: it is no fault.
  const bool ok =
      request.framework.scores()
          .Normalize(hook, request.state, *request.pod, absl::MakeConstSpan(rows_).first(size),
                     absl::MakeSpan(scores_).first(size))
          .ok();
  scores_.resize(size);
  return ok;
}

// --- The range of the scores of feasible nodes ---------------------------------------------------

// Leaves nothing in scores_ beyond that range: the scores of nodes at the ends that are not
// feasible become others. Absent if it is not found soon, or a filter fails.
std::optional<Extremes> ScoreFirstSearch::RangeOfFeasible(const EvaluationRequest& request) {
  for (int step = 0; step < kMostSteps; ++step) {
    const Extremes range = ExtremesOf(scores_);
    if (range.min == range.max) return range;
    const bool low = SomeIsFeasibleWith(request, range.min);
    const bool high = SomeIsFeasibleWith(request, range.max);
    if (failed_) return std::nullopt;
    if (low && high) return range;
    if (!high) absl::c_replace(scores_, range.max, range.min);
    if (!low) absl::c_replace(scores_, range.min, high ? range.max : range.min);
  }
  return std::nullopt;
}

bool ScoreFirstSearch::SomeIsFeasibleWith(const EvaluationRequest& request, int64_t score) {
  int tries = 0;
  block_.clear();
  const auto some_of_block = [&] {
    return FilterBlock(request) &&
           absl::c_any_of(block_, [&](NodeRow row) { return verdicts_.IsFeasible(row); });
  };
  for (size_t i = 0; i < scores_.size(); ++i) {
    if (scores_[i] != score) continue;
    if (verdicts_.IsFeasible(rows_[i])) return true;
    if (!IsUnknown(rows_[i])) continue;
    if (++tries <= kFewTries) {
      if (Accepts(request, rows_[i])) return true;
      if (failed_) return false;
      continue;
    }
    block_.push_back(rows_[i]);
    if (block_.size() < kBlock) continue;
    if (some_of_block()) return true;
    if (failed_) return false;
    block_.clear();
  }
  return some_of_block();
}

// --- Verdicts ------------------------------------------------------------------------------------

bool ScoreFirstSearch::Accepts(const EvaluationRequest& request, NodeRow row) {
  return IsUnknown(row) ? Filter(request, row) : verdicts_.IsFeasible(row);
}

bool ScoreFirstSearch::Filter(const EvaluationRequest& request, NodeRow row) {
  const Status status = request.framework.nomination_filter().RunFilterWithNominatedPods(
      request.state, *request.pod, request.nodes.node(row));
  failed_ |= status.IsError();
  if (status.ok()) {
    verdicts_.Accept(row);
  } else {
    verdicts_.Reject(row, status.code(),
                     request.framework.plugins().FilterIndex(status.plugin_symbol()));
  }
  return status.ok();
}

// Filters what of block_ is not filtered yet. False if a filter fails.
bool ScoreFirstSearch::FilterBlock(const EvaluationRequest& request) {
  unfiltered_.clear();
  for (const NodeRow row : block_) {
    if (IsUnknown(row)) unfiltered_.push_back(row);
  }
  if (unfiltered_.empty()) return true;
  const Status status = request.framework.nomination_filter().RunFilterNodesWithNominatedPods(
      request.state, *request.pod, request.nodes, unfiltered_, verdicts_);
  failed_ |= !status.ok();
  return status.ok();
}

// --- The best ------------------------------------------------------------------------------------

// -1 if no node is feasible, or a filter fails.
NodeRow ScoreFirstSearch::FindBest(const EvaluationRequest& request) {
  for (int tries = 0; tries < kFewTries; ++tries) {
    const int64_t highest = ExtremesOf(totals_).max;
    if (highest == kRejected) return -1;
    const auto row = static_cast<NodeRow>(absl::c_find(totals_, highest) - totals_.begin());
    if (Accepts(request, row)) return row;
    if (failed_) return -1;
    totals_[row] = kRejected;
  }
  const int64_t total_of_few = TotalOfFew();
  block_.clear();
  for (const NodeRow row : rows_) {
    if (totals_[row] >= total_of_few) block_.push_back(row);
  }
  const NodeRow best = FindBestOfBlock(request);
  if (best >= 0 || failed_) return best;
  block_ = rows_;
  const NodeRow best_of_all = FindBestOfBlock(request);
  none_is_feasible_ = !failed_ && best_of_all < 0;
  return best_of_all;
}

// The best of those in block_, which are filtered at once. -1 if none of them is feasible, or a
// filter fails.
NodeRow ScoreFirstSearch::FindBestOfBlock(const EvaluationRequest& request) {
  if (!FilterBlock(request)) return -1;
  while (true) {
    NodeRow best = -1;
    for (const NodeRow row : block_) {
      if (!verdicts_.IsFeasible(row)) continue;
      if (best < 0 || totals_[row] > totals_[best]) best = row;
    }
    // The per-node Filter has the last word.
    if (best < 0 || Filter(request, best) || failed_) return best;
  }
}

// A total that about one in 32 nodes has, or a higher one.
int64_t ScoreFirstSearch::TotalOfFew() {
  constexpr size_t kStep = 16;
  constexpr size_t kFew = 32;
  sample_.clear();
  for (size_t i = 0; i < totals_.size(); i += kStep) sample_.push_back(totals_[i]);
  const auto nth = sample_.begin() + static_cast<std::ptrdiff_t>(sample_.size() / kFew);
  std::nth_element(sample_.begin(), nth, sample_.end(), std::greater<>());
  return std::max(*nth, kRejected + 1);
}

}  // namespace berth
