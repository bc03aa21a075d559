// SPDX-License-Identifier: Apache-2.0
#include "cel/node.h"

#include <cmath>
#include <limits>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cel/cost.h"
#include "cel/equality.h"

namespace berth::cel {
namespace {

// What a look-up has found: a value, an error, or null for nothing. `problem` holds the error.
struct Found {
  const Value* value = nullptr;
  std::string problem;
};

Found LookUpInList(const std::vector<Value>& list, const Value& key) {
  int64_t index = -1;
  if (key.Is<int64_t>()) {
    index = key.Get<int64_t>();
  } else if (key.Is<uint64_t>()) {
    index = static_cast<int64_t>(std::min<uint64_t>(key.Get<uint64_t>(), INT64_MAX));
  } else if (key.Is<double>() && key.Get<double>() == std::trunc(key.Get<double>()) &&
             std::abs(key.Get<double>()) < 1e18) {
    index = static_cast<int64_t>(key.Get<double>());
  } else {
    return {nullptr, absl::StrCat("unsupported index type '", key.type_name(), "' in list")};
  }
  if (index < 0 || static_cast<uint64_t>(index) >= list.size()) return {};
  return {&list[static_cast<size_t>(index)], ""};
}

// What Go calls the value's type, for cel-go's errors.
std::string GoTypeName(const Value& value) {
  if (value.Is<NullValue>()) return "types.Null";
  if (value.Is<BytesValue>()) return "types.Bytes";
  if (value.Is<DurationValue>()) return "types.Duration";
  if (value.Is<TimestampValue>()) return "types.Timestamp";
  if (value.Is<TypeValue>()) return "*types.Type";
  if (value.IsList()) return "*types.baseList";
  if (value.IsMap()) return "*types.baseMap";
  if (value.IsOptional()) return "*types.Optional";
  const absl::string_view name = value.type_name();  // "kubernetes.Quantity"
  return absl::StrCat("cel.", name.substr(name.rfind('.') + 1));
}

// cel-go looks up no others, though a map may have them.
bool IsQualifier(const Value& key) {
  return key.Is<bool>() || IsNumber(key) || key.IsString() || key.IsError();
}

Found LookUp(const Value& object, const Value& key) {
  if (object.IsList()) return LookUpInList(object.elements(), key);
  if (!object.IsMap()) return {};
  if (!IsQualifier(key)) {
    return {nullptr, absl::StrCat("invalid qualifier type: ", GoTypeName(key))};
  }
  const Value* found = object.map().Find(key);
  if (found == nullptr) found = object.map().fallback().get();
  return {found, ""};
}

Value Missing(const Value& object, const Value& key) {
  return Value::Error(
      absl::StrCat(object.IsList() ? "index out of bounds: " : "no such key: ", ToDisplay(key)));
}

bool Fits(const Type& type, const Value& value) {
  switch (type.kind()) {
    case Kind::kDyn:
    case Kind::kAny:
    case Kind::kParameter:
      return true;
    case Kind::kList:
      return value.IsList() &&
             (value.elements().empty() || Fits(type.parameters()[0], value.elements()[0]));
    case Kind::kMap: {
      if (!value.IsMap()) return false;
      if (value.map().size() == 0) return true;
      const Map::Entry& first = value.map().entries()[0];
      return Fits(type.parameters()[0], first.key) && Fits(type.parameters()[1], first.value);
    }
    case Kind::kOpaque:
    case Kind::kStruct:
      return value.type_name() == type.name();
    default:
      return value.kind() == type.kind();
  }
}

bool Fits(const Overload& overload, absl::Span<const Value> arguments) {
  if (overload.parameters.size() != arguments.size()) return false;
  if (overload.is_unguarded) return true;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!Fits(overload.parameters[i], arguments[i])) return false;
  }
  return true;
}

}  // namespace

const Value& Frame::Get(size_t slot) {
  if (const Node* initial = std::exchange(slots_[slot].initial, nullptr)) {
    Value value = initial->Evaluate(*this);
    slots_[slot].value = std::move(value);
  }
  return slots_[slot].value;
}

Value Frame::Take(size_t slot) {
  Get(slot);
  return std::exchange(slots_[slot].value, Value());
}

Value AttributeNode::DoEvaluate(Frame& frame) const {
  Value value = Resolve(frame);
  // What stands for a conditional expression costs what that costs; a presence test nothing.
  if (!is_test() && !(base_ && base_->IsAttribute())) frame.budget().Charge(1);
  return value;
}

