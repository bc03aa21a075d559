// SPDX-License-Identifier: Apache-2.0
// The formats of names and texts that Kubernetes knows by a name of their own.
#ifndef BERTH_SRC_CEL_NAME_FORMATS_H_
#define BERTH_SRC_CEL_NAME_FORMATS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace berth::cel {

struct NameFormat {
  absl::string_view name;
  // What is wrong with a text; empty if nothing is.
  std::vector<std::string> (*validate)(absl::string_view text);
  uint64_t regex_size;  // what validating costs depends on it
};

// apiserver pkg/cel/library/format.go ConstantFormats
absl::Span<const NameFormat> NameFormats();

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_NAME_FORMATS_H_
