// SPDX-License-Identifier: Apache-2.0
// A Lease as the API server sends it: any bytes are one, or refused; what is written over one says
// what it is to say, and is a Lease again.
#include <cstddef>
#include <cstdint>

#include "berth/check.h"
#include "process/lease_lock.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<berth::LeaseRecord> read = berth::ParseLease(text);
  if (!read.ok()) {
    BERTH_CHECK(!read.status().message().empty());
    return 0;
  }
  berth::LeaseRecord record;
  record.holder = "a";
  record.duration_seconds = 15;
  record.acquired = record.renewed = absl::FromUnixMicros(1'700'000'000'123'456);
  record.transitions = 3;
  const absl::StatusOr<berth::LeaseRecord> written =
      berth::ParseLease(berth::LeaseWith(text, "n", "l", record));
  BERTH_CHECK(written.ok()) << written.status();
  BERTH_CHECK(*written == record);
  return 0;
}
