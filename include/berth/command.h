// SPDX-License-Identifier: Apache-2.0
// The `berth` command as a function: what the main() of a custom scheduler calls.
#ifndef BERTH_COMMAND_H_
#define BERTH_COMMAND_H_

#include <vector>

#include "berth/framework/registry.h"

namespace berth {

// Runs `berth run|validate|explain|simulate|completion|version|help ...` with the built-in plugins
// and `plugins` on top. Help and messages use the name in argv[0]. Prints results on standard
// output, problems on standard error. Returns the exit status: 0 done, 1 the input is at fault, or
// a scenario does not hold, or the output cannot be written, 2 usage, 130 interrupted. `run`
// returns 0 after SIGTERM or SIGINT, and ends the process with 1 when its lease is lost.
//
//   int main(int argc, char** argv) {
//     return berth::RunSchedulerCommand(argc, argv,
//                                       {berth::WithPlugin("Mine", &Mine::Create)});
//   }
int RunSchedulerCommand(int argc, char** argv, std::vector<PluginRegistration> plugins = {});

}  // namespace berth

#endif  // BERTH_COMMAND_H_
