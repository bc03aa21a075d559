// SPDX-License-Identifier: Apache-2.0
// Arguments of NodeResourcesAllocatable.
#ifndef BERTH_PLUGINS_NODE_RESOURCES_NODE_RESOURCES_ALLOCATABLE_ARGS_H_
#define BERTH_PLUGINS_NODE_RESOURCES_NODE_RESOURCES_ALLOCATABLE_ARGS_H_

#include <string>
#include <vector>

#include "berth/framework/args.h"
#include "plugins/node_resources/resource_spec.h"

namespace berth {

struct NodeResourcesAllocatableArgs {
  std::string mode = "Least";
  std::vector<ResourceSpec> resources = {{"cpu", int64_t{1} << 20}, {"memory", 1}};
  static const FieldTable& Fields();
};

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_RESOURCES_NODE_RESOURCES_ALLOCATABLE_ARGS_H_
