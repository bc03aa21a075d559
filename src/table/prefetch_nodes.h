// SPDX-License-Identifier: Apache-2.0
// Prefetches what a look at the nodes of rows will read.
#ifndef BERTH_SRC_TABLE_PREFETCH_NODES_H_
#define BERTH_SRC_TABLE_PREFETCH_NODES_H_

#include <cstddef>

#include "absl/types/span.h"
#include "api/prefetch.h"
#include "berth/columns/node_table.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"

namespace berth {

// For the rows after `at`, while that one is looked at: the pods of very many nodes are in no
// cache. One step a row, as each step reads what the one before has fetched.
inline void PrefetchNodes(const NodeTable& nodes, absl::Span<const NodeRow> rows, size_t at) {
  if (at + 3 < rows.size()) Prefetch(&nodes.node(rows[at + 3]));
  if (at + 2 < rows.size()) {
    for (const auto& pod : nodes.node(rows[at + 2]).pods()) Prefetch(pod.get());
  }
  if (at + 1 < rows.size()) {
    for (const auto& pod : nodes.node(rows[at + 1]).pods()) {
      Prefetch(pod->packed().get());
      Prefetch(pod->identity().get());
    }
  }
}

}  // namespace berth

#endif  // BERTH_SRC_TABLE_PREFETCH_NODES_H_
