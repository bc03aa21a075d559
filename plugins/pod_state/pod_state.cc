// SPDX-License-Identifier: Apache-2.0
// The rule of PodState.
#include "plugins/pod_state/pod_state.h"

#include <algorithm>

namespace berth {

absl::StatusOr<std::unique_ptr<Plugin>> PodState::Create(const PluginArgs&, Handle& handle) {
  return std::make_unique<PodState>(handle);
}

absl::StatusOr<int64_t> PodState::Score(const CycleState&, const PodInfo&,
                                        const NodeInfo& node) const {
  int64_t terminating = 0;
  for (const auto& pod : node.pods()) terminating += pod->deletion_time().has_value();
  return terminating - static_cast<int64_t>(handle_.nominator().NominatedPods(node.name()).size());
}

absl::Status PodState::NormalizeScores(const CycleState&, const PodInfo&, absl::Span<const NodeRow>,
                                       absl::Span<int64_t> scores) const {
  if (scores.empty()) return absl::OkStatus();
  const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
  const int64_t lowest = *low, range = *high - *low;
  for (int64_t& score : scores) {
    score = range == 0 ? kMinNodeScore : (score - lowest) * kMaxNodeScore / range;
  }
  return absl::OkStatus();
}

}  // namespace berth
