// Scenarios: a cluster, what happens to it, and what must come of it, as YAML. docs/scenarios.md
// describes the format; tests/scenarios/ has many.
#ifndef BERTH_TESTING_SCENARIO_H_
#define BERTH_TESTING_SCENARIO_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "berth/framework/registry.h"

namespace berth::testing {

struct ScenarioResult {
  std::string name;
  // What is wrong: a scenario that cannot be read, or expectations that do not hold, each with its
  // place in the file and what was there instead.
  std::vector<std::string> failures;
  // Every step and what it changed, for a failure's reader.
  std::string timeline;

  bool ok() const { return failures.empty(); }
};

// Runs the scenario in `path` with the plugins of `registry`, on simulated time. Files that it
// names are found from its folder. Never fails otherwise.
ScenarioResult RunScenarioFile(const std::string& path, const Registry& registry);
// The same for a text; `file` is what failures call it and where relative names start.
ScenarioResult RunScenario(absl::string_view text, const std::string& file,
                           const Registry& registry);

}  // namespace berth::testing

#endif  // BERTH_TESTING_SCENARIO_H_
