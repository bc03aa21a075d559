// SPDX-License-Identifier: Apache-2.0
// `berth import`: other schedulers' quotas as Berth's.
#include "import/import.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "absl/strings/str_format.h"
#include "api/input_file.h"
#include "app/commands.h"
#include "app/input.h"
#include "app/terminal.h"

namespace berth {

int RunImport(const CommandOptions& options, const Registry&) {
  std::vector<ImportInput> inputs;
  Problems problems;
  for (const std::string& path : options.imports) {
    absl::StatusOr<std::string> text = ReadInputFile(path);
    if (text.ok()) {
      inputs.push_back({InputName(path), *std::move(text)});
    } else {
      problems.AddError({Symbol::Intern(InputName(path))}, "",
                        std::string(text.status().message()));
    }
  }
  ImportResult result = ImportQuotas(inputs);
  problems.Append(std::move(result.problems));
  PrintProblems(problems);
  if (!problems.ok()) return 1;
  if (options.output_file.empty() || options.output_file == "-") {
    PrintRaw(stdout, result.yaml);
  } else {
    errno = 0;
    std::ofstream file(options.output_file);
    file << result.yaml;
    file.close();
    if (!file) {
      PrintErrorF("%s: cannot be written: %s", OneLine(options.output_file), std::strerror(errno));
      return 1;
    }
  }
  PrintErrorF("%d quota%s; %d comment%s what differs", result.quotas, result.quotas == 1 ? "" : "s",
              result.comments, result.comments == 1 ? " says" : "s say");
  return 0;
}

}  // namespace berth
