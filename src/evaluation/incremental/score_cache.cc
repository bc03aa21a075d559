// SPDX-License-Identifier: Apache-2.0
// Implementation of score_cache.h.
#include "evaluation/incremental/score_cache.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "berth/check.h"
#include "evaluation/diagnosis.h"
#include "framework/nominated_rows.h"

namespace berth {
namespace {

// Aspects that concern object filters.
constexpr Aspects kOfObjectFilters = Aspect::kOfPods | Aspect::kOfNodeObject;

// What `ask` returns while `state` skips all other filters.
template <class Ask>
Status RunOnly(PluginMask filters, CycleState& state, const Ask& ask) {
  uint64_t& skips = state.skips().filter;
  const uint64_t always_skipped = std::exchange(skips, skips | ~filters);
  Status status = ask();
  skips = always_skipped;
  return status;
}

}  // namespace

ScoreCache::ScoreCache(const Framework& framework, std::shared_ptr<const PodInfo> pod,
                       PluginMask plugins, PluginMask object_filters, Scratch& scratch)
    : framework_(framework),
      pod_(std::move(pod)),
      plugins_(plugins),
      object_filters_(object_filters),
      node_changes_(framework, plugins),
      columns_(framework, *pod_, state_, feasible_, scratch.columns),
      scratch_(scratch) {}

Status ScoreCache::Refresh(const NodeTable& nodes, const Nominator& nominator,
                           const PodInfo& evaluated_pod, const ObjectInputs* objects) {
  BERTH_DCHECK((objects != nullptr) == (object_filters_ != 0));
  nodes_ = &nodes;
  objects_ = objects == nullptr ? nullptr : &objects->state;
  if (narrows_) return Status::Success();
  const bool other_inputs = objects != nullptr && !(objects->inputs == inputs_);
  if (other_inputs) inputs_ = objects->inputs;
  if (!CollectChanged(nodes, nominator, evaluated_pod)) {
    scratch_.is_changed.assign(nodes.size(), 0);
    return Rebuild(nodes, evaluated_pod);
  }
  const absl::Cleanup unmark = [this] {
    for (const NodeRow row : scratch_.changed) scratch_.is_changed[row] = 0;
  };
  if (other_inputs) {
    bool scored_anew = false;
    Status status = AdoptInputs(nodes, evaluated_pod, scored_anew);
    if (!status.ok() || scored_anew) return status;
  }
  if (!scored_) return LookForFeasible(nodes, evaluated_pod);
  if (scratch_.changed.empty()) return Status::Success();

  Status status = RefilterChanged(evaluated_pod);
  if (!status.ok()) return status;
  if (columns_.FindExtremes()) return Renormalized(columns_.Renormalize(nodes.size()));
  status = columns_.UpdateTotals(scratch_.changed);
  if (!status.ok()) return status;
  for (const NodeRow row : scratch_.changed) changes_.Add(row, nodes.size());
  return Status::Success();
}

// Where nothing was feasible: whether that is still so.
Status ScoreCache::LookForFeasible(const NodeTable& nodes, const PodInfo& evaluated_pod) {
  for (const NodeRow row : scratch_.changed) {
    Status status = FilterAgain(row, evaluated_pod);
    if (status.IsError()) return status;
    if (status.ok()) return Rebuild(nodes, evaluated_pod);
  }
  return Status::Success();
}

// Object filters have other inputs now: calls them again for rows that no other filter rejects.
// Sets `scored_anew` if others are feasible then, and everything is up to date.
Status ScoreCache::AdoptInputs(const NodeTable& nodes, const PodInfo& evaluated_pod,
                               bool& scored_anew) {
  const std::vector<NodeRow> before(feasible().begin(), feasible().end());
  const auto& filters = framework_.plugins().filter;
  std::vector<NodeRow> rows;
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    const uint8_t filter = feasible_.uncounted_verdicts().rejector(row);
    const bool by_object_filter =
        filter < filters.size() && (object_filters_ & MaskOf(filters[filter])) != 0;
    if (feasible_.contains(row) || by_object_filter) rows.push_back(row);
  }
  Status status = RunObjectFilters(nodes, evaluated_pod, rows);
  if (!status.ok() || feasible() == absl::MakeConstSpan(before)) return status;
  for (const NodeRow row : scratch_.changed) {
    status = FilterAgain(row, evaluated_pod);
    if (status.IsError()) return status;
  }
  scored_anew = true;
  return ScoreAnew(nodes);
}

Status ScoreCache::RunObjectFilters(const NodeTable& nodes, const PodInfo& evaluated_pod,
                                    absl::Span<const NodeRow> rows) {
  Status status = RunOnly(object_filters_, *objects_, [&] {
    return framework_.nomination_filter().RunFilterNodesWithNominatedPods(
        *objects_, evaluated_pod, nodes, rows, feasible_.uncounted_verdicts());
  });
  feasible_.Recount();
  return status;
}

