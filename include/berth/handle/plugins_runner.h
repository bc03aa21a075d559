// SPDX-License-Identifier: Apache-2.0
// Running the plugins of a profile on hypothetical nodes, as preemption does in its dry runs.
#ifndef BERTH_HANDLE_PLUGINS_RUNNER_H_
#define BERTH_HANDLE_PLUGINS_RUNNER_H_

#include "berth/framework/cycle_state.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth {

// As kube-scheduler's PluginsRunner. Scheduling thread.
class PluginsRunner {
 public:
  virtual ~PluginsRunner() = default;

  // All Filter plugins that `state` does not skip, in order, on `node` as it is given.
  virtual Status RunFilterPlugins(const CycleState& state, const PodInfo& pod,
                                  const NodeInfo& node) = 0;
  // Runs Filter twice: with the pods of at least equal priority that are nominated to the node,
  // then without them. Success only if both agree.
  virtual Status RunFilterPluginsWithNominatedPods(const CycleState& state, const PodInfo& pod,
                                                   const NodeInfo& node) = 0;
  virtual Status RunPreFilterExtensionAddPod(CycleState& state, const PodInfo& pod,
                                             const PodInfo& added, const NodeInfo& node) = 0;
  virtual Status RunPreFilterExtensionRemovePod(CycleState& state, const PodInfo& pod,
                                                const PodInfo& removed, const NodeInfo& node) = 0;
};

}  // namespace berth

#endif  // BERTH_HANDLE_PLUGINS_RUNNER_H_
