// SPDX-License-Identifier: Apache-2.0
// As cel-go checker/checker.go, with its words.
#include "cel/checker.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cel/unification.h"

namespace berth::cel {
namespace {

// "a.b.c" if `expr` is such a chain of names, else "".
std::string QualifiedName(const Expr& expr) {
  if (expr.kind == Expr::Kind::kIdentifier) return expr.name;
  if (expr.kind != Expr::Kind::kSelect || expr.is_test) return "";
  const std::string prefix = QualifiedName(*expr.target);
  return prefix.empty() ? "" : absl::StrCat(prefix, ".", expr.name);
}

std::string Signature(absl::Span<const Type> arguments, bool is_member) {
  std::string text = is_member ? absl::StrCat(arguments[0].ToString(), ".(") : "(";
  for (size_t i = is_member ? 1 : 0; i < arguments.size(); ++i) {
    absl::StrAppend(&text, text.back() == '(' ? "" : ", ", arguments[i].ToString());
  }
  return text + ")";
}

// The type in an optional one; any other as it is.
Type Unwrap(const Type& type) { return type.IsOptional() ? type.parameters()[0] : type; }

class Checker {
 public:
  Checker(const Environment& environment, Problems& problems)
      : environment_(environment), problems_(problems) {}

  void Check(Expr& expr) {
    if (Stopped(expr)) return;
    switch (expr.kind) {
      case Expr::Kind::kLiteral:
        return SetType(expr, Type::Simple(expr.literal.kind()));
      case Expr::Kind::kIdentifier:
        return CheckIdentifier(expr);
      case Expr::Kind::kSelect:
        return CheckSelect(expr);
      case Expr::Kind::kCall:
        return CheckCall(expr);
      case Expr::Kind::kList:
        return CheckList(expr);
      case Expr::Kind::kMap:
        return CheckMap(expr);
      case Expr::Kind::kMessage:
        SetType(expr, Type::Error());
        if (environment_.FindType(absl::StripPrefix(expr.name, ".")) != nullptr) {
          return Complain(expr, absl::StrCat("'", expr.name, "' is not a message type"));
        }
        return Undeclared(expr, expr.name);
      case Expr::Kind::kComprehension:
        return CheckComprehension(expr);
    }
  }

  // Puts what was found out later into the types of all nodes.
  void Finish(Expr& expr) {
    expr.type = types_.SubstituteOrDyn(expr.type);
    if (expr.target) Finish(*expr.target);
    for (const ExprPtr& argument : expr.arguments) Finish(*argument);
    if (const auto& loop = expr.comprehension) {
      for (const ExprPtr* part :
           {&loop->range, &loop->initial, &loop->condition, &loop->step, &loop->result}) {
        Finish(**part);
      }
    }
    if (Stopped(expr)) return;
  }

 private:
  // No more is to be found out.
  bool Stopped(const Expr& expr) {
    if (types_.exhausted()) Complain(expr, "types are too complex");
    return problems_.full() || types_.exhausted();
  }

  void Complain(const Expr& expr, absl::string_view message) {
    problems_.Add(expr.offset, message);
  }
  void Undeclared(const Expr& expr, absl::string_view name) {
    Complain(expr, absl::StrCat("undeclared reference to '", name, "' (in container '')"));
  }
  void Mismatch(const Expr& expr, const Type& expected, const Type& found) {
    Complain(expr, absl::StrCat("expected type '", expected.ToString(), "' but found '",
                                found.ToString(), "'"));
  }

  void SetType(Expr& expr, Type type) {
    if (type.size() > kMaxTypeSize) {
      Complain(expr, "type is too complex");
      type = Type::Error();
    }
    expr.type = std::move(type);
  }

  // --- Names ---

  struct Local {
    std::string name;
    Type type;
  };

  // What a loop has bound, the innermost first, then variables, then types.
  bool Resolve(Expr& expr, absl::string_view name) {
    const bool is_root = absl::StartsWith(name, ".");
    name = absl::StripPrefix(name, ".");
    if (!is_root) {
      const auto local = std::find_if(locals_.rbegin(), locals_.rend(),
                                      [name](const Local& l) { return l.name == name; });
      if (local != locals_.rend()) return Become(expr, name, local->type);
    }
    for (const auto& variable : environment_.variables()) {
      if (variable.name == name)
        return Become(expr, is_root ? "." + variable.name : name, variable.type);
    }
    if (const Type* type = environment_.FindType(name)) {
      expr.constant = Value::TypeNamed(name);
      std::vector<Type> fresh;
      return Become(expr, name, Type::Of(types_.Instantiate(*type, fresh)));
    }
    return false;
  }

