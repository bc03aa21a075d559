// SPDX-License-Identifier: Apache-2.0
// Any text as a configuration: never a crash, and what has no problems reads back the same after it
// was written out in full.
#include <cstddef>
#include <cstdint>
#include <string>

#include "berth/builtin_plugins.h"
#include "berth/check.h"
#include "berth/configuration.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const berth::Registry& registry = *new berth::Registry(berth::BuiltinRegistry().value());
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const berth::LoadedConfiguration loaded = berth::ParseConfiguration(text, "fuzz", registry);
  BERTH_CHECK(!loaded.configuration.profiles.empty());
  for (const berth::Problem& problem : loaded.problems) BERTH_CHECK(!problem.message.empty());
  if (!loaded.problems.ok()) return 0;

  const std::string yaml = berth::ConfigurationToYaml(loaded.configuration);
  const berth::LoadedConfiguration again = berth::ParseConfiguration(yaml, "again", registry);
  BERTH_CHECK(again.problems.ok()) << again.problems.ToString() << yaml;
  BERTH_CHECK(berth::ConfigurationToYaml(again.configuration) == yaml) << yaml;
  return 0;
}
