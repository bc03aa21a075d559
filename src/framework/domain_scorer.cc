// SPDX-License-Identifier: Apache-2.0
// Domains of rows that stand for others.
#include "berth/incremental/domain_scorer.h"

namespace berth {

int EquivalentNodes::CountDomains(const LabelColumn& column,
                                  absl::FunctionRef<bool(NodeRow)> takes) const {
  if (domains != nullptr) {
    const std::optional<int> known = domains->CountDomains(column, takes);
    if (known.has_value()) return *known;
  }
  const bool each_alone = HasOneNodePerValue(column);
  std::vector<bool> seen(each_alone ? 0 : column.values().size());
  bool some_in_none = false;
  int sum = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!takes(rows[i])) continue;
    const uint32_t domain = column.index(rows[i]);
    if (!column.values()[domain].present) {
      some_in_none = true;
    } else if (each_alone) {
      sum += count(i);
    } else if (!seen[domain]) {
      seen[domain] = true;
      ++sum;
    }
  }
  return sum + (some_in_none ? 1 : 0);
}

}  // namespace berth
