// SPDX-License-Identifier: Apache-2.0
// The PreFilter extension point: look at the pod once before its nodes are filtered, narrow the
// nodes, and follow hypothetical changes afterwards.
#ifndef BERTH_FRAMEWORK_PREFILTER_H_
#define BERTH_FRAMEWORK_PREFILTER_H_

#include <optional>

#include "absl/container/btree_set.h"
#include "berth/api/symbol.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth {

class NodeTable;

// Narrows a pod to some nodes.
struct PreFilterResult {
  // Names of the nodes that may be filtered at all; absent means every node. Nodes left out count
  // as UnschedulableAndUnresolvable, so preemption does not consider them.
  std::optional<absl::btree_set<Symbol>> node_names;
};

class PreFilterPlugin {
 public:
  virtual ~PreFilterPlugin() = default;

  // Runs once a cycle. Returns Success, and in `result` (empty when called) the nodes it narrows
  // to; Skip to leave out this plugin's Filter, AddPod and RemovePod for this pod;
  // UnschedulableAndUnresolvable to reject at once; Unschedulable to reject after the other
  // PreFilter plugins ran; anything else is an error. May write to `state`.
  virtual Status PreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                           PreFilterResult& result) = 0;
};

// What-if changes to what PreFilter computed. A plugin whose Filter reads state that depends on
// other pods implements it, so that preemption and nominated pods are evaluated correctly.
class PreFilterExtensions {
 public:
  virtual ~PreFilterExtensions() = default;

  // `added` is taken to run on `node`, which already counts it; update `state` for `pod`.
  virtual Status AddPod(CycleState& state, const PodInfo& pod, const PodInfo& added,
                        const NodeInfo& node) = 0;
  // `removed` is taken to be gone from `node`, which no longer counts it.
  virtual Status RemovePod(CycleState& state, const PodInfo& pod, const PodInfo& removed,
                           const NodeInfo& node) = 0;
};

}  // namespace berth

#endif  // BERTH_FRAMEWORK_PREFILTER_H_
