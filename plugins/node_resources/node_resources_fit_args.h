// SPDX-License-Identifier: Apache-2.0
// Arguments of NodeResourcesFit.
#ifndef BERTH_PLUGINS_NODE_RESOURCES_NODE_RESOURCES_FIT_ARGS_H_
#define BERTH_PLUGINS_NODE_RESOURCES_NODE_RESOURCES_FIT_ARGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/framework/args.h"
#include "plugins/node_resources/resource_spec.h"

namespace berth {

// A point of a scoring function: at `utilization` percent the score is `score`, 0 to 10.
struct UtilizationShapePoint {
  int32_t utilization = 0;
  int32_t score = 0;
  static const FieldTable& Fields();
};

struct RequestedToCapacityRatioParam {
  std::vector<UtilizationShapePoint> shape;
  static const FieldTable& Fields();
};

struct ScoringStrategy {
  std::string type;
  std::vector<ResourceSpec> resources;
  std::optional<RequestedToCapacityRatioParam> requested_to_capacity_ratio;
  static const FieldTable& Fields();
};

struct NodeResourcesFitArgs {
  std::vector<std::string> ignored_resources;
  std::vector<std::string> ignored_resource_groups;
  std::optional<ScoringStrategy> scoring_strategy =  // never absent
      ScoringStrategy{"LeastAllocated", {{"cpu", 1}, {"memory", 1}}, std::nullopt};
  static const FieldTable& Fields();
};

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_RESOURCES_NODE_RESOURCES_FIT_ARGS_H_
