// SPDX-License-Identifier: Apache-2.0
// "did you mean": the known word that an unknown one was probably meant to be.
#ifndef BERTH_SRC_API_NEAR_MISS_H_
#define BERTH_SRC_API_NEAR_MISS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace berth {

// `; did you mean "Score"?` for the word of `known` that is nearest to `word`, case aside, or for
// the only one that begins with it; empty if there is none. The first of equally near words.
std::string DidYouMean(absl::string_view word, absl::Span<const std::string> known);

}  // namespace berth

#endif  // BERTH_SRC_API_NEAR_MISS_H_
