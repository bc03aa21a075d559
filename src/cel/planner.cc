// SPDX-License-Identifier: Apache-2.0
// As cel-go interpreter/planner.go with the option to optimise.
#include "cel/planner.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace berth::cel {
namespace {

bool IsConversion(absl::string_view function) {
  static constexpr absl::string_view kConversions[] = {
      "bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"};
  return std::find(std::begin(kConversions), std::end(kConversions), function) !=
         std::end(kConversions);
}

bool AllConstant(const std::vector<NodePtr>& nodes) {
  return std::all_of(nodes.begin(), nodes.end(),
                     [](const NodePtr& node) { return node->constant() != nullptr; });
}

// Literals of a list as the keys of a map; false if some are not compared like that.
bool MakeSet(const std::vector<Value>& elements, Map& set) {
  for (const Value& element : elements) {
    const bool is_plain =
        element.IsString() || element.Is<bool>() || IsNumber(element) || element.Is<NullValue>();
    if (!is_plain || !set.Set(element, Value())) return false;
  }
  return true;
}

class Planner {
 public:
  explicit Planner(const Environment& environment)
      : environment_(environment), slots_(environment.variables().size()) {}

  // Null if `status()` is not OK.
  NodePtr Make(const Expr& expr) {
    switch (expr.kind) {
      case Expr::Kind::kLiteral:
        return Constant(expr.literal);
      case Expr::Kind::kIdentifier:
        return MakeIdentifier(expr);
      case Expr::Kind::kSelect:
        return Select(*expr.target, Constant(Value::String(expr.name)),
                      expr.is_test ? AttributeNode::Mode::kTest : AttributeNode::Mode::kPlain);
      case Expr::Kind::kCall:
        return MakeCall(expr);
      case Expr::Kind::kList:
        return Folded<ListNode>(expr);
      case Expr::Kind::kMap:
        return Folded<MapNode>(expr);
      case Expr::Kind::kComprehension:
        return MakeLoop(*expr.comprehension);
      case Expr::Kind::kMessage:
        break;
    }
    return Fail("unsupported expression");
  }

  const absl::Status& status() const { return status_; }
  size_t slots() const { return slots_; }

 private:
  struct Local {
    std::string name;
    size_t slot;
  };

  NodePtr Fail(absl::string_view message) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(message);
    return nullptr;
  }

  static NodePtr Constant(Value value) { return std::make_unique<ConstantNode>(std::move(value)); }

  // `node`, which depends on nothing, as the constant that it is.
  NodePtr Fold(const Node& node) {
    Budget budget(UINT64_MAX);
    Frame frame(budget, 0);
    Value value = node.Evaluate(frame);
    if (value.IsError()) return Fail(value.text());
    return Constant(std::move(value));
  }

  std::vector<NodePtr> MakeAll(const std::vector<ExprPtr>& exprs) {
    std::vector<NodePtr> nodes;
    for (const ExprPtr& expr : exprs) nodes.push_back(Make(*expr));
    return nodes;
  }

  template <typename Literal>
  NodePtr Folded(const Expr& expr) {
    std::vector<NodePtr> parts = MakeAll(expr.arguments);
    if (!status_.ok()) return nullptr;
    const bool is_constant = AllConstant(parts);
    auto node = std::make_unique<Literal>(std::move(parts), expr.optional);
    return is_constant ? Fold(*node) : std::move(node);
  }

  // --- Names, selections ---

  size_t SlotOf(absl::string_view name) const {
    if (name[0] != '.') {
      for (auto local = locals_.rbegin(); local != locals_.rend(); ++local) {
        if (local->name == name) return local->slot;
      }
    } else {
      name.remove_prefix(1);
    }
    size_t slot = 0;
    while (environment_.variables()[slot].name != name) ++slot;
    return slot;
  }

  NodePtr MakeIdentifier(const Expr& expr) {
    if (expr.constant) return Constant(*expr.constant);
    return std::make_unique<AttributeNode>(SlotOf(expr.name));
  }

  NodePtr Select(const Expr& operand, NodePtr key, AttributeNode::Mode mode) {
    NodePtr base = Make(operand);
    if (!status_.ok()) return nullptr;
    auto* attribute = dynamic_cast<AttributeNode*>(base.get());
    if (attribute == nullptr || attribute->is_test()) {
      auto outer = std::make_unique<AttributeNode>(std::move(base));
      attribute = outer.get();
      base = std::move(outer);
    }
    // A key that is computed is an attribute itself.
    if (key->constant() == nullptr && !key->IsAttribute()) {
      key = std::make_unique<AttributeNode>(std::move(key));
    }
    attribute->Add(std::move(key), mode);
    return base;
  }

  // --- Calls ---

