// SPDX-License-Identifier: Apache-2.0
// `berth run`: schedules the pods of a cluster.
#include <fstream>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "app/commands.h"
#include "app/input.h"
#include "app/terminal.h"
#include "process/scheduler_process.h"

namespace berth {

int RunScheduler(const CommandOptions& options, const Registry& registry) {
  std::optional<KubeSchedulerConfiguration> configuration = ReadConfiguration(options, registry);
  if (!configuration.has_value()) return 1;
  RunOptions run = options.run;
  Problems problems;
  ApplyFlags(options.configs.empty() ? ConfigurationSource::kDefaults : ConfigurationSource::kFile,
             run, *configuration, problems);
  PrintProblems(problems);
  if (!problems.ok()) return 1;
  if (!run.write_config_to.empty()) {
    for (const std::string& warning : run.warnings) PrintError(warning);
    std::ofstream file(run.write_config_to);
    file << ConfigurationToYaml(*configuration) << std::flush;
    if (!file) PrintError(absl::StrCat(run.write_config_to, ": cannot be written"));
    return file ? 0 : 1;
  }
  return RunSchedulerProcess(run, *std::move(configuration), registry);
}

}  // namespace berth
