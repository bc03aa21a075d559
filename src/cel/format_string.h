// SPDX-License-Identifier: Apache-2.0
// The texts that string.format takes: "%s has %.2f".
#ifndef BERTH_SRC_CEL_FORMAT_STRING_H_
#define BERTH_SRC_CEL_FORMAT_STRING_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cel/budget.h"
#include "cel/value.h"

namespace berth::cel {

// One "%.3f" of it.
struct FormatClause {
  char letter = 0;               // one of sdfebxXo
  std::optional<int> precision;  // of f and e
  size_t argument = 0;           // which one it formats, from 0
};

// Calls `text` and `clause` for the parts of `format`, in order. The first error of either ends it,
// and is returned; so is what is wrong with `format` for so many arguments. As cel-go
// ext/formatting.go.
absl::Status ReadFormat(absl::string_view format, size_t arguments,
                        const std::function<void(absl::string_view)>& text,
                        const std::function<absl::Status(const FormatClause&)>& clause);

// Whether values of a kind can be formatted with a clause; else why not. `type_name` is for that.
absl::Status CheckClause(char letter, Kind kind, absl::string_view type_name);

// `format` with `arguments` put in. Error: InvalidArgument.
absl::StatusOr<std::string> Format(absl::string_view format, const std::vector<Value>& arguments,
                                   Budget& budget);

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_FORMAT_STRING_H_
