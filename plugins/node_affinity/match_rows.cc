// Node selectors, requirement by requirement over columns of labels.
#include "plugins/node_affinity/match_rows.h"

#include "absl/container/inlined_vector.h"

namespace berth {
namespace {

bool MatchesValue(const LabelRequirement& requirement, const LabelValue& label) {
  return requirement.MatchesValue(label.present ? &label.value : nullptr);
}

// Clears the matches of the rows that do not meet `requirement`.
void KeepMatching(const LabelRequirement& requirement, const NodeTable& nodes,
                  absl::Span<const NodeRow> rows, RowMatches& matches) {
  const DictionaryColumn<LabelValue>& column = nodes.label_column(requirement.key());
  if (column.values().size() > rows.size()) {  // nearly every node has its own value
    for (size_t i = 0; i < rows.size(); ++i) {
      if (matches[i] != 0) matches[i] = MatchesValue(requirement, column.at(rows[i]));
    }
    return;
  }
  absl::InlinedVector<uint8_t, 64> value_matches;
  for (const LabelValue& label : column.values()) {
    value_matches.push_back(MatchesValue(requirement, label));
  }
  for (size_t i = 0; i < rows.size(); ++i) matches[i] &= value_matches[column.index(rows[i])];
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