// cel-go interpreter/attributes.go applyQualifiers: behind a step that is optional all are, and the
// result is an optional value.
Value AttributeNode::Resolve(Frame& frame) const {
  Value object = base_ ? base_->Evaluate(frame) : frame.Get(slot_);
  if (object.IsError() || qualifiers_.empty()) return object;
  bool is_optional = object.IsOptional();
  if (is_optional) {
    if (object.optional() == nullptr) return object;
    object = Value(*object.optional());
  }
  for (const Qualifier& qualifier : qualifiers_) {
    is_optional = is_optional || qualifier.mode == Mode::kOptional;
    const bool is_test = qualifier.mode == Mode::kTest;
    Value key = qualifier.key->Resolve(frame);
    if (key.IsError()) return key;
    Found found = LookUp(object, key);
    const bool misses = found.value == nullptr && found.problem.empty();
    if (!(is_optional && misses) || is_test) frame.budget().Charge(1);
    if (!found.problem.empty()) return Value::Error(found.problem);
    if (is_test) return Value::Bool(found.value != nullptr);
    if (misses) return is_optional ? Value::None() : Missing(object, key);
    object = Value(*found.value);
  }
  return is_optional ? Value::Some(std::move(object)) : object;
}

Value AccumulatorNode::DoEvaluate(Frame& frame) const {
  frame.budget().Charge(1);
  return frame.Take(slot_);
}

Value CallNode::DoEvaluate(Frame& frame) const {
  absl::InlinedVector<Value, 3> values;
  const Value* error = nullptr;
  values.reserve(arguments_.size());
  for (const NodePtr& argument : arguments_) {
    values.push_back(argument->Evaluate(frame));
    if (!values.back().IsError()) continue;
    if (error == nullptr) error = &values.back();
    // As cel-go: up to two arguments are evaluated, and paid for, in any case.
    if (arguments_.size() > 2) return *error;
  }
  if (frame.budget().exhausted()) return Budget::Exceeded();
  if (error != nullptr) {
    frame.budget().Charge(Cost(values, *error));
    return *error;
  }
  // Implementations may change their arguments; what the call costs depends on what they were.
  const bool cost_needs_arguments = function_.cost != nullptr || overloads_[0]->cost != nullptr;
  if (!cost_needs_arguments) {
    frame.budget().Charge(1);
    return Invoke(frame, absl::MakeSpan(values));
  }
  absl::InlinedVector<Value, 3> copies = values;
  Value result = Invoke(frame, absl::MakeSpan(copies));
  frame.budget().Charge(Cost(values, result));
  return result;
}

Value CallNode::Invoke(Frame& frame, absl::Span<Value> arguments) const {
  if (function_.is_operator) return overloads_[0]->implementation(frame.budget(), arguments);
  for (const Overload* overload : overloads_) {
    if (!Fits(*overload, arguments)) continue;
    const Implementation& implementation = prepared_ ? prepared_ : overload->implementation;
    return implementation(frame.budget(), arguments);
  }
  return Value::Error(absl::StrCat(
      "no such overload: ", function_.name, "(",
      absl::StrJoin(arguments, ", ",
                    [](std::string* out, const Value& v) { absl::StrAppend(out, v.type_name()); }),
      ")"));
}

uint64_t CallNode::Cost(absl::Span<const Value> arguments, const Value& result) const {
  if (function_.cost != nullptr) return function_.cost(arguments, result);
  if (overloads_.size() == 1 && overloads_[0]->cost != nullptr) {
    return overloads_[0]->cost(arguments, result);
  }
  return 1;
}

Value EqualNode::DoEvaluate(Frame& frame) const {
  Value left = left_->Evaluate(frame);
  Value right = right_->Evaluate(frame);
  frame.budget().Charge(negated_ ? InequalityCost(left, right) : EqualityCost(left, right));
  if (left.IsError()) return left;
  if (right.IsError()) return right;
  Value equal = Equal(left, right, frame.budget());
  if (!negated_) return equal;
  return Value::Bool(!equal.IsTrue());
}

Value LogicNode::DoEvaluate(Frame& frame) const {
  std::optional<Value> error;
  for (const NodePtr& operand : operands_) {
    Value value = operand->Evaluate(frame);
    if (value.Is<bool>()) {
      if (value.Get<bool>() == is_or_) return value;
    } else if (!error) {
      error = value.IsError() ? value : Value::NoSuchOverload();
    }
  }
  return error ? *error : Value::Bool(!is_or_);
}

Value ConditionalNode::DoEvaluate(Frame& frame) const {
  Value condition = condition_->Evaluate(frame);
  if (condition.IsTrue()) return yes_->Resolve(frame);
  if (condition.IsFalse()) return no_->Resolve(frame);
  return condition.IsError() ? condition : Value::NoSuchOverload();
}

