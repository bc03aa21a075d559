// SPDX-License-Identifier: Apache-2.0
// The loops of row_block.h. None ends early: this way they compile to vector instructions.
#include "plugins/node_resources/row_block.h"

#include "src/simd/vector_clones.h"

namespace berth {

BERTH_VECTOR_CLONES RowRange RangeOf(absl::Span<const NodeRow> rows) {
  RowRange range{rows[0], rows[0]};
  for (const NodeRow row : rows) {
    range.first = std::min(range.first, row);
    range.last = std::max(range.last, row);
  }
  return range;
}

BERTH_VECTOR_CLONES void PickScores(const int64_t* values, NodeRow first,
                                    absl::Span<const NodeRow> rows, int64_t* scores) {
  for (size_t i = 0; i < rows.size(); ++i) scores[i] = values[rows[i] - first];
}

}  // namespace berth
