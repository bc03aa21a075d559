// Where pods are nominated to.
#ifndef BERTH_SRC_FRAMEWORK_NOMINATED_ROWS_H_
#define BERTH_SRC_FRAMEWORK_NOMINATED_ROWS_H_

#include <cstddef>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/symbol.h"
#include "berth/framework/handle.h"
#include "berth/framework/node_table.h"

namespace berth {

// Calls visit(row) for the row of each nominated pod's node, if there is such a node.
template <class Visit>
void ForEachNominatedRow(const Nominator& nominator, const NodeTable& nodes, Visit visit) {
  nominator.ForEach([&](const PodInfo&, absl::string_view node) {
    const std::optional<Symbol> name = Symbol::Find(node);
    const NodeRow row = name.has_value() ? nodes.FindRow(*name) : -1;
    if (row >= 0) visit(row);
  });
}

// Those of `rows` that have nominated pods, and perhaps others.
inline absl::flat_hash_set<NodeRow> RowsWithNominatedPods(absl::Span<const NodeRow> rows,
                                                          const Nominator& nominator,
                                                          const NodeTable& nodes) {
  constexpr size_t kFew = 64;  // reading the name of each node takes longest
  absl::flat_hash_set<NodeRow> nominated;
  if (rows.size() > kFew) {
    ForEachNominatedRow(nominator, nodes, [&](NodeRow row) { nominated.insert(row); });
  } else {
    for (const NodeRow row : rows) {
      if (!nominator.NominatedPods(nodes.node(row).name()).empty()) nominated.insert(row);
    }
  }
  return nominated;
}

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_NOMINATED_ROWS_H_
