// SPDX-License-Identifier: Apache-2.0
// A scheduler that knows CheapNodes.
#include "berth/command.h"
#include "cheap_nodes.h"

int main(int argc, char** argv) {
  return berth::RunSchedulerCommand(
      argc, argv, {berth::WithPlugin("CheapNodes", &CheapNodes::Create, CheapNodesArgs::Fields())});
}
