// SPDX-License-Identifier: Apache-2.0
// Counts what attempts on groups that did not start came to: a plan, a proof, or neither.
#ifndef BERTH_SRC_ENGINE_GROUP_ANSWERS_H_
#define BERTH_SRC_ENGINE_GROUP_ANSWERS_H_

#include "berth/handle/counter.h"
#include "engine/attempt.h"

namespace berth {

// In counters of the profile's group plugin, "Coscheduling/no place: proven". Those of which
// nothing has happened do not exist.
void CountGroupAnswer(const AttemptRequest& request, const AttemptResult& result,
                      CounterSet& counters);

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_GROUP_ANSWERS_H_
