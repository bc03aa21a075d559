// SPDX-License-Identifier: Apache-2.0
// The fields and the defaults of ResourceSpec.
#include "plugins/node_resources/resource_spec.h"

namespace berth {

const FieldTable& ResourceSpec::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<ResourceSpec>("ResourceSpec", "A resource and its weight.")
          .Field("name", &ResourceSpec::name, "Name of the resource: cpu, memory, nvidia.com/gpu.")
          .Field("weight", &ResourceSpec::weight, "Weight of the resource among the others."));
  return table;
}

void ApplyDefaults(std::vector<ResourceSpec>& resources) {
  if (resources.empty()) resources = {{"cpu", 1}, {"memory", 1}};
  for (ResourceSpec& resource : resources) {
    if (resource.weight == 0) resource.weight = 1;
  }
}

}  // namespace berth
