// SPDX-License-Identifier: Apache-2.0
// /healthz, /livez, /readyz and the checks below them, as kube-scheduler v1.35 answers them.
#ifndef BERTH_SRC_PROCESS_HEALTH_CHECKS_H_
#define BERTH_SRC_PROCESS_HEALTH_CHECKS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "process/http.h"

namespace berth {

struct HealthCheck {
  std::string name;  // "leaderElection", "shutdown", "sched-handler-sync"
  // Called on the server's thread. What is wrong is shown below the check's own path, which a
  // client must be allowed to see, and nowhere else.
  std::function<absl::Status()> check;
};

// Adds `path` ("/readyz"), which passes if all checks do, and the path of each check
// ("/readyz/shutdown"). No checks: "ping", which always passes. Parameters: `verbose`, `exclude`.
// `observe` is called for each check of the whole path: its name, "readyz", whether it passed.
using ObserveHealth =
    std::function<void(const std::string& check, const std::string& type, bool passed)>;
void AddHealthEndpoints(const std::string& path, std::vector<HealthCheck> checks,
                        Endpoints& endpoints, ObserveHealth observe = nullptr);

}  // namespace berth

#endif  // BERTH_SRC_PROCESS_HEALTH_CHECKS_H_
