// SPDX-License-Identifier: Apache-2.0
// Implementation of score_columns.h.
#include "evaluation/incremental/score_columns.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"

namespace berth {
namespace {

// For best_: rows with higher totals are better.
class ByTotal {
 public:
  explicit ByTotal(absl::Span<const int64_t> totals) : totals_(totals.data()) {}

  NodeRow BestOf(NodeRow begin, NodeRow end) const {
    NodeRow best = -1;
    int64_t high = ScoreColumns::kInfeasible;
    for (NodeRow row = begin; row < end; ++row) {
      if (totals_[row] <= high) continue;
      high = totals_[row];
      best = row;
    }
    return best;
  }
  NodeRow Better(NodeRow left, NodeRow right) const {
    if (left < 0) return right;
    if (right < 0) return left;
    return totals_[left] >= totals_[right] ? left : right;
  }

 private:
  const int64_t* totals_;
};

}  // namespace

// --- Column ---

void ScoreColumns::Column::SetScore(NodeRow row, int64_t score, int rows) {
  if (raw.empty() && score == 0) return;
  raw.resize(rows);
  raw[row] = score;
}

void ScoreColumns::Column::Add(int64_t score) {
  const bool first = count++ == 0;
  if (first || score < low) {
    low = score;
    at_low = 0;
  }
  if (first || score > high) {
    high = score;
    at_high = 0;
  }
  at_low += score == low;
  at_high += score == high;
}

// If no row is left at an extreme, it has to be looked for.
void ScoreColumns::Column::Remove(int64_t score) {
  --count;
  at_low -= score == low;
  at_high -= score == high;
}

// --- Raw scores ---

Aspects ScoreColumns::AddPlugins() {
  Aspects all = Aspect::kNothing;
  for (const Hook<ScorePlugin>& hook : framework_.plugins().score) {
    if (state_.skips().score & MaskOf(hook)) continue;
    all |= framework_.signer().DependenciesOf(MaskOf(hook));
    if (hook.extensions != nullptr) {
      normalized_.push_back({&hook});
    } else {
      unnormalized_.push_back(&hook);
    }
  }
  return all;
}

Status ScoreColumns::Score(const NodeTable& nodes) {
  unnormalized_totals_.assign(nodes.size(), 0);
  Status status = AddUnnormalizedScores(nodes, feasible_.rows());
  for (Column& column : normalized_) {
    if (!status.ok()) return status;
    column.raw.clear();
    status = ScoreColumn(nodes, column);
  }
  return status.ok() ? Renormalize(nodes.size()) : status;
}

Status ScoreColumns::ScoreRows(const NodeTable& nodes, absl::Span<const FeasibleRow> rows) {
  if (rows.empty()) return Status::Success();
  std::vector<NodeRow>& changed_rows = scratch_.rows;
  changed_rows.clear();
  for (const FeasibleRow& scored : rows) changed_rows.push_back(scored.row);
  for (const NodeRow row : changed_rows) unnormalized_totals_[row] = 0;
  Status status = AddUnnormalizedScores(nodes, changed_rows);
  if (!status.ok()) return status;
  for (Column& column : normalized_) {
    status = CallPlugin(nodes, *column.hook, changed_rows);
    if (!status.ok()) return status;
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto [row, was_feasible] = rows[i];
      if (was_feasible) column.Remove(column.score(row));
      column.SetScore(row, scratch_.scores[i], nodes.size());
      column.Add(scratch_.scores[i]);
    }
  }
  return Status::Success();
}

// The raw scores of `rows`, into scratch_.scores. A plugin that gives all nodes the same is not
// called.
Status ScoreColumns::CallPlugin(const NodeTable& nodes, const Hook<ScorePlugin>& hook,
                                absl::Span<const NodeRow> rows) {
  const auto uniform = framework_.scores().UniformScore(hook, state_, pod_, nodes);
  // A plugin that forgets a row must not see another's.
  scratch_.scores.assign(rows.size(), uniform.value_or(0));
  if (uniform.has_value()) return Status::Success();
  return framework_.scores().RunScorePlugin(hook, state_, pod_, nodes, rows,
                                            absl::MakeSpan(scratch_.scores));
}

