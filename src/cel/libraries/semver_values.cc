// SPDX-License-Identifier: Apache-2.0
// apiserver pkg/cel/library/semverlib.go
#include "cel/libraries/semver_values.h"

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "cel/cost.h"
#include "cel/libraries/libraries.h"

namespace berth::cel {
namespace {

const Semver& Of(const Value& value) { return value.As<SemverValue>()->semver(); }

absl::StatusOr<Semver> Read(Arguments a) {
  const bool normalizes = a.size() == 2 && a[1].Get<bool>();
  return normalizes ? Semver::ParseNormalized(a[0].text()) : Semver::Parse(a[0].text());
}

Value Parse(Budget&, Arguments a) {
  absl::StatusOr<Semver> semver = Read(a);
  return semver.ok() ? SemverValue::Make(*std::move(semver))
                     : Value::Error(semver.status().message());
}

Value IsSemver(Budget&, Arguments a) { return Value::Bool(Read(a).ok()); }

Value Number(uint64_t number) { return Value::Int(static_cast<int64_t>(number)); }

}  // namespace

Value SemverValue::Make(Semver semver) {
  return Value(
      Value::Content(OpaquePointer(std::make_shared<const SemverValue>(std::move(semver)))));
}

std::optional<bool> SemverValue::Equals(const Opaque& other) const {
  const auto* semver = dynamic_cast<const SemverValue*>(&other);
  if (semver == nullptr) return std::nullopt;
  return semver_ == semver->semver_;
}

void AddSemver(Environment& environment) {
  const Type semver = Type::Struct(SemverValue::kTypeName), string = Type::String();
  const Type boolean = Type::Bool(), i = Type::Int();
  environment.AddType(semver);
  environment.AddFunction("semver", "string_to_semver", {string}, semver, Parse);
  environment.AddFunction("semver", "string_bool_to_semver", {string, boolean}, semver, Parse);
  environment.AddFunction("isSemver", "is_semver_string", {string}, boolean, IsSemver);
  environment.AddFunction("isSemver", "is_semver_string_bool", {string, boolean}, boolean,
                          IsSemver);
  environment.AddMember(
      "isGreaterThan", "semver_is_greater_than", {semver, semver}, boolean,
      [](Budget&, Arguments a) { return Value::Bool(Of(a[0]).Compare(Of(a[1])) > 0); });
  environment.AddMember(
      "isLessThan", "semver_is_less_than", {semver, semver}, boolean,
      [](Budget&, Arguments a) { return Value::Bool(Of(a[0]).Compare(Of(a[1])) < 0); });
  environment.AddMember(
      "compareTo", "semver_compare_to", {semver, semver}, i,
      [](Budget&, Arguments a) { return Value::Int(Of(a[0]).Compare(Of(a[1]))); });
  environment.AddMember("major", "semver_major", {semver}, i,
                        [](Budget&, Arguments a) { return Number(Of(a[0]).major()); });
  environment.AddMember("minor", "semver_minor", {semver}, i,
                        [](Budget&, Arguments a) { return Number(Of(a[0]).minor()); });
  environment.AddMember("patch", "semver_patch", {semver}, i,
                        [](Budget&, Arguments a) { return Number(Of(a[0]).patch()); });
  environment.SetCost("semver", TraverseFirst);
  environment.SetCost("isSemver", TraverseFirst);
}

}  // namespace berth::cel
