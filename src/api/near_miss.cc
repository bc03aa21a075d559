// SPDX-License-Identifier: Apache-2.0
// Edit distance over a short list of known words.
#include "api/near_miss.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace berth {
namespace {

// Longer words are not typing errors of anything, and the distance is quadratic.
constexpr size_t kLongestWord = 64;

// The number of insertions, deletions, replacements and swaps of neighbours, each letter swapped
// at most once.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> before_previous, previous(b.size() + 1), current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      current[j] = std::min(
          {previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before_previous[j - 2] + 1);
      }
    }
    before_previous = previous;
    std::swap(previous, current);
  }
  return previous[b.size()];
}

// The author may have stopped in the middle of a long name.
const std::string* TheOneThatBeginsWith(absl::string_view lower,
                                        absl::Span<const std::string> known) {
  constexpr size_t kShortestBeginning = 4;
  if (lower.size() < kShortestBeginning) return nullptr;
  const std::string* found = nullptr;
  for (const std::string& candidate : known) {
    if (!absl::StartsWithIgnoreCase(candidate, lower)) continue;
    if (found != nullptr) return nullptr;
    found = &candidate;
  }
  return found;
}

}  // namespace

std::string DidYouMean(absl::string_view word, absl::Span<const std::string> known) {
  if (word.empty() || word.size() > kLongestWord) return "";
  const std::string lower = absl::AsciiStrToLower(word);
  const std::string* nearest = nullptr;
  size_t nearest_distance = 0;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongestWord) continue;
    const size_t distance = EditDistance(lower, absl::AsciiStrToLower(candidate));
    const size_t allowed = std::min(word.size(), candidate.size()) / 3;
    if (distance > allowed) continue;
    if (nearest == nullptr || distance < nearest_distance) {
      nearest = &candidate;
      nearest_distance = distance;
    }
  }
  if (nearest == nullptr) nearest = TheOneThatBeginsWith(lower, known);
  if (nearest == nullptr) return "";
  return absl::StrCat("; did you mean \"", *nearest, "\"?");
}

}  // namespace berth
