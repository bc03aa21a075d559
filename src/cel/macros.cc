// SPDX-License-Identifier: Apache-2.0
// Each macro builds the loop that https://github.com/google/cel-spec defines it by; what a macro
// costs is what its loop costs.
#include "cel/macros.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace berth::cel {
namespace {

// No expression can name it.
constexpr absl::string_view kAccumulator = "@result";

template <typename... T>
std::vector<ExprPtr> Exprs(T... exprs) {
  std::vector<ExprPtr> result;
  (result.push_back(std::move(exprs)), ...);
  return result;
}

// One use of a macro. A method takes over the parts that it uses, and leaves `failed()` behind if
// they do not fit.
class Expansion {
 public:
  Expansion(ExprFactory& make, size_t offset, ExprPtr target, std::vector<ExprPtr> arguments)
      : make_(make),
        offset_(offset),
        target_(std::move(target)),
        arguments_(std::move(arguments)) {}

  bool failed() const { return failed_; }

  ExprPtr Has() {
    ExprPtr& argument = arguments_[0];
    if (argument->kind != Expr::Kind::kSelect || argument->is_test) {
      return Fail(*argument, "invalid argument to has() macro");
    }
    argument->is_test = true;
    argument->offset = offset_;
    return std::move(argument);
  }

  ExprPtr All(int variables) {
    return Loop(variables, True(), Call(operators::kNotStrictlyFalse, Accumulator()),
                [this](ExprPtr predicate) {
                  return Call(operators::kAnd, Accumulator(), std::move(predicate));
                });
  }

  ExprPtr Exists(int variables) {
    return Loop(variables, make_.Literal(offset_, Value::Bool(false)),
                Call(operators::kNotStrictlyFalse, Call(operators::kNot, Accumulator())),
                [this](ExprPtr predicate) {
                  return Call(operators::kOr, Accumulator(), std::move(predicate));
                });
  }

  ExprPtr ExistsOne(int variables) {
    ExprPtr loop = Loop(variables, Int(0), True(), [this](ExprPtr predicate) {
      return Call(operators::kConditional, std::move(predicate),
                  Call(operators::kAdd, Accumulator(), Int(1)), Accumulator());
    });
    if (loop) loop->comprehension->result = Call(operators::kEqual, Accumulator(), Int(1));
    return loop;
  }

  ExprPtr Filter() {
    const std::string variable = arguments_[0]->name;
    return Loop(1, make_.List(offset_, {}), True(), [&](ExprPtr predicate) {
      ExprPtr element = make_.Identifier(offset_, variable);
      return Call(operators::kConditional, std::move(predicate), Append(std::move(element)),
                  Accumulator());
    });
  }

  // map and transformList, with a filter or without.
  ExprPtr TransformList(int variables) {
    ExprPtr filter = TakeFilter(variables);
    return Loop(variables, make_.List(offset_, {}), True(), [&](ExprPtr transform) {
      return If(std::move(filter), Append(std::move(transform)));
    });
  }

  ExprPtr TransformMap() {
    ExprPtr filter = TakeFilter(2);
    const std::string key = arguments_[0]->name;
    return Loop(2, make_.Map(offset_, {}), True(), [&](ExprPtr transform) {
      return If(std::move(filter), Call("cel.@mapInsert", Accumulator(),
                                        make_.Identifier(offset_, key), std::move(transform)));
    });
  }

  ExprPtr TransformMapEntry() {
    ExprPtr filter = TakeFilter(2);
    return Loop(2, make_.Map(offset_, {}), True(), [&](ExprPtr transform) {
      return If(std::move(filter), Call("cel.@mapInsert", Accumulator(), std::move(transform)));
    });
  }

  ExprPtr Bind() {
    if (!IsName(*arguments_[0])) {
      return Fail(*arguments_[0], "cel.bind() variable names must be simple identifiers");
    }
    return BindTo(arguments_[0]->name, std::move(arguments_[1]), std::move(arguments_[2]));
  }

