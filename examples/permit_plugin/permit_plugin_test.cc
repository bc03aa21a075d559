// SPDX-License-Identifier: Apache-2.0
// Runs the scenario it is given with Buddies among the plugins.
#include <cstdio>

#include "berth/builtin_plugins.h"
#include "berth/testing/scenario.h"
#include "buddies.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const absl::StatusOr<berth::Registry> registry =
      berth::BuiltinRegistry({berth::WithPlugin("Buddies", &Buddies::Create)});
  if (!registry.ok()) return 1;
  const berth::testing::ScenarioResult result = berth::testing::RunScenarioFile(argv[1], *registry);
  for (const std::string& failure : result.failures) std::printf("%s\n", failure.c_str());
  return result.ok() ? 0 : 1;
}
