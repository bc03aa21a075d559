// SPDX-License-Identifier: Apache-2.0
// Arguments of ScarceResourceAvoidance.
#ifndef BERTH_PLUGINS_SCARCE_RESOURCE_AVOIDANCE_SCARCE_RESOURCE_AVOIDANCE_ARGS_H_
#define BERTH_PLUGINS_SCARCE_RESOURCE_AVOIDANCE_SCARCE_RESOURCE_AVOIDANCE_ARGS_H_

#include <string>
#include <vector>

#include "berth/framework/args.h"

namespace berth {

struct ScarceResourceAvoidanceArgs {
  std::vector<std::string> resources;
  static const FieldTable& Fields();
};

}  // namespace berth

#endif  // BERTH_PLUGINS_SCARCE_RESOURCE_AVOIDANCE_SCARCE_RESOURCE_AVOIDANCE_ARGS_H_
