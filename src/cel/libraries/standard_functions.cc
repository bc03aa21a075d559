// SPDX-License-Identifier: Apache-2.0
// Functions that every environment has: conversions, size, and those of strings.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cel/conversions.h"
#include "cel/cost.h"
#include "cel/libraries/libraries.h"
#include "cel/libraries/regex_budget.h"
#include "cel/regex.h"

namespace berth::cel {
namespace {

template <Value (*convert)(const Value&)>
void AddConversion(Environment& environment, absl::string_view name, const Type& to,
                   std::initializer_list<Type> from) {
  for (const Type& type : from) {
    Overload& overload =
        environment.AddFunction(name, absl::StrCat(type.name(), "_to_", name), {type}, to,
                                [](Budget&, Arguments a) { return convert(a[0]); });
    const bool traverses = (type == Type::String() && to == Type::Bytes()) ||
                           (type == Type::Bytes() && to == Type::String());
    if (traverses) overload.cost = TraverseFirst;
  }
}

Value Same(const Value& value) { return value; }
Value TypeOf(const Value& value) { return Value::TypeNamed(value.type_name()); }

Value Size(Budget& budget, Arguments a) {
  if (a[0].IsString() && !budget.WorkOnRunes(a[0].text().size())) return Budget::Exceeded();
  return Value::Int(static_cast<int64_t>(SizeOf(a[0])));
}

Value MatchesPattern(Budget& budget, Arguments a) {
  const absl::StatusOr<Regex> regex = CompileWithin(budget, a[1].text());
  if (!regex.ok()) return Value::Error(regex.status().message());
  if (!MayMatchWithin(budget, a)) return Budget::Exceeded();
  return Value::Bool(regex->Matches(a[0].text()));
}

absl::StatusOr<Implementation> MatchesPrepared(const Value& pattern) {
  absl::StatusOr<Regex> regex = Regex::Compile(pattern.text());
  if (!regex.ok()) return regex.status();
  return [regex = *std::move(regex)](Budget& budget, Arguments a) {
    if (!MayMatchWithin(budget, a)) return Budget::Exceeded();
    return Value::Bool(regex.Matches(a[0].text()));
  };
}

uint64_t ContainsCost(absl::Span<const Value> a, const Value&) {
  return TraversalCost(SizeOf(a[0])) * TraversalCost(SizeOf(a[1]));
}

}  // namespace

void AddConversions(Environment& environment) {
  const Type boolean = Type::Bool(), bytes = Type::Bytes(), d = Type::Double(), i = Type::Int();
  const Type string = Type::String(), u = Type::Uint();
  const Type duration = Type::Duration(), timestamp = Type::Timestamp();
  AddConversion<ToBool>(environment, "bool", boolean, {boolean, string});
  AddConversion<ToBytes>(environment, "bytes", bytes, {bytes, string});
  AddConversion<ToDouble>(environment, "double", d, {d, i, string, u});
  AddConversion<ToDuration>(environment, "duration", duration, {duration, i, string});
  AddConversion<ToInt>(environment, "int", i, {i, d, duration, string, timestamp, u});
  AddConversion<ToString>(environment, "string", string,
                          {string, boolean, bytes, d, duration, i, timestamp, u});
  AddConversion<ToTimestamp>(environment, "timestamp", timestamp, {timestamp, i, string});
  AddConversion<ToUint>(environment, "uint", u, {u, d, i, string});

  const Type a = Type::Parameter(0);
  AddConversion<Same>(environment, "dyn", Type::Dyn(), {a});
  AddConversion<TypeOf>(environment, "type", Type::Of(a), {a});
  for (const Type& type :
       {boolean, bytes, d, duration, i, Type::List(a), Type::Map(a, Type::Parameter(1)),
        Type::Null(), string, timestamp, Type::Of(a), u}) {
    environment.AddType(type);
  }
}

void AddStandardFunctions(Environment& environment) {
  const Type string = Type::String(), a = Type::Parameter(0), b = Type::Parameter(1);
  for (const auto& [id, type] : {std::pair<absl::string_view, Type>{"size_bytes", Type::Bytes()},
                                 {"size_list", Type::List(a)},
                                 {"size_map", Type::Map(a, b)},
                                 {"size_string", string}}) {
    environment.AddFunction("size", id, {type}, Type::Int(), Size);
    environment.AddMember("size", id, {type}, Type::Int(), Size);
  }

  const auto add = [&](absl::string_view name, Implementation implementation) -> Overload& {
    return environment.AddMember(name, absl::StrCat(name, "_string"), {string, string},
                                 Type::Bool(), std::move(implementation));
  };
  add("contains", [](Budget& budget, Arguments s) {
    if (!budget.WorkOnSearch(s[0].text().size(), s[1].text().size())) return Budget::Exceeded();
    return Value::Bool(absl::StrContains(s[0].text(), s[1].text()));
  }).cost = ContainsCost;
  add("endsWith", [](Budget&, Arguments s) {
    return Value::Bool(absl::EndsWith(s[0].text(), s[1].text()));
  }).cost = TraverseFirst;
  add("startsWith", [](Budget&, Arguments s) {
    return Value::Bool(absl::StartsWith(s[0].text(), s[1].text()));
  }).cost = TraverseFirst;
  Overload& matches = add("matches", MatchesPattern);
  matches.cost = MatchRegex;
  matches.prepare = MatchesPrepared;
  environment.AddFunction("matches", "matches", {string, string}, Type::Bool(), MatchesPattern)
      .prepare = MatchesPrepared;
}

}  // namespace berth::cel
