// SPDX-License-Identifier: Apache-2.0
// Arguments of NodeResourcesBalancedAllocation.
#ifndef BERTH_PLUGINS_NODE_RESOURCES_NODE_RESOURCES_BALANCED_ALLOCATION_ARGS_H_
#define BERTH_PLUGINS_NODE_RESOURCES_NODE_RESOURCES_BALANCED_ALLOCATION_ARGS_H_

#include <vector>

#include "berth/framework/args.h"
#include "plugins/node_resources/resource_spec.h"

namespace berth {

struct NodeResourcesBalancedAllocationArgs {
  std::vector<ResourceSpec> resources = {{"cpu", 1}, {"memory", 1}};
  static const FieldTable& Fields();
};

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_RESOURCES_NODE_RESOURCES_BALANCED_ALLOCATION_ARGS_H_