// Adds the weighted scores of unnormalized_ to unnormalized_totals_ of `rows`, which are 0.
Status ScoreColumns::AddUnnormalizedScores(const NodeTable& nodes, absl::Span<const NodeRow> rows) {
  const ScoreRunner& runner = framework_.scores();
  for (const Hook<ScorePlugin>* const hook : unnormalized_) {
    Status status = CallPlugin(nodes, *hook, rows);
    if (status.ok()) status = runner.CheckScores(*hook, scratch_.scores);
    if (!status.ok()) return status;
    const int64_t factor = runner.ScoreFactor(*hook);
    for (size_t i = 0; i < rows.size(); ++i) {
      unnormalized_totals_[rows[i]] += scratch_.scores[i] * factor;
    }
  }
  return Status::Success();
}

// All feasible rows.
Status ScoreColumns::ScoreColumn(const NodeTable& nodes, Column& column) {
  if (column.raw.empty() &&
      framework_.scores().UniformScore(*column.hook, state_, pod_, nodes) == 0) {
    FindExtremes(column);
    return Status::Success();
  }
  const absl::Span<const NodeRow> rows = feasible_.rows();
  Status status = CallPlugin(nodes, *column.hook, rows);
  if (!status.ok()) return status;
  const std::vector<int64_t>& scores = scratch_.scores;
  const bool stays_zero =
      column.raw.empty() && absl::c_all_of(scores, [](int64_t score) { return score == 0; });
  if (!stays_zero) {
    column.raw.resize(nodes.size());
    for (size_t i = 0; i < rows.size(); ++i) column.raw[rows[i]] = scores[i];
  }
  FindExtremes(column);
  return Status::Success();
}

// --- Extremes ---

bool ScoreColumns::FindExtremes() {
  bool differ = false;
  for (Column& column : normalized_) {
    if (column.at_low == 0 || column.at_high == 0) FindExtremes(column);
    differ |= column.low != column.normalized_low || column.high != column.normalized_high;
  }
  return differ;
}

void ScoreColumns::FindExtremes(Column& column) const {
  if (column.raw.empty()) {
    column.low = column.high = 0;
    column.count = column.at_low = column.at_high = feasible_.count();
    return;
  }
  column.count = column.at_low = column.at_high = 0;
  for (const NodeRow row : feasible_.rows()) column.Add(column.raw[row]);
}

// --- Totals ---

// The totals of all feasible rows, and the order of them.
Status ScoreColumns::Renormalize(int size) {
  totals_.assign(size, kInfeasible);
  const absl::Span<const NodeRow> rows = feasible_.rows();
  for (const NodeRow row : rows) totals_[row] = unnormalized_totals_[row];
  std::vector<int64_t>& scores = scratch_.scores;
  for (Column& column : normalized_) {
    if (rows.empty()) break;
    const int64_t factor = framework_.scores().ScoreFactor(*column.hook);
    column.normalized_low = column.low;
    column.normalized_high = column.high;
    // By SignPlugin's contract normalised scores depend on the extremes and nothing else: one row
    // stands for all that are equal.
    const absl::Span<const NodeRow> asked = column.all_equal() ? rows.first(1) : rows;
    scores.resize(asked.size());
    for (size_t i = 0; i < asked.size(); ++i) scores[i] = column.score(asked[i]);
    Status status = framework_.scores().RunNormalizeScores(*column.hook, state_, pod_, asked,
                                                           absl::MakeSpan(scores));
    if (!status.ok()) return status;
    if (column.all_equal()) {
      column.same_for_all = scores[0] * factor;
      for (const NodeRow row : rows) totals_[row] += column.same_for_all;
      continue;
    }
    for (size_t i = 0; i < rows.size(); ++i) totals_[rows[i]] += scores[i] * factor;
  }
  best_.Build(static_cast<int>(totals_.size()), ByTotal(totals_));
  return Status::Success();
}

