// SPDX-License-Identifier: Apache-2.0
// Implementation of object_rules.h, after kubernetes v1.35 apimachinery pkg/util/validation and
// pkg/apis/resource/validation.
#include "api/object_rules.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "api/field_error.h"

namespace berth {
namespace {

constexpr size_t kLongestLabel = 63;
constexpr size_t kLongestIdentifier = 32;

bool IsLowerOrDigit(unsigned char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c); }

bool IsIdentifier(absl::string_view text) {
  return !text.empty() && text.size() <= kLongestIdentifier &&
         !absl::ascii_isdigit(static_cast<unsigned char>(text.front())) &&
         absl::c_all_of(text, [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

// The name of a label, or its value.
bool IsLabelText(absl::string_view text) {
  return !text.empty() && text.size() <= kLongestLabel &&
         absl::ascii_isalnum(static_cast<unsigned char>(text.front())) &&
         absl::ascii_isalnum(static_cast<unsigned char>(text.back())) &&
         absl::c_all_of(text, [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
         });
}

bool IsNumber(absl::string_view text) {
  return !text.empty() &&
         absl::c_all_of(text, [](unsigned char c) { return absl::ascii_isdigit(c); });
}
bool HasLeadingZero(absl::string_view number) { return number.size() > 1 && number[0] == '0'; }

bool AreVersionParts(absl::string_view text, bool numbers_begin_with_zero) {
  return absl::c_all_of(absl::StrSplit(text, '.'), [&](absl::string_view part) {
    return !part.empty() && absl::c_all_of(part, [](unsigned char c) {
      return absl::ascii_isalnum(c) || c == '-';
    }) && (numbers_begin_with_zero || !IsNumber(part) || !HasLeadingZero(part));
  });
}

}  // namespace

bool IsStored(Value object) {
  const Value metadata = object.Find("metadata");
  return !metadata.Find("uid").AsString().value_or("").empty() ||
         !metadata.Find("resourceVersion").AsString().value_or("").empty();
}

bool IsDnsLabel(absl::string_view text) {
  return !text.empty() && text.size() <= kLongestLabel &&
         IsLowerOrDigit(static_cast<unsigned char>(text.front())) &&
         IsLowerOrDigit(static_cast<unsigned char>(text.back())) &&
         absl::c_all_of(text, [](unsigned char c) { return IsLowerOrDigit(c) || c == '-'; });
}

bool IsDnsSubdomain(absl::string_view text, size_t longest) {
  const auto is_label = [](absl::string_view label) {
    return !label.empty() && IsLowerOrDigit(static_cast<unsigned char>(label.front())) &&
           IsLowerOrDigit(static_cast<unsigned char>(label.back())) &&
           absl::c_all_of(label, [](unsigned char c) { return IsLowerOrDigit(c) || c == '-'; });
  };
  return text.size() <= longest && absl::c_all_of(absl::StrSplit(text, '.'), is_label);
}

bool IsDriverName(absl::string_view text) {
  return IsDnsSubdomain(absl::AsciiStrToLower(text), kLongestLabel);
}

bool IsPoolName(absl::string_view text) {
  return text.size() <= 253 &&
         absl::c_all_of(absl::StrSplit(text, '/'),
                        [](absl::string_view part) { return IsDnsSubdomain(part); });
}

bool IsQualifiedName(absl::string_view text) {
  const size_t slash = text.find('/');
  if (slash == text.npos) return IsIdentifier(text);
  return IsDriverName(text.substr(0, slash)) && IsIdentifier(text.substr(slash + 1));
}

bool IsLabelKey(absl::string_view text) {
  const size_t slash = text.find('/');
  if (slash == text.npos) return IsLabelText(text);
  return IsDnsSubdomain(text.substr(0, slash)) && IsLabelText(text.substr(slash + 1));
}

bool IsLabelValue(absl::string_view text) { return text.empty() || IsLabelText(text); }

bool IsSemanticVersion(absl::string_view text) {
  const size_t plus = text.find('+');
  if (plus != text.npos && !AreVersionParts(text.substr(plus + 1), true)) return false;
  text = text.substr(0, plus);
  const size_t dash = text.find('-');
  if (dash != text.npos && !AreVersionParts(text.substr(dash + 1), false)) return false;
  int numbers = 0;
  for (const absl::string_view number : absl::StrSplit(text.substr(0, dash), '.')) {
    if (++numbers > 3 || !IsNumber(number) || HasLeadingZero(number)) return false;
  }
  return numbers == 3;
}

void ObjectRules::ForEach(Value owner, absl::string_view field, const std::string& path,
                          absl::FunctionRef<void(Value, const std::string&)> visit) {
  size_t index = 0;
  for (const Value element : owner.Find(field).elements()) {
    visit(element, IndexPath(ChildPath(path, field), index++));
  }
}

void ObjectRules::Error(Value at, Value otherwise, std::string message) {
  Error(at ? at.where() : otherwise.where(), std::move(message));
}

void ObjectRules::Error(const SourceLocation& where, std::string message) {
  problems_.AddError(where, "", std::move(message));
}

void ObjectRules::Refuse(Value at, Value otherwise, std::string message) {
  Refuse(at ? at.where() : otherwise.where(), std::move(message));
}

void ObjectRules::Refuse(const SourceLocation& where, std::string message) {
  if (is_stored_) {
    problems_.AddWarning(where, "", std::move(message));
  } else {
    problems_.AddError(where, "", std::move(message));
  }
}

void ObjectRules::Warn(Value at, Value otherwise, std::string message) {
  Warn(at ? at.where() : otherwise.where(), std::move(message));
}

void ObjectRules::Warn(const SourceLocation& where, std::string message) {
  problems_.AddWarning(where, "", std::move(message));
}

void ObjectRules::AtMost(Value owner, absl::string_view field, const std::string& path,
                         size_t most) {
  const Value list = owner.Find(field);
  if (list.size() <= most) return;
  Refuse(list, owner,
         absl::StrCat(path, ".", field, ": has ", list.size(), " entries, and may have ", most));
}

}  // namespace berth
