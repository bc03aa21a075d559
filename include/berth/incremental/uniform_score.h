// SPDX-License-Identifier: Apache-2.0
// UniformScorePlugin: a Score plugin that scores all nodes alike for most pods, and says so: then
// it is not called for each node.
#ifndef BERTH_INCREMENTAL_UNIFORM_SCORE_H_
#define BERTH_INCREMENTAL_UNIFORM_SCORE_H_

#include <cstdint>
#include <optional>

#include "berth/columns/node_table.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/pod_info.h"

namespace berth {

// Optional, for Score plugins. PreScore can say Skip to the same end; this is for plugins whose
// answer depends on the nodes, and for those whose points are not 0.
class UniformScorePlugin {
 public:
  virtual ~UniformScorePlugin() = default;

  // The score that Score() gives every one of `nodes`, feasible or not; absent if they differ, or
  // if finding out would cost as much as the scores. Called after PreScore, if that did not say
  // Skip. If the plugin has ScoreExtensions, NormalizeScores is then called for one node, and what
  // it says counts for all. Scheduling thread.
  virtual std::optional<int64_t> UniformScore(const CycleState& state, const PodInfo& pod,
                                              const NodeTable& nodes) const = 0;
};

}  // namespace berth

#endif  // BERTH_INCREMENTAL_UNIFORM_SCORE_H_
