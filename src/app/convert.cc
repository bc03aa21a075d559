// SPDX-License-Identifier: Apache-2.0
// `berth convert`: a configuration of an older Kubernetes as the v1 file that it means.
#include "absl/strings/str_cat.h"
#include "api/input_file.h"
#include "app/commands.h"
#include "app/input.h"
#include "app/terminal.h"
#include "config/legacy_configuration.h"

namespace berth {

int RunConvert(const CommandOptions& options, const Registry& registry) {
  const std::string& path = options.configs.front();
  const auto read = options.read_configs.find(path);
  const absl::StatusOr<std::string> text =
      read == options.read_configs.end() ? ReadInputFile(path) : read->second;
  if (!text.ok()) {
    PrintError(absl::StrCat(InputName(path), ": cannot be read: ", text.status().message()));
    return 1;
  }
  const ConvertedConfiguration converted = ConvertConfiguration(*text, InputName(path));
  PrintProblems(converted.problems);
  if (!converted.problems.ok()) return 1;
  PrintRaw(stdout, converted.yaml);
  if (converted.comments > 0) {
    PrintError(absl::StrCat(converted.comments, " comment", converted.comments == 1 ? "" : "s",
                            " in it: what has no equal, or is not quite the same"));
  }
  // What was wrong with the old file is wrong with the new one.
  const LoadedConfiguration loaded =
      ParseConfiguration(converted.yaml, "the converted configuration", registry);
  PrintProblems(loaded.problems);
  return loaded.problems.ok() ? 0 : 1;
}

}  // namespace berth
