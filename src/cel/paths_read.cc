// SPDX-License-Identifier: Apache-2.0
// Implementation of paths_read.h.
#include "cel/paths_read.h"

#include <optional>
#include <utility>

#include "absl/strings/strip.h"

namespace berth::cel {
namespace {

// A local variable of the same name counts as the variable: that only adds paths.
std::optional<PathRead> PathOf(const Expr& expr, absl::string_view variable) {
  std::optional<PathRead> path;
  if (expr.kind == Expr::Kind::kIdentifier) {
    if (absl::StripPrefix(expr.name, ".") == variable) path.emplace();
  } else if (expr.kind == Expr::Kind::kSelect) {
    path = PathOf(*expr.target, variable);
    if (path.has_value()) path->push_back(expr.name);
  } else if (expr.kind == Expr::Kind::kCall && expr.name == operators::kIndex) {
    const Expr& key = *expr.arguments[1];
    if (key.kind != Expr::Kind::kLiteral || !key.literal.IsString()) return std::nullopt;
    path = PathOf(*expr.arguments[0], variable);
    if (path.has_value()) path->emplace_back(key.literal.text());
  }
  return path;
}

class Walk {
 public:
  explicit Walk(absl::string_view variable) : variable_(variable) {}

  void Visit(const Expr& expr) {
    std::optional<PathRead> path = PathOf(expr, variable_);
    if (path.has_value()) {
      paths_.push_back(*std::move(path));
      return;
    }
    VisitIfAny(expr.target);
    for (const ExprPtr& argument : expr.arguments) VisitIfAny(argument);
    if (expr.comprehension == nullptr) return;
    const Expr::Comprehension& loop = *expr.comprehension;
    for (const ExprPtr* part :
         {&loop.range, &loop.initial, &loop.condition, &loop.step, &loop.result}) {
      VisitIfAny(*part);
    }
  }

  std::vector<PathRead> TakePaths() { return std::move(paths_); }

 private:
  void VisitIfAny(const ExprPtr& expr) {
    if (expr != nullptr) Visit(*expr);
  }

  const absl::string_view variable_;
  std::vector<PathRead> paths_;
};

}  // namespace

std::vector<PathRead> PathsRead(const Expr& expr, absl::string_view variable) {
  Walk walk(variable);
  walk.Visit(expr);
  return walk.TakePaths();
}

}  // namespace berth::cel
