// SPDX-License-Identifier: Apache-2.0
// The Explain extension: what a person should know about a node besides verdicts and scores.
#ifndef BERTH_EXTENSIONS_EXPLAIN_H_
#define BERTH_EXTENSIONS_EXPLAIN_H_

#include <memory>
#include <string>
#include <vector>

#include "berth/api/kinds.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"

namespace berth {

namespace api {
class AllocationResult;
}  // namespace api

// The two halves of a line such as "cards: 0 has 400 of 1000 free".
struct NodeNote {
  std::string name;
  std::string text;
};

// What a claim of a pod would get.
struct PlannedAllocation {
  std::string claim;  // its name in the pod's spec.resourceClaims
  std::shared_ptr<const api::AllocationResult> allocation;
};

// Asked of every plugin of a profile that has it, wherever it is enabled, by `berth explain` only.
class ExplainPlugin {
 public:
  virtual ~ExplainPlugin() = default;

  // What this plugin sees in `node` as a place for `pod`; nothing if it has nothing to say. Called
  // after the filters, for nodes that they rejected too.
  virtual std::vector<NodeNote> ExplainNode(const CycleState& state, const PodInfo& pod,
                                            const NodeInfo& node) const = 0;

  // The devices that claims of the pod which have none would get on `node`. The same.
  virtual std::vector<PlannedAllocation> ExplainAllocations(const CycleState&, const PodInfo&,
                                                            const NodeInfo&) const {
    return {};
  }
};

}  // namespace berth

#endif  // BERTH_EXTENSIONS_EXPLAIN_H_
