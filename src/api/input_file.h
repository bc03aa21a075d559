// SPDX-License-Identifier: Apache-2.0
// Reading input whole, whatever stands behind its name.
#ifndef BERTH_SRC_API_INPUT_FILE_H_
#define BERTH_SRC_API_INPUT_FILE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/problem.h"

namespace berth {

// No input is larger: a cluster of that size is given as a folder of files.
inline constexpr size_t kMaxInputBytes = size_t{2} << 30;

// The text of a file, pipe or device; "-" is standard input. Ends early, within the next 64 KiB,
// at a NUL, which no text has and every parser here reports: so that a device ends, too. An error
// says what is wrong without naming the path: "is a folder", "No such file or directory".
absl::StatusOr<std::string> ReadInputFile(const std::string& path);

// What problems call an input: the path, or "<stdin>".
std::string InputName(const std::string& path);

// The files below `folder` that end with one of `extensions` (".yaml"), in the order of their
// paths. Links to folders are not followed. What cannot be listed is an error; what is there under
// such a name and is no file, a pipe for example, is left out with a warning.
std::vector<std::string> FindInputFiles(const std::string& folder,
                                        absl::Span<const absl::string_view> extensions,
                                        Problems& problems);

}  // namespace berth

#endif  // BERTH_SRC_API_INPUT_FILE_H_
