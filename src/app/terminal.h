// Output for people: colour and progress on a terminal, plain text everywhere else.
#ifndef BERTH_SRC_APP_TERMINAL_H_
#define BERTH_SRC_APP_TERMINAL_H_

#include <cstdio>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace berth {

enum class Style { kBold, kGood, kBad, kDim };

// `text` in colour if `stream` is a terminal and NO_COLOR is not set.
std::string Styled(Style style, absl::string_view text, std::FILE* stream = stdout);

// A table with a header and columns as wide as they must be; the last one is not padded.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) { AddRow(std::move(header)); }
  void AddRow(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
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
