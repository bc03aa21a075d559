// SPDX-License-Identifier: Apache-2.0
// The end of a failed BERTH_CHECK.
#include "berth/check.h"

#include <cstdio>
#include <cstdlib>

namespace berth::internal {

CheckFailure::CheckFailure(const char* file, int line, const char* condition) {
  stream_ << file << ":" << line << ": check failed: " << condition << " ";
}

CheckFailure::~CheckFailure() {
  std::fprintf(stderr, "%s\n", stream_.str().c_str());
  std::abort();
}

}  // namespace berth::internal
