// SPDX-License-Identifier: Apache-2.0
// Numbers that distinguish objects even if one takes the address of another.
#ifndef BERTH_SRC_TABLE_UNIQUE_ID_H_
#define BERTH_SRC_TABLE_UNIQUE_ID_H_

#include <cstdint>

namespace berth {

// Never the same one twice in a process, and never 0. Any thread.
uint64_t NextUniqueId();

}  // namespace berth

#endif  // BERTH_SRC_TABLE_UNIQUE_ID_H_
