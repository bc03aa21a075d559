// SPDX-License-Identifier: Apache-2.0
// Regular expressions as Go's package regexp has them, which RE2 has too.
#ifndef BERTH_SRC_CEL_REGEX_H_
#define BERTH_SRC_CEL_REGEX_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace berth::cel {

// A compiled regular expression. Immutable; any thread may use it.
class Regex {
 public:
  // Error: InvalidArgument.
  static absl::StatusOr<Regex> Compile(absl::string_view pattern);

  bool Matches(absl::string_view text) const;
  // The first match, or "".
  std::string Find(absl::string_view text) const;
  // Matches that do not overlap, at most `most` of them; all if it is negative.
  std::vector<std::string> FindAll(absl::string_view text, int64_t most) const;

 private:
  struct Rep;
  explicit Regex(std::shared_ptr<const Rep> rep) : rep_(std::move(rep)) {}
  std::shared_ptr<const Rep> rep_;
};

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_REGEX_H_
