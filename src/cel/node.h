// SPDX-License-Identifier: Apache-2.0
// A compiled expression: a tree of nodes that evaluate themselves.
//
// The nodes are those of cel-go's interpreter, because what an evaluation costs is defined by them:
// a chain of selections and indexes is one node, an "attribute", which costs 1 more than its parts
// have keys.
#ifndef BERTH_SRC_CEL_NODE_H_
#define BERTH_SRC_CEL_NODE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cel/budget.h"
#include "cel/environment.h"
#include "cel/value.h"

namespace berth::cel {

class Node;
using NodePtr = std::unique_ptr<Node>;

// The variables of one evaluation, each in a slot of its own.
class Frame {
 public:
  Frame(Budget& budget, size_t slots) : budget_(budget), slots_(slots) {}

  Budget& budget() { return budget_; }
  void Set(size_t slot, Value value) { slots_[slot] = {std::move(value), nullptr}; }
  // The value is that of `initial`, which is evaluated when it is first asked for.
  void SetLazily(size_t slot, const Node& initial) { slots_[slot] = {Value(), &initial}; }
  const Value& Get(size_t slot);
  // Leaves the slot without a value.
  Value Take(size_t slot);

 private:
  struct Slot {
    Value value;
    const Node* initial = nullptr;
  };

  Budget& budget_;
  std::vector<Slot> slots_;
};

class Node {
 public:
  virtual ~Node() = default;

  Value Evaluate(Frame& frame) const {
    return frame.budget().exhausted() ? Budget::Exceeded() : DoEvaluate(frame);
  }
  // The same as part of a larger attribute, where an attribute does not have a cost of its own.
  virtual Value Resolve(Frame& frame) const { return Evaluate(frame); }

  // The value, if it is known before the evaluation.
  virtual const Value* constant() const { return nullptr; }
  virtual bool IsAttribute() const { return false; }

 private:
  virtual Value DoEvaluate(Frame& frame) const = 0;
};

class ConstantNode final : public Node {
 public:
  explicit ConstantNode(Value value) : value_(std::move(value)) {}
  const Value* constant() const override { return &value_; }

 private:
  Value DoEvaluate(Frame&) const override { return value_; }
  Value value_;
};

// A variable, or what another node gives, and what is selected of it step by step: a.b, a[k], a.?b,
// a[?k], has(a.b).
class AttributeNode final : public Node {
 public:
  explicit AttributeNode(size_t slot) : slot_(slot) {}
  explicit AttributeNode(NodePtr base) : base_(std::move(base)) {}

  enum class Mode : uint8_t { kPlain, kOptional, kTest };
  void Add(NodePtr key, Mode mode) { qualifiers_.push_back({std::move(key), mode}); }
  bool is_test() const { return !qualifiers_.empty() && qualifiers_.back().mode == Mode::kTest; }

  bool IsAttribute() const override { return true; }
  Value Resolve(Frame& frame) const override;

 private:
  struct Qualifier {
    NodePtr key;
    Mode mode;
  };
  Value DoEvaluate(Frame& frame) const override;

  size_t slot_ = 0;
  NodePtr base_;  // null: a variable
  std::vector<Qualifier> qualifiers_;
};

// The accumulator of a loop where nothing reads it again before it gets a new value: a list grows
// in place.
class AccumulatorNode final : public Node {
 public:
  explicit AccumulatorNode(size_t slot) : slot_(slot) {}

 private:
  Value DoEvaluate(Frame& frame) const override;
  size_t slot_;
};

// A call of a function by one of the overloads that the checker left.
class CallNode final : public Node {
 public:
  CallNode(const Function& function, std::vector<const Overload*> overloads,
           std::vector<NodePtr> arguments, Implementation prepared)
      : function_(function),
        overloads_(std::move(overloads)),
        arguments_(std::move(arguments)),
        prepared_(std::move(prepared)) {}

