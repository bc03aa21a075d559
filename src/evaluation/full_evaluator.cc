// SPDX-License-Identifier: Apache-2.0
// Implementation of full_evaluator.h.
#include "evaluation/full_evaluator.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"

namespace berth {
namespace {

constexpr int kMinFeasibleNodesToFind = 100;
constexpr int kPartialSearchBlock = 256;  // rows filtered before feasible ones are counted

}  // namespace

int FeasibleNodesToFind(int nodes, int percentage, bool scores) {
  if (!scores) return 1;  // without scores the first feasible node is as good as any
  if (percentage == 0 || percentage >= 100 || nodes < kMinFeasibleNodesToFind) return nodes;
  return std::max(nodes * percentage / 100, kMinFeasibleNodesToFind);
}

Evaluation FullEvaluator::Evaluate(const EvaluationRequest& request,
                                   const PreFilterOutcome& pre_filter, NodeVerdicts* rejections) {
  const bool explain = request.state.for_explanation();
  Evaluation evaluation;
  scores_by_plugin_.clear();
  pre_filter.ListRows(request.nodes, rows_);
  evaluation.status = FindFeasible(request, rejections);
  if (!explain && !rows_.empty()) next_start_ = (next_start_ + filtered_) % request.nodes.size();
  if (!evaluation.status.ok()) return evaluation;
  FindBest(request, evaluation);
  if ((evaluation.status.ok() && evaluation.best < 0) || explain) {
    excluded_ = pre_filter.excluded;
    evaluation.diagnosis = &diagnosis_.emplace(request.framework, request.state, *request.pod,
                                               request.nodes, verdicts_, excluded_, &by_extenders_);
  }
  return evaluation;
}

Evaluation FullEvaluator::EvaluateRows(const EvaluationRequest& request,
                                       absl::Span<const NodeRow> rows) {
  Evaluation evaluation;
  scores_by_plugin_.clear();
  rows_.assign(rows.begin(), rows.end());
  evaluation.status = FindFeasible(request, nullptr);
  if (evaluation.status.ok()) FindBest(request, evaluation);
  return evaluation;
}

// Scores the rows of feasible_.
void FullEvaluator::FindBest(const EvaluationRequest& request, Evaluation& evaluation) {
  const bool score =
      feasible_.size() > 1 || (request.state.for_explanation() && !feasible_.empty());
  if (score) evaluation.status = ScoreFeasible(request);
  if (evaluation.status.ok()) evaluation.status = ChooseBest(request, evaluation.best);
}

// --- Filter --------------------------------------------------------------------------------------

Status FullEvaluator::FindFeasible(const EvaluationRequest& request, NodeVerdicts* rejections) {
  feasible_.clear();
  by_extenders_.clear();
  filtered_ = static_cast<int>(rows_.size());
  if (rejections != nullptr) {
    std::swap(verdicts_, *rejections);
    return Status::Success();
  }
  verdicts_.Reset(request.nodes.size());
  if (rows_.empty()) return Status::Success();
  const int count = static_cast<int>(rows_.size());
  const bool scores = !request.framework.plugins().score.empty() ||
                      request.framework.extenders().AnyChooses(*request.pod);
  const int wanted = FeasibleNodesToFind(count, request.percentage, scores);
  Status status = request.framework.point_metrics().Measure(PointMetrics::Point::kFilter, [&] {
    return wanted >= count || request.state.for_explanation() ? FindAllFeasible(request)
                                                              : FindSomeFeasible(request, wanted);
  });
  return status.ok() ? FilterByExtenders(request) : status;
}

Status FullEvaluator::FindAllFeasible(const EvaluationRequest& request) {
  const absl::Span<const NodeRow> rows = rows_;
  const size_t most = filter_block_size_ > 0 ? filter_block_size_ : rows.size();
  for (size_t begin = 0; begin < rows.size(); begin += most) {
    Status error = request.framework.nomination_filter().RunFilterNodesWithNominatedPods(
        request.state, *request.pod, request.nodes, rows.subspan(begin, most), verdicts_);
    if (!error.ok()) return error;
  }
  verdicts_.AppendFeasible(rows, feasible_);
  return Status::Success();
}

// Ends with the `wanted`th feasible node, and begins where the last search ended.
Status FullEvaluator::FindSomeFeasible(const EvaluationRequest& request, int wanted) {
  const int count = static_cast<int>(rows_.size());
  std::rotate(rows_.begin(), rows_.begin() + next_start_ % count, rows_.end());
  const int most = filter_block_size_ > 0 ? filter_block_size_ : kPartialSearchBlock;
  filtered_ = 0;
  while (filtered_ < count && static_cast<int>(feasible_.size()) < wanted) {
    const absl::Span<const NodeRow> rows = absl::MakeSpan(rows_).subspan(filtered_, most);
    Status error = request.framework.nomination_filter().RunFilterNodesWithNominatedPods(
        request.state, *request.pod, request.nodes, rows, verdicts_);
    if (!error.ok()) return error;
    for (const NodeRow row : rows) {
      if (static_cast<int>(feasible_.size()) == wanted) break;
      ++filtered_;
      if (verdicts_.IsFeasible(row)) feasible_.push_back(row);
    }
  }
  std::sort(feasible_.begin(), feasible_.end());
  return Status::Success();
}

// Removes from the feasible rows those that extenders reject.
Status FullEvaluator::FilterByExtenders(const EvaluationRequest& request) {
  const ExtenderRunner& extenders = request.framework.extenders();
  if (feasible_.empty() || !extenders.AnyInterested(*request.pod)) return Status::Success();
  const std::vector<NodeRow> before = feasible_;
  Status error = extenders.RunFilter(*request.pod, request.nodes, feasible_, by_extenders_);
  if (!error.ok()) return error;
  std::vector<NodeRow> rejected;
  std::set_difference(before.begin(), before.end(), feasible_.begin(), feasible_.end(),
                      std::back_inserter(rejected));
  for (const NodeRow row : rejected) {
    const auto said = by_extenders_.find(row);
    verdicts_.Reject(
        row,
        said == by_extenders_.end() ? Code::kUnschedulableAndUnresolvable : said->second.code(),
        NodeVerdicts::kExtender);
  }
  // What an extender says of a node counts in place of what a plugin said, as in kube-scheduler.
  for (const auto& [row, status] : by_extenders_) {
    if (!verdicts_.IsFeasible(row)) verdicts_.Reject(row, status.code(), NodeVerdicts::kExtender);
  }
  return Status::Success();
}

// --- Score ---------------------------------------------------------------------------------------

// Extenders are asked first, and answer while plugins score.
Status FullEvaluator::ScoreFeasible(const EvaluationRequest& request) {
  ExtenderRunner::Scores by_extenders =
      request.framework.extenders().BeginPrioritize(*request.pod, request.nodes, feasible_);
  Status status = ScoreByPlugins(request);
  if (!status.ok()) return status;
  std::move(by_extenders)
      .AddTo(request.nodes, feasible_, absl::MakeSpan(totals_),
             request.state.for_explanation() ? &scores_by_plugin_ : nullptr);
  return status;
}

Status FullEvaluator::ScoreByPlugins(const EvaluationRequest& request) {
  totals_.resize(feasible_.size());
  if (request.framework.plugins().score.empty()) {
    // kube-scheduler v1.35 schedule_one.go prioritizeNodes: every node gets 1.
    absl::c_fill(totals_, 1);
    return Status::Success();
  }
  const ScoreRunner& scores = request.framework.scores();
  const PointMetrics& metrics = request.framework.point_metrics();
  Status status = metrics.Measure(PointMetrics::Point::kPreScore, [&] {
    return scores.RunPreScore(request.state, *request.pod, request.nodes, feasible_);
  });
  if (!status.ok()) return status;
  return metrics.Measure(PointMetrics::Point::kScore, [&] {
    return scores.RunScore(request.state, *request.pod, request.nodes, feasible_,
                           absl::MakeSpan(totals_),
                           request.state.for_explanation() ? &scores_by_plugin_ : nullptr);
  });
}

// Sets `best_row` to the best row that the per-node Filter confirms, the first of equals; leaves it
// if there is none. A batch form that accepts too much costs another try here, never a wrong
// placement. An Error ends the evaluation.
Status FullEvaluator::ChooseBest(const EvaluationRequest& request, NodeRow& best_row) {
  if (feasible_.size() == 1 && !request.state.for_explanation()) totals_.assign(1, 0);
  while (!feasible_.empty()) {
    const auto best = absl::c_max_element(totals_) - totals_.begin();
    const NodeRow row = feasible_[best];
    const Status confirmed = request.framework.nomination_filter().RunFilterWithNominatedPods(
        request.state, *request.pod, request.nodes.node(row));
    if (confirmed.ok()) {
      best_row = row;
      return confirmed;
    }
    ++unconfirmed_;
    if (!confirmed.IsRejected()) return confirmed;
    request.framework.plugins().SetVerdict(row, confirmed, verdicts_);
    feasible_.erase(feasible_.begin() + best);
    totals_.erase(totals_.begin() + best);
    for (PluginScores& scores : scores_by_plugin_) {
      scores.weighted.erase(scores.weighted.begin() + best);
    }
  }
  return Status::Success();
}

}  // namespace berth
