// SPDX-License-Identifier: Apache-2.0
// Text in quotes.
#ifndef BERTH_SRC_CEL_QUOTING_H_
#define BERTH_SRC_CEL_QUOTING_H_

#include <string>

#include "absl/strings/string_view.h"

namespace berth::cel {

// As Go's %q, as far as the text is printable: quotes, backslashes and control characters are
// escaped.
std::string Quote(absl::string_view text);

// As strings.quote: what has a letter of its own is escaped (\n), other control characters stay.
std::string QuoteForExpression(absl::string_view text);

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_QUOTING_H_
