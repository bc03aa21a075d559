// SPDX-License-Identifier: Apache-2.0
// apiserver pkg/cel/library/regex.go: find and findAll.
#include "cel/regex.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cel/cost.h"
#include "cel/libraries/libraries.h"
#include "cel/libraries/regex_budget.h"

namespace berth::cel {
namespace {

Value FindIn(Budget& budget, const Regex& regex, Arguments a) {
  if (!MayMatchWithin(budget, a)) return Budget::Exceeded();
  return Value::String(regex.Find(a[0].text()));
}

Value FindAllIn(Budget& budget, const Regex& regex, Arguments a) {
  if (!MayMatchWithin(budget, a)) return Budget::Exceeded();
  std::vector<Value> matches;
  const int64_t most = a.size() == 3 ? a[2].Get<int64_t>() : -1;
  for (const std::string& match : regex.FindAll(a[0].text(), most)) {
    matches.push_back(Value::String(match));
  }
  if (!budget.AllowsElements(matches.size())) return Budget::Exceeded();
  return Value::MakeList(std::move(matches));
}

using Function = Value (*)(Budget&, const Regex&, Arguments);

// A function whose second argument is a regular expression.
void Add(Environment& environment, absl::string_view name, absl::string_view id,
         std::vector<Type> parameters, const Type& result, Function function) {
  Overload& overload = environment.AddMember(
      name, id, std::move(parameters), result, [function](Budget& budget, Arguments a) {
        const absl::StatusOr<Regex> regex = CompileWithin(budget, a[1].text());
        if (regex.ok()) return function(budget, *regex, a);
        return Value::Error(absl::StrCat("Illegal regex: ", regex.status().message()));
      });
  overload.prepare = [function](const Value& pattern) -> absl::StatusOr<Implementation> {
    absl::StatusOr<Regex> regex = Regex::Compile(pattern.text());
    if (!regex.ok()) return regex.status();
    return [function, regex = *std::move(regex)](Budget& budget, Arguments a) {
      return function(budget, regex, a);
    };
  };
}

}  // namespace

absl::StatusOr<Regex> CompileWithin(Budget& budget, absl::string_view pattern) {
  const uint64_t steps = absl::StrContains(pattern, "{") ? 100'000 : 5'000;
  if (!budget.Work(steps) || !budget.WorkOnBytes(pattern.size() * 1'000)) {
    return absl::ResourceExhaustedError(Budget::Exceeded().text());
  }
  return Regex::Compile(pattern);
}

bool MayMatchWithin(Budget& budget, Arguments arguments) {
  return budget.Work(8 * RegexCost(arguments[0].text().size(), arguments[1].text().size()));
}

void AddRegex(Environment& environment) {
  const Type string = Type::String(), list = Type::List(string);
  Add(environment, "find", "string_find_string", {string, string}, string, FindIn);
  Add(environment, "findAll", "string_find_all_string", {string, string}, list, FindAllIn);
  Add(environment, "findAll", "string_find_all_string_int", {string, string, Type::Int()}, list,
      FindAllIn);
  environment.SetCost("find", MatchRegex);
  environment.SetCost("findAll", MatchRegex);
}

}  // namespace berth::cel
