// SPDX-License-Identifier: Apache-2.0
// Rows by the byte that each has.
#ifndef BERTH_SRC_TABLE_ROWS_WITH_H_
#define BERTH_SRC_TABLE_ROWS_WITH_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/types/span.h"
#include "berth/columns/node_table.h"

namespace berth {

// Appends the rows of which `bytes` have `value`, in order. Fast where these are few, or most.
inline void AppendRowsWith(uint8_t value, absl::Span<const uint8_t> bytes,
                           std::vector<NodeRow>& rows) {
  const uint8_t* const first = bytes.data();
  const uint8_t* const end = first + bytes.size();
  for (const uint8_t* next = first; next != end; ++next) {
    if (*next != value) {
      next = static_cast<const uint8_t*>(std::memchr(next, value, static_cast<size_t>(end - next)));
      if (next == nullptr) return;
    }
    rows.push_back(static_cast<NodeRow>(next - first));
  }
}

}  // namespace berth

#endif  // BERTH_SRC_TABLE_ROWS_WITH_H_
