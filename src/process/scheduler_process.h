// SPDX-License-Identifier: Apache-2.0
// A scheduler on a cluster, from its start to its end. As kube-scheduler v1.35 app/server.go.
#ifndef BERTH_SRC_PROCESS_SCHEDULER_PROCESS_H_
#define BERTH_SRC_PROCESS_SCHEDULER_PROCESS_H_

#include "berth/configuration.h"
#include "berth/framework/registry.h"
#include "process/run_options.h"

namespace berth {

// Schedules until SIGTERM or SIGINT and returns 0, or 1, having said why, if it cannot start. Ends
// the process with 1 when its Lease is lost: at once, as another may schedule from then on.
int RunSchedulerProcess(const RunOptions& options, KubeSchedulerConfiguration configuration,
                        const Registry& registry);

}  // namespace berth

#endif  // BERTH_SRC_PROCESS_SCHEDULER_PROCESS_H_
