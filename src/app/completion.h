// SPDX-License-Identifier: Apache-2.0
// Completion of the command line in a shell.
#ifndef BERTH_SRC_APP_COMPLETION_H_
#define BERTH_SRC_APP_COMPLETION_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace CLI {
class App;
}  // namespace CLI

namespace berth {

// The command that a script asks; help does not name it.
inline constexpr absl::string_view kCompleteCommand = "__complete";

// The script for `shell`: bash, zsh or fish. It knows no command or flag itself, but runs
// `program __complete WORD...` at each key.
std::string CompletionScript(absl::string_view shell, absl::string_view program);

// What the last of `words` may become, a candidate and its description a line, with a tab between;
// ":files" as the last line if it may be a file. `words` are those behind the program's name.
std::string Complete(const CLI::App& app, absl::Span<const std::string> words);

}  // namespace berth

#endif  // BERTH_SRC_APP_COMPLETION_H_
