// SPDX-License-Identifier: Apache-2.0
// Pod sets: members of a group that have to be together, as its slices by rank and its parts.
#ifndef BERTH_SRC_ENGINE_POD_SETS_H_
#define BERTH_SRC_ENGINE_POD_SETS_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "berth/framework/placement.h"
#include "berth/framework/pod_info.h"

namespace berth {

// Pods that all go to one of the placements; at least `minimum` of them, or none.
struct PodSet {
  std::vector<std::shared_ptr<const PodInfo>> pods;
  int minimum = 0;
  std::vector<const NodePlacement*> placements;
  std::vector<int> tiers = {};               // of the placements; empty: all of one
  std::vector<NodePlacementPtr> owned = {};  // if nothing else holds them
  std::optional<int> slice = std::nullopt;   // its number, if all ranks are known
  // Where pod sets have to be in one domain together, as the PodGroups below a CompositePodGroup:
  // the numbers of what they are below, and for each placement which domain of each of these it is
  // in.
  std::vector<int> scopes = {};
  std::vector<std::vector<const NodePlacement*>> domains = {};
};

// In which domain the pod sets are that share a scope, while a search places them. A value.
class SharedDomains {
 public:
  // Whether none of the pod sets that share a scope with this one is in another domain. `placement`
  // is one of the pod set's.
  bool Allow(const PodSet& pod_set, const NodePlacement* placement) const;
  void Enter(const PodSet& pod_set, const NodePlacement* placement);
  // Takes the last Enter() of that pod set back.
  void Leave(const PodSet& pod_set);

 private:
  struct Scope {
    const NodePlacement* domain = nullptr;
    int pod_sets = 0;  // in it
  };
  absl::flat_hash_map<int, Scope> scopes_;
};

// Whether the placement at `position` is in the same domain as these rows, on which siblings of the
// pod set are that share `scope` with it. Yes if it does not share that.
bool IsInDomainOf(const PodSet& pod_set, size_t position, int scope,
                  absl::Span<const NodeRow> rows);

// The pod's number among its siblings, by the labels and annotations in which controllers write it:
// of Jobs, StatefulSets, LeaderWorkerSets, Kubeflow's jobs, and Koordinator's
// network-topology-index.
std::optional<int> RankOf(const PodInfo& pod);
// As they are, if not all have one.
std::vector<std::shared_ptr<const PodInfo>> ByRank(
    absl::Span<const std::shared_ptr<const PodInfo>> pods);
// Pod sets of `size`, by ranks, without placements.
std::vector<PodSet> SlicesByRank(absl::Span<const std::shared_ptr<const PodInfo>> pods, int size);

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_POD_SETS_H_
