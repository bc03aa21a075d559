// SPDX-License-Identifier: Apache-2.0
// Running a program and taking what it prints.
#ifndef BERTH_SRC_KUBERNETES_SUBPROCESS_H_
#define BERTH_SRC_KUBERNETES_SUBPROCESS_H_

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace berth {

struct ProcessRun {
  std::string command;  // looked for in PATH unless it has a slash
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // beside the process's own
  absl::Duration timeout = absl::Seconds(60);
  const std::atomic<bool>* give_up = nullptr;  // when it becomes true, the program is killed
};

// Its standard output, at most 1 MiB, without standard input. NotFound if there is no such program;
// otherwise an error has the exit code and the end of standard error. What it started is killed
// with it.
absl::StatusOr<std::string> RunProcess(const ProcessRun& run);

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_SUBPROCESS_H_
