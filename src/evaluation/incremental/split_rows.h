// SPDX-License-Identifier: Apache-2.0
// Splits groups of rows by a column of values.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_SPLIT_ROWS_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_SPLIT_ROWS_H_

#include <cstdint>

#include "absl/types/span.h"

namespace berth {

// A row that is in no group.
inline constexpr int32_t kNoGroup = -1;

// `group_of_row` has the group of each row, from 0 to below `groups`, or kNoGroup. Splits them so
// that the rows of one have the same of `values`, which are by row; groups are numbered in the
// order of their first rows. Returns how many there are then; 0 if they are more than `most`, and
// `group_of_row` is of no use.
int SplitGroups(absl::Span<const int64_t> values, int groups, int most,
                absl::Span<int32_t> group_of_row);

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_SPLIT_ROWS_H_
