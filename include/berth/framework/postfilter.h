// SPDX-License-Identifier: Apache-2.0
// The PostFilter extension point: what could be done for a pod that fits no node. Preemption is
// the usual answer.
#ifndef BERTH_FRAMEWORK_POSTFILTER_H_
#define BERTH_FRAMEWORK_POSTFILTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth {

// Why each node was not usable in this cycle.
class NodeStatuses {
 public:
  virtual ~NodeStatuses() = default;
  // The code of `row`; UnschedulableAndUnresolvable for rows that were never filtered.
  virtual Code code(NodeRow row) const = 0;
  // The code with plugin and reasons; may call the rejecting plugin's Filter() again.
  virtual Status status(NodeRow row) const = 0;
  // The plugin of status(row), without its reasons.
  virtual Symbol rejecting_plugin(NodeRow row) const { return status(row).plugin_symbol(); }
  // The rows with exactly this code, in row order.
  virtual std::vector<NodeRow> RowsWith(Code code) const = 0;
  // How many they are.
  virtual int CountWith(Code code) const { return static_cast<int>(RowsWith(code).size()); }
};

// One node on which evicting `victims` makes room.
struct PreemptionCandidate {
  NodeRow row = -1;
  std::string node;
  std::vector<std::shared_ptr<const PodInfo>> victims;  // most important first
  int pdb_violations = 0;  // victims whose eviction violates a PodDisruptionBudget
};

struct PostFilterResult {
  // Where the pod is nominated; absent keeps its nomination (ModeNoop), "" clears it
  // (ModeOverride).
  std::optional<std::string> nominated_node;
  // The plugin whose result this is; set by the framework.
  Symbol plugin;
  // To be evicted so that the pod fits there. The engine evicts them, not the plugin: a plan that
  // does not place the whole group is dropped without a trace.
  std::vector<std::shared_ptr<const PodInfo>> victims;
  // If there are none only because no pod may be evicted yet: when the first one may. The pod is
  // tried again then.
  absl::Time retry_at = absl::InfiniteFuture();
  // Those that were weighed: all that are wanted if CycleState::for_explanation(), else some.
  std::vector<std::shared_ptr<const PreemptionCandidate>> candidates;
  // Positions in `candidates` of those that score as the chosen one does, which is the first.
  std::vector<int> equally_good;

  // The names of the nodes in equally_good, sorted.
  std::vector<std::string> EquallyGoodNodes() const;
};

class PostFilterPlugin {
 public:
  virtual ~PostFilterPlugin() = default;

  // Runs only when no node was feasible. Returns Success with a result if something can be done;
  // Unschedulable to let the next PostFilter plugin try; UnschedulableAndUnresolvable or Error
  // to end PostFilter. Changes nothing outside `state` and `result`: the same call answers "what
  // would happen" in explanations.
  //
  // What takes longer than state.work_budget() allows keeps what it has found out, calls Yield()
  // and returns Unschedulable. It is called again for the same pod, before any other pod is tried.
  virtual Status PostFilter(CycleState& state, const PodInfo& pod, const NodeStatuses& statuses,
                            PostFilterResult& result) = 0;
};

}  // namespace berth

#endif  // BERTH_FRAMEWORK_POSTFILTER_H_
