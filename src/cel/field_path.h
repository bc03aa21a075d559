// SPDX-License-Identifier: Apache-2.0
// Where in a device a part of an expression is, and how large that can be, for cost_estimate.h.
#ifndef BERTH_SRC_CEL_FIELD_PATH_H_
#define BERTH_SRC_CEL_FIELD_PATH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace berth::cel {

// A variable, and fields, "@items", "@keys" or "@values". As a slice of Go: paths that begin alike
// may share what comes after it, and the last one that is made counts for all. cel-go v0.26 has
// that fault, which an API server's answer depends on.
class FieldPath {
 public:
  FieldPath() = default;
  explicit FieldPath(absl::string_view variable) { *this = Plus(variable); }

  FieldPath Plus(absl::string_view step) const;
  // How long, or how many, by dynamic-resource-allocation v0.35 cel/compile.go. Absent if the API
  // does not say.
  std::optional<uint64_t> MostElements() const { return MostElementsOf(""); }
  // The same, one step further.
  std::optional<uint64_t> MostElementsOf(absl::string_view step) const;

 private:
  std::shared_ptr<std::vector<std::string>> steps_;  // of the size that Go would make it
  size_t size_ = 0;
};

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_FIELD_PATH_H_
