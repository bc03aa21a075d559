// Implementation of unique_id.h.
#include "framework/unique_id.h"

#include <atomic>

namespace berth {

uint64_t NextUniqueId() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace berth
