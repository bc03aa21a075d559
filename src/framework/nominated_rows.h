// Where pods are nominated to.
#ifndef BERTH_SRC_FRAMEWORK_NOMINATED_ROWS_H_
#define BERTH_SRC_FRAMEWORK_NOMINATED_ROWS_H_

#include <optional>

#include "absl/strings/string_view.h"
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

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_NOMINATED_ROWS_H_
