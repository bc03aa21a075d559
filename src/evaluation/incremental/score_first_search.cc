// SPDX-License-Identifier: Apache-2.0
// Implementation of score_first_search.h.
#include "evaluation/incremental/score_first_search.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "absl/algorithm/container.h"
#include "evaluation/diagnosis.h"
#include "table/extremes.h"

namespace berth {
namespace {

// If nodes are so few, all are filtered.
constexpr int kFewNodes = 8;
// Nodes that are filtered one by one for each question; then they are in blocks.
constexpr int kFewTries = 4;
// One maximum is kept of so many totals.
constexpr size_t kRowsOfMaximum = 64;
constexpr size_t kBlock = 256;
// So many times scores that no feasible node has are replaced, of one plugin.
constexpr int kMostSteps = 16;

// The total of a row that was tried.
constexpr int64_t kTaken = std::numeric_limits<int64_t>::min();

}  // namespace

bool SomeFilterReadsObjects(const EvaluationRequest& request, PluginMask node_plugins) {
  const PluginMask of_objects = request.framework.dependencies().object_filters() & ~node_plugins &
                                ~request.state.skips().filter;
  return request.framework.plugins().TakesPart(ExtensionPoint::kFilter, of_objects);
}

bool ScoreFirstSearch::Find(const EvaluationRequest& request, PluginMask node_plugins,
                            Evaluation& evaluation) {
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
  if (!PreScore(request, node_plugins) || !ScoreAll(request, node_plugins)) return false;
  const NodeRow best = FindBest(request);
  if (failed_ || best < 0) return false;  // the full evaluation will say why
  evaluation.best = best;
  return true;
}

// Whether the raw scores of all plugins that score this pod are known without the feasible nodes.
bool ScoreFirstSearch::PreScore(const EvaluationRequest& request, PluginMask node_plugins) {
  const ScoreRunner& scores = request.framework.scores();
  CycleState& state = request.state;
  sums_.clear();
  if (!scores.RunPreScoreDomains(state, *request.pod, request.nodes, ~node_plugins, sums_)) {
    return false;
  }
  const DomainScorer::Feasible needed = scores.ScoresDependOn(state);
  if (needed == DomainScorer::Feasible::kNodes) return false;
  if (needed == DomainScorer::Feasible::kDomains && !SetFeasible(request)) return false;
  const PluginMask other_skips = state.skips().score & ~node_plugins;
  if (!scores.RunPreScore(state, *request.pod, request.nodes, rows_, node_plugins).ok()) {
    return false;
  }
  state.skips().score = (state.skips().score & node_plugins) | other_skips;
  return true;
}

// Passes the domains of feasible nodes to the plugins that score. False if there are many
// domains, or a plugin fails.
bool ScoreFirstSearch::SetFeasible(const EvaluationRequest& request) {
  constexpr int kMostDomains = 256;
  feasible_.clear();
  for (const DomainSum& sum : sums_) {
    if (sum.column->values_in_use() > kMostDomains) return false;
    if (!FindFeasibleByDomain(request, *sum.column)) return false;
  }
  return request.framework.scores().SetFeasible(request.state, {.rows = feasible_, .counts = {}});
}

// Appends to feasible_ a feasible row of each domain that has one. False if a filter fails.
bool ScoreFirstSearch::FindFeasibleByDomain(const EvaluationRequest& request,
                                            const LabelColumn& column) {
  constexpr int kFound = kFewTries + 1;
  std::vector<int> tries(column.values().size());
  int without = column.values_in_use();
  block_.clear();
  for (size_t i = 0; i < rows_.size() && without > 0; ++i) {
    int& of_domain = tries[column.index(rows_[i])];
    if (of_domain == kFound) continue;
    if (of_domain == kFewTries) {
      block_.push_back(rows_[i]);
      continue;
    }
    ++of_domain;
    if (Accepts(request, rows_[i])) {
      feasible_.push_back(rows_[i]);
      of_domain = kFound;
      --without;
    }
    if (failed_) return false;
  }
  if (without == 0) return true;
  if (!FilterBlock(request)) return false;
  for (const NodeRow row : block_) {
    int& of_domain = tries[column.index(row)];
    if (of_domain == kFound || !verdicts_.IsFeasible(row)) continue;
    feasible_.push_back(row);
    of_domain = kFound;
  }
  return true;
}

// False if a plugin fails, or the points of feasible nodes are not known.
bool ScoreFirstSearch::ScoreAll(const EvaluationRequest& request, PluginMask node_plugins) {
  const ScoreRunner& runner = request.framework.scores();
  const PluginMask added = shared_scores_.Find(request, node_plugins, totals_);
  scores_.assign(rows_.size(), 0);
  for (const Hook<ScorePlugin>& hook : request.framework.plugins().score) {
    if (((request.state.skips().score | added) & MaskOf(hook)) != 0) continue;
    std::optional<int64_t> of_all =
        runner.UniformScore(hook, request.state, *request.pod, request.nodes);
    if (!of_all.has_value()) {
      if (!runner
               .RunScorePlugin(hook, request.state, *request.pod, request.nodes, rows_,
                               absl::MakeSpan(scores_))
               .ok()) {
        return false;
      }
      if (hook.extensions != nullptr && !ReplaceInfeasible(request, of_all)) return false;
    }
    absl::Span<int64_t> scores = absl::MakeSpan(scores_);
    if (of_all.has_value()) scores = absl::MakeSpan(&*of_all, 1);
    // A score out of range may be one of a node that is not feasible: it is no fault.
    if (!runner
             .Normalize(hook, request.state, *request.pod,
                        absl::MakeConstSpan(rows_).first(scores.size()), scores)
             .ok()) {
      return false;
    }
    int64_t total_of_all = 0;  // what all nodes get makes none of them better
    if (!runner.AddScores(
            hook, scores,
            of_all.has_value() ? absl::MakeSpan(&total_of_all, 1) : absl::MakeSpan(totals_))) {
      return false;
    }
  }
  return true;
}

// --- The range of the scores of feasible nodes ---------------------------------------------------

// Leaves nothing in scores_ that is below or above the scores of feasible nodes. The scores of
// other nodes count for nothing, so they may be changed: one at the end of the range that no
// feasible node has becomes that of the other end. If that one is no feasible node's either, the
// next step replaces both. If all are equal then, sets `of_all` to that score, and all to 0. False
// if the range is not found soon, or a filter fails.
bool ScoreFirstSearch::ReplaceInfeasible(const EvaluationRequest& request,
                                         std::optional<int64_t>& of_all) {
  for (int step = 0; step < kMostSteps; ++step) {
    const Extremes range = ExtremesOf(scores_);
    if (range.min == range.max) {
      of_all = range.min;
      if (range.min != 0) absl::c_fill(scores_, 0);
      return true;
    }
    const bool low = SomeIsFeasibleWith(request, range.min);
    const bool high = SomeIsFeasibleWith(request, range.max);
    if (failed_) return false;
    if (low && high) return true;
    if (!high) absl::c_replace(scores_, range.max, range.min);
    if (!low) absl::c_replace(scores_, range.min, high ? range.max : range.min);
  }
  return false;
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
  request.framework.plugins().SetVerdict(row, status, verdicts_);
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

// -1 if no node is feasible, or a filter fails. The best nodes are filtered one by one, the next in
// blocks: where pods are packed, the best are full.
NodeRow ScoreFirstSearch::FindBest(const EvaluationRequest& request) {
  maxima_.resize((totals_.size() + kRowsOfMaximum - 1) / kRowsOfMaximum);
  FindMaxima(totals_, kRowsOfMaximum, absl::MakeSpan(maxima_));
  for (int tries = 0; tries < kFewTries; ++tries) {
    const NodeRow row = TakeBest();
    if (row < 0 || Accepts(request, row)) return row;
    if (failed_) return -1;
  }
  for (const size_t size : {16, 64, 256}) {
    if (size * 8 > rows_.size()) break;  // to filter all costs little more
    block_.clear();
    while (block_.size() < size) {
      const NodeRow row = TakeBest();
      if (row < 0) break;
      block_.push_back(row);
    }
    if (!FilterBlock(request)) return -1;
    for (const NodeRow row : block_) {  // the per-node Filter has the last word
      if (verdicts_.IsFeasible(row) && Filter(request, row)) return row;
      if (failed_) return -1;
    }
  }
  block_ = rows_;
  const NodeRow best_of_all = FindBestOfBlock(request);
  none_is_feasible_ = !failed_ && best_of_all < 0;
  return best_of_all;
}

// The row with the highest total, the first of equals, which has none any more. -1 if all were
// taken.
NodeRow ScoreFirstSearch::TakeBest() {
  const int64_t highest = ExtremesOf(maxima_).max;
  if (highest == kTaken) return -1;
  const auto part = absl::c_find(maxima_, highest);
  const size_t first = (part - maxima_.begin()) * kRowsOfMaximum;
  const absl::Span<int64_t> totals = absl::MakeSpan(totals_).subspan(first, kRowsOfMaximum);
  const auto best = absl::c_find(totals, *part);
  *best = kTaken;
  *part = ExtremesOf(totals).max;
  return static_cast<NodeRow>(first + (best - totals.begin()));
}

// The best of those in block_, which are filtered at once. -1 if none of them is feasible. Worth
// nothing if a filter fails (failed_).
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

}  // namespace berth
