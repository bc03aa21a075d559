// SPDX-License-Identifier: Apache-2.0
#include "cel/lexer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cel/utf8.h"

namespace berth::cel {
namespace {

bool IsWordStart(char c) { return absl::ascii_isalpha(c) || c == '_'; }
bool IsWord(char c) { return absl::ascii_isalnum(c) || c == '_'; }

// What `text`, which begins behind a backslash, stands for; `width` gets how much of it is the
// escape. In bytes \x and octal escapes are bytes, in strings characters.
std::optional<std::string> Unescape(absl::string_view text, bool is_bytes, size_t* width) {
  if (text.empty()) return std::nullopt;
  static constexpr absl::string_view kLetters = "abfnrtv\\?\"'`";
  static constexpr absl::string_view kMeanings = "\a\b\f\n\r\t\v\\?\"'`";
  if (const size_t letter = kLetters.find(text[0]); letter != absl::string_view::npos) {
    *width = 1;
    return std::string(1, kMeanings[letter]);
  }
  size_t digits, skip = 1;
  uint32_t base = 16;
  switch (text[0]) {
    case 'x':
    case 'X':
      digits = 2;
      break;
    case 'u':
      digits = 4;
      break;
    case 'U':
      digits = 8;
      break;
    default:
      if (text[0] < '0' || text[0] > '3') return std::nullopt;
      digits = 3, skip = 0, base = 8;
  }
  if (is_bytes && digits > 3) return std::nullopt;
  if (text.size() < skip + digits) return std::nullopt;
  uint64_t code = 0;
  for (const char c : text.substr(skip, digits)) {
    if (base == 8 ? c < '0' || c > '7' : !absl::ascii_isxdigit(c)) return std::nullopt;
    code = code * base + (absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10);
  }
  *width = skip + digits;
  if (is_bytes) return std::string(1, static_cast<char>(code));
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return std::nullopt;
  std::string result;
  AppendRune(static_cast<char32_t>(code), &result);
  return result;
}

class Lexer {
 public:
  Lexer(absl::string_view text, Problems& problems) : text_(text), problems_(problems) {}

  std::vector<Token> Run() {
    while (SkipBlanks(), at_ < text_.size() && !problems_.full()) {
      if (!Next()) Complain();
    }
    Emit(Token::Kind::kEnd, 0);
    return std::move(tokens_);
  }

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void Emit(Token::Kind kind, size_t width) {
    tokens_.push_back({kind, text_.substr(at_, width), at_, ""});
    at_ += width;
  }

