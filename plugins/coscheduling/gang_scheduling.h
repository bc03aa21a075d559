// SPDX-License-Identifier: Apache-2.0
// GangScheduling: the groups of Kubernetes itself, by kube-scheduler's name.
#ifndef BERTH_PLUGINS_COSCHEDULING_GANG_SCHEDULING_H_
#define BERTH_PLUGINS_COSCHEDULING_GANG_SCHEDULING_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/extensions/group.h"
#include "berth/extensions/waiting.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/permit.h"
#include "berth/framework/plugin.h"
#include "berth/framework/queue_sort.h"
#include "berth/framework/registry.h"
#include "berth/framework/reserve.h"
#include "plugins/coscheduling/group_apis.h"

namespace berth {

// Reads spec.workloadRef (1.35) and spec.schedulingGroup (1.37), and no other group. The extension
// points are those of kube-scheduler v1.35 gangscheduling; the group is placed by the engine in one
// transaction. A profile has this or Coscheduling, which reads these groups, too.
class GangScheduling final : public Plugin,
                             public GroupApis,
                             public PreEnqueuePlugin,
                             public PermitPlugin,
                             public ReservePlugin,
                             public EnqueueExtensions,
                             public WaitingExplainer {
 public:
  static constexpr absl::string_view kName = "GangScheduling";

  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);

  absl::string_view Name() const override { return kName; }
  // What kube-scheduler's holds back pod by pod here waits as a group, with the same texts.
  Status PreEnqueue(const PodInfo&) override { return Status::Success(); }
  Status Permit(CycleState& state, const PodInfo& pod, absl::string_view node_name,
                absl::Duration& timeout) override;
  Status Reserve(CycleState&, const PodInfo&, absl::string_view) override {
    return Status::Success();
  }
  void Unreserve(CycleState&, const PodInfo& pod, absl::string_view) override {
    GroupApis::Unreserve(pod);
  }
  std::vector<ClusterEventWithHint> EventsToRegister() const override { return Events(); }
  void ExplainWaiting(const PodInfo& pod, const Status&, const NodeTable&,
                      WaitingFor& waiting) const override {
    GroupApis::ExplainWaiting(pod, waiting);
  }

 private:
  explicit GangScheduling(Handle& handle) : GroupApis(kName, handle, KubernetesApis(handle), {}) {}
};

}  // namespace berth

#endif  // BERTH_PLUGINS_COSCHEDULING_GANG_SCHEDULING_H_
