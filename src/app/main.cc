// SPDX-License-Identifier: Apache-2.0
// The `berth` command.
#include "berth/command.h"

int main(int argc, char** argv) { return berth::RunSchedulerCommand(argc, argv); }
