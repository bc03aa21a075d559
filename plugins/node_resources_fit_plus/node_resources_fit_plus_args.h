// SPDX-License-Identifier: Apache-2.0
// Arguments of NodeResourcesFitPlus.
#ifndef BERTH_PLUGINS_NODE_RESOURCES_FIT_PLUS_NODE_RESOURCES_FIT_PLUS_ARGS_H_
#define BERTH_PLUGINS_NODE_RESOURCES_FIT_PLUS_NODE_RESOURCES_FIT_PLUS_ARGS_H_

#include <cstdint>
#include <map>
#include <string>

#include "berth/framework/args.h"

namespace berth {

// How one resource is scored.
struct ResourcesType {
  std::string type;
  int64_t weight = 0;
  static const FieldTable& Fields();
};

struct NodeResourcesFitPlusArgs {
  std::map<std::string, ResourcesType> resources;
  static const FieldTable& Fields();
};

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_RESOURCES_FIT_PLUS_NODE_RESOURCES_FIT_PLUS_ARGS_H_