// Fills scratch_.changed with the rows to be filtered again, each once. False if it is all of them,
// as after rows have moved.
bool ScoreCache::CollectChanged(const NodeTable& nodes, const Nominator& nominator,
                                const PodInfo& evaluated_pod) {
  scratch_.changed.clear();
  scratch_.is_changed.resize(nodes.size());
  const bool have_moved =
      nodes.order_version() != std::exchange(order_version_, nodes.order_version());
  // Claims of nominated pods count on their node, and may change while it does not.
  const bool all_nominated = object_filters_ != 0;
  const bool followed = node_changes_.CatchUp(
      {nodes, nominator, evaluated_pod, depends_on_, state_.skips().filter, all_nominated},
      [&](NodeRow row) {
        if (!have_moved) MarkChanged(row);
      },
      [](const RowMove&) {}, [] {});
  return followed && !have_moved && scratch_.changed.size() <= MaxChangedRows(nodes.size());
}

void ScoreCache::MarkChanged(NodeRow row) {
  if (std::exchange(scratch_.is_changed[row], 1) == 0) scratch_.changed.push_back(row);
}

// The pod's state, once: these plugins' PreFilter and PreScore do not look at nodes.
Status ScoreCache::Prepare(const NodeTable& nodes) {
  if (prepared_) return Status::Success();
  PreFilterOutcome outcome = framework_.filters().RunPreFilter(state_, *pod_, nodes, plugins_);
  if (!outcome.status.ok()) return std::move(outcome.status);
  narrows_ = outcome.narrowed.node_names.has_value();
  Status status = framework_.scores().RunPreScore(state_, *pod_, nodes, {}, plugins_);
  if (!status.ok()) return status;
  depends_on_ = columns_.AddPlugins();
  for (const Hook<FilterPlugin>& hook : framework_.plugins().filter) {
    const PluginMask plugin = MaskOf(hook);
    if ((plugin & plugins_ & ~state_.skips().filter) == 0) continue;
    active_filters_ |= plugin;
    depends_on_ |= framework_.signer().DependenciesOf(plugin);
  }
  if (object_filters_ != 0) depends_on_ |= kOfObjectFilters;
  prepared_ = true;
  return Status::Success();
}

Status ScoreCache::Rebuild(const NodeTable& nodes, const PodInfo& evaluated_pod) {
  Status status = Prepare(nodes);
  if (!status.ok() || narrows_) return status;
  const absl::Span<const NodeRow> all = feasible_.Reset(nodes.size());
  status = framework_.nomination_filter().RunFilterNodesWithNominatedPods(
      state_, evaluated_pod, nodes, all, feasible_.uncounted_verdicts());
  if (!status.ok()) return status;
  feasible_.Recount();
  if (objects_ != nullptr) {
    status = RunObjectFilters(nodes, evaluated_pod, feasible());
    if (!status.ok()) return status;
  }
  return ScoreAnew(nodes);
}

// All feasible rows.
Status ScoreCache::ScoreAnew(const NodeTable& nodes) {
  scored_ = feasible_.count() > 0;
  return scored_ ? Renormalized(columns_.Score(nodes)) : Status::Success();
}

// Filters scratch_.changed again and gives its feasible rows their raw scores.
Status ScoreCache::RefilterChanged(const PodInfo& evaluated_pod) {
  scratch_.rescored.clear();
  for (const NodeRow row : scratch_.changed) {
    const bool was_feasible = feasible_.contains(row);
    const Status status = FilterAgain(row, evaluated_pod);
    if (status.IsError()) return status;
    if (status.ok()) {
      scratch_.rescored.push_back({row, was_feasible});
    } else if (was_feasible) {
      columns_.Remove(row);
    }
  }
  return columns_.ScoreRows(*nodes_, scratch_.rescored);
}

// Sets the verdict on the row, unless the status is an error.
Status ScoreCache::FilterAgain(NodeRow row, const PodInfo& evaluated_pod) {
  const auto filter = [&](CycleState& state) {
    return framework_.nomination_filter().RunFilterWithNominatedPods(state, evaluated_pod,
                                                                     nodes_->node(row));
  };
  Status status;
  if (active_filters_ != 0) status = filter(state_);
  if (status.ok() && objects_ != nullptr) {
    status = RunOnly(object_filters_, *objects_, [&] { return filter(*objects_); });
  }
  if (!status.IsError()) feasible_.Set(row, status, framework_.plugins());
  return status;
}

// All totals may be others than before.
Status ScoreCache::Renormalized(Status status) {
  if (status.ok()) changes_.Restart();
  return status;
}

}  // namespace berth
