// SPDX-License-Identifier: Apache-2.0
// Runs of a group's members that have to be together: slices by rank, parts of a group.
#ifndef BERTH_SRC_ENGINE_MEMBER_RUNS_H_
#define BERTH_SRC_ENGINE_MEMBER_RUNS_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "berth/framework/placement.h"
#include "berth/framework/pod_info.h"

namespace berth {

// Pods that go to one of the placements, so many of them or none.
struct MemberRun {
  std::vector<std::shared_ptr<const PodInfo>> pods;
  int minimum = 0;
  std::vector<const NodePlacement*> placements;
  std::vector<int> tiers = {};               // of the placements; empty: all of one
  std::vector<NodePlacementPtr> owned = {};  // if nobody else holds them
  std::optional<int> slice = std::nullopt;   // its number, if all ranks are known
};

// The pod's number among its siblings, by the labels and annotations in which controllers write it:
// of Jobs, StatefulSets, LeaderWorkerSets, Kubeflow's jobs, and Koordinator's
// network-topology-index.
std::optional<int> RankOf(const PodInfo& pod);
// As they are, if not all have one.
std::vector<std::shared_ptr<const PodInfo>> ByRank(
    absl::Span<const std::shared_ptr<const PodInfo>> pods);
// Runs of `size`, by ranks, without placements.
std::vector<MemberRun> InRuns(absl::Span<const std::shared_ptr<const PodInfo>> pods, int size);

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_MEMBER_RUNS_H_
