// SPDX-License-Identifier: Apache-2.0
// Node selectors and scopes, requirement by requirement over columns of labels.
#include "berth/columns/match_rows.h"

#include <optional>

#include "absl/algorithm/container.h"

namespace berth {
namespace {

// Clears the matches of the rows that do not meet `requirement`.
void KeepMatching(const LabelRequirement& requirement, const NodeTable& nodes,
                  absl::Span<const NodeRow> rows, RowMatches& matches) {
  const LabelColumn& column = nodes.label_column(requirement.key());
  column.EvaluateRows(
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
  for (size_t i = 0; i < rows.size(); ++i) {  // pods with such terms have few rows left to evaluate
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

RowMatches MatchRows(const NodeScope& scope, const NodeTable& nodes,
                     absl::Span<const NodeRow> rows) {
  RowMatches matches = MatchRows(scope.affinity, nodes, rows);
  const auto keep = [&](size_t i, bool match) { matches[i] &= match ? 1 : 0; };
  for (const Symbol key : scope.label_keys) {
    const LabelColumn& column = nodes.label_column(key);
    column.EvaluateRows(
        rows, [&](uint32_t index) { return column.values()[index].present; }, keep);
  }
  if (!scope.tolerations.has_value()) return matches;
  const DictionaryColumn<TaintList>& taints = nodes.taints();
  taints.EvaluateRows(
      rows, [&](uint32_t index) { return scope.Tolerates(taints.values()[index]); }, keep);
  return matches;
}

bool MatchesAllRows(const NodeScope& scope, const NodeTable& nodes) {
  if (!scope.affinity.empty()) return false;
  const bool all_have_labels = absl::c_all_of(scope.label_keys, [&](Symbol key) {
    const LabelColumn& column = nodes.label_column(key);
    const std::optional<uint32_t> none = column.Find(LabelValue{});
    return !none.has_value() || column.row_count(*none) == 0;
  });
  if (!all_have_labels || !scope.tolerations.has_value()) return all_have_labels;
  const DictionaryColumn<TaintList>& taints = nodes.taints();
  for (uint32_t index = 0; index < taints.values().size(); ++index) {
    if (taints.row_count(index) > 0 && !scope.Tolerates(taints.values()[index])) return false;
  }
  return true;
}

}  // namespace berth