  NodePtr MakeCall(const Expr& expr) {
    const std::string& name = expr.name;
    if (name == operators::kIndex || name == operators::kOptionalIndex ||
        name == operators::kOptionalSelect) {
      NodePtr key = Make(*expr.arguments[1]);
      if (!status_.ok()) return nullptr;
      return Select(
          *expr.arguments[0], std::move(key),
          name == operators::kIndex ? AttributeNode::Mode::kPlain : AttributeNode::Mode::kOptional);
    }
    std::vector<NodePtr> arguments;
    if (expr.target) arguments.push_back(Make(*expr.target));
    for (const ExprPtr& argument : expr.arguments) arguments.push_back(Make(*argument));
    if (!status_.ok()) return nullptr;
    if (name == operators::kAnd || name == operators::kOr) {
      return std::make_unique<LogicNode>(name == operators::kOr, std::move(arguments));
    }
    if (name == operators::kConditional) {
      return std::make_unique<ConditionalNode>(std::move(arguments[0]), std::move(arguments[1]),
                                               std::move(arguments[2]));
    }
    if (name == operators::kEqual || name == operators::kNotEqual) {
      return std::make_unique<EqualNode>(std::move(arguments[0]), std::move(arguments[1]),
                                         name == operators::kNotEqual);
    }
    if (name == operators::kNotStrictlyFalse) {
      return std::make_unique<NotStrictlyFalseNode>(std::move(arguments[0]));
    }
    if (expr.target && (name == "or" || name == "orValue")) {
      return std::make_unique<OptionalOrNode>(std::move(arguments[0]), std::move(arguments[1]),
                                              name == "orValue");
    }
    if (name == operators::kIn && arguments[1]->constant() != nullptr) {
      if (NodePtr node = MakeInSet(expr, arguments)) return node;
    }
    return MakeFunctionCall(expr, std::move(arguments));
  }

  // Null if it has to be an ordinary call.
  static NodePtr MakeInSet(const Expr& expr, std::vector<NodePtr>& arguments) {
    const Value& list = *arguments[1]->constant();
    if (expr.overloads.size() != 1 || !list.IsList()) return nullptr;
    if (list.elements().empty()) return Constant(Value::Bool(false));
    Map set;
    if (!MakeSet(list.elements(), set)) return nullptr;
    return std::make_unique<InSetNode>(std::move(arguments[0]), std::move(set));
  }

  NodePtr MakeFunctionCall(const Expr& expr, std::vector<NodePtr> arguments) {
    Implementation prepared;
    if (expr.overloads.size() == 1 && expr.overloads[0]->prepare && arguments.size() > 1) {
      if (const Value* literal = arguments[1]->constant()) {
        absl::StatusOr<Implementation> implementation = expr.overloads[0]->prepare(*literal);
        if (!implementation.ok()) return Fail(implementation.status().message());
        prepared = *std::move(implementation);
      }
    }
    const bool folds = IsConversion(expr.name) && arguments.size() == 1 && AllConstant(arguments);
    auto call = std::make_unique<CallNode>(*expr.function, expr.overloads, std::move(arguments),
                                           std::move(prepared));
    return folds ? Fold(*call) : std::move(call);
  }

  // --- Loops ---

  NodePtr MakeLoop(const Expr::Comprehension& loop) {
    // What a loop starts with may be evaluated inside it: every loop has slots of its own.
    LoopNode::Parts parts;
    parts.range = Make(*loop.range);
    parts.initial = Make(*loop.initial);
    parts.accumulator = slots_++;
    parts.variable = slots_++;
    parts.has_second_variable = !loop.second_variable.empty();
    if (parts.has_second_variable) parts.second_variable = slots_++;

    const size_t outside = locals_.size();
    locals_.push_back({loop.accumulator, parts.accumulator});
    locals_.push_back({loop.variable, parts.variable});
    if (parts.has_second_variable) {
      locals_.push_back({loop.second_variable, parts.second_variable});
    }
    parts.condition = Make(*loop.condition);
    parts.step = MakeStep(*loop.step, loop.accumulator);
    locals_.resize(outside + 1);
    parts.result = Make(*loop.result);
    locals_.resize(outside);
    if (!status_.ok()) return nullptr;
    return std::make_unique<LoopNode>(std::move(parts));
  }

  // In `accumulator + [x]` and `condition ? accumulator + [x] : accumulator` the list may grow in
  // place.
  NodePtr MakeStep(const Expr& step, const std::string& accumulator) {
    if (step.kind != Expr::Kind::kCall || accumulator[0] != '@') return Make(step);
    if (step.name == operators::kConditional && step.arguments.size() == 3) {
      NodePtr condition = Make(*step.arguments[0]);
      NodePtr yes = MakeStep(*step.arguments[1], accumulator);
      NodePtr no = Make(*step.arguments[2]);
      if (!status_.ok()) return nullptr;
      return std::make_unique<ConditionalNode>(std::move(condition), std::move(yes), std::move(no));
    }
    const bool grows = step.name == operators::kAdd || step.name == "cel.@mapInsert";
    if (!grows || step.arguments[0]->kind != Expr::Kind::kIdentifier ||
        step.arguments[0]->name != accumulator) {
      return Make(step);
    }
    std::vector<NodePtr> arguments = MakeAll(step.arguments);
    if (!status_.ok()) return nullptr;
    arguments[0] = std::make_unique<AccumulatorNode>(SlotOf(accumulator));
    return MakeFunctionCall(step, std::move(arguments));
  }

  const Environment& environment_;
  size_t slots_;
  std::vector<Local> locals_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<Plan> MakePlan(const Expr& expr, const Environment& environment) {
  Planner planner(environment);
  NodePtr root = planner.Make(expr);
  if (!planner.status().ok()) return planner.status();
  return Plan{std::move(root), planner.slots()};
}

}  // namespace berth::cel
