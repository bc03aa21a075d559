// SPDX-License-Identifier: Apache-2.0
// A scheduler that knows all steps; its configuration says which one is taken.
#include "berth/command.h"
#include "steps.h"

int main(int argc, char** argv) { return berth::RunSchedulerCommand(argc, argv, Steps()); }
