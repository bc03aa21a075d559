// SPDX-License-Identifier: Apache-2.0
// The command line: any settings are parsed, or refused with a text, and completed; and no text is
// printed with a control in it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "app/command_line.h"
#include "app/completion.h"
#include "app/terminal.h"
#include "berth/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> settings = absl::StrSplit(text, '\n');

  berth::CommandOptions options;
  CLI::App app;
  berth::DescribeCommands("berth", app, options);
  const std::string completed = berth::Complete(app, settings);
  BERTH_CHECK(completed.empty() || completed.back() == '\n') << completed;
  std::reverse(settings.begin(), settings.end());
  try {
    app.parse(settings);
    berth::Contradiction(app, options);
  } catch (const CLI::ParseError& error) {
    berth::UnknownWord(app);
    BERTH_CHECK(error.what() != std::string());
  }

  const std::string line = berth::OneLine(text);
  BERTH_CHECK(std::none_of(line.begin(), line.end(), [](char c) {
    return (c >= 0 && c < 0x20) || c == 0x7F;
  })) << line;
  BERTH_CHECK(berth::OneLine(line) == line) << line;
  return 0;
}
