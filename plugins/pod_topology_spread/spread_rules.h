// What hard and soft constraints have in common: which nodes and pods they count.
#ifndef BERTH_PLUGINS_POD_TOPOLOGY_SPREAD_SPREAD_RULES_H_
#define BERTH_PLUGINS_POD_TOPOLOGY_SPREAD_SPREAD_RULES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "berth/framework/node_info.h"
#include "berth/framework/node_table.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/pod_table.h"

namespace berth {

using SpreadConstraints = std::vector<TopologySpreadConstraint>;
using LabelColumns = absl::InlinedVector<const LabelColumn*, 4>;

// Whether there is a label for every topology key.
bool HasTopologyKeys(const LabelSet& labels, absl::Span<const TopologySpreadConstraint>);
bool HasTopologyKeys(const LabelColumns& columns, NodeRow row);
// Whether every node has them all.
bool AllNodesHaveTopologyKeys(const LabelColumns& columns);

// The columns of the topology keys, in the order of the constraints.
LabelColumns TopologyColumns(const NodeTable& nodes, absl::Span<const TopologySpreadConstraint>);

// Whether the constraint, being one of `pod`, counts what runs on `node`: by its node inclusion
// policies.
bool Counts(const TopologySpreadConstraint& constraint, const PodInfo& pod, const NodeInfo& node);

// The same for the rows of a table: 1 where the constraint counts. Empty if it counts everywhere.
using CountedRows = std::vector<uint8_t>;
CountedRows CountedRowsOf(const TopologySpreadConstraint& constraint, const PodInfo& pod,
                          const NodeTable& nodes);

// The pods that a constraint of a pod in that namespace counts: those that its selector selects,
// without those being deleted. A selector that selects everything counts none.
std::shared_ptr<const PodCounts> MatchingPods(const NodeTable& nodes, const LabelSelector& selector,
                                              Symbol namespace_name);
// How many of them are on `node`.
int64_t CountMatchingPods(const NodeInfo& node, const LabelSelector& selector,
                          Symbol namespace_name);

}  // namespace berth

#endif  // BERTH_PLUGINS_POD_TOPOLOGY_SPREAD_SPREAD_RULES_H_
