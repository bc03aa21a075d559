// SPDX-License-Identifier: Apache-2.0
// Label sets, and compiled label selectors as apimachinery's labels package has them.
#include "berth/api/labels.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/field_error.h"
#include "berth/api/meta_v1.pb.h"

namespace berth {
namespace {

// Go's strconv.ParseInt(text, 10, 64): no spaces, no overflow.
std::optional<int64_t> ParseInt64(absl::string_view text) {
  int64_t value;
  if (text.empty() || text.front() == ' ' || text.back() == ' ' ||
      !absl::SimpleAtoi(text, &value)) {
    return std::nullopt;
  }
  return value;
}

std::string ValuesAsJson(absl::Span<const absl::string_view> values) {
  if (values.empty()) return "null";
  return absl::StrCat("[\"", absl::StrJoin(values, "\",\""), "\"]");
}

// What is wrong with the number and form of `values`; empty if nothing.
void CheckValues(SelectorOperator op, absl::Span<const absl::string_view> values,
                 absl::string_view path, std::vector<std::string>& errors) {
  const std::string values_path = ChildPath(path, "values");
  switch (op) {
    case SelectorOperator::kIn:
    case SelectorOperator::kNotIn:
      if (values.empty()) {
        errors.push_back(InvalidValue(values_path, ValuesAsJson(values),
                                      "for 'in', 'notin' operators, values set can't be empty"));
      }
      break;
    case SelectorOperator::kExists:
    case SelectorOperator::kDoesNotExist:
      if (!values.empty()) {
        errors.push_back(InvalidValue(values_path, ValuesAsJson(values),
                                      "values set must be empty for exists and does not exist"));
      }
      break;
    case SelectorOperator::kGreaterThan:
    case SelectorOperator::kLessThan:
      if (values.size() != 1) {
        errors.push_back(InvalidValue(values_path, ValuesAsJson(values),
                                      "for 'Gt', 'Lt' operators, exactly one value is required"));
      }
      for (size_t i = 0; i < values.size(); ++i) {
        if (!ParseInt64(values[i])) {
          errors.push_back(InvalidValue(IndexPath(values_path, i), Quoted(values[i]),
                                        "for 'Gt', 'Lt' operators, the value must be an integer"));
        }
      }
      break;
  }
}

}  // namespace

LabelSet::LabelSet(std::initializer_list<std::pair<absl::string_view, absl::string_view>> entries) {
  for (const auto& [key, value] : entries) Set(Symbol::Intern(key), Symbol::Intern(value));
}

void LabelSet::Sort() {
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.first < b.first; });
}

const Symbol* LabelSet::Find(absl::string_view key) const {
  const std::optional<Symbol> symbol = Symbol::Find(key);
  return symbol ? Find(*symbol) : nullptr;
}

void LabelSet::Set(Symbol key, Symbol value) {
  const auto it = std::lower_bound(entries_.begin(), entries_.end(), key,
                                   [](const Entry& e, Symbol k) { return e.first < k; });
  if (it != entries_.end() && it->first == key) {
    it->second = value;
  } else {
    entries_.insert(it, {key, value});
  }
}

std::string LabelSet::ToString() const {
  return absl::StrJoin(entries_, ",", [](std::string* out, const Entry& e) {
    absl::StrAppend(out, e.first.view(), "=", e.second.view());
  });
}

absl::StatusOr<LabelRequirement> LabelRequirement::Create(
    absl::string_view key, SelectorOperator op, absl::Span<const absl::string_view> values,
    absl::string_view path) {
  std::vector<std::string> errors;
  const std::string key_error = CheckLabelKey(key);
  if (!key_error.empty()) {
    errors.push_back(InvalidValue(ChildPath(path, "key"), Quoted(key), key_error));
  }
  CheckValues(op, values, path, errors);
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string value_error = CheckLabelValue(values[i]);
    if (value_error.empty()) continue;
    const std::string value_path =
        absl::StrCat(IndexPath(ChildPath(path, "values"), i), "[", key, "]");
    errors.push_back(InvalidValue(value_path, Quoted(values[i]), value_error));
  }
  if (!errors.empty()) return absl::InvalidArgumentError(Aggregate(errors));

  LabelRequirement requirement;
  requirement.key_ = Symbol::Intern(key);
  requirement.op_ = op;
  for (const absl::string_view value : values) requirement.values_.push_back(Symbol::Intern(value));
  if (op == SelectorOperator::kGreaterThan || op == SelectorOperator::kLessThan) {
    requirement.bound_ = *ParseInt64(values[0]);
  }
  return requirement;
}

