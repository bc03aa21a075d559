// SPDX-License-Identifier: Apache-2.0
#include "cel/equality.h"

#include <optional>

namespace berth::cel {
namespace {

Value EqualLists(const std::vector<Value>& a, const std::vector<Value>& b, Budget& budget) {
  if (a.size() != b.size()) return Value::Bool(false);
  for (size_t i = 0; i < a.size() && !budget.exhausted(); ++i) {
    if (Equal(a[i], b[i], budget).IsFalse()) return Value::Bool(false);
  }
  return Value::Bool(true);
}

Value EqualMaps(const Map& a, const Map& b, Budget& budget) {
  if (a.size() != b.size()) return Value::Bool(false);
  for (const Map::Entry& entry : a.entries()) {
    if (budget.exhausted()) break;
    const Value* other = b.Find(entry.key);
    if (other == nullptr || Equal(entry.value, *other, budget).IsFalse()) {
      return Value::Bool(false);
    }
  }
  return Value::Bool(true);
}

Value EqualOptionals(const Value* a, const Value* b, Budget& budget) {
  if (a == nullptr || b == nullptr) return Value::Bool(a == b);
  return Equal(*a, *b, budget);
}

}  // namespace

Value Equal(const Value& a, const Value& b, Budget& budget) {
  if (!budget.Work(1)) return Budget::Exceeded();
  if (a.Is<NullValue>() || b.Is<NullValue>()) {
    return Value::Bool(a.Is<NullValue>() && b.Is<NullValue>());
  }
  if (a.Is<OpaquePointer>()) {
    if (!b.Is<OpaquePointer>()) return Value::NoSuchOverload();
    const std::optional<bool> equal = a.Get<OpaquePointer>()->Equals(*b.Get<OpaquePointer>());
    return equal ? Value::Bool(*equal) : Value::NoSuchOverload();
  }
  if (IsNumber(a) && IsNumber(b)) return Value::Bool(CompareNumbers(a, b) == 0);
  if (a.content().index() != b.content().index()) return Value::Bool(false);
  if (a.IsList()) return EqualLists(a.elements(), b.elements(), budget);
  if (a.IsMap()) return EqualMaps(a.map(), b.map(), budget);
  if (a.IsOptional()) return EqualOptionals(a.optional(), b.optional(), budget);
  const bool is_text = a.IsString() || a.Is<BytesValue>();
  if (is_text && a.text().size() == b.text().size() && !budget.WorkOnBytes(a.text().size())) {
    return Budget::Exceeded();
  }
  if (a.Is<TypeValue>()) return Value::Bool(a.text() == b.text());
  return Value::Bool(Compare(a, b) == 0);
}

bool Contains(const std::vector<Value>& list, const Value& value, Budget& budget) {
  for (const Value& element : list) {
    if (budget.exhausted()) break;
    if (Equal(value, element, budget).IsTrue()) return true;
  }
  return false;
}

}  // namespace berth::cel
