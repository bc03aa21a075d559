// SPDX-License-Identifier: Apache-2.0
// Runs a scenario that is written for STEP with each of the plugins named: they decide the same.
//
//     rack_plugin_test SCENARIO STEP OTHER...
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_replace.h"
#include "berth/builtin_plugins.h"
#include "berth/testing/scenario.h"
#include "steps.h"

int main(int argc, char** argv) {
  const absl::StatusOr<berth::Registry> registry = berth::BuiltinRegistry(Steps());
  if (argc < 3 || !registry.ok()) return 2;
  std::stringstream scenario;
  scenario << std::ifstream(argv[1]).rdbuf();
  bool ok = true;
  for (int i = 2; i < argc; ++i) {
    const std::string text = absl::StrReplaceAll(scenario.str(), {{argv[2], argv[i]}});
    const berth::testing::ScenarioResult result =
        berth::testing::RunScenario(text, argv[1], *registry);
    for (const std::string& failure : result.failures) {
      std::printf("%s: %s\n", argv[i], failure.c_str());
    }
    ok &= result.ok() && result.figures.troubles.empty() && result.figures.unconfirmed == 0;
  }
  return ok ? 0 : 1;
}