  void SkipBlanks() {
    while (at_ < text_.size()) {
      if (absl::string_view("\t \r\n\f").find(text_[at_]) != absl::string_view::npos) {
        ++at_;
      } else if (absl::StartsWith(text_.substr(at_), "//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        return;
      }
    }
  }

  // No token begins here. As the lexer of cel-go, tells how far it had read and goes on behind
  // that.
  void Complain() {
    const bool begins_operator = Peek() == '=' || Peek() == '&' || Peek() == '|';
    size_t width = DecodeRune(text_.substr(at_)).width;
    if (begins_operator && at_ + width < text_.size()) {
      width += DecodeRune(text_.substr(at_ + width)).width;
    }
    problems_.Add(at_, absl::StrCat("Syntax error: token recognition error at: '",
                                    text_.substr(at_, width), "'"));
    at_ += width;
  }

  bool Next() {
    const char c = Peek();
    if (absl::ascii_isdigit(c) || (c == '.' && absl::ascii_isdigit(Peek(1)))) return Number();
    if (c == '"' || c == '\'') return String(0);
    if (IsWordStart(c)) return StringPrefix() || Word();
    if (c == '`') return EscapedIdentifier();
    return Symbol();
  }

  bool Number() {
    size_t width = 0;
    const auto digits = [&](auto is_digit) {
      const size_t begin = width;
      while (is_digit(Peek(width))) ++width;
      return width > begin;
    };
    const auto is_digit = [](char c) { return absl::ascii_isdigit(c); };
    if (Peek() == '0' && Peek(1) == 'x' && absl::ascii_isxdigit(Peek(2))) {
      width = 2;
      digits([](char c) { return absl::ascii_isxdigit(c); });
      return Integer(width);
    }
    digits(is_digit);
    bool is_double = false;
    if (Peek(width) == '.' && absl::ascii_isdigit(Peek(width + 1))) {
      ++width;
      is_double = digits(is_digit);
    }
    if (Peek(width) == 'e' || Peek(width) == 'E') {
      const size_t sign = Peek(width + 1) == '+' || Peek(width + 1) == '-' ? 1 : 0;
      if (absl::ascii_isdigit(Peek(width + 1 + sign))) {
        width += 1 + sign;
        is_double = digits(is_digit);
      }
    }
    if (!is_double) return Integer(width);
    Emit(Token::Kind::kDouble, width);
    return true;
  }

  bool Integer(size_t width) {
    const bool is_uint = Peek(width) == 'u' || Peek(width) == 'U';
    Emit(is_uint ? Token::Kind::kUint : Token::Kind::kInt, width + (is_uint ? 1 : 0));
    return true;
  }

  // The letters before the quotes of raw strings and bytes.
  bool StringPrefix() {
    const auto is = [this](size_t i, char c) { return absl::ascii_tolower(Peek(i)) == c; };
    size_t width = 0;
    if (is(width, 'b')) ++width;
    if (is(width, 'r')) ++width;
    if (width == 0 || (Peek(width) != '"' && Peek(width) != '\'')) return false;
    return String(width);
  }

  bool String(size_t prefix) {
    const bool is_bytes = prefix > 0 && absl::ascii_tolower(Peek()) == 'b';
    const bool is_raw = prefix > 0 && absl::ascii_tolower(Peek(prefix - 1)) == 'r';
    const char quote = Peek(prefix);
    const bool is_long = Peek(prefix + 1) == quote && Peek(prefix + 2) == quote;
    const std::string end(is_long ? 3 : 1, quote);

    std::string content;
    size_t at = at_ + prefix + end.size();
    while (!absl::StartsWith(text_.substr(at), end)) {
      if (at >= text_.size()) return false;
      const char c = text_[at];
      if (!is_long && (c == '\n' || c == '\r')) return false;
      if (c == '\\' && !is_raw) {
        size_t width = 0;
        const auto meaning = Unescape(text_.substr(at + 1), is_bytes, &width);
        if (!meaning) return false;
        content += *meaning;
        at += 1 + width;
      } else if (c == '\r') {  // new lines in long strings are \n
        content.push_back('\n');
        at += absl::StartsWith(text_.substr(at), "\r\n") ? 2 : 1;
      } else {
        content.push_back(c);
        ++at;
      }
    }
    Emit(is_bytes ? Token::Kind::kBytes : Token::Kind::kString, at + end.size() - at_);
    tokens_.back().content = std::move(content);
    return true;
  }

  bool Word() {
    size_t width = 1;
    while (IsWord(Peek(width))) ++width;
    const absl::string_view word = text_.substr(at_, width);
    const bool is_symbol = word == "in" || word == "true" || word == "false" || word == "null";
    Emit(is_symbol ? Token::Kind::kSymbol : Token::Kind::kIdentifier, width);
    return true;
  }

  bool EscapedIdentifier() {
    size_t width = 1;
    while (IsWord(Peek(width)) || (Peek(width) != '\0' && absl::StrContains(".-/ ", Peek(width)))) {
      ++width;
    }
    if (width == 1 || Peek(width) != '`') return false;
    Emit(Token::Kind::kEscapedIdentifier, width + 1);
    return true;
  }

  bool Symbol() {
    for (const absl::string_view symbol :
         {"==", "!=", "<=", ">=", "&&", "||", "<", ">", "[", "]", "{", "}",
          "(",  ")",  ".",  ",",  "-",  "!",  "?", ":", "+", "*", "/", "%"}) {
      if (absl::StartsWith(text_.substr(at_), symbol)) {
        Emit(Token::Kind::kSymbol, symbol.size());
        return true;
      }
    }
    return false;
  }

  absl::string_view text_;
  Problems& problems_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> Tokenize(absl::string_view text, Problems& problems) {
  return Lexer(text, problems).Run();
}

}  // namespace berth::cel