  bool Become(Expr& expr, absl::string_view name, const Type& type) {
    const std::string copy(name);
    SetType(expr, type);
    expr.kind = Expr::Kind::kIdentifier;
    expr.name = copy;
    expr.target = nullptr;
    return true;
  }

  void CheckIdentifier(Expr& expr) {
    const std::string name = expr.name;
    if (Resolve(expr, name)) return;
    SetType(expr, Type::Error());
    Undeclared(expr, name);
  }

  void CheckSelect(Expr& expr) {
    const std::string name = QualifiedName(expr);
    if (!name.empty() && Resolve(expr, name)) return;
    const Type type = FieldType(expr, *expr.target, expr.name, /*is_optional=*/false);
    SetType(expr, expr.is_test ? Type::Bool() : types_.Substitute(type));
  }

  Type FieldType(Expr& expr, Expr& operand, const std::string& field, bool is_optional) {
    Check(operand);
    const Type operand_type = types_.Substitute(operand.type);
    const Type target = Unwrap(operand_type);
    Type result = Type::Error();
    switch (target.kind()) {
      case Kind::kMap:
        result = target.parameters()[1];
        break;
      case Kind::kStruct:
        if (const Type* type = environment_.FindField(target.name(), field)) {
          result = *type;
        } else {
          Complain(expr,
                   environment_.IsStruct(target.name())
                       ? absl::StrCat("undefined field '", field, "'")
                       : absl::StrCat("unexpected failed resolution of '", target.name(), "'"));
        }
        break;
      case Kind::kParameter:
        types_.IsAssignable(Type::Dyn(), target);
        result = Type::Dyn();
        break;
      default:
        if (!target.IsDyn() && target.kind() != Kind::kError) {
          Complain(expr,
                   absl::StrCat("type '", target.ToString(), "' does not support field selection"));
        }
        result = Type::Dyn();
    }
    return is_optional || operand_type.IsOptional() ? Type::Optional(result) : result;
  }

  // --- Calls ---

  void CheckCall(Expr& expr) {
    if (expr.name == operators::kOptionalSelect && !expr.target) return CheckOptionalSelect(expr);
    for (const ExprPtr& argument : expr.arguments) Check(*argument);
    if (expr.target) {
      // What looks like a member may be a function with dots in its name.
      const std::string prefix = QualifiedName(*expr.target);
      if (!prefix.empty() && UseFunction(expr, absl::StrCat(prefix, ".", expr.name))) {
        expr.target = nullptr;
        return ResolveOverload(expr);
      }
      Check(*expr.target);
    }
    if (UseFunction(expr, expr.name)) return ResolveOverload(expr);
    SetType(expr, Type::Error());
    Undeclared(expr, expr.name);
  }

  void CheckOptionalSelect(Expr& expr) {
    UseFunction(expr, expr.name);
    const std::string field(expr.arguments[1]->literal.text());
    const Type type = FieldType(expr, *expr.arguments[0], field, /*is_optional=*/true);
    SetType(expr, types_.Substitute(type));
    Check(*expr.arguments[1]);
  }

  bool UseFunction(Expr& expr, const std::string& name) {
    const Function* function = environment_.FindFunction(absl::StripPrefix(name, "."));
    if (function == nullptr) return false;
    expr.function = function;
    expr.name = function->name;
    return true;
  }

  void ResolveOverload(Expr& expr) {
    std::vector<Type> arguments;
    if (expr.target) arguments.push_back(expr.target->type);
    for (const ExprPtr& argument : expr.arguments) arguments.push_back(argument->type);

    if (expr.name == operators::kAnd || expr.name == operators::kOr) return CheckLogic(expr);

    std::optional<Type> result;
    for (const Overload& overload : expr.function->overloads) {
      if (overload.is_member != (expr.target != nullptr)) continue;
      if (overload.parameters.size() != arguments.size()) continue;
      std::vector<Type> fresh, parameters;
      for (const Type& parameter : overload.parameters) {
        parameters.push_back(types_.Instantiate(parameter, fresh));
      }
      const Type overload_result = types_.Instantiate(overload.result, fresh);
      // cel-go gives the arguments first: what is dyn in both directions is the same.
      if (!types_.AreAssignable(arguments, parameters)) continue;
      expr.overloads.push_back(&overload);
      const Type type = types_.Substitute(overload_result);
      if (!result) {
        result = type;
      } else if (!result->IsDyn() && type != *result) {
        result = Type::Dyn();
      }
    }
    if (result) return SetType(expr, *result);

    SetType(expr, Type::Error());
    for (Type& argument : arguments) argument = types_.SubstituteOrDyn(argument);
    Complain(expr, absl::StrCat("found no matching overload for '", expr.name, "' applied to '",
                                Signature(arguments, expr.target != nullptr), "'"));
  }

