// SPDX-License-Identifier: Apache-2.0
// What rules say of topology domains, kept from one cycle to another.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_DOMAIN_TRACKER_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_DOMAIN_TRACKER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "berth/columns/node_table.h"
#include "berth/incremental/domain_filter.h"

namespace berth {

// Scheduling thread.
class DomainTracker {
 public:
  using Rule = TrackedThreshold;

  // These are the rules; what was kept of others is forgotten.
  void Keep(const std::vector<Rule>& rules) {
    kept_.clear();
    for (const Rule& rule : rules) kept_.emplace_back(rule);
  }

  // Follows the rules, and calls mark(row) for each row in whose domain one has another verdict
  // than before, some more than once. Returns false if that is not known of all rows, as when there
  // are other rules: then evaluate all of them.
  template <class Mark>
  bool CatchUp(const std::vector<Rule>& rules, const NodeTable& nodes, Mark mark) {
    const bool is_known = absl::c_equal(kept_, rules, [](const Kept& kept, const Rule& rule) {
      return kept.IsOf(rule) && kept.numbering == kept.column->numbering();
    });
    if (!is_known) return false;
    for (size_t i = 0; i < rules.size(); ++i) CatchUpWithRule(kept_[i], rules[i], nodes, mark);
    return true;
  }

 private:
  using Number = uint8_t;  // DomainThreshold::Of()

  // A rule as of the last call.
  struct Kept {
    explicit Kept(const Rule& rule)
        : plugin(rule.plugin), column(&rule.counts.column()), numbering(column->numbering()) {
      Count(rule);
    }
    bool IsOf(const Rule& rule) const {
      return plugin == rule.plugin && column == &rule.counts.column();
    }
    // Reads all counts.
    void Count(const Rule& rule) {
      answer = rule.answer;
      version = rule.counts.version();
      numbers.resize(column->values().size());
      rule.counts.ForEach(
          [&](uint32_t domain, int64_t pods) { numbers[domain] = answer.Of(pods); });
      const auto none = column->Find(LabelValue{});
      if (none.has_value()) numbers[*none] = answer.without_key;
    }

    int plugin;
    const LabelColumn* column;
    uint64_t numbering;  // of the column
    DomainThreshold answer;
    std::optional<PodCounts::Version> version;  // of the counts
    std::vector<Number> numbers;                // by index in column->values()
  };

  template <class Mark>
  static void CatchUpWithRule(Kept& kept, const Rule& rule, const NodeTable& nodes, Mark mark) {
    const auto changes = kept.answer == rule.answer && kept.version.has_value()
                             ? rule.counts.ChangesSince(*kept.version)
                             : std::nullopt;
    if (!changes.has_value()) {
      std::vector<Number> before = std::exchange(kept.numbers, {});
      kept.Count(rule);
      if (kept.numbers != before) MarkRows(kept, before, nodes, mark);
      return;
    }
    kept.version = rule.counts.version();
    std::vector<Number> before;  // if domains of many nodes changed
    for (const auto& [domain, row] : *changes) {
      if (!kept.column->values()[domain].present) continue;
      const Number number = rule.answer.Of(rule.counts.at(domain));
      if (number == kept.numbers[domain]) continue;
      if (kept.column->row_count(domain) == 1) {
        mark(row);
      } else if (before.empty()) {
        before = kept.numbers;
      }
      kept.numbers[domain] = number;
    }
    if (!before.empty()) MarkRows(kept, before, nodes, mark);
  }

  // The rows of whose domain something else was said before; 0 of those beyond the end.
  template <class Mark>
  static void MarkRows(const Kept& kept, const std::vector<Number>& before, const NodeTable& nodes,
                       Mark mark) {
    std::vector<uint8_t> differs(kept.column->values().size());
    for (size_t i = 0; i < differs.size(); ++i) {
      const Number number = i < kept.numbers.size() ? kept.numbers[i] : 0;
      differs[i] = number != (i < before.size() ? before[i] : 0);
    }
    for (NodeRow row = 0; row < nodes.size(); ++row) {
      if (differs[kept.column->index(row)]) mark(row);
    }
  }

  std::vector<Kept> kept_;
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_DOMAIN_TRACKER_H_