Value NotStrictlyFalseNode::DoEvaluate(Frame& frame) const {
  const Value value = operand_->Evaluate(frame);
  frame.budget().Charge(1);
  return Value::Bool(!value.IsFalse());
}

Value OptionalOrNode::DoEvaluate(Frame& frame) const {
  Value optional = optional_->Evaluate(frame);
  if (!optional.IsOptional()) return optional;
  if (optional.optional() == nullptr) return other_->Evaluate(frame);
  return unwraps_ ? Value(*optional.optional()) : optional;
}

Value InSetNode::DoEvaluate(Frame& frame) const {
  Value element = element_->Evaluate(frame);
  if (element.IsError()) return element;
  return Value::Bool(set_.Find(element) != nullptr);
}

Value ListNode::DoEvaluate(Frame& frame) const {
  Value list = Build(frame);
  frame.budget().Charge(kListCost);
  return list;
}

Value ListNode::Build(Frame& frame) const {
  std::vector<Value> values;
  values.reserve(elements_.size());
  for (size_t i = 0; i < elements_.size(); ++i) {
    Value value = elements_[i]->Evaluate(frame);
    if (value.IsError()) return value;
    if (optional_[i]) {
      if (!value.IsOptional()) {
        return Value::Error(absl::StrCat(
            "cannot initialize optional list element from non-optional value ", ToDisplay(value)));
      }
      if (value.optional() == nullptr) continue;
      value = Value(*value.optional());
    }
    values.push_back(std::move(value));
  }
  return Value::MakeList(std::move(values));
}

Value MapNode::DoEvaluate(Frame& frame) const {
  Value map = Build(frame);
  frame.budget().Charge(kMapCost);
  return map;
}

Value MapNode::Build(Frame& frame) const {
  Map map;
  for (size_t i = 0; i < keys_and_values_.size(); i += 2) {
    Value key = keys_and_values_[i]->Evaluate(frame);
    if (key.IsError()) return key;
    Value value = keys_and_values_[i + 1]->Evaluate(frame);
    if (value.IsError()) return value;
    if (optional_[i / 2]) {
      if (!value.IsOptional()) {
        return Value::Error(absl::StrCat("cannot initialize optional entry '", ToDisplay(key),
                                         "' from non-optional value ", ToDisplay(value)));
      }
      if (value.optional() == nullptr) continue;
      value = Value(*value.optional());
    }
    if (!map.Set(key, std::move(value))) {
      // Quantities, addresses and optional values are keys of cel-go.
      const bool is_none = key.Is<BytesValue>() || key.type_name() == "kubernetes.Semver";
      return Value::Error(
          is_none ? absl::StrCat("internal error: runtime error: hash of unhashable type ",
                                 GoTypeName(key))
                  : absl::StrCat("unsupported key type: ", key.type_name()));
    }
  }
  return Value::MakeMap(std::move(map));
}

Value LoopNode::DoEvaluate(Frame& frame) const {
  Value range = parts_.range->Evaluate(frame);
  if (range.IsError()) return range;
  frame.SetLazily(parts_.accumulator, *parts_.initial);
  if (range.IsList()) {
    TurnOver(frame, range.elements());
  } else if (range.IsMap()) {
    TurnOver(frame, range.map());
  } else {
    return Value::Error(absl::StrCat("got '", range.type_name(), "', expected iterable type"));
  }
  return parts_.result->Evaluate(frame);
}

bool LoopNode::Turn(Frame& frame, const Value& first, const Value& second) const {
  frame.Set(parts_.variable, first);
  if (parts_.has_second_variable) frame.Set(parts_.second_variable, second);
  const Value condition = parts_.condition->Evaluate(frame);
  if (condition.IsFalse() || !frame.budget().Work(1)) return false;
  frame.Set(parts_.accumulator, parts_.step->Evaluate(frame));
  return true;
}

void LoopNode::TurnOver(Frame& frame, const std::vector<Value>& list) const {
  for (size_t i = 0; i < list.size(); ++i) {
    const bool continues = parts_.has_second_variable
                               ? Turn(frame, Value::Int(static_cast<int64_t>(i)), list[i])
                               : Turn(frame, list[i], list[i]);
    if (!continues) return;
  }
}

void LoopNode::TurnOver(Frame& frame, const Map& map) const {
  for (const Map::Entry& entry : map.entries()) {
    if (!Turn(frame, entry.key, entry.value)) return;
  }
}

}  // namespace berth::cel
