// SPDX-License-Identifier: Apache-2.0
// An extender as a simulation asks it.
#ifndef BERTH_SRC_SIMULATION_SIMULATED_EXTENDER_H_
#define BERTH_SRC_SIMULATION_SIMULATED_EXTENDER_H_

#include <memory>

#include "absl/time/time.h"
#include "berth/clock.h"
#include "berth/cluster.h"
#include "berth/extensions/extender.h"

namespace berth {

// After so many calls in a row without an answer an extender is taken to be down for that long:
// calls fail at once, as the last one did. Time is skipped in a simulation, and pods are tried
// again and again within a moment; each call would wait for its whole timeout.
inline constexpr int kUnansweredCalls = 4;
inline constexpr absl::Duration kTakenToBeDown = absl::Seconds(30);

// Asks `extender`, and binds in `cluster` what it agrees to bind: it itself binds in a cluster that
// is not there. `clock` is the real one. Everything outlives this.
std::shared_ptr<SchedulerExtender> NewSimulatedExtender(std::shared_ptr<SchedulerExtender> extender,
                                                        Cluster& cluster, const Clock& clock);

}  // namespace berth

#endif  // BERTH_SRC_SIMULATION_SIMULATED_EXTENDER_H_
