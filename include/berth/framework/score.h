// SPDX-License-Identifier: Apache-2.0
// The PreScore, Score and NormalizeScores extension points: which feasible node is best?
#ifndef BERTH_FRAMEWORK_SCORE_H_
#define BERTH_FRAMEWORK_SCORE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth {

class NodeTable;

inline constexpr int64_t kMaxNodeScore = 100;
inline constexpr int64_t kMinNodeScore = 0;
// The finest that a ScorePlugin may rank: 1/100,000 of a point.
inline constexpr int64_t kMaxScoreResolution = 100000;

class PreScorePlugin {
 public:
  virtual ~PreScorePlugin() = default;

  // Runs after the filters; may run again for the same pod with fewer rows. `feasible` are the rows
  // to be scored. Returns Success; Skip to leave this plugin's Score out for this pod, whichever
  // rows are feasible; anything else ends the cycle as an error.
  virtual Status PreScore(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                          absl::Span<const NodeRow> feasible) = 0;
};

// A score out of range, normalized if the plugin does that, fails the cycle with the plugin's name.
class ScorePlugin {
 public:
  virtual ~ScorePlugin() = default;

  // The score of `node`, from kMinNodeScore to kMaxNodeScore in steps of 1/ScoreResolution(). Of a
  // plugin that derives from ScoreExtensions too, on any scale.
  // Threads: today the scheduling thread; the contract keeps parallel calls open, for different
  // nodes of one cycle.
  virtual absl::StatusOr<int64_t> Score(const CycleState& state, const PodInfo& pod,
                                        const NodeInfo& node) const = 0;

  // Writes to scores[i] what Score() would give rows[i]; the spans have one length. The default
  // calls Score() row by row.
  virtual absl::Status ScoreNodes(const CycleState& state, const PodInfo& pod,
                                  const NodeTable& nodes, absl::Span<const NodeRow> rows,
                                  absl::Span<int64_t> scores) const;

  // Steps a point: 1000 makes a score of 37512 mean 37.512 points, and 100000 the highest. A power
  // of ten up to kMaxScoreResolution, the same at every call. A profile's totals are kept in the
  // finest resolution among its score plugins; a weight means the same at any resolution.
  virtual int64_t ScoreResolution() const { return 1; }
};

// Optional, for Score plugins whose scores mean something among those of other nodes only. The
// score of a plugin without it is kept while other nodes change.
class ScoreExtensions {
 public:
  virtual ~ScoreExtensions() = default;

  // Brings the scores that Score() gave all feasible nodes (some, see sign.h and domain_scorer.h)
  // to kMinNodeScore..kMaxNodeScore, in steps of 1/ScoreResolution(), in place; scores[i] belongs
  // to rows[i].
  virtual absl::Status NormalizeScores(const CycleState& state, const PodInfo& pod,
                                       absl::Span<const NodeRow> rows,
                                       absl::Span<int64_t> scores) const = 0;
};

// How DefaultNormalizeScores maps the highest raw score.
enum class ScoreDirection { kHigherIsBetter, kLowerIsBetter };

// kube-scheduler v1.35 plugins/helper/normalize_score.go: score * 100 / max, truncated; reversed
// 100 minus that. If every score is 0, they become 0, or 100 when reversed.
void DefaultNormalizeScores(ScoreDirection direction, absl::Span<int64_t> scores);

}  // namespace berth

#endif  // BERTH_FRAMEWORK_SCORE_H_