// Their scores are those of now.
Status ScoreColumns::UpdateTotals(absl::Span<const NodeRow> rows) {
  std::vector<NodeRow>& feasible = scratch_.rows;
  feasible.clear();
  for (const NodeRow row : rows) {
    totals_[row] = feasible_.contains(row) ? unnormalized_totals_[row] : kInfeasible;
    if (feasible_.contains(row)) feasible.push_back(row);
  }
  for (const Column& column : normalized_) {
    Status status = AddNormalized(column, feasible);
    if (!status.ok()) return status;
  }
  // A path up the tree of winners costs as much as some hundred rows of its leaves.
  const int size = static_cast<int>(totals_.size());
  if (rows.size() > 8 + totals_.size() / 128) {
    best_.Build(size, ByTotal(totals_), *absl::c_min_element(rows));
  } else {
    for (const NodeRow row : rows) best_.Update(row, ByTotal(totals_));
  }
  return Status::Success();
}

// Adds to their totals the normalised scores of feasible rows: the extremes, which did not change,
// stand for all other rows.
Status ScoreColumns::AddNormalized(const Column& column, std::vector<NodeRow>& rows) {
  if (rows.empty()) return Status::Success();
  if (column.all_equal()) {
    for (const NodeRow row : rows) totals_[row] += column.same_for_all;
    return Status::Success();
  }
  const int64_t factor = framework_.scores().ScoreFactor(*column.hook);
  std::vector<int64_t>& scores = scratch_.scores;
  scores.clear();
  for (const NodeRow row : rows) scores.push_back(column.score(row));
  scores.insert(scores.end(), {column.low, column.high});
  const size_t size = rows.size();
  rows.resize(scores.size(), rows.front());
  Status status = framework_.scores().RunNormalizeScores(*column.hook, state_, pod_, rows,
                                                         absl::MakeSpan(scores));
  rows.resize(size);
  for (size_t i = 0; i < size; ++i) totals_[rows[i]] += scores[i] * factor;
  return status;
}

NodeRow ScoreColumns::BestAccepted(absl::FunctionRef<bool(NodeRow)> accepts, int most) {
  NodeRow row = best_.best();
  std::vector<std::pair<NodeRow, int64_t>> refused;  // and their totals
  while (row >= 0 && !accepts(row)) {
    refused.push_back({row, std::exchange(totals_[row], kInfeasible)});
    best_.Update(row, ByTotal(totals_));
    row = static_cast<int>(refused.size()) < most ? best_.best() : -1;
  }
  for (const auto& [back, total] : refused) {
    totals_[back] = total;
    best_.Update(back, ByTotal(totals_));
  }
  return row;
}

Status ScoreColumns::TotalsOf(absl::Span<const NodeRow> rows, absl::Span<int64_t> totals) const {
  if (totals_hold_for_any_subset() || rows.size() == static_cast<size_t>(feasible_.count())) {
    for (size_t i = 0; i < rows.size(); ++i) totals[i] = totals_[rows[i]];
    return Status::Success();
  }
  for (size_t i = 0; i < rows.size(); ++i) totals[i] = unnormalized_totals_[rows[i]];
  std::vector<int64_t> scores(rows.size());
  for (const Column& column : normalized_) {
    for (size_t i = 0; i < rows.size(); ++i) scores[i] = column.score(rows[i]);
    Status status = framework_.scores().RunNormalizeScores(*column.hook, state_, pod_, rows,
                                                           absl::MakeSpan(scores));
    if (!status.ok()) return status;
    for (size_t i = 0; i < rows.size(); ++i)
      totals[i] += scores[i] * framework_.scores().ScoreFactor(*column.hook);
  }
  return Status::Success();
}

}  // namespace berth
