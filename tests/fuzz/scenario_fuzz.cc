// SPDX-License-Identifier: Apache-2.0
// Scenarios: any text is read, and run for as long as a small scenario may last, without a crash.
#include <cstddef>
#include <cstdint>
#include <string>

#include "berth/builtin_plugins.h"
#include "berth/check.h"
#include "berth/testing/scenario.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const berth::Registry& registry = *new berth::Registry(*berth::BuiltinRegistry());
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const berth::testing::ScenarioResult result = berth::testing::RunScenario(
      text, "f", registry,
      {.max_objects = 20, .max_duration = absl::Minutes(10), .max_attempts = 200, .files = false});
  for (const std::string& failure : result.failures) BERTH_CHECK(!failure.empty());
  BERTH_CHECK(result.interrupted == false);
  return 0;
}
