// SPDX-License-Identifier: Apache-2.0
// Implementation of cycle_state.h.
#include "berth/framework/cycle_state.h"

#include "absl/strings/str_cat.h"

namespace berth {

absl::Status CycleState::Missing(const char* key) {
  return absl::NotFoundError(
      absl::StrCat("nothing is stored under the state key \"", key,
                   "\": is the extension point that writes it (PreFilter, PreScore) enabled too?"));
}

}  // namespace berth
