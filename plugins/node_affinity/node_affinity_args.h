// SPDX-License-Identifier: Apache-2.0
// Arguments of NodeAffinity.
#ifndef BERTH_PLUGINS_NODE_AFFINITY_NODE_AFFINITY_ARGS_H_
#define BERTH_PLUGINS_NODE_AFFINITY_NODE_AFFINITY_ARGS_H_

#include <memory>

#include "berth/framework/args.h"

namespace berth {

namespace api {
class NodeAffinity;
}  // namespace api

struct NodeAffinityArgs {
  std::shared_ptr<const api::NodeAffinity> added_affinity;  // null: none
  static const FieldTable& Fields();
};

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_AFFINITY_NODE_AFFINITY_ARGS_H_
