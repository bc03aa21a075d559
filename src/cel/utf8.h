// SPDX-License-Identifier: Apache-2.0
// Characters of UTF-8 as Go counts them: a byte that is not part of a valid character is one of its
// own, U+FFFD.
#ifndef BERTH_SRC_CEL_UTF8_H_
#define BERTH_SRC_CEL_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace berth::cel {

struct Rune {
  char32_t code = 0;
  size_t width = 0;  // bytes
};

inline constexpr char32_t kReplacementRune = 0xFFFD;

// The first character. Requires that `text` is not empty.
Rune DecodeRune(absl::string_view text);
std::vector<char32_t> DecodeRunes(absl::string_view text);
size_t CountRunes(absl::string_view text);
// What is no character (a surrogate, beyond U+10FFFF) is written as U+FFFD.
void AppendRune(char32_t code, std::string* text);
bool IsValidUtf8(absl::string_view text);

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_UTF8_H_
