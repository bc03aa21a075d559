// SPDX-License-Identifier: Apache-2.0
// NodeScope: some of the nodes, by what their objects say.
#ifndef BERTH_COLUMNS_NODE_SCOPE_H_
#define BERTH_COLUMNS_NODE_SCOPE_H_

#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "berth/api/node_selector.h"
#include "berth/api/symbol.h"
#include "berth/api/taints.h"
#include "berth/framework/node_info.h"

namespace berth {

// A value; by default every node is in it. MatchRows() asks it about the rows of a table.
struct NodeScope {
  absl::InlinedVector<Symbol, 2> label_keys;  // of labels that a node has to have
  RequiredNodeAffinity affinity;              // that it has to match
  // Absent if taints do not matter. Else it has no NoSchedule or NoExecute taint but such as these
  // tolerate.
  std::optional<std::vector<Toleration>> tolerations;

  // Depends on the node's name, labels and taints.
  bool Includes(const NodeSpec& node) const {
    return absl::c_all_of(label_keys, [&](Symbol key) { return node.labels.Has(key); }) &&
           (affinity.empty() || affinity.Matches(node.labels, node.name)) && Tolerates(node.taints);
  }
  bool Tolerates(const TaintList& taints) const {
    return !tolerations.has_value() ||
           FindUntoleratedTaint(taints, *tolerations, PreventsScheduling) == nullptr;
  }

  friend bool operator==(const NodeScope&, const NodeScope&) = default;
  template <class H>
  friend H AbslHashValue(H h, const NodeScope& s) {
    if (s.tolerations.has_value()) h = H::combine(std::move(h), *s.tolerations);
    return H::combine(std::move(h), s.tolerations.has_value(), s.label_keys, s.affinity);
  }
};

}  // namespace berth

#endif  // BERTH_COLUMNS_NODE_SCOPE_H_
