// SPDX-License-Identifier: Apache-2.0
// The commands behind `berth`. Each returns the exit status.
#ifndef BERTH_SRC_APP_COMMANDS_H_
#define BERTH_SRC_APP_COMMANDS_H_

#include "app/command_line.h"
#include "berth/framework/registry.h"

namespace berth {

int RunScheduler(const CommandOptions& options, const Registry& registry);
int RunValidate(const CommandOptions& options, const Registry& registry);
// The first of `configs` alone.
int RunConvert(const CommandOptions& options, const Registry& registry);
int RunImport(const CommandOptions& options, const Registry& registry);
int RunExplain(const CommandOptions& options, const Registry& registry);
int RunSimulate(const CommandOptions& options, const Registry& registry);
// `simulate` with --scenario.
int RunScenarios(const CommandOptions& options, const Registry& registry);
int RunServe(const CommandOptions& options, const Registry& registry);
int RunDescribePlugin(const CommandOptions& options, const Registry& registry);
int RunTrace(const CommandOptions& options, const Registry& registry);  // simulate --trace

}  // namespace berth

#endif  // BERTH_SRC_APP_COMMANDS_H_
