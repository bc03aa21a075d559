// SPDX-License-Identifier: Apache-2.0
// Node selectors and scopes, requirement by requirement over columns of labels.
#include "berth/columns/match_rows.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"

namespace berth {
namespace {

// Clears the matches of the rows for whose value keep(index) says false.
template <class Keep>
void KeepIf(const LabelColumn& column, absl::Span<const NodeRow> rows, RowMatches& matches,
            Keep keep) {
  const uint32_t* indexes = column.indexes().data();
  uint8_t* const match = matches.data();
  if (AreConsecutive(rows) && !rows.empty()) {
    indexes += rows.front();
    for (size_t i = 0; i < rows.size(); ++i) match[i] &= uint8_t{keep(indexes[i])};
    return;
  }
  for (size_t i = 0; i < rows.size(); ++i) match[i] &= uint8_t{keep(indexes[rows[i]])};
}

// For In and NotIn: what is listed is looked up, instead of each value in the list. There may be as
// many values as nodes, and as many in the list.
void KeepListed(const LabelRequirement& requirement, const LabelColumn& column,
                absl::Span<const NodeRow> rows, RowMatches& matches) {
  const bool in = requirement.op() == SelectorOperator::kIn;
  absl::InlinedVector<uint32_t, 4> listed;
  for (const Symbol value : requirement.values()) {
    const std::optional<uint32_t> index = column.Find(LabelValue{true, value});
    if (index.has_value()) listed.push_back(*index);
  }
  if (listed.size() == 1) {
    const uint32_t one = listed.front();
    KeepIf(column, rows, matches, [&](uint32_t index) { return (index == one) == in; });
    return;
  }
  std::vector<uint8_t> is_kept(column.values().size(), in ? 0 : 1);
  for (const uint32_t index : listed) is_kept[index] = in ? 1 : 0;
  KeepIf(column, rows, matches, [&](uint32_t index) { return is_kept[index] != 0; });
}

// Clears the matches of the rows that do not meet `requirement`.
void KeepMatching(const LabelRequirement& requirement, const NodeTable& nodes,
                  absl::Span<const NodeRow> rows, RowMatches& matches) {
  const LabelColumn* const column = nodes.FindLabelColumn(requirement.key(), rows.size());
  if (column == nullptr) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (matches[i] != 0) matches[i] = requirement.Matches(nodes.node(rows[i]).labels());
    }
    return;
  }
  if (requirement.op() == SelectorOperator::kIn || requirement.op() == SelectorOperator::kNotIn) {
    KeepListed(requirement, *column, rows, matches);
    return;
  }
  column->EvaluateRows(
      rows,
      [&](uint32_t index) -> uint8_t {
        const LabelValue& label = column->values()[index];
        return requirement.MatchesValue(label.present ? &label.value : nullptr);
      },
      [&](size_t i, uint8_t match) { matches[i] &= match; });
}

// Sets `rows` to those that meet the requirement, of the ones that list values, which fewest meet.
bool SelectFewest(absl::Span<const LabelRequirement> requirements, const NodeTable& nodes, int most,
                  std::vector<NodeRow>& rows) {
  bool found = false;
  std::vector<NodeRow> selected;
  for (const LabelRequirement& requirement : requirements) {
    if (requirement.op() != SelectorOperator::kIn) continue;
    if (!nodes.SelectRows(requirement.key(), requirement.values(), most, selected)) continue;
    rows.swap(selected);
    found = true;
    if (rows.empty()) break;
    most = static_cast<int>(rows.size()) - 1;
  }
  return found;
}

// The rows of all terms together.
bool SelectByTerms(const NodeSelector& selector, const NodeTable& nodes, int most,
                   std::vector<NodeRow>& rows) {
  std::vector<NodeRow> all, of_term;
  for (const NodeSelectorTerm& term : selector.terms()) {
    if (!SelectFewest(term.expressions(), nodes, most, of_term)) return false;
    all.insert(all.end(), of_term.begin(), of_term.end());
    if (all.size() > 2 * static_cast<size_t>(most)) return false;
  }
  absl::c_sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  rows.swap(all);
  return static_cast<int>(rows.size()) <= most;
}

}  // namespace

bool SelectRows(const RequiredNodeAffinity& affinity, const NodeTable& nodes, int most,
                std::vector<NodeRow>& rows) {
  bool found = false;
  if (affinity.node_selector().has_value()) {
    if (affinity.node_selector()->SelectsNothing()) return false;
    found = SelectFewest(affinity.node_selector()->requirements(), nodes, most, rows);
    if (found) most = static_cast<int>(rows.size());
  }
  if (!affinity.affinity().has_value() || affinity.affinity()->has_errors()) return found;
  std::vector<NodeRow> by_terms;
  if (!SelectByTerms(*affinity.affinity(), nodes, most, by_terms)) return found;
  rows.swap(by_terms);
  return true;
}

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
