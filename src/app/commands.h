// The commands behind `berth`. Each returns the exit status.
#pragma once

#include "app/options.h"
#include "berth/framework/registry.h"

namespace berth {

int RunValidate(const CommandOptions& options, const Registry& registry);
int RunExplain(const CommandOptions& options, const Registry& registry);
int RunSimulate(const CommandOptions& options, const Registry& registry);

}  // namespace berth
