// SPDX-License-Identifier: Apache-2.0
#include "cel/equality.h"

#include <optional>

namespace berth::cel {
namespace {

enum class Answer { kNo, kYes, kNoOverload };

Answer Of(bool equal) { return equal ? Answer::kYes : Answer::kNo; }

Answer Ask(const Value& a, const Value& b, Budget& budget);

Answer AskLists(const std::vector<Value>& a, const std::vector<Value>& b, Budget& budget) {
  if (a.size() != b.size()) return Answer::kNo;
  for (size_t i = 0; i < a.size() && !budget.exhausted(); ++i) {
    if (Ask(a[i], b[i], budget) == Answer::kNo) return Answer::kNo;
  }
  return Answer::kYes;
}

Answer AskMaps(const Map& a, const Map& b, Budget& budget) {
  if (a.size() != b.size()) return Answer::kNo;
  for (const Map::Entry& entry : a.entries()) {
    if (budget.exhausted()) break;
    const Value* other = b.Find(entry.key);
    if (other == nullptr || Ask(entry.value, *other, budget) == Answer::kNo) return Answer::kNo;
  }
  return Answer::kYes;
}

Answer AskOptionals(const Value* a, const Value* b, Budget& budget) {
  if (a == nullptr || b == nullptr) return Of(a == b);
  return Ask(*a, *b, budget);
}

Answer AskOpaque(const Opaque& a, const Value& b) {
  if (!b.Is<OpaquePointer>()) return Answer::kNoOverload;
  const std::optional<bool> equal = a.Equals(*b.Get<OpaquePointer>());
  return equal ? Of(*equal) : Answer::kNoOverload;
}

Answer Ask(const Value& a, const Value& b, Budget& budget) {
  if (!budget.Work(1)) return Answer::kNo;
  if (a.Is<NullValue>() || b.Is<NullValue>()) return Of(a.Is<NullValue>() && b.Is<NullValue>());
  if (a.Is<OpaquePointer>()) return AskOpaque(*a.Get<OpaquePointer>(), b);
  if (IsNumber(a) && IsNumber(b)) return Of(CompareNumbers(a, b) == 0);
  if (a.content().index() != b.content().index()) return Answer::kNo;
  if (a.IsList()) return AskLists(a.elements(), b.elements(), budget);
  if (a.IsMap()) return AskMaps(a.map(), b.map(), budget);
  if (a.IsOptional()) return AskOptionals(a.optional(), b.optional(), budget);
  if (a.IsString() || a.Is<BytesValue>()) {
    if (a.text().size() != b.text().size()) return Answer::kNo;
    return Of(budget.WorkOnBytes(a.text().size()) && a.text() == b.text());
  }
  if (a.Is<TypeValue>()) return Of(a.text() == b.text());
  return Of(Compare(a, b) == 0);
}

}  // namespace

Value Equal(const Value& a, const Value& b, Budget& budget) {
  const Answer answer = Ask(a, b, budget);
  if (budget.exhausted()) return Budget::Exceeded();
  return answer == Answer::kNoOverload ? Value::NoSuchOverload()
                                       : Value::Bool(answer == Answer::kYes);
}

bool Contains(const std::vector<Value>& list, const Value& value, Budget& budget) {
  for (const Value& element : list) {
    if (budget.exhausted()) break;
    if (Ask(value, element, budget) == Answer::kYes) return true;
  }
  return false;
}

}  // namespace berth::cel
