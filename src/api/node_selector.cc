// SPDX-License-Identifier: Apache-2.0
// Compiled node selectors: see node_selector.h.
#include "berth/api/node_selector.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "api/field_error.h"
#include "berth/api/core_v1.pb.h"

namespace berth {
namespace {

constexpr absl::string_view kNameField = "metadata.name";

Symbol NameField() {
  static const Symbol symbol = Symbol::Intern(kNameField);
  return symbol;
}

template <typename Repeated>
std::vector<absl::string_view> Views(const Repeated& strings) {
  return {strings.begin(), strings.end()};
}

void CompileExpression(const api::NodeSelectorRequirement& proto, const std::string& path,
                       std::vector<LabelRequirement>& out, std::vector<std::string>& errors) {
  const std::optional<SelectorOperator> op = ParseSelectorOperator(proto.operator_());
  if (!op) {
    errors.push_back(UnsupportedValue(ChildPath(path, "operator"), proto.operator_(),
                                      {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}));
    return;
  }
  absl::StatusOr<LabelRequirement> requirement =
      LabelRequirement::Create(proto.key(), *op, Views(proto.values()), path);
  if (requirement.ok()) {
    out.push_back(*std::move(requirement));
  } else {
    errors.emplace_back(requirement.status().message());
  }
}

void CompileField(const api::NodeSelectorRequirement& proto, const std::string& path,
                  std::vector<NodeFieldRequirement>& out, std::vector<std::string>& errors) {
  const std::optional<SelectorOperator> op = ParseSelectorOperator(proto.operator_());
  if (op != SelectorOperator::kIn && op != SelectorOperator::kNotIn) {
    errors.push_back(
        UnsupportedValue(ChildPath(path, "operator"), proto.operator_(), {"In", "NotIn"}));
  } else if (proto.values_size() != 1) {
    const std::string values =
        proto.values().empty()
            ? "null"
            : "[" + absl::StrJoin(proto.values(), ",", [](std::string* o, const std::string& v) {
                o->append(Quoted(v));
              }) + "]";
    errors.push_back(InvalidValue(ChildPath(path, "values"), values, "must have one element"));
  } else {
    out.push_back({Symbol::Intern(proto.key()), Symbol::Intern(proto.values(0)),
                   op == SelectorOperator::kIn});
  }
}

// The names that the raw term leaves possible; nullopt if it does not restrict them.
std::optional<std::vector<Symbol>> PinnedBy(const api::NodeSelectorTerm& term) {
  std::optional<std::vector<Symbol>> pinned;
  for (const api::NodeSelectorRequirement& field : term.match_fields()) {
    if (field.key() != kNameField || field.operator_() != "In") continue;
    std::vector<Symbol> names;
    for (const std::string& value : field.values()) {
      const Symbol name = Symbol::Intern(value);
      const bool possible =
          !pinned || std::find(pinned->begin(), pinned->end(), name) != pinned->end();
      if (possible) names.push_back(name);
    }
    pinned = std::move(names);
  }
  return pinned;
}

std::optional<std::vector<Symbol>> PinnedBy(const api::NodeSelector& selector) {
  if (selector.node_selector_terms().empty()) return std::nullopt;
  std::vector<Symbol> names;
  for (const api::NodeSelectorTerm& term : selector.node_selector_terms()) {
    const std::optional<std::vector<Symbol>> pinned = PinnedBy(term);
    if (!pinned) return std::nullopt;
    names.insert(names.end(), pinned->begin(), pinned->end());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

NodeSelectorTerm::NodeSelectorTerm(const api::NodeSelectorTerm& term, absl::string_view path)
    : empty_(term.match_expressions().empty() && term.match_fields().empty()) {
  std::vector<std::string> errors;
  const std::string expressions_path = ChildPath(path, "matchExpressions");
  for (int i = 0; i < term.match_expressions_size(); ++i) {
    CompileExpression(term.match_expressions(i), IndexPath(expressions_path, i), expressions_,
                      errors);
  }
  const std::string fields_path = ChildPath(path, "matchFields");
  for (int i = 0; i < term.match_fields_size(); ++i) {
    CompileField(term.match_fields(i), IndexPath(fields_path, i), fields_, errors);
  }
  if (!errors.empty()) status_ = absl::InvalidArgumentError(Aggregate(errors));
}

bool NodeSelectorTerm::Matches(const LabelSet& labels, Symbol node_name) const {
  if (empty_ || !status_.ok()) return false;
  for (const LabelRequirement& expression : expressions_) {
    if (!expression.Matches(labels)) return false;
  }
  if (node_name.empty()) return true;  // without a field there is nothing to match
  for (const NodeFieldRequirement& field : fields_) {
    const Symbol actual = field.key == NameField() ? node_name : Symbol();
    if ((actual == field.value) != field.equal) return false;
  }
  return true;
}

NodeSelector::NodeSelector(const api::NodeSelector& selector, absl::string_view path)
    : pinned_node_names_(PinnedBy(selector)) {
  const std::string terms_path = ChildPath(path, "nodeSelectorTerms");
  for (int i = 0; i < selector.node_selector_terms_size(); ++i) {
    NodeSelectorTerm term(selector.node_selector_terms(i), IndexPath(terms_path, i));
    if (term.empty()) continue;
    has_errors_ |= !term.status().ok();
    terms_.push_back(std::move(term));
  }
}

absl::Status NodeSelector::status() const {
  std::vector<std::string> errors;
  for (const NodeSelectorTerm& term : terms_) {
    if (!term.status().ok()) errors.emplace_back(term.status().message());
  }
  return errors.empty() ? absl::OkStatus() : absl::InvalidArgumentError(Aggregate(errors));
}

absl::StatusOr<NodeSelector> NodeSelector::Create(const api::NodeSelector& selector,
                                                  absl::string_view path) {
  NodeSelector result(selector, path);
  if (result.has_errors_) return result.status();
  return result;
}

bool NodeSelector::Matches(const LabelSet& labels, Symbol node_name) const {
  return std::any_of(terms_.begin(), terms_.end(),
                     [&](const NodeSelectorTerm& term) { return term.Matches(labels, node_name); });
}

absl::StatusOr<bool> NodeSelector::Match(const LabelSet& labels, Symbol node_name) const {
  if (Matches(labels, node_name)) return true;
  if (has_errors_) return status();
  return false;
}

absl::StatusOr<PreferredSchedulingTerms> PreferredSchedulingTerms::Create(
    const api::NodeAffinity& affinity, absl::string_view path) {
  PreferredSchedulingTerms result;
  std::vector<std::string> errors;
  const auto& terms = affinity.preferred_during_scheduling_ignored_during_execution();
  for (int i = 0; i < terms.size(); ++i) {
    if (terms[i].weight() == 0) continue;
    NodeSelectorTerm term(terms[i].preference(), IndexPath(path, i));
    if (term.empty()) continue;
    if (!term.status().ok()) errors.emplace_back(term.status().message());
    result.terms_.push_back({terms[i].weight(), std::move(term)});
  }
  if (!errors.empty()) return absl::InvalidArgumentError(Aggregate(errors));
  return result;
}

int64_t PreferredSchedulingTerms::Score(const LabelSet& labels, Symbol node_name) const {
  int64_t score = 0;
  for (const Term& term : terms_) {
    if (term.term.Matches(labels, node_name)) score += term.weight;
  }
  return score;
}

RequiredNodeAffinity::RequiredNodeAffinity(const api::Pod& pod) {
  const api::PodSpec& spec = pod.spec();
  if (!spec.node_selector().empty()) {
    labels_ = LabelSelector::FromLabels(LabelSet::FromMap(spec.node_selector()));
  }
  const api::NodeAffinity& affinity = spec.affinity().node_affinity();
  if (affinity.has_required_during_scheduling_ignored_during_execution()) {
    affinity_.emplace(affinity.required_during_scheduling_ignored_during_execution());
  }
}

absl::StatusOr<bool> RequiredNodeAffinity::Match(const LabelSet& labels, Symbol node_name) const {
  if (labels_ && !labels_->Matches(labels)) return false;
  return affinity_ ? affinity_->Match(labels, node_name) : true;
}

bool RequiredNodeAffinity::Matches(const LabelSet& labels, Symbol node_name) const {
  return (!labels_ || labels_->Matches(labels)) &&
         (!affinity_ || affinity_->Matches(labels, node_name));
}

}  // namespace berth
