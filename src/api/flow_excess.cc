// SPDX-License-Identifier: Apache-2.0
// A scan of a YAML text for its flow collections: as much of the grammar as tells where one begins.
#include "api/flow_excess.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/document_builder.h"

namespace berth {
namespace {

class FlowScanner {
 public:
  explicit FlowScanner(absl::string_view text) : text_(text) {}

  std::optional<FlowExcess> Run() {
    if (absl::StartsWith(text_, "---")) pos_ = 3;  // a value may follow
    while (pos_ < text_.size() && !excess_.has_value()) depth_ > 0 ? InFlow() : InBlock();
    return excess_;
  }

 private:
  // --- Outside of flow collections ---

  void InBlock() {
    const char c = text_[pos_];
    if (c == '\n') {
      ++pos_;
      line_begin_ = pos_;
      value_may_begin_ = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++pos_;
    } else if (IsComment()) {
      SkipLine();
    } else if (!value_may_begin_) {
      value_may_begin_ = c == ':' && SpaceFollows();  // the key's
      ++pos_;
    } else if ((c == '-' || c == '?' || c == ':') && SpaceFollows()) {
      if (c != ':') Indent();
      ++pos_;
    } else if (c == '[' || c == '{') {
      depth_ = 1;
      values_ = 0;
      ++pos_;
    } else if (c == '&' || c == '!' || c == '*') {  // an anchor or a tag: the value comes yet
      while (pos_ < text_.size() && !absl::ascii_isspace(text_[pos_])) ++pos_;
    } else if ((c == '|' || c == '>') && SkipBlockScalar()) {
      value_may_begin_ = true;
    } else {
      if (AtKey()) Indent();
      value_may_begin_ = false;
      c == '"' || c == '\'' ? SkipQuoted(c) : void(++pos_);
    }
  }

  // Whether a token here is the first of its line, or behind dashes only.
  bool AtKey() const {
    return text_.substr(line_begin_, pos_ - line_begin_).find_first_not_of(" -?") ==
           absl::string_view::npos;
  }
  // What belongs to what begins here stands further right.
  void Indent() { indent_ = static_cast<int64_t>(pos_ - line_begin_); }

  // The text behind `|` or `>`: all lines that are indented as the first one is. False if this is
  // no header of a block scalar.
  bool SkipBlockScalar() {
    size_t end = pos_ + 1;
    while (end < text_.size() &&
           (absl::ascii_isdigit(text_[end]) || text_[end] == '-' || text_[end] == '+')) {
      ++end;
    }
    while (end < text_.size() && (text_[end] == ' ' || text_[end] == '\t' || text_[end] == '\r')) {
      ++end;
    }
    if (end < text_.size() && text_[end] != '\n' && text_[end] != '#') return false;
    pos_ = end;
    SkipLine();
    int64_t content = -1;
    while (pos_ < text_.size()) {  // at the line break before a line
      size_t begin = pos_ + 1;
      while (begin < text_.size() && text_[begin] == ' ') ++begin;
      const auto column = static_cast<int64_t>(begin - pos_ - 1);
      const bool blank = begin >= text_.size() || text_[begin] == '\n' || text_[begin] == '\r';
      if (!blank && content < 0 && column > indent_) content = column;
      if (!blank && (content < 0 || column < content)) return true;
      pos_ = begin;
      SkipLine();
    }
    return true;
  }

  // --- In flow collections, where brackets outside of quotes are never text ---

  void InFlow() {
    const char c = text_[pos_];
    if (c == '"' || c == '\'') {
      value_may_begin_ ? SkipQuoted(c) : void(++pos_);
      value_may_begin_ = false;
      return;
    }
    if (IsComment()) return SkipLine();
    if (c == '[' || c == '{') {
      if (++depth_ > kMaxDepth)
        return Report(absl::StrCat("nested more than ", kMaxDepth, " deep"));
    }
    if (c == ']' || c == '}') --depth_;
    if ((c == '[' || c == '{' || c == ',') && ++values_ > kMaxFlowValues) {
      return Report(absl::StrCat("a list or map in brackets with more than ", kMaxFlowValues,
                                 " values; write it as JSON, or without brackets"));
    }
    if (!absl::ascii_isspace(c)) {
      value_may_begin_ = c == '[' || c == '{' || c == ',' || c == ':' || c == '?';
    }
    if (c == '\n') line_begin_ = pos_ + 1;
    ++pos_;
  }

  // --- Both ---

  bool SpaceFollows() const {
    return pos_ + 1 >= text_.size() || absl::ascii_isspace(text_[pos_ + 1]);
  }
  bool IsComment() const {
    return text_[pos_] == '#' && (pos_ == 0 || absl::ascii_isspace(text_[pos_ - 1]));
  }
  // To the line break, or the end.
  void SkipLine() { pos_ = std::min(text_.find('\n', pos_), text_.size()); }

  void SkipQuoted(char quote) {
    for (++pos_; pos_ < text_.size(); ++pos_) {
      if (text_[pos_] == '\\' && quote == '"') {
        ++pos_;
      } else if (text_[pos_] == quote) {
        if (quote == '"' || pos_ + 1 >= text_.size() || text_[pos_ + 1] != quote) break;
        ++pos_;
      }
    }
    pos_ = std::min(pos_ + 1, text_.size());
  }

  void Report(std::string message) { excess_ = {pos_, std::move(message)}; }

  const absl::string_view text_;
  size_t pos_ = 0;
  size_t line_begin_ = 0;
  int64_t indent_ = -1;  // of what the next value belongs to
  bool value_may_begin_ = true;
  int depth_ = 0;       // of flow collections
  int64_t values_ = 0;  // in the outermost one
  std::optional<FlowExcess> excess_;
};

}  // namespace

std::optional<FlowExcess> FindFlowExcess(absl::string_view text) { return FlowScanner(text).Run(); }

}  // namespace berth