LabelRequirement LabelRequirement::Equals(Symbol key, Symbol value) {
  LabelRequirement requirement;
  requirement.key_ = key;
  requirement.op_ = SelectorOperator::kIn;
  requirement.equality_ = true;
  requirement.values_.push_back(value);
  return requirement;
}

bool LabelRequirement::MatchesValue(const Symbol* value) const {
  const auto is_listed = [&] {
    return std::find(values_.begin(), values_.end(), *value) != values_.end();
  };
  switch (op_) {
    case SelectorOperator::kIn:
      return value != nullptr && is_listed();
    case SelectorOperator::kNotIn:
      return value == nullptr || !is_listed();
    case SelectorOperator::kExists:
      return value != nullptr;
    case SelectorOperator::kDoesNotExist:
      return value == nullptr;
    case SelectorOperator::kGreaterThan:
    case SelectorOperator::kLessThan: {
      const std::optional<int64_t> number = value ? ParseInt64(value->view()) : std::nullopt;
      if (!number) return false;
      return op_ == SelectorOperator::kGreaterThan ? *number > bound_ : *number < bound_;
    }
  }
  return false;
}

std::string LabelRequirement::ToString() const {
  std::vector<absl::string_view> values;
  for (const Symbol value : values_) values.push_back(value.view());
  std::sort(values.begin(), values.end());
  const std::string list = absl::StrJoin(values, ",");
  switch (op_) {
    case SelectorOperator::kIn:
      return equality_ ? absl::StrCat(key_.view(), "=", list)
                       : absl::StrCat(key_.view(), " in (", list, ")");
    case SelectorOperator::kNotIn:
      return absl::StrCat(key_.view(), " notin (", list, ")");
    case SelectorOperator::kExists:
      return std::string(key_.view());
    case SelectorOperator::kDoesNotExist:
      return absl::StrCat("!", key_.view());
    case SelectorOperator::kGreaterThan:
      return absl::StrCat(key_.view(), ">", list);
    case SelectorOperator::kLessThan:
      return absl::StrCat(key_.view(), "<", list);
  }
  return "";
}

LabelSelector LabelSelector::Everything() {
  LabelSelector selector;
  selector.nothing_ = false;
  return selector;
}

LabelSelector LabelSelector::FromLabels(const LabelSet& labels) {
  LabelSelector selector = Everything();
  for (const auto& [key, value] : labels.entries()) {
    selector.requirements_.push_back(LabelRequirement::Equals(key, value));
  }
  return selector;
}

absl::StatusOr<LabelSelector> LabelSelector::FromProto(const api::LabelSelector* proto) {
  if (proto == nullptr) return Nothing();
  for (const auto& [key, value] : proto->match_labels()) {
    absl::StatusOr<LabelRequirement> valid =
        LabelRequirement::Create(key, SelectorOperator::kIn, {absl::string_view(value)});
    if (!valid.ok()) return valid.status();
  }
  LabelSelector selector = FromLabels(LabelSet::FromMap(proto->match_labels()));
  for (const api::LabelSelectorRequirement& expression : proto->match_expressions()) {
    const std::optional<SelectorOperator> op = ParseSelectorOperator(expression.operator_());
    if (!op || *op > SelectorOperator::kDoesNotExist) {
      return absl::InvalidArgumentError(
          absl::StrCat(Quoted(expression.operator_()), " is not a valid label selector operator"));
    }
    const std::vector<absl::string_view> values(expression.values().begin(),
                                                expression.values().end());
    absl::StatusOr<LabelRequirement> requirement =
        LabelRequirement::Create(expression.key(), *op, values);
    if (!requirement.ok()) return requirement.status();
    selector.Add(*std::move(requirement));
  }
  return selector;
}

void LabelSelector::Add(LabelRequirement requirement) {
  if (nothing_) return;
  const auto after = std::upper_bound(
      requirements_.begin(), requirements_.end(), requirement,
      [](const LabelRequirement& a, const LabelRequirement& b) { return a.key() < b.key(); });
  requirements_.insert(after, std::move(requirement));
}

std::string LabelSelector::ToString() const {
  return absl::StrJoin(requirements_, ",", [](std::string* out, const LabelRequirement& r) {
    absl::StrAppend(out, r.ToString());
  });
}

}  // namespace berth
