// SPDX-License-Identifier: Apache-2.0
// PreScore, Score and NormalizeScores of one profile.
#ifndef BERTH_SRC_FRAMEWORK_SCORE_RUNNER_H_
#define BERTH_SRC_FRAMEWORK_SCORE_RUNNER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/score.h"
#include "berth/incremental/domain_scorer.h"
#include "framework/hook.h"
#include "framework/profile_plugins.h"

namespace berth {

// Scores of one plugin over the feasible rows.
struct PluginScores {
  Symbol plugin;
  std::vector<int64_t> weighted;  // normalised * weight, in steps as the totals, by position
};

// Scheduling thread.
class ScoreRunner {
 public:
  // `plugins` outlives this.
  explicit ScoreRunner(const ProfilePlugins& plugins) : plugins_(plugins) {}

  // Plugins outside `only` count as if they had said Skip.
  Status RunPreScore(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                     absl::Span<const NodeRow> feasible, PluginMask only = kAllPlugins) const;
  // The same without feasible rows, if these plugins score by topology domains; SetFeasible()
  // names the rows afterwards. False if one of them does not, or fails: then nothing follows.
  bool RunPreScoreDomains(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                          PluginMask only, std::vector<DomainSum>& sums) const;
  bool SetFeasible(CycleState& state, const EquivalentNodes& feasible) const;
  // After RunPreScoreDomains(): what the plugins that score have yet to learn of the feasible
  // nodes.
  DomainScorer::Feasible ScoresDependOn(const CycleState& state) const;

  // totals[i] is the weighted total of rows[i], in steps of 1/score_resolution() point;
  // `by_plugin`, if not null, gets every plugin's share.
  Status RunScore(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                  absl::Span<const NodeRow> rows, absl::Span<int64_t> totals,
                  std::vector<PluginScores>* by_plugin) const;
  // The two halves of it for one plugin: raw scores of `rows`, and what makes points of them, to be
  // multiplied with ScoreFactor(). A score that is out of range afterwards is an Error.
  Status RunScorePlugin(const Hook<ScorePlugin>& hook, const CycleState& state, const PodInfo& pod,
                        const NodeTable& nodes, absl::Span<const NodeRow> rows,
                        absl::Span<int64_t> raw) const;
  // The score of all nodes, if it is the same and the plugin says so (uniform_score.h); then
  // RunNormalizeScores() of one of them counts for all.
  std::optional<int64_t> UniformScore(const Hook<ScorePlugin>& hook, const CycleState& state,
                                      const PodInfo& pod, const NodeTable& nodes) const;
  Status RunNormalizeScores(const Hook<ScorePlugin>& hook, const CycleState& state,
                            const PodInfo& pod, absl::Span<const NodeRow> rows,
                            absl::Span<int64_t> scores) const;
  // The same without a look at the range.
  Status Normalize(const Hook<ScorePlugin>& hook, const CycleState& state, const PodInfo& pod,
                   absl::Span<const NodeRow> rows, absl::Span<int64_t> scores) const;
  // Adds a plugin's points, times ScoreFactor(), to `totals`, and sets them to 0 for the next
  // plugin: one that forgets a row must not see another's score. False if one is out of range: then
  // the totals are worth nothing, and that score is left.
  bool AddScores(const Hook<ScorePlugin>& hook, absl::Span<int64_t> scores,
                 absl::Span<int64_t> totals) const;
  // Error if one of a plugin's points is out of range.
  Status CheckScores(const Hook<ScorePlugin>& hook, absl::Span<const int64_t> scores) const;
  int64_t ScoreFactor(const Hook<ScorePlugin>& hook) const {
    return hook.weight * (plugins_.score_resolution / hook.resolution);
  }

 private:
  const ProfilePlugins& plugins_;
  mutable std::vector<int64_t> scores_;  // of one plugin, by position in the rows: scratch
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_SCORE_RUNNER_H_
