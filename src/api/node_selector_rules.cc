// SPDX-License-Identifier: Apache-2.0
// Implementation of node_selector_rules.h, after kubernetes v1.35 pkg/apis/core/validation,
// ValidateNodeSelector.
#include "api/node_selector_rules.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "api/field_error.h"
#include "api/object_rules.h"

namespace berth {
namespace {

class SelectorRules {
 public:
  using Tell = absl::FunctionRef<void(SelectorFault, Value, std::string)>;

  explicit SelectorRules(Tell tell) : tell_(tell) {}

  void Terms(Value terms, const std::string& path) {
    size_t index = 0;
    for (const Value term : terms.elements()) {
      const std::string at = IndexPath(path, index++);
      const Value expressions = term.Find("matchExpressions");
      const Value fields = term.Find("matchFields");
      if (expressions.size() == 0 && fields.size() == 0) {
        tell_(SelectorFault::kInVain, term, at + ": is empty, so that it selects no node");
      }
      ForEach(expressions, at + ".matchExpressions", &SelectorRules::Expression);
      ForEach(fields, at + ".matchFields", &SelectorRules::Field);
    }
  }

 private:
  static absl::string_view Text(Value value) { return value.AsString().value_or(""); }

  void ForEach(Value list, const std::string& path,
               void (SelectorRules::*check)(Value, const std::string&)) {
    size_t index = 0;
    for (const Value requirement : list.elements()) {
      (this->*check)(requirement, IndexPath(path, index++));
    }
  }

  void Refuse(Value requirement, absl::string_view field, std::string message) {
    const Value value = requirement.Find(field);
    tell_(SelectorFault::kRefused, value ? value : requirement, std::move(message));
  }

  void Expression(Value requirement, const std::string& path) {
    const absl::string_view key = Text(requirement.Find("key"));
    const absl::string_view op = Text(requirement.Find("operator"));
    const Value values = requirement.Find("values");
    if (!key.empty() && !IsLabelKey(key)) {
      Refuse(requirement, "key",
             absl::StrCat(path, ".key: ", Quoted(key), " is no key of a label"));
    }
    if ((op == "In" || op == "NotIn") && values.size() == 0) {
      Refuse(requirement, "values",
             absl::StrCat(path, ".values: has none; operator ", op, " needs some"));
    } else if ((op == "Exists" || op == "DoesNotExist") && values.size() > 0) {
      Refuse(requirement, "values",
             absl::StrCat(path, ".values: cannot be set with operator ", op));
    } else if (op == "Gt" || op == "Lt") {
      Number(requirement, values, op, path);
    }
    size_t index = 0;
    for (const Value value : values.elements()) {
      const std::string at = IndexPath(path + ".values", index++);
      if (IsLabelValue(Text(value))) continue;
      tell_(SelectorFault::kRefused, value,
            absl::StrCat(at, ": ", Quoted(Text(value)), " is no value of a label"));
    }
  }

  void Number(Value requirement, Value values, absl::string_view op, const std::string& path) {
    if (values.size() != 1) {
      return Refuse(requirement, "values",
                    absl::StrCat(path, ".values: has ", values.size(), " entries; operator ", op,
                                 " needs one, a whole number"));
    }
    const Value value = values.elements()[0];
    int64_t number = 0;
    if (absl::SimpleAtoi(Text(value), &number)) return;
    tell_(
        SelectorFault::kInVain, value,
        absl::StrCat(path, ".values[0]: ", Quoted(Text(value)), " is no whole number, as operator ",
                     op, " needs, so that all claims are an error while the slice is there"));
  }

  void Field(Value requirement, const std::string& path) {
    const absl::string_view key = Text(requirement.Find("key"));
    const absl::string_view op = Text(requirement.Find("operator"));
    const Value values = requirement.Find("values");
    if (!key.empty() && key != "metadata.name") {
      Refuse(requirement, "key",
             absl::StrCat(path, ".key: ", Quoted(key),
                          " is no field that can be selected; metadata.name is the only one"));
    }
    if (!op.empty() && op != "In" && op != "NotIn") {
      return Refuse(requirement, "operator",
                    absl::StrCat(path, ".operator: ", Quoted(op),
                                 " is none of In and NotIn, which fields can have"));
    }
    if (values.size() != 1) {
      return Refuse(requirement, "values",
                    absl::StrCat(path, ".values: has ", values.size(),
                                 " entries; the requirement of a field has one"));
    }
    const Value value = values.elements()[0];
    if (IsDnsSubdomain(Text(value))) return;
    tell_(SelectorFault::kRefused, value,
          absl::StrCat(path, ".values[0]: ", Quoted(Text(value)), " is no name of a node"));
  }

  const Tell tell_;
};

}  // namespace

void CheckNodeSelectorTerms(Value terms, const std::string& path,
                            absl::FunctionRef<void(SelectorFault, Value, std::string)> tell) {
  SelectorRules(tell).Terms(terms, path);
}

}  // namespace berth