 private:
  Value DoEvaluate(Frame& frame) const override;
  Value Invoke(Frame& frame, absl::Span<Value> arguments) const;
  uint64_t Cost(absl::Span<const Value> arguments, const Value& result) const;

  const Function& function_;
  std::vector<const Overload*> overloads_;
  std::vector<NodePtr> arguments_;
  Implementation prepared_;  // if not empty, instead of the only overload's
};

class EqualNode final : public Node {
 public:
  EqualNode(NodePtr left, NodePtr right, bool negated)
      : left_(std::move(left)), right_(std::move(right)), negated_(negated) {}

 private:
  Value DoEvaluate(Frame& frame) const override;
  NodePtr left_, right_;
  bool negated_;
};

// && and ||: an error counts only if no operand decides.
class LogicNode final : public Node {
 public:
  LogicNode(bool is_or, std::vector<NodePtr> operands)
      : is_or_(is_or), operands_(std::move(operands)) {}

 private:
  Value DoEvaluate(Frame& frame) const override;
  bool is_or_;
  std::vector<NodePtr> operands_;
};

class ConditionalNode final : public Node {
 public:
  ConditionalNode(NodePtr condition, NodePtr yes, NodePtr no)
      : condition_(std::move(condition)), yes_(std::move(yes)), no_(std::move(no)) {}
  bool IsAttribute() const override { return true; }

 private:
  Value DoEvaluate(Frame& frame) const override;
  NodePtr condition_, yes_, no_;
};

// Whether a loop goes on: an error is not false.
class NotStrictlyFalseNode final : public Node {
 public:
  explicit NotStrictlyFalseNode(NodePtr operand) : operand_(std::move(operand)) {}

 private:
  Value DoEvaluate(Frame& frame) const override;
  NodePtr operand_;
};

// a.or(b) and a.orValue(b).
class OptionalOrNode final : public Node {
 public:
  OptionalOrNode(NodePtr optional, NodePtr other, bool unwraps)
      : optional_(std::move(optional)), other_(std::move(other)), unwraps_(unwraps) {}

 private:
  Value DoEvaluate(Frame& frame) const override;
  NodePtr optional_, other_;
  bool unwraps_;
};

// `in` for a list of literals, which are the keys of a map.
class InSetNode final : public Node {
 public:
  InSetNode(NodePtr element, Map set) : element_(std::move(element)), set_(std::move(set)) {}

 private:
  Value DoEvaluate(Frame& frame) const override;
  NodePtr element_;
  Map set_;
};

class ListNode final : public Node {
 public:
  ListNode(std::vector<NodePtr> elements, std::vector<bool> optional)
      : elements_(std::move(elements)), optional_(std::move(optional)) {}

 private:
  Value DoEvaluate(Frame& frame) const override;
  Value Build(Frame& frame) const;
  std::vector<NodePtr> elements_;
  std::vector<bool> optional_;
};

class MapNode final : public Node {
 public:
  MapNode(std::vector<NodePtr> keys_and_values, std::vector<bool> optional)
      : keys_and_values_(std::move(keys_and_values)), optional_(std::move(optional)) {}

 private:
  Value DoEvaluate(Frame& frame) const override;
  Value Build(Frame& frame) const;
  std::vector<NodePtr> keys_and_values_;
  std::vector<bool> optional_;
};

// A loop. See Expr::Comprehension.
class LoopNode final : public Node {
 public:
  struct Parts {
    size_t variable = 0, second_variable = 0, accumulator = 0;  // slots
    bool has_second_variable = false;
    NodePtr range, initial, condition, step, result;
  };
  explicit LoopNode(Parts parts) : parts_(std::move(parts)) {}

 private:
  Value DoEvaluate(Frame& frame) const override;
  // One turn; false if it was the last.
  bool Turn(Frame& frame, const Value& first, const Value& second) const;
  void TurnOver(Frame& frame, const std::vector<Value>& list) const;
  void TurnOver(Frame& frame, const Map& map) const;
  Parts parts_;
};

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_NODE_H_
