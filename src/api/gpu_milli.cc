// SPDX-License-Identifier: Apache-2.0
// Implementation of gpu_milli.h.
#include "berth/api/gpu_milli.h"

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "api/field_error.h"

namespace berth {

absl::StatusOr<int64_t> ParseGpuMilli(absl::string_view text) {
  int64_t milli = 0;
  if (absl::SimpleAtoi(text, &milli) && milli >= 0) return milli;
  return absl::InvalidArgumentError(absl::StrCat(
      Quoted(text), " is no whole number of thousandths of a GPU; for half of one write \"500\""));
}

}  // namespace berth
