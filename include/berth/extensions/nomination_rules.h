// SPDX-License-Identifier: Apache-2.0
// NominationRules: for which pods a place is kept that another pod was nominated to.
#ifndef BERTH_EXTENSIONS_NOMINATION_RULES_H_
#define BERTH_EXTENSIONS_NOMINATION_RULES_H_

#include <optional>

#include "berth/framework/pod_info.h"

namespace berth {

// A nominated pod counts on its node for pods of equal or lower priority. A plugin that knows
// better who gives way to whom implements this beside its extension points. It is asked where a pod
// is filtered on the node that it is nominated to, in plans of evictions, and when a plan is
// carried out: a nomination that counts for the pod that preempts does not end then.
class NominationRules {
 public:
  virtual ~NominationRules() = default;

  // Whether `nominated` counts for `pod`, another one, on the node that it is nominated to. Absent:
  // by their priorities. Scheduling thread.
  virtual std::optional<bool> NominationCountsFor(const PodInfo& nominated,
                                                  const PodInfo& pod) const = 0;
};

}  // namespace berth

#endif  // BERTH_EXTENSIONS_NOMINATION_RULES_H_