  // target.hasValue() ? optional.of(bind(x, target.value(), e)) : optional.none(); a flat one has
  // no optional.of.
  ExprPtr OptionalMap(bool is_flat) {
    if (!IsName(*arguments_[0])) {
      return Fail(*arguments_[0], absl::StrCat(is_flat ? "optFlatMap" : "optMap",
                                               "() variable name must be a simple identifier"));
    }
    ExprPtr value = make_.MemberCall(offset_, make_.Copy(*target_), "value", {});
    ExprPtr mapped = BindTo(arguments_[0]->name, std::move(value), std::move(arguments_[1]));
    if (!is_flat) mapped = Call("optional.of", std::move(mapped));
    return Call(operators::kConditional,
                make_.MemberCall(offset_, std::move(target_), "hasValue", {}), std::move(mapped),
                make_.Call(offset_, "optional.none", {}));
  }

  // bind(input, target, input.@sortByAssociatedKeys(input.map(x, key)))
  ExprPtr SortBy() {
    constexpr absl::string_view kInput = "@__sortBy_input__";
    if (target_->kind == Expr::Kind::kLiteral || target_->kind == Expr::Kind::kMap) {
      return Fail(*target_,
                  "sortBy can only be applied to a list, identifier, comprehension, call or select "
                  "expression");
    }
    ExprPtr target = std::exchange(target_, make_.Identifier(offset_, kInput));
    ExprPtr keys = TransformList(1);
    if (!keys) return nullptr;
    ExprPtr sorted = make_.MemberCall(offset_, make_.Identifier(offset_, kInput),
                                      "@sortByAssociatedKeys", Exprs(std::move(keys)));
    return BindTo(kInput, std::move(target), std::move(sorted));
  }

 private:
  static bool IsName(const Expr& expr) { return expr.kind == Expr::Kind::kIdentifier; }

  ExprPtr Fail(const Expr& place, absl::string_view message) {
    make_.problems().Add(place.offset, message);
    failed_ = true;
    return nullptr;
  }

  ExprPtr Accumulator() { return make_.Identifier(offset_, kAccumulator); }
  ExprPtr True() { return make_.Literal(offset_, Value::Bool(true)); }
  ExprPtr Int(int64_t i) { return make_.Literal(offset_, Value::Int(i)); }
  template <typename... T>
  ExprPtr Call(absl::string_view function, T... arguments) {
    return make_.Call(offset_, function, Exprs(std::move(arguments)...));
  }
  ExprPtr Append(ExprPtr element) {
    return Call(operators::kAdd, Accumulator(), make_.List(offset_, Exprs(std::move(element))));
  }
  ExprPtr If(ExprPtr condition, ExprPtr step) {
    if (!condition) return step;
    return Call(operators::kConditional, std::move(condition), std::move(step), Accumulator());
  }

  // The argument between the variables and the transformation, if there is one.
  ExprPtr TakeFilter(size_t variables) {
    if (arguments_.size() == variables + 1) return nullptr;
    ExprPtr filter = std::move(arguments_[variables]);
    arguments_.erase(arguments_.begin() + static_cast<std::ptrdiff_t>(variables));
    return filter;
  }

  ExprPtr BindTo(absl::string_view name, ExprPtr value, ExprPtr body) {
    return make_.Comprehension(offset_, {.variable = "#unused",
                                         .accumulator = std::string(name),
                                         .range = make_.List(offset_, {}),
                                         .initial = std::move(value),
                                         .condition = make_.Literal(offset_, Value::Bool(false)),
                                         .step = make_.Identifier(offset_, name),
                                         .result = std::move(body)});
  }

