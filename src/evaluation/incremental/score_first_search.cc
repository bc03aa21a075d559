// SPDX-License-Identifier: Apache-2.0
// Implementation of score_first_search.h.
#include "evaluation/incremental/score_first_search.h"

#include <algorithm>
#include <limits>

#include "absl/algorithm/container.h"
#include "berth/columns/vector_clones.h"

namespace berth {
namespace {

// Of so few nodes all are filtered.
constexpr int kFewNodes = 8;
// Nodes that are filtered one by one for each question.
constexpr int kMostTries = 16;
constexpr int kLongestPause = 64;

constexpr int64_t kRejected = std::numeric_limits<int64_t>::min();

struct ScoreRange {
  int64_t min, max;
};

// No early end: this way it compiles to vector instructions.
BERTH_VECTOR_CLONES ScoreRange RangeOf(absl::Span<const int64_t> scores) {
  ScoreRange range{scores[0], scores[0]};
  for (const int64_t score : scores) {
    range.min = std::min(range.min, score);
    range.max = std::max(range.max, score);
  }
  return range;
}

// Filters of volumes and claims may fail on some nodes, as they do if an object is missing, and
// fail the pod. So they see every node.
bool SomeFilterReadsObjects(const EvaluationRequest& request, PluginMask node_plugins) {
  const PluginMask of_objects = request.framework.dependencies().object_filters() & ~node_plugins &
                                ~request.state.skips().filter;
  return absl::c_any_of(request.framework.plugins().filter, [&](const Hook<FilterPlugin>& hook) {
    return (of_objects & MaskOf(hook)) != 0;
  });
}

}  // namespace

bool ScoreFirstSearch::Find(const EvaluationRequest& request, PluginMask node_plugins,
                            Evaluation& evaluation) {
  if (request.nodes.size() < kFewNodes || SomeFilterReadsObjects(request, node_plugins) ||
      !PreScore(request, node_plugins)) {
    return false;
  }
  if (pause_ > 0) {
    --pause_;
    return false;
  }
  filtered_.clear();
  failed_ = false;
  extremes_.clear();
  const bool found = ScoreAll(request) && FindBest(request, evaluation);
  last_pause_ = found ? 0 : std::min(2 * last_pause_ + 1, kLongestPause);
  pause_ = last_pause_;
  return found;
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
  const auto size = static_cast<size_t>(request.nodes.size());
  if (rows_.size() != size) {
    rows_.resize(size);
    absl::c_iota(rows_, 0);
  }
  const PluginMask other_skips = state.skips().score & ~node_plugins;
  if (!scores.RunPreScore(state, *request.pod, request.nodes, rows_, node_plugins).ok()) {
    return false;
  }
  state.skips().score = (state.skips().score & node_plugins) | other_skips;
  return true;
}

// False if a plugin fails.
bool ScoreFirstSearch::ScoreAll(const EvaluationRequest& request) {
  const ScoreRunner& runner = request.framework.scores();
  totals_.assign(rows_.size(), 0);
  for (const Hook<ScorePlugin>& hook : request.framework.plugins().score) {
    if ((request.state.skips().score & MaskOf(hook)) != 0) continue;
    scores_.assign(rows_.size(), 0);
    if (!runner
             .RunScorePlugin(hook, request.state, *request.pod, request.nodes, rows_,
                             absl::MakeSpan(scores_))
             .ok() ||
        (hook.extensions != nullptr && !Normalize(request, hook)) ||
        !runner.AddScores(hook, scores_, absl::MakeSpan(totals_))) {
      return false;
    }
  }
  return true;
}

// Normalises scores_, and notes rows of which one has to be feasible, so that the others are
// normalised the same without the nodes that are not.
bool ScoreFirstSearch::Normalize(const EvaluationRequest& request, const Hook<ScorePlugin>& hook) {
  const ScoreRange range = RangeOf(scores_);
  if (range.min != range.max) {
    for (const int64_t extreme : {range.min, range.max}) {
      ExtremeRows& rows = extremes_.emplace_back();
      for (size_t i = 0; i < scores_.size() && rows.size() < kMostTries; ++i) {
        if (scores_[i] == extreme) rows.push_back(rows_[i]);
      }
    }
  }
  // A score out of range may be one of a node that is not feasible: it is no fault.
  return request.framework.scores()
      .Normalize(hook, request.state, *request.pod, rows_, absl::MakeSpan(scores_))
      .ok();
}

bool ScoreFirstSearch::Accepts(const EvaluationRequest& request, NodeRow row) {
  const auto known = absl::c_find_if(filtered_, [row](const auto& it) { return it.first == row; });
  if (known != filtered_.end()) return known->second;
  const Status status = request.framework.nomination_filter().RunFilterWithNominatedPods(
      request.state, *request.pod, request.nodes.node(row));
  failed_ |= status.IsError();
  filtered_.emplace_back(row, status.ok());
  return status.ok();
}

bool ScoreFirstSearch::FindBest(const EvaluationRequest& request, Evaluation& evaluation) {
  const auto accepts = [&](NodeRow row) { return Accepts(request, row); };
  for (const ExtremeRows& rows : extremes_) {
    if (absl::c_none_of(rows, accepts)) return false;
  }
  if (failed_) return false;
  for (int tries = 0; tries < kMostTries; ++tries) {
    const int64_t highest = RangeOf(totals_).max;
    if (highest == kRejected) return false;
    const auto row = static_cast<NodeRow>(absl::c_find(totals_, highest) - totals_.begin());
    if (accepts(row)) {
      evaluation.best = row;
      return true;
    }
    if (failed_) return false;
    totals_[row] = kRejected;
  }
  return false;
}

}  // namespace berth
