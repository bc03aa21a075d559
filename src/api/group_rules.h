// SPDX-License-Identifier: Apache-2.0
// What an API server refuses of the objects that define groups of pods.
#ifndef BERTH_SRC_API_GROUP_RULES_H_
#define BERTH_SRC_API_GROUP_RULES_H_

#include "berth/api/kinds.h"
#include "berth/api/problem.h"
#include "berth/api/value.h"

namespace berth {

// Minima below 1, and two policies at once: errors, or warnings of an object that an API server has
// stored. Of Volcano's, which takes them, warnings. Nothing of other kinds.
void CheckGroupRules(Kind kind, Value object, Problems& problems);

}  // namespace berth

#endif  // BERTH_SRC_API_GROUP_RULES_H_
