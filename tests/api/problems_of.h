// SPDX-License-Identifier: Apache-2.0
// What a manifest is told, a line each.
#ifndef BERTH_TESTS_API_PROBLEMS_OF_H_
#define BERTH_TESTS_API_PROBLEMS_OF_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "berth/api/manifest.h"

namespace berth {

// As file "f".
inline std::vector<std::string> ProblemsOfManifest(absl::string_view text) {
  std::vector<std::string> lines;
  for (const Problem& problem : ParseManifest(text, "f").problems) {
    lines.push_back(problem.ToString());
  }
  return lines;
}

}  // namespace berth

#endif  // BERTH_TESTS_API_PROBLEMS_OF_H_
