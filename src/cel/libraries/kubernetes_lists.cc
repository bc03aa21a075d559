// SPDX-License-Identifier: Apache-2.0
// apiserver pkg/cel/library/lists.go: sums, extremes and positions.
#include <optional>

#include "absl/strings/str_cat.h"
#include "cel/cost.h"
#include "cel/equality.h"
#include "cel/libraries/libraries.h"
#include "cel/numbers.h"

namespace berth::cel {
namespace {

// Whether there is enough left to compare `value` with another.
bool MayCompareWithin(Budget& budget, const Value& value) {
  const bool is_text = value.IsString() || value.Is<BytesValue>();
  return budget.WorkOnBytes(is_text ? value.text().size() : 0);
}

Value IsSorted(Budget& budget, Arguments a) {
  const std::vector<Value>& list = a[0].elements();
  for (size_t i = 1; i < list.size(); ++i) {
    if (!MayCompareWithin(budget, list[i])) return Budget::Exceeded();
    if (Compare(list[i - 1], list[i]) == 1) return Value::Bool(false);
  }
  return Value::Bool(true);
}

Value Sum(const Value& zero, Arguments a) {
  Value sum = zero;
  for (const Value& element : a[0].elements()) {
    sum = Add(sum, element);
    if (sum.IsError()) break;
  }
  return sum;
}

// The first of the elements that none precedes by `order`.
Value Extreme(absl::string_view name, int order, Budget& budget, Arguments a) {
  const Value* result = nullptr;
  for (const Value& element : a[0].elements()) {
    if (!MayCompareWithin(budget, element)) return Budget::Exceeded();
    if (result == nullptr || Compare(*result, element) == order) result = &element;
  }
  if (result == nullptr) return Value::Error(absl::StrCat(name, " called on empty list"));
  return Value(*result);
}

Value IndexOf(Budget& budget, Arguments a) {
  const std::vector<Value>& list = a[0].elements();
  for (size_t i = 0; i < list.size() && !budget.exhausted(); ++i) {
    if (Equal(list[i], a[1], budget).IsTrue()) return Value::Int(static_cast<int64_t>(i));
  }
  return Value::Int(-1);
}

Value LastIndexOf(Budget& budget, Arguments a) {
  const std::vector<Value>& list = a[0].elements();
  for (size_t i = list.size(); i > 0 && !budget.exhausted(); --i) {
    if (Equal(list[i - 1], a[1], budget).IsTrue()) return Value::Int(static_cast<int64_t>(i - 1));
  }
  return Value::Int(-1);
}

void AddSum(Environment& environment, const Type& type, const Value& zero) {
  environment.AddMember("sum", absl::StrCat("list_", type.name(), "_sum"), {Type::List(type)}, type,
                        [zero](Budget&, Arguments a) { return Sum(zero, a); });
}

}  // namespace

void AddKubernetesLists(Environment& environment) {
  AddSum(environment, Type::Int(), Value::Int(0));
  AddSum(environment, Type::Uint(), Value::Uint(0));
  AddSum(environment, Type::Double(), Value::Double(0));
  AddSum(environment, Type::Duration(), Value::Duration(0));
  for (const Type& type : {Type::Int(), Type::Uint(), Type::Double(), Type::Bool(),
                           Type::Duration(), Type::Timestamp(), Type::String(), Type::Bytes()}) {
    const std::vector<Type> list = {Type::List(type)};
    const auto id = [&](absl::string_view name) {
      return absl::StrCat("list_", type.name(), "_", name);
    };
    environment.AddMember("isSorted", id("is_sorted_bool"), list, Type::Bool(), IsSorted);
    environment.AddMember("max", id("max"), list, type, [](Budget& budget, Arguments a) {
      return Extreme("max", -1, budget, a);
    });
    environment.AddMember("min", id("min"), list, type,
                          [](Budget& budget, Arguments a) { return Extreme("min", 1, budget, a); });
  }
  const Type a = Type::Parameter(0), list = Type::List(a);
  environment.AddMember("indexOf", "list_a_index_of_int", {list, a}, Type::Int(), IndexOf);
  environment.AddMember("lastIndexOf", "list_a_last_index_of_int", {list, a}, Type::Int(),
                        LastIndexOf);
  for (const absl::string_view name : {"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"}) {
    environment.SetCost(name, DeepTraverseFirst);
  }
}

}  // namespace berth::cel