  // A loop over the target, whose first arguments are its variables and the last goes to `step`.
  template <typename Step>
  ExprPtr Loop(int variables, ExprPtr initial, ExprPtr condition, Step step) {
    for (int i = 0; i < variables; ++i) {
      const Expr& argument = *arguments_[i];
      if (!IsName(argument)) return Fail(argument, "argument must be a simple name");
      if (argument.name == kAccumulator || argument.name == "__result__") {
        return Fail(argument, "iteration variable overwrites accumulator variable");
      }
    }
    if (variables == 2 && arguments_[0]->name == arguments_[1]->name) {
      return Fail(*arguments_[1], absl::StrCat("duplicate variable name: ", arguments_[1]->name));
    }
    ExprPtr body = step(std::move(arguments_.back()));
    return make_.Comprehension(offset_,
                               {.variable = arguments_[0]->name,
                                .second_variable = variables == 2 ? arguments_[1]->name : "",
                                .accumulator = std::string(kAccumulator),
                                .range = std::move(target_),
                                .initial = std::move(initial),
                                .condition = std::move(condition),
                                .step = std::move(body),
                                .result = Accumulator()});
  }

  ExprFactory& make_;
  size_t offset_;
  ExprPtr target_;
  std::vector<ExprPtr> arguments_;
  bool failed_ = false;
};

using Expander = ExprPtr (*)(Expansion&);

Expander FindMacro(const Expr* target, absl::string_view name, size_t arguments) {
  static constexpr struct {
    absl::string_view name;
    size_t arguments;
    Expander expander;
  } kMemberMacros[] = {
      {"all", 2, [](Expansion& e) { return e.All(1); }},
      {"all", 3, [](Expansion& e) { return e.All(2); }},
      {"exists", 2, [](Expansion& e) { return e.Exists(1); }},
      {"exists", 3, [](Expansion& e) { return e.Exists(2); }},
      {"exists_one", 2, [](Expansion& e) { return e.ExistsOne(1); }},
      {"exists_one", 3, [](Expansion& e) { return e.ExistsOne(2); }},
      {"existsOne", 3, [](Expansion& e) { return e.ExistsOne(2); }},
      {"filter", 2, [](Expansion& e) { return e.Filter(); }},
      {"map", 2, [](Expansion& e) { return e.TransformList(1); }},
      {"map", 3, [](Expansion& e) { return e.TransformList(1); }},
      {"transformList", 3, [](Expansion& e) { return e.TransformList(2); }},
      {"transformList", 4, [](Expansion& e) { return e.TransformList(2); }},
      {"transformMap", 3, [](Expansion& e) { return e.TransformMap(); }},
      {"transformMap", 4, [](Expansion& e) { return e.TransformMap(); }},
      {"transformMapEntry", 3, [](Expansion& e) { return e.TransformMapEntry(); }},
      {"transformMapEntry", 4, [](Expansion& e) { return e.TransformMapEntry(); }},
      {"optMap", 2, [](Expansion& e) { return e.OptionalMap(false); }},
      {"optFlatMap", 2, [](Expansion& e) { return e.OptionalMap(true); }},
      {"sortBy", 2, [](Expansion& e) { return e.SortBy(); }},
  };
  if (target == nullptr) {
    if (name == "has" && arguments == 1) return [](Expansion& e) { return e.Has(); };
    return nullptr;
  }
  if (target->kind == Expr::Kind::kIdentifier && target->name == "cel" && name == "bind" &&
      arguments == 3) {
    return [](Expansion& e) { return e.Bind(); };
  }
  for (const auto& macro : kMemberMacros) {
    if (macro.name == name && macro.arguments == arguments) return macro.expander;
  }
  return nullptr;
}

}  // namespace

ExprPtr ExprFactory::New(Expr::Kind kind, size_t offset) {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->offset = offset;
  if (++nodes_ > kMostNodes && !exhausted_) {
    exhausted_ = true;
    problems_.Add(offset, "expression is too large");
  }
  return expr;
}

ExprPtr ExprFactory::Finish(ExprPtr expr) {
  const auto put_in = [&expr](const ExprPtr& part) {
    if (part) expr->depth = std::max(expr->depth, part->depth + 1);
  };
  put_in(expr->target);
  for (const ExprPtr& argument : expr->arguments) put_in(argument);
  if (const auto& loop = expr->comprehension) {
    for (const ExprPtr* part :
         {&loop->range, &loop->initial, &loop->condition, &loop->step, &loop->result}) {
      put_in(*part);
    }
  }
  if (expr->depth > kMostDepth && !exhausted_) {
    exhausted_ = true;
    problems_.Add(expr->offset, "max recursion depth exceeded");
  }
  return expr;
}

