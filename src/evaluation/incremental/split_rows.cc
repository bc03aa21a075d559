// SPDX-License-Identifier: Apache-2.0
// Implementation of split_rows.h.
#include "evaluation/incremental/split_rows.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"

namespace berth {

int SplitGroups(absl::Span<const int64_t> values, int groups, int most,
                absl::Span<int32_t> group_of_row) {
  constexpr uint64_t kMostPairs = 1 << 16;
  const auto extremes = absl::c_minmax_element(values);
  const auto low = static_cast<uint64_t>(*extremes.first);
  const uint64_t range = static_cast<uint64_t>(*extremes.second) - low + 1;
  int count = 0;
  const auto split = [&](auto number_of) {
    for (size_t row = 0; row < values.size() && count <= most; ++row) {
      int32_t& group = group_of_row[row];
      if (group == kNoGroup) continue;
      int32_t& number = number_of(group, values[row]);
      if (number == kNoGroup) number = count++;
      group = number;
    }
  };
  if (range != 0 && range <= kMostPairs / groups) {
    std::vector<int32_t> numbers(range * groups, kNoGroup);
    split([&](int32_t group, int64_t value) -> int32_t& {
      return numbers[(static_cast<uint64_t>(value) - low) * groups + group];
    });
  } else {
    absl::flat_hash_map<std::pair<int32_t, int64_t>, int32_t> numbers;
    split([&](int32_t group, int64_t value) -> int32_t& {
      return numbers.try_emplace({group, value}, kNoGroup).first->second;
    });
  }
  return count <= most ? count : 0;
}

}  // namespace berth
