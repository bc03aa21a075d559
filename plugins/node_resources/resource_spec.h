// SPDX-License-Identifier: Apache-2.0
// ResourceSpec: a resource and its weight, in the arguments of the plugins of this folder.
#ifndef BERTH_PLUGINS_NODE_RESOURCES_RESOURCE_SPEC_H_
#define BERTH_PLUGINS_NODE_RESOURCES_RESOURCE_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "berth/framework/args.h"

namespace berth {

struct ResourceSpec {
  std::string name;
  int64_t weight = 0;  // what 0 means, the plugin says
  static const FieldTable& Fields();
};

// As kube-scheduler completes them: cpu and memory if there are none, weight 1 for 0.
void ApplyDefaults(std::vector<ResourceSpec>& resources);

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_RESOURCES_RESOURCE_SPEC_H_
