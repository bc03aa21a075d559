// SPDX-License-Identifier: Apache-2.0
// Access to the nodes of a document: see value.h.
#include "berth/api/value.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "absl/strings/numbers.h"
#include "api/document_builder.h"

namespace berth {

absl::string_view Value::KindText() const {
  switch (kind()) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return "true or false";
    case Kind::kInt:
    case Kind::kFloat:
      return "a number";
    case Kind::kString:
      return "a string";
    case Kind::kSequence:
      return "a list";
    case Kind::kMap:
      return "a map";
  }
  return "";
}

absl::string_view Value::text() const {
  if (node_ == nullptr || IsMap() || IsSequence()) return {};
  return absl::string_view(node_->text, node_->size);
}

std::optional<bool> Value::AsBool() const {
  if (kind() != Kind::kBool) return std::nullopt;
  // true, yes, on, y in any of their spellings; the others are the false ones.
  const absl::string_view word = text();
  const char first = static_cast<char>(word.front() | 0x20);
  return first == 't' || first == 'y' || (first == 'o' && word.size() == 2);
}

std::optional<int64_t> Value::AsInt64() const {
  if (kind() == Kind::kInt) {
    int64_t number;
    const absl::string_view digits = text();
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc() && end == digits.data() + digits.size()) return number;
    return std::nullopt;
  }
  if (kind() == Kind::kFloat) {
    const std::optional<double> number = AsDouble();
    if (number && std::trunc(*number) == *number && std::abs(*number) < 9.2e18) {
      return static_cast<int64_t>(*number);
    }
  }
  return std::nullopt;
}

std::optional<double> Value::AsDouble() const {
  if (!IsNumber()) return std::nullopt;
  double number;
  if (absl::SimpleAtod(text(), &number)) return number;
  const absl::string_view word = text();  // YAML's .inf, -.inf and .nan
  if (word.empty()) return std::nullopt;
  if ((word.back() | 0x20) == 'n') return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  return word.front() == '-' ? -infinity : infinity;
}

std::optional<absl::string_view> Value::AsString() const {
  if (!IsString()) return std::nullopt;
  return text();
}

Value Value::Find(absl::string_view key) const {
  if (!IsMap()) return {};
  for (uint32_t i = node_->size; i > 0; --i) {
    const internal::ValueMember& member = node_->members[i - 1];
    if (member.key.size == key.size() &&
        absl::string_view(member.key.text, member.key.size) == key) {
      return Value(&member.value, file_);
    }
  }
  return {};
}

Value::Items Value::items() const {
  Items items;
  if (IsMap()) {
    items.begin_ = node_->members;
    items.size_ = node_->size;
    items.file_ = file_;
  }
  return items;
}

Value::Elements Value::elements() const {
  Elements elements;
  if (IsSequence()) {
    elements.begin_ = node_->elements;
    elements.size_ = node_->size;
    elements.file_ = file_;
  }
  return elements;
}

Value::Item Value::Items::Iterator::operator*() const {
  const internal::ValueNode& key = member_->key;
  return {absl::string_view(key.text, key.size), Value(&member_->value, file_),
          SourceLocation{file_, static_cast<int>(key.line), static_cast<int>(key.column)}};
}

SourceLocation Value::where() const {
  if (node_ == nullptr) return {};
  return {file_, static_cast<int>(node_->line), static_cast<int>(node_->column)};
}

Document::Document() = default;
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

}  // namespace berth
