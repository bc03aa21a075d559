// SPDX-License-Identifier: Apache-2.0
// Tokens of expressions, https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax.
#ifndef BERTH_SRC_CEL_LEXER_H_
#define BERTH_SRC_CEL_LEXER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cel/source.h"

namespace berth::cel {

struct Token {
  enum class Kind : uint8_t {
    kEnd,
    kIdentifier,
    kEscapedIdentifier,  // `a.b`
    kInt,
    kUint,
    kDouble,
    kString,
    kBytes,
    kSymbol,  // an operator, a bracket, and the words in, true, false and null
  };
  Kind kind = Kind::kEnd;
  absl::string_view text;  // as written
  size_t offset = 0;
  std::string content;  // of strings and bytes, without quotes and escapes
};

// The tokens of `text`, the last of them kEnd. What is none is added to `problems`.
std::vector<Token> Tokenize(absl::string_view text, Problems& problems);

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_LEXER_H_
