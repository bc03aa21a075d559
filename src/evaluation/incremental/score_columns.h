// SPDX-License-Identifier: Apache-2.0
// The scores of feasible rows: raw by plugin, normalised over all of them, added up, and which is
// the best.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_SCORE_COLUMNS_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_SCORE_COLUMNS_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "berth/columns/aspects.h"
#include "berth/columns/node_table.h"
#include "evaluation/incremental/feasible_rows.h"
#include "framework/framework.h"
#include "table/best_row.h"

namespace berth {

// The scores of a ScoreCache. Rows that change get their raw scores first (ScoreRows, Remove). Then
// either their totals are added up again (UpdateTotals), or, if the extremes of a plugin that
// normalises are others now, all totals are (Renormalize). Scheduling thread.
class ScoreColumns {
 public:
  // The total of a row that is not feasible.
  static constexpr int64_t kInfeasible = std::numeric_limits<int64_t>::min();

  // May be shared with others.
  struct Scratch {
    std::vector<NodeRow> rows;
    std::vector<int64_t> scores;
  };
  // All of these outlive this. `state` is the pod's.
  ScoreColumns(const Framework& framework, const PodInfo& pod, const CycleState& state,
               const FeasibleRows& feasible, Scratch& scratch)
      : framework_(framework), pod_(pod), state_(state), feasible_(feasible), scratch_(scratch) {}
  ScoreColumns(const ScoreColumns&) = delete;
  ScoreColumns& operator=(const ScoreColumns&) = delete;

  // After PreScore: a column for each plugin that it did not skip. Returns what they depend on.
  Aspects AddPlugins();

  // --- Raw scores ---

  // All of the feasible rows, and then Renormalize().
  Status Score(const NodeTable& nodes);
  struct FeasibleRow {
    NodeRow row;
    bool was_feasible;  // and has raw scores
  };
  // Some feasible rows.
  Status ScoreRows(const NodeTable& nodes, absl::Span<const FeasibleRow> rows);
  // The row is not feasible any more.
  void Remove(NodeRow row) {
    for (Column& column : normalized_) column.Remove(column.score(row));
  }

  // --- Extremes ---

  // Looks for the lowest and highest raw scores at which no row is left. Returns whether one is
  // another than when Renormalize() ran.
  bool FindExtremes();
  // Whether the totals are the same over any part of the feasible rows.
  bool totals_hold_for_any_subset() const {
    return std::all_of(normalized_.begin(), normalized_.end(),
                       [](const Column& column) { return column.all_equal(); });
  }

  // --- Totals ---

  // The totals of all feasible rows; there are `size` rows.
  Status Renormalize(int size);
  // The totals of some rows.
  Status UpdateTotals(absl::Span<const NodeRow> rows);
  int64_t total(NodeRow row) const { return totals_[row]; }
  // The totals of some of the feasible rows, normalised over these.
  Status TotalsOf(absl::Span<const NodeRow> rows, absl::Span<int64_t> totals) const;
  NodeRow best() const { return best_.best(); }
  NodeRow BestAccepted(absl::FunctionRef<bool(NodeRow)> accepts, int most);

 private:
  // The raw scores of a plugin that normalises, and their extremes over the feasible rows.
  struct Column {
    const Hook<ScorePlugin>* hook;
    std::vector<int64_t> raw;  // by row; empty as long as all are 0
    int64_t low = 0, high = 0;
    int count = 0, at_low = 0, at_high = 0;  // rows in all, and at the extremes
    // As of Renormalize(): the extremes, and if they are equal what all rows get, weighted.
    int64_t normalized_low = 0, normalized_high = 0, same_for_all = 0;

    int64_t score(NodeRow row) const { return raw.empty() ? 0 : raw[row]; }
    void SetScore(NodeRow row, int64_t score, int rows);
    void Add(int64_t score);
    void Remove(int64_t score);
    bool all_equal() const { return low == high; }
  };

  Status CallPlugin(const NodeTable& nodes, const Hook<ScorePlugin>& hook,
                    absl::Span<const NodeRow> rows);
  Status AddUnnormalizedScores(const NodeTable& nodes, absl::Span<const NodeRow> rows);
  Status ScoreColumn(const NodeTable& nodes, Column& column);
  void FindExtremes(Column& column) const;
  Status AddNormalized(const Column& column, std::vector<NodeRow>& rows);

  const Framework& framework_;
  const PodInfo& pod_;
  const CycleState& state_;
  const FeasibleRows& feasible_;
  std::vector<const Hook<ScorePlugin>*> unnormalized_;  // score plugins that do not normalise
  std::vector<Column> normalized_;                      // those that do
  std::vector<int64_t> unnormalized_totals_;  // by row: the weighted scores of unnormalized_
  std::vector<int64_t> totals_;               // by row; kInfeasible if it is not feasible
  BestRow best_;
  Scratch& scratch_;
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_SCORE_COLUMNS_H_
