// What rules say of topology domains, compared with what they said before.
#ifndef BERTH_SRC_FRAMEWORK_DOMAIN_CHANGES_H_
#define BERTH_SRC_FRAMEWORK_DOMAIN_CHANGES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/framework/node_table.h"

namespace berth {

// Calls mark(row) for each row in whose domain a rule says something else than before. A rule that
// comes or goes lets everybody in before or afterwards, which is 0. Returns false if that is not
// known of all rows. A Rule is a DomainVerdicts or DomainNumbers with the number of its plugin and
// the column's numbering() at that time.
template <class Rule, class Mark>
bool ForEachChangedRow(const std::vector<Rule>& before, const std::vector<Rule>& now,
                       const NodeTable& nodes, Mark mark) {
  for (const Rule& rule : before) {
    if (rule.numbering != rule.column->numbering()) return false;
  }
  const auto at = [](const Rule* rule, size_t value) -> int64_t {
    return rule != nullptr && value < rule->of_values.size() ? rule->of_values[value] : 0;
  };
  std::vector<uint8_t> changed;  // by index of a value
  const auto mark_changed = [&](const LabelColumn& column, const Rule* old, const Rule* young) {
    changed.resize(column.values().size());
    for (size_t i = 0; i < changed.size(); ++i) changed[i] = at(old, i) != at(young, i);
    for (NodeRow row = 0; row < nodes.size(); ++row) {
      if (changed[column.index(row)]) mark(row);
    }
  };
  for (size_t i = 0; i < std::max(before.size(), now.size()); ++i) {
    const Rule* const old = i < before.size() ? &before[i] : nullptr;
    const Rule* const young = i < now.size() ? &now[i] : nullptr;
    if (old != nullptr && young != nullptr && old->plugin == young->plugin &&
        old->column == young->column) {
      if (old->of_values != young->of_values) mark_changed(*young->column, old, young);
      continue;
    }
    if (old != nullptr) mark_changed(*old->column, old, nullptr);
    if (young != nullptr) mark_changed(*young->column, nullptr, young);
  }
  return true;
}

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_DOMAIN_CHANGES_H_
