// SPDX-License-Identifier: Apache-2.0
// Implementation of unique_id.h.
#include "table/unique_id.h"

#include <atomic>

namespace berth {

uint64_t NextUniqueId() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace berth
