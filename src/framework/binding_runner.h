// SPDX-License-Identifier: Apache-2.0
// The points that follow when a pod has its node: Reserve, Permit, PreBind, Bind and PostBind.
#ifndef BERTH_SRC_FRAMEWORK_BINDING_RUNNER_H_
#define BERTH_SRC_FRAMEWORK_BINDING_RUNNER_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/permit.h"
#include "berth/framework/status.h"
#include "framework/extender_runner.h"
#include "framework/hook.h"
#include "framework/profile_plugins.h"

namespace berth {

struct PermitOutcome {
  Status status;  // Success, Wait, or the rejection or error
  struct Wait {
    Symbol plugin;
    absl::Duration timeout;  // positive, at most kMaxPermitTimeout
    absl::Duration asked;    // what the plugin asked for
  };
  std::vector<Wait> waits;  // one for each plugin that said Wait
};

// Scheduling thread, except RunPreBind, RunBind and RunPostBind, which the binding executor runs.
class BindingRunner {
 public:
  // `plugins` outlives this.
  BindingRunner(const ProfilePlugins& plugins, const ExtenderRunner& extenders)
      : plugins_(plugins), extenders_(extenders) {}

  Status RunReserve(CycleState& state, const PodInfo& pod, absl::string_view node_name) const;
  // Calls all Reserve plugins, the last one first.
  void RunUnreserve(CycleState& state, const PodInfo& pod, absl::string_view node_name) const;
  PermitOutcome RunPermit(CycleState& state, const PodInfo& pod, absl::string_view node_name) const;
  // Skip if no PreBind plugin has anything to do.
  Status RunPreBindPreFlight(CycleState& state, const PodInfo& pod,
                             absl::string_view node_name) const;
  // Whether RunPreBind() has anything to do.
  bool HasPreBind(const CycleState& state) const;
  // Wait: a plugin waits; when RunPollPreBind() says that it is done, run this again for those that
  // come after it. None runs twice that has succeeded.
  Status RunPreBind(CycleState& state, const PodInfo& pod, absl::string_view node_name) const;
  // Asks the plugin that waits.
  Status RunPollPreBind(CycleState& state, const PodInfo& pod, absl::string_view node_name) const;
  Status RunBind(CycleState& state, const PodInfo& pod, absl::string_view node_name) const;
  void RunPostBind(CycleState& state, const PodInfo& pod, absl::string_view node_name) const;

  // The plugins that stand at one of these points: they may read what their PreFilter left in the
  // pod's state.
  PluginMask BindingPlugins() const;

 private:
  const ProfilePlugins& plugins_;
  const ExtenderRunner& extenders_;
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_BINDING_RUNNER_H_