ExprPtr ExprFactory::Literal(size_t offset, Value value) {
  ExprPtr expr = New(Expr::Kind::kLiteral, offset);
  expr->literal = std::move(value);
  return expr;
}

ExprPtr ExprFactory::Identifier(size_t offset, absl::string_view name) {
  ExprPtr expr = New(Expr::Kind::kIdentifier, offset);
  expr->name = std::string(name);
  return expr;
}

ExprPtr ExprFactory::Select(size_t offset, ExprPtr target, absl::string_view name) {
  ExprPtr expr = New(Expr::Kind::kSelect, offset);
  expr->target = std::move(target);
  expr->name = std::string(name);
  return Finish(std::move(expr));
}

ExprPtr ExprFactory::Call(size_t offset, absl::string_view function,
                          std::vector<ExprPtr> arguments) {
  return MemberCall(offset, nullptr, function, std::move(arguments));
}

ExprPtr ExprFactory::MemberCall(size_t offset, ExprPtr target, absl::string_view function,
                                std::vector<ExprPtr> arguments) {
  ExprPtr expr = New(Expr::Kind::kCall, offset);
  expr->target = std::move(target);
  expr->name = std::string(function);
  expr->arguments = std::move(arguments);
  return Finish(std::move(expr));
}

ExprPtr ExprFactory::List(size_t offset, std::vector<ExprPtr> elements) {
  ExprPtr expr = New(Expr::Kind::kList, offset);
  expr->optional.resize(elements.size());
  expr->arguments = std::move(elements);
  return Finish(std::move(expr));
}

ExprPtr ExprFactory::Map(size_t offset, std::vector<ExprPtr> keys_and_values) {
  ExprPtr expr = New(Expr::Kind::kMap, offset);
  expr->optional.resize(keys_and_values.size() / 2);
  expr->arguments = std::move(keys_and_values);
  return Finish(std::move(expr));
}

ExprPtr ExprFactory::Comprehension(size_t offset, Expr::Comprehension comprehension) {
  ExprPtr expr = New(Expr::Kind::kComprehension, offset);
  expr->comprehension = std::make_unique<Expr::Comprehension>(std::move(comprehension));
  return Finish(std::move(expr));
}

ExprPtr ExprFactory::Copy(const Expr& expr) {
  ExprPtr copy = New(expr.kind, expr.offset);
  if (exhausted_) return copy;
  copy->literal = expr.literal;
  copy->name = expr.name;
  copy->is_test = expr.is_test;
  copy->optional = expr.optional;
  if (expr.target) copy->target = Copy(*expr.target);
  for (const ExprPtr& argument : expr.arguments) copy->arguments.push_back(Copy(*argument));
  if (const auto& loop = expr.comprehension) {
    copy->comprehension = std::make_unique<Expr::Comprehension>(
        Expr::Comprehension{.variable = loop->variable,
                            .second_variable = loop->second_variable,
                            .accumulator = loop->accumulator,
                            .range = Copy(*loop->range),
                            .initial = Copy(*loop->initial),
                            .condition = Copy(*loop->condition),
                            .step = Copy(*loop->step),
                            .result = Copy(*loop->result)});
  }
  return Finish(std::move(copy));
}

ExprPtr CallOrMacro(ExprFactory& make, size_t offset, ExprPtr target, const std::string& name,
                    std::vector<ExprPtr> arguments) {
  const Expander expander = FindMacro(target.get(), name, arguments.size());
  if (expander == nullptr) {
    return make.MemberCall(offset, std::move(target), name, std::move(arguments));
  }
  Expansion expansion(make, offset, std::move(target), std::move(arguments));
  return expander(expansion);
}

}  // namespace berth::cel
