// SPDX-License-Identifier: Apache-2.0
// Labels of an object, and compiled label selectors over them.
#ifndef BERTH_API_LABELS_H_
#define BERTH_API_LABELS_H_

#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/symbol.h"

namespace berth {

namespace api {
class LabelSelector;
class LabelSelectorRequirement;
}  // namespace api

// A set of (key, value) pairs, one per key, kept in the order of the keys' text.
class LabelSet {
 public:
  using Entry = std::pair<Symbol, Symbol>;

  LabelSet() = default;
  LabelSet(std::initializer_list<std::pair<absl::string_view, absl::string_view>> entries);
  // From any map of strings, such as `pod.metadata().labels()`.
  template <typename Map>
  static LabelSet FromMap(const Map& map) {
    LabelSet labels;
    labels.entries_.reserve(map.size());
    for (const auto& [key, value] : map) {
      labels.entries_.emplace_back(Symbol::Intern(key), Symbol::Intern(value));
    }
    labels.Sort();
    return labels;
  }

  // The value of `key`, or null. Valid until the set changes or goes.
  const Symbol* Find(Symbol key) const {
    for (const Entry& entry : entries_) {
      if (entry.first == key) return &entry.second;
    }
    return nullptr;
  }
  const Symbol* Find(absl::string_view key) const;
  bool Has(Symbol key) const { return Find(key) != nullptr; }
  // Adds the pair or replaces the value of its key.
  void Set(Symbol key, Symbol value);

  absl::Span<const Entry> entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  std::string ToString() const;  // "a=1,b=2"

  friend bool operator==(const LabelSet& a, const LabelSet& b) { return a.entries_ == b.entries_; }
  friend bool operator!=(const LabelSet& a, const LabelSet& b) { return !(a == b); }
  template <typename H>
  friend H AbslHashValue(H h, const LabelSet& labels) {
    return H::combine(std::move(h), labels.entries_);
  }

 private:
  void Sort();

  std::vector<Entry> entries_;
};

enum class SelectorOperator : uint8_t {
  kIn,
  kNotIn,
  kExists,
  kDoesNotExist,
  kGreaterThan,  // node selectors only
  kLessThan,
};

// One condition on the label `key`.
class LabelRequirement {
 public:
  // Checks key, number of values and values as apimachinery labels.NewRequirement does. Error:
  // InvalidArgument with upstream's text, `path` (such as "matchExpressions[0]") before it.
  static absl::StatusOr<LabelRequirement> Create(absl::string_view key, SelectorOperator op,
                                                 absl::Span<const absl::string_view> values,
                                                 absl::string_view path = "");
  // key = value, unchecked.
  static LabelRequirement Equals(Symbol key, Symbol value);

  // In: the label is there with one of the values. NotIn: it is not there, or with another value.
  // Gt, Lt: it is there and a decimal integer above or below the requirement's.
  bool Matches(const LabelSet& labels) const { return MatchesValue(labels.Find(key_)); }
  // As Matches(), given the value of label key(); null if there is none.
  bool MatchesValue(const Symbol* value) const;

  Symbol key() const { return key_; }
  SelectorOperator op() const { return op_; }
  absl::Span<const Symbol> values() const { return values_; }
  std::string ToString() const;  // "a in (x,y)", "!b", "c>5"

  friend bool operator==(const LabelRequirement& a, const LabelRequirement& b) {
    return a.key_ == b.key_ && a.op_ == b.op_ && a.values_ == b.values_;
  }
  template <typename H>
  friend H AbslHashValue(H h, const LabelRequirement& r) {
    return H::combine(std::move(h), r.key_, r.op_, r.values_);
  }

 private:
  Symbol key_;
  SelectorOperator op_ = SelectorOperator::kExists;
  bool equality_ = false;  // prints as key=value
  int64_t bound_ = 0;      // of Gt and Lt
  absl::InlinedVector<Symbol, 2> values_;
};

// All of a list of requirements, or nothing at all.
class LabelSelector {
 public:
  // Selects nothing.
  LabelSelector() = default;
  static LabelSelector Nothing() { return LabelSelector(); }
  static LabelSelector Everything();
  // Each pair of `labels` as a requirement key = value, unchecked; an empty set selects everything
  // (Services and ReplicationControllers that have no selector are the caller's business).
  static LabelSelector FromLabels(const LabelSet& labels);
  // Null selects nothing, empty selects everything. Error: InvalidArgument with upstream's text.
  static absl::StatusOr<LabelSelector> FromProto(const api::LabelSelector* selector);

  bool Matches(const LabelSet& labels) const {
    if (nothing_) return false;
    for (const LabelRequirement& requirement : requirements_) {
      if (!requirement.Matches(labels)) return false;
    }
    return true;
  }

  // Narrows the selector. One that selects nothing still does.
  void Add(LabelRequirement requirement);

  bool SelectsNothing() const { return nothing_; }
  bool SelectsEverything() const { return !nothing_ && requirements_.empty(); }
  absl::Span<const LabelRequirement> requirements() const { return requirements_; }  // by key
  std::string ToString() const;  // as upstream: "a=b,c in (x,y)"; "" for everything and nothing

  friend bool operator==(const LabelSelector& a, const LabelSelector& b) {
    return a.nothing_ == b.nothing_ && a.requirements_ == b.requirements_;
  }
  template <typename H>
  friend H AbslHashValue(H h, const LabelSelector& s) {
    return H::combine(std::move(h), s.nothing_, s.requirements_);
  }

 private:
  bool nothing_ = true;
  std::vector<LabelRequirement> requirements_;
};

// Kubernetes' rules for names. Return an empty string if `text` is valid, else upstream's message.
std::string CheckLabelKey(absl::string_view text);    // a qualified name: [prefix/]name
std::string CheckLabelValue(absl::string_view text);  // may be empty, at most 63 characters

}  // namespace berth

#endif  // BERTH_API_LABELS_H_
