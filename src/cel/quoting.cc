// SPDX-License-Identifier: Apache-2.0
#include "cel/quoting.h"

#include "absl/strings/str_format.h"
#include "cel/utf8.h"

namespace berth::cel {
namespace {

// What follows the backslash, or 0.
char EscapeLetter(char32_t rune) {
  constexpr absl::string_view kRunes = "\a\b\f\n\r\t\v\\\"";
  constexpr absl::string_view kLetters = "abfnrtv\\\"";
  const size_t at = rune < 0x80 ? kRunes.find(static_cast<char>(rune)) : absl::string_view::npos;
  return at == absl::string_view::npos ? '\0' : kLetters[at];
}

enum class Control { kEscape, kKeep };

std::string Quote(absl::string_view text, Control control) {
  std::string result = "\"";
  while (!text.empty()) {
    const Rune rune = DecodeRune(text);
    const bool is_invalid = rune.code == kReplacementRune && rune.width == 1;
    if (const char letter = EscapeLetter(rune.code)) {
      result += {'\\', letter};
    } else if (control == Control::kEscape && is_invalid) {
      absl::StrAppendFormat(&result, "\\x%02x", static_cast<unsigned char>(text[0]));
    } else if (control == Control::kEscape && (rune.code < 0x20 || rune.code == 0x7F)) {
      absl::StrAppendFormat(&result, "\\x%02x", static_cast<unsigned>(rune.code));
    } else {
      AppendRune(rune.code, &result);
    }
    text.remove_prefix(rune.width);
  }
  return result + "\"";
}

}  // namespace

std::string Quote(absl::string_view text) { return Quote(text, Control::kEscape); }
std::string QuoteForExpression(absl::string_view text) { return Quote(text, Control::kKeep); }

}  // namespace berth::cel
