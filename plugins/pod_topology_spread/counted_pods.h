// SPDX-License-Identifier: Apache-2.0
// What hard and soft constraints have in common: which nodes and pods they count.
#ifndef BERTH_PLUGINS_POD_TOPOLOGY_SPREAD_COUNTED_PODS_H_
#define BERTH_PLUGINS_POD_TOPOLOGY_SPREAD_COUNTED_PODS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "berth/columns/node_scope.h"
#include "berth/columns/node_table.h"
#include "berth/columns/pod_table.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"

namespace berth {

using SpreadConstraints = std::vector<TopologySpreadConstraint>;

// Whether there is a label for every topology key.
bool HasTopologyKeys(const LabelSet& labels, absl::Span<const TopologySpreadConstraint>);
// The nodes that have them all.
NodeScope NodesWithTopologyKeys(absl::Span<const TopologySpreadConstraint>);

// Those of `nodes` that the constraint, being one of `pod`, counts: by its node inclusion policies.
NodeScope CountedNodes(const TopologySpreadConstraint& constraint, const PodInfo& pod,
                       NodeScope nodes);

// The pods on nodes of the scope that a constraint of a pod in that namespace counts: those that
// its selector selects, without those being deleted. A selector that selects everything counts
// none.
std::shared_ptr<const PodCounts> MatchingPods(const NodeTable& nodes, const LabelSelector& selector,
                                              Symbol namespace_name, const NodeScope& scope);
// How many of them are on `node`.
int64_t CountMatchingPods(const NodeInfo& node, const LabelSelector& selector,
                          Symbol namespace_name);

}  // namespace berth

#endif  // BERTH_PLUGINS_POD_TOPOLOGY_SPREAD_COUNTED_PODS_H_
