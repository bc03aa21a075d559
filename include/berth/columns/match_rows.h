// SPDX-License-Identifier: Apache-2.0
// Node selectors and scopes over the rows of a NodeTable.
#ifndef BERTH_COLUMNS_MATCH_ROWS_H_
#define BERTH_COLUMNS_MATCH_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "berth/api/node_selector.h"
#include "berth/columns/node_scope.h"
#include "berth/columns/node_table.h"

namespace berth {

// For each of `rows`, 1 if Matches() or Includes() would say yes for its node, else 0. A
// requirement is evaluated once for each distinct value of its label, tolerations once for each
// list of taints.
using RowMatches = std::vector<uint8_t>;
RowMatches MatchRows(const NodeSelectorTerm& term, const NodeTable& nodes,
                     absl::Span<const NodeRow> rows);
RowMatches MatchRows(const NodeSelector& selector, const NodeTable& nodes,
                     absl::Span<const NodeRow> rows);
RowMatches MatchRows(const RequiredNodeAffinity& affinity, const NodeTable& nodes,
                     absl::Span<const NodeRow> rows);
RowMatches MatchRows(const NodeScope& scope, const NodeTable& nodes,
                     absl::Span<const NodeRow> rows);

// Sets `rows` to some rows, ascending and each once, outside of which no node meets `affinity`:
// those that have the labels which it requires to have one of some values, and which fewest have.
// False if it requires none, or they are more than `most`; `rows` may then be anything.
bool SelectRows(const RequiredNodeAffinity& affinity, const NodeTable& nodes, int most,
                std::vector<NodeRow>& rows);

// Whether every node is in `scope`. Looks at no row: false if the scope has an affinity.
bool MatchesAllRows(const NodeScope& scope, const NodeTable& nodes);

}  // namespace berth

#endif  // BERTH_COLUMNS_MATCH_ROWS_H_
