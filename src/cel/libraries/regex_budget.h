// SPDX-License-Identifier: Apache-2.0
// What regular expressions take of a budget beyond their cost, which is charged when they are done.
#ifndef BERTH_SRC_CEL_LIBRARIES_REGEX_BUDGET_H_
#define BERTH_SRC_CEL_LIBRARIES_REGEX_BUDGET_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cel/budget.h"
#include "cel/libraries/libraries.h"
#include "cel/regex.h"

namespace berth::cel {

// Regex::Compile in an evaluation: repetitions make programs large.
absl::StatusOr<Regex> CompileWithin(Budget& budget, absl::string_view pattern);

// Whether there is enough left to go over the first argument with the pattern that is the second.
bool MayMatchWithin(Budget& budget, Arguments arguments);

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_LIBRARIES_REGEX_BUDGET_H_
