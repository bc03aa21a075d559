// SPDX-License-Identifier: Apache-2.0
// Whether to follow a table's changes, or to read all of its rows again.
#ifndef BERTH_SRC_TABLE_FAR_BEHIND_H_
#define BERTH_SRC_TABLE_FAR_BEHIND_H_

#include <cstdint>

#include "berth/columns/node_table.h"

namespace berth {

// For readers of a column of values: whether so much changed since `version` of the table that
// reading all rows, in order, costs less than reading each change.
inline bool IsFarBehind(const NodeTable& nodes, uint64_t version) {
  constexpr uint64_t kFew = 1024;
  return nodes.version() - version > static_cast<uint64_t>(nodes.size()) / 2 + kFew;
}

}  // namespace berth

#endif  // BERTH_SRC_TABLE_FAR_BEHIND_H_
