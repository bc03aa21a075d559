// SPDX-License-Identifier: Apache-2.0
#include "cel/type.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace berth::cel {
namespace {

constexpr absl::string_view kOptionalName = "optional_type";

absl::string_view SimpleName(Kind kind) {
  switch (kind) {
    case Kind::kDyn:
      return "dyn";
    case Kind::kAny:
      return "google.protobuf.Any";
    case Kind::kError:
      return "error";
    case Kind::kNull:
      return "null_type";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kUint:
      return "uint";
    case Kind::kDouble:
      return "double";
    case Kind::kString:
      return "string";
    case Kind::kBytes:
      return "bytes";
    case Kind::kDuration:
      return "google.protobuf.Duration";
    case Kind::kTimestamp:
      return "google.protobuf.Timestamp";
    default:
      return "";
  }
}

}  // namespace

Type Type::Make(Kind kind, absl::string_view name, std::vector<Type> parameters) {
  auto rep = std::make_shared<Rep>();
  rep->kind = kind;
  rep->name = std::string(name);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 4;
  for (const Type& parameter : parameters) {
    rep->size = std::min(kMost, rep->size + parameter.size());
  }
  rep->parameters = std::move(parameters);
  return Type(std::move(rep));
}

Type Type::Simple(Kind kind) {
  static const auto& types = *new std::vector<Type>([] {
    std::vector<Type> result;
    for (int i = 0; i <= static_cast<int>(Kind::kTimestamp); ++i) {
      result.push_back(Make(static_cast<Kind>(i), SimpleName(static_cast<Kind>(i)), {}));
    }
    return result;
  }());
  return types[static_cast<size_t>(kind)];
}

Type Type::List(Type element) { return Make(Kind::kList, "list", {std::move(element)}); }
Type Type::Map(Type key, Type value) {
  return Make(Kind::kMap, "map", {std::move(key), std::move(value)});
}
Type Type::Optional(Type value) { return Opaque(kOptionalName, {std::move(value)}); }
Type Type::Of(Type type) { return Make(Kind::kType, "type", {std::move(type)}); }
Type Type::Opaque(absl::string_view name, std::vector<Type> parameters) {
  return Make(Kind::kOpaque, name, std::move(parameters));
}
Type Type::Struct(absl::string_view name) { return Make(Kind::kStruct, name, {}); }

Type Type::Parameter(int number) {
  auto rep = std::make_shared<Rep>();
  rep->kind = Kind::kParameter;
  rep->name = absl::StrCat("_var", number);
  rep->number = number;
  return Type(std::move(rep));
}

bool Type::IsOptional() const { return kind() == Kind::kOpaque && name() == kOptionalName; }

bool operator==(const Type& a, const Type& b) {
  if (a.rep_ == b.rep_) return true;
  return a.kind() == b.kind() && a.number() == b.number() && a.name() == b.name() &&
         a.size() == b.size() &&
         std::equal(a.parameters().begin(), a.parameters().end(), b.parameters().begin(),
                    b.parameters().end());
}

std::string Type::ToString() const {
  switch (kind()) {
    case Kind::kAny:
      return "any";
    case Kind::kDuration:
      return "duration";
    case Kind::kError:
      return "!error!";
    case Kind::kNull:
      return "null";
    case Kind::kTimestamp:
      return "timestamp";
    default:
      break;
  }
  std::string text = name();
  absl::string_view separator = "(";
  for (const Type& parameter : parameters()) {
    absl::StrAppend(&text, separator, parameter.ToString());
    separator = ", ";
  }
  if (!parameters().empty()) text.push_back(')');
  return text;
}

std::string Type::DeclaredName() const {
  std::string text = kind() == Kind::kParameter ? absl::StrCat("<", name(), ">") : name();
  absl::string_view separator = "(";
  for (const Type& parameter : parameters()) {
    absl::StrAppend(&text, separator, parameter.DeclaredName());
    separator = ", ";
  }
  if (!parameters().empty()) text.push_back(')');
  return text;
}

}  // namespace berth::cel
