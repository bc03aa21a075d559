// SPDX-License-Identifier: Apache-2.0
// The flags of `berth run`: kube-scheduler's.
#ifndef BERTH_SRC_APP_RUN_FLAGS_H_
#define BERTH_SRC_APP_RUN_FLAGS_H_

#include <string>
#include <vector>

#include "process/run_options.h"

namespace CLI {
class App;
}  // namespace CLI

namespace berth {

// The group of flags that are taken and do nothing: no help and no completion has it. (CLI11 has
// one of its own for that, the empty one, and does not name its flags when they are wrong.)
inline constexpr char kIdleFlagGroup[] = "(no effect)";

// Adds them to `command`; parsing writes into `options`, which outlives it.
void DescribeRunFlags(CLI::App& command, RunOptions& options);

// Makes "-v=2" what CLI11 reads as it is meant.
void SplitShortFlags(std::vector<std::string>& words);

}  // namespace berth

#endif  // BERTH_SRC_APP_RUN_FLAGS_H_
