// Node selectors, requirement by requirement over columns of labels.
#include "berth/framework/match_rows.h"

namespace berth {
namespace {

// Clears the matches of the rows that do not meet `requirement`.
void KeepMatching(const LabelRequirement& requirement, const NodeTable& nodes,
                  absl::Span<const NodeRow> rows, RowMatches& matches) {
  const LabelColumn& column = nodes.label_column(requirement.key());
  column.JudgeRows(
      rows,
      [&](uint32_t index) -> uint8_t {
        const LabelValue& label = column.values()[index];
        return requirement.MatchesValue(label.present ? &label.value : nullptr);
      },
      [&](size_t i, uint8_t match) { matches[i] &= match; });
}

}  // namespace

RowMatches MatchRows(const NodeSelectorTerm& term, const NodeTable& nodes,
                     absl::Span<const NodeRow> rows) {
  if (term.empty() || !term.status().ok()) return RowMatches(rows.size(), 0);
  RowMatches matches(rows.size(), 1);
  for (const LabelRequirement& requirement : term.expressions()) {
    KeepMatching(requirement, nodes, rows, matches);
  }
  if (term.fields().empty()) return matches;
  for (size_t i = 0; i < rows.size(); ++i) {  // pods with such terms have few rows left to judge
    if (matches[i] == 0) continue;
    const NodeInfo& node = nodes.node(rows[i]);
    matches[i] = term.Matches(node.labels(), node.name());
  }
  return matches;
}

RowMatches MatchRows(const NodeSelector& selector, const NodeTable& nodes,
                     absl::Span<const NodeRow> rows) {
  RowMatches any(rows.size(), 0);
  for (const NodeSelectorTerm& term : selector.terms()) {
    const RowMatches matches = MatchRows(term, nodes, rows);
    for (size_t i = 0; i < rows.size(); ++i) any[i] |= matches[i];
  }
  return any;
}

RowMatches MatchRows(const RequiredNodeAffinity& affinity, const NodeTable& nodes,
                     absl::Span<const NodeRow> rows) {
  RowMatches matches = affinity.affinity().has_value()
                           ? MatchRows(*affinity.affinity(), nodes, rows)
                           : RowMatches(rows.size(), 1);
  if (!affinity.node_selector().has_value()) return matches;
  if (affinity.node_selector()->SelectsNothing()) return RowMatches(rows.size(), 0);
  for (const LabelRequirement& requirement : affinity.node_selector()->requirements()) {
    KeepMatching(requirement, nodes, rows, matches);
  }
  return matches;
}

}  // namespace berth
