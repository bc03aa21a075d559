// SPDX-License-Identifier: Apache-2.0
#include "cel/regex.h"

#include <re2/re2.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cel/utf8.h"

namespace berth::cel {
namespace {

RE2::Options Quietly() {
  RE2::Options options;
  options.set_log_errors(false);
  return options;
}

re2::StringPiece Piece(absl::string_view text) { return {text.data(), text.size()}; }

}  // namespace

struct Regex::Rep {
  explicit Rep(absl::string_view pattern) : re2(Piece(pattern), Quietly()) {}
  RE2 re2;
};

absl::StatusOr<Regex> Regex::Compile(absl::string_view pattern) {
  auto rep = std::make_shared<const Rep>(pattern);
  if (!rep->re2.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("error parsing regexp: ", rep->re2.error()));
  }
  return Regex(std::move(rep));
}

bool Regex::Matches(absl::string_view text) const {
  return rep_->re2.Match(Piece(text), 0, text.size(), RE2::UNANCHORED, nullptr, 0);
}

std::string Regex::Find(absl::string_view text) const {
  re2::StringPiece match;
  if (!rep_->re2.Match(Piece(text), 0, text.size(), RE2::UNANCHORED, &match, 1)) return "";
  return std::string(match.data(), match.size());
}

// Go regexp allMatches: an empty match right behind another one does not count.
std::vector<std::string> Regex::FindAll(absl::string_view text, int64_t most) const {
  std::vector<std::string> matches;
  size_t at = 0, previous_end = absl::string_view::npos;
  while (at <= text.size() && (most < 0 || static_cast<int64_t>(matches.size()) < most)) {
    re2::StringPiece match;
    if (!rep_->re2.Match(Piece(text), at, text.size(), RE2::UNANCHORED, &match, 1)) break;
    const size_t begin = static_cast<size_t>(match.data() - text.data());
    const size_t end = begin + match.size();
    if (!match.empty() || begin != previous_end) matches.emplace_back(match.data(), match.size());
    previous_end = end;
    at = end;
    if (match.empty()) at += end < text.size() ? DecodeRune(text.substr(end)).width : 1;
  }
  return matches;
}

}  // namespace berth::cel
