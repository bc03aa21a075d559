// SPDX-License-Identifier: Apache-2.0
// The placement extension points: on which nodes may the members of a group be together, and on
// which of these sets are they best off? As kube-scheduler v1.36 (KEP-5732): PlacementGenerate,
// PlacementFeasible, PlacementScore. All calls come from the scheduling thread.
#ifndef BERTH_FRAMEWORK_PLACEMENT_H_
#define BERTH_FRAMEWORK_PLACEMENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/symbol.h"
#include "berth/extensions/group.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth {

class NodeTable;

// Nodes on which members of a group may be placed together: a rack.
struct NodePlacement {
  std::string name;           // for people: "rack r7"
  std::vector<NodeRow> rows;  // of the table that it was generated for, ascending
  std::string outside;        // what is said of other nodes; empty: that they "are not in" `name`
  // Narrower ones within it. Members that do not fit into one of them are split evenly over as few
  // as can be; with PlacementTier::slice_size they have to be.
  std::vector<std::shared_ptr<const NodePlacement>> parts;
};
using NodePlacementPtr = std::shared_ptr<const NodePlacement>;

// Placements of which none is to be preferred for what it is. Those that have the least room, and
// room enough, are tried first; then as they stand here.
struct PlacementTier {
  std::string name;  // what each of them is, for people: "rack"
  std::vector<NodePlacementPtr> placements;
  // If positive, each slice of so many members, by their ranks, has to be in one part of the
  // placement.
  int slice_size = 0;
  std::string part_name;  // what the parts are
};
// In order of preference: a tier is used only if no placement of an earlier one has room for the
// group. Beyond the last one there is nothing: a group that may be anywhere ends with a tier that
// says so. Shared, so that a plugin can keep them from one attempt to the next.
using PlacementTiers = std::vector<std::shared_ptr<const PlacementTier>>;

// The group that is to be placed, or a part of it.
struct PlacementGroup {
  absl::string_view name;  // "namespace/name"
  const GroupSpec& spec;
  int part = -1;                            // a position in spec.subgroups; -1: the group
  absl::Span<const GroupMember> members;    // of the group, living
  absl::Span<const Symbol> assigned_nodes;  // of its, or the part's, members; with repetitions

  const std::vector<TopologyConstraint>& topology() const {
    return part < 0 ? spec.topology : spec.subgroups[part].topology;
  }
};

class PlacementGeneratePlugin {
 public:
  virtual ~PlacementGeneratePlugin() = default;

  // Adds tiers to `tiers`, which is empty when called. None: the plugin does not care where the
  // group is. Asked once an attempt. Returns Success; a rejection if there can be no placement; an
  // Error to end the attempt. What several plugins generate is intersected.
  virtual Status GeneratePlacements(const PlacementGroup& group, const NodeTable& nodes,
                                    PlacementTiers& tiers) = 0;
};

// How far an attempt within a placement has come.
struct PlacementProgress {
  int scheduled = 0;  // members that run, or have found a node in this attempt
  int remaining = 0;  // that have not been tried
};

class PlacementFeasiblePlugin {
 public:
  virtual ~PlacementFeasiblePlugin() = default;

  // Asked before the first pod is tried in a placement, and after each. Returns Success if the
  // group can start with what is scheduled; Wait if more pods are to be tried; a rejection if they
  // would be tried in vain: the placement is given up. Without a plugin it is the group's minimum
  // that decides.
  virtual Status PlacementFeasible(const PlacementGroup& group, const NodePlacement& placement,
                                   const PlacementProgress& progress,
                                   const NodeTable& nodes) const = 0;
};

// A group as it would be placed.
struct PlacementAssignments {
  struct Assignment {
    const PodInfo* pod;
    NodeRow row;
  };
  std::vector<Assignment> pods;
};

class PlacementScorePlugin {
 public:
  virtual ~PlacementScorePlugin() = default;

  // The score of a placement, from 0 to 100; `nodes` count the assigned pods. With any such plugin
  // each placement of a tier that has room for the group is tried and scored, and the one with the
  // highest weighted total is used, the first of equals.
  virtual absl::StatusOr<int64_t> ScorePlacement(const PlacementGroup& group,
                                                 const NodePlacement& placement,
                                                 const PlacementAssignments& assignments,
                                                 const NodeTable& nodes) const = 0;
};

}  // namespace berth

#endif  // BERTH_FRAMEWORK_PLACEMENT_H_
