// SPDX-License-Identifier: Apache-2.0
// Implementation of terminal.h.
#include "app/terminal.h"

#include <unistd.h>
#include <utf8.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

namespace berth {
namespace {

bool IsTerminal(std::FILE* stream) {
  static const bool no_color = std::getenv("NO_COLOR") != nullptr;
  return !no_color && isatty(fileno(stream)) != 0;
}

absl::string_view Escape(Style style) {
  switch (style) {
    case Style::kBold:
      return "\033[1m";
    case Style::kGood:
      return "\033[32m";
    case Style::kBad:
      return "\033[31m";
    case Style::kDim:
      return "\033[2m";
  }
  return "";
}

constexpr Style kStyles[] = {Style::kBold, Style::kGood, Style::kBad, Style::kDim};
constexpr absl::string_view kReset = "\033[0m";

// The colour at the start of `text`, as Styled() writes it; or empty.
absl::string_view LeadingColour(absl::string_view text) {
  if (absl::StartsWith(text, kReset)) return kReset;
  for (const Style style : kStyles) {
    if (absl::StartsWith(text, Escape(style))) return Escape(style);
  }
  return "";
}

// What a terminal obeys instead of showing it: controls, and what changes the direction of text.
bool IsObeyed(uint32_t character) {
  return character < 0x20 || (character >= 0x7F && character < 0xA0) ||
         (character >= 0x200E && character <= 0x200F) ||
         (character >= 0x2028 && character <= 0x202E) ||
         (character >= 0x2066 && character <= 0x2069);
}

enum class Keep : uint8_t { kNothing, kLines, kLinesAndColours };

std::string Escaped(absl::string_view text, Keep keep) {
  std::string valid;
  if (utf8::find_invalid(text.begin(), text.end()) != text.end()) {
    utf8::replace_invalid(text.begin(), text.end(), std::back_inserter(valid));
    text = valid;
  }
  std::string out;
  out.reserve(text.size());
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const char* const begin = at;
    const uint32_t character = utf8::unchecked::next(at);
    if (!IsObeyed(character) || (character == '\n' && keep != Keep::kNothing)) {
      out.append(begin, at);
      continue;
    }
    const absl::string_view colour =
        keep == Keep::kLinesAndColours
            ? LeadingColour(absl::string_view(begin, static_cast<size_t>(end - begin)))
            : absl::string_view();
    if (!colour.empty()) {
      absl::StrAppend(&out, colour);
      at = begin + colour.size();
    } else if (character == '\n') {
      absl::StrAppend(&out, "\\n");
    } else {
      absl::StrAppendFormat(&out, "\\u%04X", character);
    }
  }
  return out;
}

std::string& Program() {
  static std::string& name = *new std::string("berth");
  return name;
}

// Columns of a cell: UTF-8 continuation bytes take none.
size_t Width(absl::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

bool IsNumber(absl::string_view text) {
  return text.empty() || absl::ascii_isdigit(text[0]) ||
         (text.size() > 1 && text[0] == '-' && absl::ascii_isdigit(text[1]));
}

}  // namespace

void PrintRaw(std::FILE* stream, absl::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
}

void Print(std::FILE* stream, absl::string_view text) {
  PrintRaw(stream, Escaped(text, IsTerminal(stream) ? Keep::kLinesAndColours : Keep::kLines));
}

void PrintError(absl::string_view text) {
  Print(stderr, absl::StrCat(Program(), ": ", text, "\n"));
}

void NameProgram(absl::string_view program) { Program() = std::string(program); }

std::string OneLine(absl::string_view text) { return Escaped(text, Keep::kNothing); }

std::string Styled(Style style, absl::string_view text, std::FILE* stream) {
  if (!IsTerminal(stream)) return OneLine(text);
  return absl::StrCat(Escape(style), OneLine(text), kReset);
}

void TextTable::AddRow(std::vector<std::string> row) {
  for (std::string& cell : row) cell = OneLine(cell);
  rows_.push_back(std::move(row));
}

std::string TextTable::ToString() const {
  const size_t columns = rows_[0].size();
  std::vector<size_t> widths(columns, 0);
  std::vector<bool> right(columns, rows_.size() > 1);
  for (size_t r = 0; r < rows_.size(); ++r) {
    for (size_t c = 0; c < columns; ++c) {
      widths[c] = std::max(widths[c], Width(rows_[r][c]));
      if (r > 0 && !IsNumber(rows_[r][c])) right[c] = false;
    }
  }
  std::string text;
  for (size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (size_t c = 0; c < columns; ++c) {
      const std::string padding(widths[c] - Width(rows_[r][c]), ' ');
      const bool last = c + 1 == columns;
      if (right[c]) {
        absl::StrAppend(&line, padding, rows_[r][c]);
      } else {
        absl::StrAppend(&line, rows_[r][c], last ? "" : padding);
      }
      if (!last) absl::StrAppend(&line, "  ");
    }
    absl::StrAppend(&text, r == 0 ? Styled(Style::kBold, line) : line, "\n");
  }
  return text;
}

Progress::Progress() : enabled_(isatty(fileno(stderr)) != 0) {}

void Progress::Show(absl::FunctionRef<std::string()> text) {
  if (!enabled_) return;
  const absl::Time now = absl::Now();
  if (now - last_ < absl::Milliseconds(100)) return;
  last_ = now;
  shown_ = true;
  absl::FPrintF(stderr, "\r\033[K%s", text());
  std::fflush(stderr);
}

void Progress::Clear() {
  if (!shown_) return;
  shown_ = false;
  absl::FPrintF(stderr, "\r\033[K");
  std::fflush(stderr);
}

std::string ShortDuration(absl::Duration duration) {
  const double seconds = absl::ToDoubleSeconds(duration);
  if (seconds >= 1) return absl::StrFormat("%.2f s", seconds);
  if (seconds >= 1e-3) return absl::StrFormat("%.1f ms", seconds * 1e3);
  return absl::StrFormat("%.0f µs", seconds * 1e6);
}

std::string Thousands(int64_t number) {
  std::string digits = absl::StrCat(number);
  const int first = number < 0 ? 1 : 0;
  for (int i = static_cast<int>(digits.size()) - 3; i > first; i -= 3) digits.insert(i, ",");
  return digits;
}

}  // namespace berth
