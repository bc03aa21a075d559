// `berth validate`: is this configuration good?
#include <optional>

#include "absl/strings/str_format.h"
#include "app/commands.h"
#include "app/input.h"
#include "app/terminal.h"

namespace berth {

int RunValidate(const CommandOptions& options, const Registry& registry) {
  const std::optional<KubeSchedulerConfiguration> configuration =
      ReadConfiguration(options.config, registry);
  if (!configuration.has_value()) return 1;
  absl::PrintF("%s: %s, %d profile%s:", options.config, Styled(Style::kGood, "valid"),
               configuration->profiles.size(), configuration->profiles.size() == 1 ? "" : "s");
  for (const Profile& profile : configuration->profiles) {
    absl::PrintF(" %s", profile.scheduler_name);
  }
  absl::PrintF("\n");
  return 0;
}

}  // namespace berth
