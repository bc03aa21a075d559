// SPDX-License-Identifier: Apache-2.0
#include "cel/source.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cel/utf8.h"

namespace berth::cel {

void Problems::Add(size_t offset, absl::string_view message) {
  if (full()) return;
  ++count_;
  offset = std::min(offset, text_.size());
  const absl::string_view before = text_.substr(0, offset);
  const size_t line_begin =
      before.rfind('\n') == absl::string_view::npos ? 0 : before.rfind('\n') + 1;
  absl::string_view line = text_.substr(line_begin);
  line = line.substr(0, line.find('\n'));

  // cel-go common/error.go: a mark as wide as the character above it.
  std::string marks;
  size_t column = 1;
  for (size_t at = line_begin; at < offset; ++column) {
    const size_t width = DecodeRune(text_.substr(at)).width;
    marks += width > 1 ? "\uff0e" : ".";
    at += width;
  }
  const bool wide = offset < text_.size() && DecodeRune(text_.substr(offset)).width > 1;
  const auto line_number = 1 + std::count(before.begin(), before.end(), '\n');
  lines_.push_back(absl::StrCat("ERROR: <input>:", line_number, ":", column, ": ", message, "\n | ",
                                absl::StrReplaceAll(line, {{"\t", " "}}), "\n | ", marks,
                                wide ? "\uff3e" : "^"));
}

absl::Status Problems::status() const {
  if (empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(lines_, "\n"));
}

}  // namespace berth::cel
