// SPDX-License-Identifier: Apache-2.0
// SchedulingGates: keeps pods with spec.schedulingGates out of the active queue.
#ifndef BERTH_PLUGINS_SCHEDULING_GATES_SCHEDULING_GATES_H_
#define BERTH_PLUGINS_SCHEDULING_GATES_SCHEDULING_GATES_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/extensions/waiting.h"
#include "berth/framework/args.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/queue_sort.h"

namespace berth {

// As kube-scheduler v1.35 schedulinggates.
class SchedulingGates final : public Plugin,
                              public PreEnqueuePlugin,
                              public EnqueueExtensions,
                              public ExplainsWaitingAs<WaitingReason::kGated> {
 public:
  static constexpr absl::string_view kName = "SchedulingGates";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);

  absl::string_view Name() const override { return kName; }
  Status PreEnqueue(const PodInfo& pod) override;
  // The pod's own update that takes its last gate away.
  std::vector<ClusterEventWithHint> EventsToRegister() const override;
  bool HintsReadSpecOnly() const override { return true; }
};

}  // namespace berth

#endif  // BERTH_PLUGINS_SCHEDULING_GATES_SCHEDULING_GATES_H_
