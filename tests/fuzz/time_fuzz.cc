// SPDX-License-Identifier: Apache-2.0
// Times and durations: whatever is read is printed in a form that reads back as the same.
#include <cstddef>
#include <cstdint>
#include <string>

#include "berth/api/time.h"
#include "berth/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  if (const absl::StatusOr<absl::Time> time = berth::ParseTime(text); time.ok()) {
    const std::string printed = berth::MicroTimeToString(*time);
    const absl::StatusOr<absl::Time> again = berth::ParseTime(printed);
    BERTH_CHECK(again.ok()) << printed;
    BERTH_CHECK(*again <= *time && *time - *again < absl::Microseconds(1)) << printed;
    BERTH_CHECK(berth::ParseTime(berth::TimeToString(*time)).ok());
  }
  if (const absl::StatusOr<absl::Duration> duration = berth::ParseDuration(text); duration.ok()) {
    const std::string printed = berth::DurationToString(*duration);
    const absl::StatusOr<absl::Duration> again = berth::ParseDuration(printed);
    BERTH_CHECK(again.ok() && *again == *duration) << text << " -> " << printed;
  }
  return 0;
}
