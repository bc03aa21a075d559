// SPDX-License-Identifier: Apache-2.0
#include "cel/program.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cel/checker.h"
#include "cel/cost_estimate.h"
#include "cel/parser.h"
#include "cel/utf8.h"
#include "cel/validators.h"

namespace berth::cel {
namespace {

absl::Status CompilationFailed(const Problems& problems) {
  return absl::InvalidArgumentError(
      absl::StrCat("compilation failed: ", problems.status().message()));
}

}  // namespace

absl::StatusOr<Program> Program::Compile(absl::string_view expression,
                                         const Environment& environment, uint64_t* cost_estimate) {
  Problems problems(expression);
  constexpr size_t kMostCharacters = 100'000;  // as cel-go
  if (expression.size() > kMostCharacters) {
    problems.Add(0, "expression code point size exceeds limit");
    return CompilationFailed(problems);
  }
  if (!IsValidUtf8(expression)) {
    problems.Add(0, "expression is not valid UTF-8");
    return CompilationFailed(problems);
  }
  const ExprPtr expr = Parse(expression, problems);
  if (problems.empty()) Check(*expr, environment, problems);
  if (problems.empty()) Validate(*expr, problems);
  if (!problems.empty()) return CompilationFailed(problems);

  if (cost_estimate != nullptr) *cost_estimate = EstimateCost(*expr);
  absl::StatusOr<Plan> plan = MakePlan(*expr, environment);
  if (!plan.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("program instantiation failed: ", plan.status().message()));
  }
  std::vector<std::vector<PathRead>> paths_read;
  for (const auto& variable : environment.variables()) {
    paths_read.push_back(PathsRead(*expr, variable.name));
  }
  return Program(expr->type, *std::move(plan), std::move(paths_read));
}

Value Program::Run(absl::Span<const Value> variables, uint64_t cost_limit, uint64_t* cost) const {
  Budget budget(cost_limit);
  Frame frame(budget, plan_.slots);
  for (size_t i = 0; i < variables.size(); ++i) frame.Set(i, variables[i]);
  Value value = plan_.root->Evaluate(frame);
  if (cost != nullptr) *cost = budget.cost();
  return budget.exhausted() ? Budget::Exceeded() : value;
}

}  // namespace berth::cel
