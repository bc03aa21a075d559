// SPDX-License-Identifier: Apache-2.0
// Output for people: colour and progress on a terminal, plain text everywhere else.
#ifndef BERTH_SRC_APP_TERMINAL_H_
#define BERTH_SRC_APP_TERMINAL_H_

#include <cstdio>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace berth {

// --- Printing ---
//
// Names come from input, and a terminal obeys what it is shown. So all output for people, and JSON,
// goes through Print(): control characters, characters that change the direction of text and bytes
// that are no UTF-8 come out as JSON would write them (\u001B). Line breaks stay, and so do the
// colours of Styled() on a terminal.

void Print(std::FILE* stream, absl::string_view text);
template <class... Args>
void PrintOut(const absl::FormatSpec<Args...>& format, const Args&... args) {
  Print(stdout, absl::StrFormat(format, args...));
}
// "PROGRAM: text" and a line break, on standard error.
void PrintError(absl::string_view text);
template <class... Args>
void PrintErrorF(const absl::FormatSpec<Args...>& format, const Args&... args) {
  PrintError(absl::StrFormat(format, args...));
}
// What PrintError() begins with from here on; before that, "berth".
void NameProgram(absl::string_view program);
// As it is: what this program itself wrote for another program.
void PrintRaw(std::FILE* stream, absl::string_view text);

// `text` as Print() shows it, line breaks escaped as well: for what stands in one line.
std::string OneLine(absl::string_view text);

enum class Style { kBold, kGood, kBad, kDim };

// OneLine() of `text`, in colour if `stream` is a terminal and NO_COLOR is not set.
std::string Styled(Style style, absl::string_view text, std::FILE* stream = stdout);

// A table with a header and columns as wide as they must be; the last one is not padded.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) { AddRow(std::move(header)); }
  // Each cell stays in its line: OneLine().
  void AddRow(std::vector<std::string> row);
  // Columns whose every cell below the header is a number are right-aligned. Ends with a newline.
  std::string ToString() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// One line on standard error that is rewritten in place; nothing if that is no terminal.
class Progress {
 public:
  Progress();
  ~Progress() { Clear(); }
  // Shows what `text` returns, at most ten times a second; it is not called for nothing.
  void Show(absl::FunctionRef<std::string()> text);
  void Clear();

 private:
  const bool enabled_;
  bool shown_ = false;
  absl::Time last_ = absl::InfinitePast();
};

// "1.23 s", "45.6 ms", "789 µs".
std::string ShortDuration(absl::Duration duration);
// "8,152".
std::string Thousands(int64_t number);

}  // namespace berth

#endif  // BERTH_SRC_APP_TERMINAL_H_
