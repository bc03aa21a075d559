// SPDX-License-Identifier: Apache-2.0
// Arguments of PodTopologySpread.
#ifndef BERTH_PLUGINS_POD_TOPOLOGY_SPREAD_POD_TOPOLOGY_SPREAD_ARGS_H_
#define BERTH_PLUGINS_POD_TOPOLOGY_SPREAD_POD_TOPOLOGY_SPREAD_ARGS_H_

#include <memory>
#include <string>
#include <vector>

#include "berth/framework/args.h"

namespace berth {

namespace api {
class TopologySpreadConstraint;
}  // namespace api

struct PodTopologySpreadArgs {
  std::vector<std::shared_ptr<const api::TopologySpreadConstraint>> default_constraints;
  std::string defaulting_type = "System";  // or List
  static const FieldTable& Fields();
};

}  // namespace berth

#endif  // BERTH_PLUGINS_POD_TOPOLOGY_SPREAD_POD_TOPOLOGY_SPREAD_ARGS_H_
