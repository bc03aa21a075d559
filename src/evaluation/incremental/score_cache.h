// SPDX-License-Identifier: Apache-2.0
// The verdicts and scores of every node for one class of pods, by the plugins that look at one node
// at a time, and by filters that depend on cluster objects. Only nodes that changed are evaluated
// and scored again.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_SCORE_CACHE_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_SCORE_CACHE_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "berth/columns/node_verdicts.h"
#include "evaluation/incremental/feasible_rows.h"
#include "evaluation/incremental/node_change_tracker.h"
#include "evaluation/incremental/score_columns.h"
#include "framework/framework.h"
#include "framework/verdict_dependencies.h"
#include "table/change_journal.h"

namespace berth {

// One profile's verdicts, scores and totals of all nodes for pods of one signature; and of one
// spec, if it has filters that depend on cluster objects. Refresh() brings it up to date; what
// follows it reads. Scheduling thread.
class ScoreCache {
 public:
  // The total of a row that is not feasible.
  static constexpr int64_t kInfeasible = ScoreColumns::kInfeasible;

  // If more of `rows` rows changed, a Refresh() saves nothing: they cost more one by one than all
  // rows do in batches.
  static uint64_t MaxChangedRows(int rows) { return 16 + static_cast<uint64_t>(rows) / 16; }

  // What a Refresh() needs meanwhile; caches share one.
  struct Scratch {
    std::vector<NodeRow> changed;     // rows to be filtered again
    std::vector<uint8_t> is_changed;  // by row; all 0 between calls
    std::vector<ScoreColumns::FeasibleRow> rescored;
    ScoreColumns::Scratch columns;
  };
  // `plugins` are those that signed (PodSigner::SignForNodes), `object_filters` others, of
  // VerdictDependencies::object_filters(); `pod` stands for its class. `scratch` outlives this.
  ScoreCache(const Framework& framework, std::shared_ptr<const PodInfo> pod, PluginMask plugins,
             PluginMask object_filters, Scratch& scratch);

  // What the verdicts of object filters on a pod depend on.
  struct ObjectInputs {
    CycleState& state;  // as their PreFilter left it
    std::vector<PluginInputs> inputs;
  };

  // Brings everything up to date with `nodes` and the pods nominated to them, for `evaluated_pod`,
  // a pod of this signature: nominated pods of at least its priority count on their nodes.
  // `objects` if there are object filters. Errors are a plugin's; the cache is of no use then.
  Status Refresh(const NodeTable& nodes, const Nominator& nominator, const PodInfo& evaluated_pod,
                 const ObjectInputs* objects = nullptr);

  // Whether PreFilter names the eligible nodes: the rest of the cache is of no use then.
  bool narrows() const { return narrows_; }
  PluginMask plugins() const { return plugins_; }
  PluginMask object_filters() const { return object_filters_; }
  // The plugins whose filters all feasible() rows pass.
  PluginMask filters() const { return plugins_ | object_filters_; }
  // The plugins whose PreFilter need not run for the pod: no later extension point, from Reserve to
  // PostBind, reads their state.
  PluginMask SkippablePreFilters() const {
    return plugins_ & ~framework_.binding_points().BindingPlugins();
  }
  // Rows whose total changed, or that became feasible or infeasible.
  const RowJournal& changes() const { return changes_; }
  // Rows that none of filters() rejects, in order. The list is made on demand; feasible_count()
  // costs nothing.
  absl::Span<const NodeRow> feasible() const { return feasible_.rows(); }
  int feasible_count() const { return feasible_.count(); }
  // The weighted total of a feasible row's scores, normalised over feasible(); kInfeasible of
  // others.
  int64_t total(NodeRow row) const { return columns_.total(row); }
  // The best of feasible(), or -1.
  NodeRow best() const { return scored_ ? columns_.best() : -1; }
  // Whether other plugins scored the last pod of this class.
  bool others_score() const { return others_score_; }
  void set_others_score(bool others_score) { others_score_ = others_score; }
  // What follows is about feasible rows: requires that there are any.
  // Whether the totals are the same over any part of the feasible rows.
  bool totals_hold_for_any_subset() const { return columns_.totals_hold_for_any_subset(); }
  // The best of the feasible rows that `accepts`, called for better rows first; -1 if it accepts
  // none of the `most` best.
  NodeRow BestAccepted(absl::FunctionRef<bool(NodeRow)> accepts, int most) {
    return columns_.BestAccepted(accepts, most);
  }
  // The totals of some of the feasible rows, normalised over these.
  Status TotalsOf(absl::Span<const NodeRow> rows, absl::Span<int64_t> totals) const {
    return columns_.TotalsOf(rows, totals);
  }
  // The result of the per-node Filter of plugins() for one row.
  Status Confirm(NodeRow row, const PodInfo& evaluated_pod) const {
    return framework_.nomination_filter().RunFilterWithNominatedPods(state_, evaluated_pod,
                                                                     nodes_->node(row));
  }

 private:
  Status Prepare(const NodeTable& nodes);
  Status Rebuild(const NodeTable& nodes, const PodInfo& evaluated_pod);
  Status ScoreAnew(const NodeTable& nodes);
  Status LookForFeasible(const NodeTable& nodes, const PodInfo& evaluated_pod);
  Status AdoptInputs(const NodeTable& nodes, const PodInfo& evaluated_pod, bool& scored_anew);
  Status RunObjectFilters(const NodeTable& nodes, const PodInfo& evaluated_pod,
                          absl::Span<const NodeRow> rows);
  bool CollectChanged(const NodeTable& nodes, const Nominator& nominator,
                      const PodInfo& evaluated_pod);
  void MarkChanged(NodeRow row);
  Status RefilterChanged(const PodInfo& evaluated_pod);
  Status FilterAgain(NodeRow row, const PodInfo& evaluated_pod);
  Status Renormalized(Status status);

  const Framework& framework_;
  const std::shared_ptr<const PodInfo> pod_;
  const PluginMask plugins_, object_filters_;
  Aspects depends_on_ = Aspect::kNothing;  // of the plugins that are not skipped

  bool prepared_ = false;
  bool narrows_ = false;
  bool others_score_ = false;
  // False if nothing was feasible: what follows from scores is not up to date.
  bool scored_ = false;
  const NodeTable* nodes_ = nullptr;
  NodeChangeTracker node_changes_;
  uint64_t order_version_ = 0;  // of the table
  CycleState state_;
  std::vector<PluginInputs> inputs_;  // of object filters, as of the last Refresh()
  CycleState* objects_ = nullptr;     // of the evaluated_pod, in a Refresh() with object filters
  PluginMask active_filters_ = 0;     // of plugins_ that PreFilter did not skip
  FeasibleRows feasible_;
  ScoreColumns columns_;
  RowJournal changes_;
  // During a Refresh():
  Scratch& scratch_;
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_SCORE_CACHE_H_