  void CheckLogic(Expr& expr) {
    expr.overloads = {&expr.function->overloads[0]};
    SetType(expr, Type::Bool());
    for (const ExprPtr& argument : expr.arguments) {
      if (types_.IsAssignable(argument->type, Type::Bool())) continue;
      Mismatch(*argument, Type::Bool(), argument->type);
      SetType(expr, Type::Error());
    }
  }

  // --- Lists and maps ---

  // The type of an element that is put in if it is there.
  Type OptionalElement(const Expr& element) {
    const Type type = types_.Substitute(element.type);
    if (!type.IsOptional() && !type.IsDyn()) Mismatch(element, Type::Optional(type), type);
    return Unwrap(type);
  }

  // What elements of both types have in common.
  Type Join(const std::optional<Type>& previous, const Type& current) {
    if (!previous) return current;
    if (types_.IsAssignable(*previous, current))
      return Unification::MostGeneral(*previous, current);
    return Type::Dyn();
  }

  void CheckList(Expr& expr) {
    std::optional<Type> element;
    for (size_t i = 0; i < expr.arguments.size(); ++i) {
      Check(*expr.arguments[i]);
      element = Join(element, expr.optional[i] ? OptionalElement(*expr.arguments[i])
                                               : expr.arguments[i]->type);
    }
    SetType(expr, Type::List(element ? *element : types_.NewParameter()));
  }

  void CheckMap(Expr& expr) {
    std::optional<Type> key, value;
    for (size_t i = 0; i < expr.arguments.size(); i += 2) {
      Check(*expr.arguments[i]);
      key = Join(key, expr.arguments[i]->type);
      Check(*expr.arguments[i + 1]);
      value = Join(value, expr.optional[i / 2] ? OptionalElement(*expr.arguments[i + 1])
                                               : expr.arguments[i + 1]->type);
    }
    if (!key) key = types_.NewParameter();
    if (!value) value = types_.NewParameter();
    SetType(expr, Type::Map(*key, *value));
  }

  // --- Loops ---

  // The types of one or two variables that go over a range.
  std::pair<Type, Type> VariableTypes(const Expr& range, bool two) {
    const Type type = types_.Substitute(range.type);
    switch (type.kind()) {
      case Kind::kList:
        if (two) return {Type::Int(), type.parameters()[0]};
        return {type.parameters()[0], Type::Dyn()};
      case Kind::kMap:
        return {type.parameters()[0], type.parameters()[1]};
      case Kind::kDyn:
      case Kind::kError:
      case Kind::kParameter:
        types_.IsAssignable(Type::Dyn(), type);
        return {Type::Dyn(), Type::Dyn()};
      default:
        Complain(range, absl::StrCat("expression of type '", type.ToString(),
                                     "' cannot be range of a comprehension (must be list, map, "
                                     "or dynamic)"));
        return {Type::Error(), Type::Error()};
    }
  }

  void CheckComprehension(Expr& expr) {
    Expr::Comprehension& loop = *expr.comprehension;
    Check(*loop.range);
    Check(*loop.initial);
    const bool two = !loop.second_variable.empty();
    const auto [first, second] = VariableTypes(*loop.range, two);
    const Type accumulator = loop.initial->type;

    const size_t outside = locals_.size();
    locals_.push_back({loop.accumulator, accumulator});
    locals_.push_back({loop.variable, first});
    if (two) locals_.push_back({loop.second_variable, second});
    Check(*loop.condition);
    RequireType(*loop.condition, Type::Bool());
    Check(*loop.step);
    RequireType(*loop.step, accumulator);
    locals_.resize(outside + 1);
    Check(*loop.result);
    locals_.resize(outside);
    SetType(expr, types_.Substitute(loop.result->type));
  }

  void RequireType(const Expr& expr, const Type& type) {
    if (!types_.IsAssignable(type, expr.type)) Mismatch(expr, type, expr.type);
  }

  const Environment& environment_;
  Problems& problems_;
  Unification types_;
  std::vector<Local> locals_;
};

}  // namespace

void Check(Expr& expr, const Environment& environment, Problems& problems) {
  Checker checker(environment, problems);
  checker.Check(expr);
  if (problems.full()) return;
  checker.Finish(expr);
}

}  // namespace berth::cel
