// SPDX-License-Identifier: Apache-2.0
#include "cel/utf8.h"

namespace berth::cel {
namespace {

bool IsSurrogate(char32_t code) { return code >= 0xD800 && code <= 0xDFFF; }

}  // namespace

Rune DecodeRune(absl::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t width = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  static constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (first < 0xC2 || first > 0xF4 || text.size() < width) return {kReplacementRune, 1};
  char32_t code = first & (0xFF >> (width + 1));
  for (size_t i = 1; i < width; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {kReplacementRune, 1};
    code = code << 6 | (byte(i) & 0x3F);
  }
  if (code < kLeast[width] || code > 0x10FFFF || IsSurrogate(code)) return {kReplacementRune, 1};
  return {code, width};
}

std::vector<char32_t> DecodeRunes(absl::string_view text) {
  std::vector<char32_t> runes;
  runes.reserve(text.size());
  while (!text.empty()) {
    const Rune rune = DecodeRune(text);
    runes.push_back(rune.code);
    text.remove_prefix(rune.width);
  }
  return runes;
}

size_t CountRunes(absl::string_view text) {
  size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(DecodeRune(text).width);
  return count;
}

void AppendRune(char32_t code, std::string* text) {
  if (code > 0x10FFFF || IsSurrogate(code)) code = kReplacementRune;
  if (code < 0x80) {
    text->push_back(static_cast<char>(code));
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static constexpr unsigned char kFirst[] = {0, 0xC0, 0xE0, 0xF0};
  text->push_back(static_cast<char>(kFirst[more] | code >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) {
    text->push_back(static_cast<char>(0x80 | (code >> (6 * i) & 0x3F)));
  }
}

bool IsValidUtf8(absl::string_view text) {
  while (!text.empty()) {
    const Rune rune = DecodeRune(text);
    if (rune.code == kReplacementRune && rune.width == 1) return false;
    text.remove_prefix(rune.width);
  }
  return true;
}

}  // namespace berth::cel
