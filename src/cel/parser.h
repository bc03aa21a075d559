// SPDX-License-Identifier: Apache-2.0
// Reads expressions, https://github.com/google/cel-spec/blob/master/doc/langdef.md, with the syntax
// of optional values. Macros are expanded.
#ifndef BERTH_SRC_CEL_PARSER_H_
#define BERTH_SRC_CEL_PARSER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cel/expr.h"
#include "cel/source.h"

namespace berth::cel {

// Null if something was added to `problems`. Expressions may be nested 250 deep, as in cel-go.
ExprPtr Parse(absl::string_view text, Problems& problems);

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_PARSER_H_
