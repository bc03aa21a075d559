// SPDX-License-Identifier: Apache-2.0
// What preemption rules can say beforehand, so that the search leaves nodes out.
#ifndef BERTH_INCREMENTAL_PREEMPTION_HINTS_H_
#define BERTH_INCREMENTAL_PREEMPTION_HINTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "berth/columns/node_table.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/pod_info.h"

namespace berth {

// For PreemptionRules to implement as well, once they work without. What they say has to hold: the
// search does not check it. The decisions are the same.
class PreemptionHints {
 public:
  virtual ~PreemptionHints() = default;

  // The victims that SelectVictims() finds for `pod`. Nodes without such pods are not dry-run: it
  // would return NoVictimsReason() there, and not call SetRetryAt().
  enum class Victims : uint8_t {
    kAnyPod,            // nothing is known
    kLowerPriority,     // only pods of lower priority
    kAllLowerPriority,  // all of them: it removes them first, and fails as Filter() does then
    kNone,              // no pod on any node
  };
  virtual Victims PossibleVictims(const CycleState& /*state*/, const PodInfo& /*pod*/) const {
    return Victims::kAnyPod;
  }

  // The rows of nodes on which it may find them, in any order; on others it would say
  // NoVictimsReason(), and no SetRetryAt(). Absent if they are very many, or not known: then nodes
  // are dry-run until the best is found.
  virtual std::optional<std::vector<NodeRow>> RowsWithVictims(const CycleState& /*state*/,
                                                              const PodInfo& /*pod*/,
                                                              const NodeTable& /*nodes*/) const {
    return std::nullopt;
  }

  // Whether no victim of a candidate has a higher priority than the first one.
  virtual bool FirstVictimHasHighestPriority() const { return false; }
};

}  // namespace berth

#endif  // BERTH_INCREMENTAL_PREEMPTION_HINTS_H_
