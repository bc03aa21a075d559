// SPDX-License-Identifier: Apache-2.0
// The batch form of Score for plugins that have none of their own, and the usual normalisation.
#include "berth/framework/score.h"

#include <algorithm>
#include <limits>

#include "absl/numeric/int128.h"
#include "berth/check.h"
#include "berth/columns/node_table.h"
#include "simd/exact_doubles.h"
#include "simd/vector_clones.h"
#include "table/extremes.h"

namespace berth {

absl::Status ScorePlugin::ScoreNodes(const CycleState& state, const PodInfo& pod,
                                     const NodeTable& nodes, absl::Span<const NodeRow> rows,
                                     absl::Span<int64_t> scores) const {
  BERTH_DCHECK(rows.size() == scores.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    absl::StatusOr<int64_t> score = Score(state, pod, nodes.node(rows[i]));
    if (!score.ok()) return std::move(score).status();
    scores[i] = *score;
  }
  return absl::OkStatus();
}

namespace {

// score * 100 / max, truncated, or what that leaves of 100. Scores are from 0 to `max`, which is
// below kExactAmounts.
BERTH_VECTOR_CLONES void Scale(int64_t max, bool reverse, int64_t* scores, size_t size) {
  const double divisor = static_cast<double>(max);
  const int64_t from = reverse ? kMaxNodeScore : 0;
  const int64_t sign = reverse ? -1 : 0;  // x ^ -1 - -1 is -x
  for (size_t i = 0; i < size; ++i) {
    const int64_t share = Truncated(ToDouble(scores[i]) * kMaxNodeScore / divisor);
    scores[i] = from + ((share ^ sign) - sign);
  }
}

}  // namespace

void DefaultNormalizeScores(ScoreDirection direction, absl::Span<int64_t> scores) {
  const bool reverse = direction == ScoreDirection::kLowerIsBetter;
  if (scores.empty()) return;
  const Extremes extremes = ExtremesOf(scores);
  const int64_t min = std::min<int64_t>(extremes.min, 0);  // 0 counts too
  const int64_t max = std::max<int64_t>(extremes.max, 0);
  if (max == 0) {
    if (reverse) std::fill(scores.begin(), scores.end(), kMaxNodeScore);
    return;
  }
  if (min == 0 && max < kExactAmounts) {
    return Scale(max, reverse, scores.data(), scores.size());
  }
  constexpr int64_t kSafe = std::numeric_limits<int64_t>::max() / kMaxNodeScore;
  const bool fits = max <= kSafe && min >= -kSafe;
  for (int64_t& score : scores) {
    const int64_t share = fits ? score * kMaxNodeScore / max
                               : static_cast<int64_t>(absl::int128(score) * kMaxNodeScore / max);
    score = reverse ? kMaxNodeScore - share : share;
  }
}

}  // namespace berth
