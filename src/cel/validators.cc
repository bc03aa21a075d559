// SPDX-License-Identifier: Apache-2.0
#include "cel/validators.h"

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "berth/api/time.h"
#include "cel/conversions.h"
#include "cel/format_string.h"
#include "cel/regex.h"

namespace berth::cel {
namespace {

class Validator {
 public:
  explicit Validator(Problems& problems) : problems_(problems) {}

  void Visit(const Expr& expr) {
    if (problems_.full()) return;
    const bool is_format = expr.kind == Expr::Kind::kCall && expr.name == "format";
    if (expr.kind == Expr::Kind::kCall) CheckLiterals(expr);
    if (is_format && expr.target) CheckFormat(expr);
    if (formats_ == 0 && expr.kind == Expr::Kind::kList) CheckElements(expr);
    if (formats_ == 0 && expr.kind == Expr::Kind::kMap) CheckEntries(expr);

    if (is_format) ++formats_;
    if (expr.target) Visit(*expr.target);
    for (const ExprPtr& argument : expr.arguments) Visit(*argument);
    if (const auto& loop = expr.comprehension) {
      for (const ExprPtr* part :
           {&loop->range, &loop->initial, &loop->condition, &loop->step, &loop->result}) {
        Visit(**part);
      }
    }
    if (is_format) --formats_;
  }

 private:
  void CheckLiterals(const Expr& call) {
    if (call.arguments.empty() || call.arguments[0]->kind != Expr::Kind::kLiteral) return;
    const Value& literal = call.arguments[0]->literal;
    if (!literal.IsString()) return;
    const bool is_valid = call.name == "duration"    ? ParseDuration(literal.text()).ok()
                          : call.name == "timestamp" ? !ToTimestamp(literal).IsError()
                          : call.name == "matches"   ? Regex::Compile(literal.text()).ok()
                                                     : true;
    if (!is_valid) {
      problems_.Add(call.arguments[0]->offset, absl::StrCat("invalid ", call.name, " argument"));
    }
  }

  void RequireSame(const std::optional<Type>& expected, const Type& type, const Expr& place) {
    if (!expected || *expected == type) return;
    problems_.Add(place.offset, absl::StrCat("expected type '", expected->ToString(),
                                             "' but found '", type.ToString(), "'"));
  }

  static Type ElementType(const Expr& element, bool is_optional) {
    const bool unwraps = is_optional && element.type.IsOptional();
    return unwraps ? element.type.parameters()[0] : element.type;
  }

  void CheckElements(const Expr& list) {
    std::optional<Type> first;
    for (size_t i = 0; i < list.arguments.size(); ++i) {
      const Type type = ElementType(*list.arguments[i], list.optional[i]);
      RequireSame(first, type, *list.arguments[i]);
      if (first && *first != type) return;
      if (!first) first = type;
    }
  }

  void CheckEntries(const Expr& map) {
    std::optional<Type> key, value;
    for (size_t i = 0; i < map.arguments.size(); i += 2) {
      const Type key_type = map.arguments[i]->type;
      const Type value_type = ElementType(*map.arguments[i + 1], map.optional[i / 2]);
      RequireSame(key, key_type, *map.arguments[i]);
      RequireSame(value, value_type, *map.arguments[i + 1]);
      if (!key) {
        key = key_type;
        value = value_type;
      }
    }
  }

  void CheckFormat(const Expr& call) {
    if (call.target->kind != Expr::Kind::kLiteral || !call.target->literal.IsString()) return;
    if (call.arguments.size() != 1 || call.arguments[0]->kind != Expr::Kind::kList) return;
    const std::vector<ExprPtr>& arguments = call.arguments[0]->arguments;
    size_t place = call.offset, used = 0;
    const absl::Status status = ReadFormat(
        call.target->literal.text(), arguments.size(), [](absl::string_view) {},
        [&](const FormatClause& clause) {
          ++used;
          const Expr& argument = *arguments[clause.argument];
          absl::Status fits = clause.letter == 's' ? CheckString(argument, &place)
                                                   : CheckClauseType(clause.letter, argument);
          if (!fits.ok() && clause.letter != 's') place = argument.offset;
          return fits;
        });
    if (!status.ok()) {
      problems_.Add(place, status.message());
    } else if (used < arguments.size()) {
      problems_.Add(call.offset,
                    absl::StrCat("too many arguments supplied to string.format (expected ", used,
                                 ", got ", arguments.size(), ")"));
    }
  }

  static absl::Status CheckClauseType(char letter, const Expr& argument) {
    const Type& type = argument.type;
    if (type.kind() == Kind::kDyn) return absl::OkStatus();
    // What strings may be is seen when they are formatted: "NaN" is a number.
    if ((letter == 'f' || letter == 'e') && type.kind() == Kind::kString) return absl::OkStatus();
    return CheckClause(letter, type.kind(), type.name());
  }

  // Also what is in literal lists and maps.
  static absl::Status CheckString(const Expr& argument, size_t* place) {
    absl::Status status = CheckClauseType('s', argument);
    if (!status.ok()) *place = argument.offset;
    if (argument.kind != Expr::Kind::kList && argument.kind != Expr::Kind::kMap) return status;
    for (const ExprPtr& part : argument.arguments) {
      if (status.ok()) status = CheckString(*part, place);
    }
    return status;
  }

  Problems& problems_;
  int formats_ = 0;  // around the node; what they format may be mixed
};

}  // namespace

void Validate(const Expr& expr, Problems& problems) { Validator(problems).Visit(expr); }

}  // namespace berth::cel
