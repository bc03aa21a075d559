// SPDX-License-Identifier: Apache-2.0
// Scenarios: a cluster, what happens to it, and what must come of it, as YAML. docs/scenarios.md
// describes the format; tests/scenarios/ has many.
#ifndef BERTH_TESTING_SCENARIO_H_
#define BERTH_TESTING_SCENARIO_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/framework/registry.h"
#include "berth/scheduler.h"

namespace berth::testing {

// One line of a run's timeline.
struct ScenarioEvent {
  absl::Duration time;  // since the start
  std::string object;   // "default/p" for a pod, "Node n0"
  std::string what;     // "tried after NodeAdd, placed on n0"
};

struct ScenarioFigures {
  int64_t pods = 0;   // that there are in the end; finished ones do not count in bound and pending
  int64_t bound = 0;  // with a node
  int64_t pending = 0;  // without one
  int64_t attempts = 0;
  int64_t evictions = 0;
  absl::Duration simulated;  // how long the scenario lasted for those in it
  // What went wrong with plugins, all schedulers of the scenario taken together.
  std::vector<PluginTrouble> troubles;
  int64_t unconfirmed = 0;
  std::map<std::string, int64_t> plugin_counters;
};

struct ScenarioResult {
  std::string name;
  std::string file;
  // What is wrong: a scenario that cannot be read, or expectations that do not hold, each with its
  // place in the file and what was there instead.
  std::vector<std::string> failures;
  // What is probably a mistake in its manifests and configuration, with its place.
  std::vector<std::string> warnings;
  // Everything that happened, for a failure's reader; as text, a line each.
  std::string timeline;
  std::vector<ScenarioEvent> events;
  ScenarioFigures figures;
  bool interrupted = false;  // ended before its last step

  bool ok() const { return failures.empty() && !interrupted; }
};

struct ScenarioOptions {
  // What a scenario may ask for at most; more is a failure.
  int64_t max_objects = 100000;                     // created, all in all
  absl::Duration max_duration = absl::Hours(8760);  // that passes in it
  int64_t max_attempts = 10'000'000;
  bool files = true;  // whether it may name files
  // Asked now and then: ends the run when it returns true.
  std::function<bool()> interrupted;
};

// Runs the scenario in `path` with the plugins of `registry`, on simulated time. Files that it
// names are found from its folder. Never fails otherwise.
ScenarioResult RunScenarioFile(const std::string& path, const Registry& registry,
                               const ScenarioOptions& options = {});
// Runs a text; `file` is what failures call it and where relative names start.
ScenarioResult RunScenario(absl::string_view text, const std::string& file,
                           const Registry& registry, const ScenarioOptions& options = {});

}  // namespace berth::testing

#endif  // BERTH_TESTING_SCENARIO_H_
