// SPDX-License-Identifier: Apache-2.0
// Compiled node selectors: what nodeSelector and nodeAffinity of a pod say of a node.
// As component-helpers/scheduling/corev1/nodeaffinity of Kubernetes v1.35.
#ifndef BERTH_API_NODE_SELECTOR_H_
#define BERTH_API_NODE_SELECTOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "berth/api/labels.h"
#include "berth/api/symbol.h"

namespace berth {

namespace api {
class NodeAffinity;
class NodeSelector;
class NodeSelectorTerm;
class Pod;
class PreferredSchedulingTerm;
}  // namespace api

// One condition of matchFields: the field `key` of the node is, or is not, `value`. The only field
// that a node has is metadata.name; any other is empty.
struct NodeFieldRequirement {
  Symbol key;
  Symbol value;
  bool equal = true;  // In, or else NotIn

  friend bool operator==(const NodeFieldRequirement& a, const NodeFieldRequirement& b) {
    return a.key == b.key && a.value == b.value && a.equal == b.equal;
  }
  template <typename H>
  friend H AbslHashValue(H h, const NodeFieldRequirement& r) {
    return H::combine(std::move(h), r.key, r.value, r.equal);
  }
};

// matchExpressions and matchFields of one term, ANDed.
class NodeSelectorTerm {
 public:
  // Never fails: a term that does not parse keeps its error and matches nothing. `path` (such as
  // "nodeSelectorTerms[0]") goes before the error's text.
  explicit NodeSelectorTerm(const api::NodeSelectorTerm& term, absl::string_view path = "");

  bool Matches(const LabelSet& labels, Symbol node_name) const;

  // Neither expressions nor fields: selects no node and is left out of selectors.
  bool empty() const { return empty_; }
  const absl::Status& status() const { return status_; }
  absl::Span<const LabelRequirement> expressions() const { return expressions_; }
  absl::Span<const NodeFieldRequirement> fields() const { return fields_; }

  friend bool operator==(const NodeSelectorTerm& a, const NodeSelectorTerm& b) {
    return a.empty_ == b.empty_ && a.expressions_ == b.expressions_ && a.fields_ == b.fields_ &&
           a.status_ == b.status_;
  }
  template <typename H>
  friend H AbslHashValue(H h, const NodeSelectorTerm& term) {
    return H::combine(std::move(h), term.expressions_, term.fields_);
  }

 private:
  bool empty_ = false;
  absl::Status status_;
  std::vector<LabelRequirement> expressions_;
  std::vector<NodeFieldRequirement> fields_;
};

// A list of terms, ORed. Empty terms select nothing, and so does an empty list.
class NodeSelector {
 public:
  NodeSelector() = default;  // selects nothing
  // Keeps terms that do not parse, with their errors (upstream's LazyErrorNodeSelector).
  explicit NodeSelector(const api::NodeSelector& selector, absl::string_view path = "");
  // The same, but InvalidArgument if any term does not parse.
  static absl::StatusOr<NodeSelector> Create(const api::NodeSelector& selector,
                                             absl::string_view path = "");

  // Whether a term matches; the terms that did not parse match nothing.
  bool Matches(const LabelSet& labels, Symbol node_name) const;
  // The same, but InvalidArgument if no term matches and some term did not parse.
  absl::StatusOr<bool> Match(const LabelSet& labels, Symbol node_name) const;

  // Whether a term did not parse, i.e. whether Match() can fail; and with what.
  bool has_errors() const { return has_errors_; }
  absl::Status status() const;
  absl::Span<const NodeSelectorTerm> terms() const { return terms_; }  // the non-empty ones

  // The nodes outside of which no term can match because each pins the name with matchFields
  // "metadata.name In [...]": the union over the terms of the intersection within each, by text.
  // Nullopt if some term, even an empty one, pins none; an empty list if all contradict themselves.
  const std::optional<std::vector<Symbol>>& pinned_node_names() const { return pinned_node_names_; }

  friend bool operator==(const NodeSelector& a, const NodeSelector& b) {
    return a.terms_ == b.terms_;
  }
  template <typename H>
  friend H AbslHashValue(H h, const NodeSelector& s) {
    return H::combine(std::move(h), s.terms_);
  }

 private:
  bool has_errors_ = false;
  std::vector<NodeSelectorTerm> terms_;
  std::optional<std::vector<Symbol>> pinned_node_names_;
};

// preferredDuringSchedulingIgnoredDuringExecution. Terms of weight 0 and empty terms are left out.
class PreferredSchedulingTerms {
 public:
  struct Term {
    int64_t weight;
    NodeSelectorTerm term;
    friend bool operator==(const Term& a, const Term& b) {
      return a.weight == b.weight && a.term == b.term;
    }
    template <typename H>
    friend H AbslHashValue(H h, const Term& t) {
      return H::combine(std::move(h), t.weight, t.term);
    }
  };

  PreferredSchedulingTerms() = default;
  // Error: InvalidArgument if any term with a weight does not parse.
  static absl::StatusOr<PreferredSchedulingTerms> Create(const api::NodeAffinity& affinity,
                                                         absl::string_view path = "");

  // The sum of the weights of the terms that match.
  int64_t Score(const LabelSet& labels, Symbol node_name) const;
  absl::Span<const Term> terms() const { return terms_; }

  friend bool operator==(const PreferredSchedulingTerms& a, const PreferredSchedulingTerms& b) {
    return a.terms_ == b.terms_;
  }
  template <typename H>
  friend H AbslHashValue(H h, const PreferredSchedulingTerms& s) {
    return H::combine(std::move(h), s.terms_);
  }

 private:
  std::vector<Term> terms_;
};

// The hard part of where a pod may run: its nodeSelector and its required node affinity, ANDed.
class RequiredNodeAffinity {
 public:
  RequiredNodeAffinity() = default;  // matches every node
  explicit RequiredNodeAffinity(const api::Pod& pod);

  // Whether there is nothing to match.
  bool empty() const { return !labels_.has_value() && !affinity_.has_value(); }
  // As NodeSelector::Match().
  absl::StatusOr<bool> Match(const LabelSet& labels, Symbol node_name) const;
  bool Matches(const LabelSet& labels, Symbol node_name) const;

  const std::optional<LabelSelector>& node_selector() const { return labels_; }
  const std::optional<NodeSelector>& affinity() const { return affinity_; }

  friend bool operator==(const RequiredNodeAffinity& a, const RequiredNodeAffinity& b) {
    return a.labels_ == b.labels_ && a.affinity_ == b.affinity_;
  }
  template <typename H>
  friend H AbslHashValue(H h, const RequiredNodeAffinity& a) {
    if (a.labels_.has_value()) h = H::combine(std::move(h), *a.labels_);
    if (a.affinity_.has_value()) h = H::combine(std::move(h), *a.affinity_);
    return H::combine(std::move(h), a.labels_.has_value(), a.affinity_.has_value());
  }

 private:
  std::optional<LabelSelector> labels_;
  std::optional<NodeSelector> affinity_;
};

}  // namespace berth

#endif  // BERTH_API_NODE_SELECTOR_H_
