// SPDX-License-Identifier: Apache-2.0
// `berth describe-plugin`: what does the process behind a remote plugin say of itself?
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "app/commands.h"
#include "app/terminal.h"
#include "berth/remote_plugins.h"

namespace berth {

int RunDescribePlugin(const CommandOptions& options, const Registry&) {
  const absl::StatusOr<std::string> description = DescribeRemotePlugin(
      options.plugin_address, options.plugin_ca, options.plugin_cert, options.plugin_key);
  if (!description.ok()) {
    PrintError(absl::StrCat(options.plugin_address, ": ", description.status().message()));
    return 1;
  }
  PrintOut("%s", *description);
  return 0;
}

}  // namespace berth
