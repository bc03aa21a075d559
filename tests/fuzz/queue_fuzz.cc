// SPDX-License-Identifier: Apache-2.0
// The scheduling queue under operations that the input chooses.
#include <cstddef>
#include <cstdint>

#include "tests/queue/queue_machine.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 2000) return 0;  // longer sequences find nothing more, only later
  size_t at = 0;
  berth::testing::QueueMachine machine([&](uint32_t bound) -> uint32_t {
    if (at >= size) return 0;
    uint32_t number = data[at++];
    if (bound > 256 && at < size) number = number << 8 | data[at++];
    return number % bound;
  });
  while (at < size) {
    const absl::Status status = machine.Step();
    BERTH_CHECK(status.ok()) << status;
  }
  const absl::Status status = machine.Drain();
  BERTH_CHECK(status.ok()) << status;
  return 0;
}
