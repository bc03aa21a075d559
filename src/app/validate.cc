// SPDX-License-Identifier: Apache-2.0
// `berth validate`: is this configuration good, do the quotas of a cluster agree, and do its
// selectors of devices compile?
#include <optional>

#include "absl/strings/str_format.h"
#include "api/input_file.h"
#include "app/commands.h"
#include "app/input.h"
#include "app/terminal.h"

namespace berth {

int RunValidate(const CommandOptions& options, const Registry& registry) {
  bool valid = true;
  for (const std::string& path : options.configs) {
    const std::optional<KubeSchedulerConfiguration> configuration =
        ReadConfiguration(path, options, registry);
    // The second: files that extenders name.
    if (!configuration.has_value() || !MakeExtenders(*configuration).has_value()) {
      valid = false;
      continue;
    }
    PrintOut("%s: %s, %d profile%s:", OneLine(InputName(path)), Styled(Style::kGood, "valid"),
             configuration->profiles.size(), configuration->profiles.size() == 1 ? "" : "s");
    for (const Profile& profile : configuration->profiles) {
      PrintOut(" %s", OneLine(profile.scheduler_name));
    }
    PrintOut("\n");
  }
  if (!options.clusters.empty()) {
    const std::optional<Manifests> manifests = ReadCluster(options.clusters);
    if (!manifests.has_value()) return 1;
    const Problems problems = CheckObjects(*manifests);
    PrintProblems(problems);
    valid &= problems.ok();
  }
  return valid ? 0 : 1;
}

}  // namespace berth
