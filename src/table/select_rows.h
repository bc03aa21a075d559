// SPDX-License-Identifier: Apache-2.0
// Rows by what stands in columns.
#ifndef BERTH_SRC_TABLE_SELECT_ROWS_H_
#define BERTH_SRC_TABLE_SELECT_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "berth/framework/node_info.h"

namespace berth {

// Appends the rows on which at least `amount`, not below 0, is not requested, ascending. False, and
// appends none, if they are more than `most`.
bool AppendRowsWithRoom(absl::Span<const int64_t> allocatable, absl::Span<const int64_t> requested,
                        int64_t amount, int most, std::vector<NodeRow>& rows);

}  // namespace berth

#endif  // BERTH_SRC_TABLE_SELECT_ROWS_H_
