// What hard and soft constraints have in common: which nodes and pods they count.
#ifndef BERTH_PLUGINS_POD_TOPOLOGY_SPREAD_SPREAD_RULES_H_
#define BERTH_PLUGINS_POD_TOPOLOGY_SPREAD_SPREAD_RULES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "berth/framework/node_info.h"
#include "berth/framework/node_table.h"
#include "berth/framework/pod_info.h"

namespace berth {

using SpreadConstraints = std::vector<TopologySpreadConstraint>;
using LabelColumns = std::vector<const DictionaryColumn<LabelValue>*>;

// Whether there is a label for every topology key.
bool HasTopologyKeys(const LabelSet& labels, absl::Span<const TopologySpreadConstraint>);
bool HasTopologyKeys(const LabelColumns& columns, NodeRow row);

// The columns of the topology keys, in the order of the constraints.
LabelColumns TopologyColumns(const NodeTable& nodes, absl::Span<const TopologySpreadConstraint>);

// Whether the constraint, being one of `pod`, counts what runs on `node`: by its node inclusion
// policies.
bool Counts(const TopologySpreadConstraint& constraint, const PodInfo& pod, const NodeInfo& node);

// How many pods on `node` the selector selects, in that namespace, without those being deleted. One
// that selects everything counts none.
int64_t CountMatchingPods(const NodeInfo& node, const LabelSelector& selector,
                          Symbol namespace_name);

// For each of `rows` what `judge` makes of its label, which is asked once for each distinct value
// if that is less work.
template <class T, class Judge>
std::vector<T> JudgeLabels(const DictionaryColumn<LabelValue>& column,
                           absl::Span<const NodeRow> rows, Judge judge) {
  std::vector<T> result(rows.size());
  if (column.values().size() > rows.size()) {  // nearly every node has its own value
    for (size_t i = 0; i < rows.size(); ++i) result[i] = judge(column.at(rows[i]));
    return result;
  }
  std::vector<T> of_value;
  of_value.reserve(column.values().size());
  for (const LabelValue& value : column.values()) of_value.push_back(judge(value));
  for (size_t i = 0; i < rows.size(); ++i) result[i] = of_value[column.index(rows[i])];
  return result;
}

}  // namespace berth

#endif  // BERTH_PLUGINS_POD_TOPOLOGY_SPREAD_SPREAD_RULES_H_
