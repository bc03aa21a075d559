// SPDX-License-Identifier: Apache-2.0
// Semantic versions, https://semver.org/spec/v2.0.0.html.
#ifndef BERTH_SRC_CEL_SEMVER_H_
#define BERTH_SRC_CEL_SEMVER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace berth::cel {

// A version. Build metadata is checked when it is read and then forgotten: it takes no part in any
// comparison.
class Semver {
 public:
  // Reads MAJOR.MINOR.PATCH[-PRERELEASE][+BUILD]. Error: InvalidArgument with the text of
  // github.com/blang/semver Parse.
  static absl::StatusOr<Semver> Parse(absl::string_view text);

  // Reads what Kubernetes makes a version of first (apiserver pkg/cel/library/semverlib.go): a "v"
  // before it and zeros before the numbers are dropped, what is missing of MINOR and PATCH is 0.
  static absl::StatusOr<Semver> ParseNormalized(absl::string_view text);

  uint64_t major() const { return major_; }
  uint64_t minor() const { return minor_; }
  uint64_t patch() const { return patch_; }

  // -1, 0 or 1 by the precedence of the specification.
  int Compare(const Semver& other) const;
  friend bool operator==(const Semver& a, const Semver& b) { return a.Compare(b) == 0; }

 private:
  struct Identifier {
    bool is_number = false;
    uint64_t number = 0;
    std::string text;
  };

  static int Compare(const Identifier& a, const Identifier& b);

  uint64_t major_ = 0, minor_ = 0, patch_ = 0;
  std::vector<Identifier> prerelease_;
};

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_SEMVER_H_
