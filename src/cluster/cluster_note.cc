// SPDX-License-Identifier: Apache-2.0
// What an event says.
#include <string>

#include "absl/strings/str_cat.h"
#include "berth/cluster.h"

namespace berth {

std::string RecordedEvent::note() const {
  if (assigned_to.empty()) return text;
  return absl::StrCat("Successfully assigned ", pod->key(), " to ", assigned_to.view());
}

}  // namespace berth
