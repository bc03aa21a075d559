// SPDX-License-Identifier: Apache-2.0
// Coscheduling: pods of one PodGroup start together or not at all.
#ifndef BERTH_PLUGINS_COSCHEDULING_COSCHEDULING_H_
#define BERTH_PLUGINS_COSCHEDULING_COSCHEDULING_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/devices/extended_resource_classes.h"
#include "berth/extensions/group.h"
#include "berth/extensions/moves_pods.h"
#include "berth/extensions/post_filter_bound.h"
#include "berth/extensions/waiting.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/handle.h"
#include "berth/framework/permit.h"
#include "berth/framework/plugin.h"
#include "berth/framework/postfilter.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/queue_sort.h"
#include "berth/framework/registry.h"
#include "berth/framework/reserve.h"
#include "plugins/coscheduling/coscheduling_args.h"
#include "plugins/coscheduling/group_apis.h"

namespace berth {

// The same PodGroups, labels, arguments and texts as Coscheduling of scheduler-plugins; and the
// groups of other APIs (group_api.h). The group is placed by the engine in one transaction
// (GroupPlugin); the per-pod points give upstream's answers for a pod that is evaluated alone, as
// `berth explain` does.
class Coscheduling final : public Plugin,
                           public GroupApis,
                           public QueueSortPlugin,
                           public PreFilterPlugin,
                           public PostFilterPlugin,
                           public PostFilterBound,
                           public PermitPlugin,
                           public ReservePlugin,
                           public EnqueueExtensions,
                           public WaitingExplainer,
                           public MovesPods {
 public:
  static constexpr absl::string_view kName = "Coscheduling";
  static constexpr absl::string_view kPodGroupLabel = "scheduling.x-k8s.io/pod-group";

  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);

  absl::string_view Name() const override { return kName; }

  // Priority, then the group's (or the pod's) time, then "namespace/group" (or pod): pods of one
  // group stay together even when many groups were made in the same second.
  bool Less(const QueuedPodInfo& a, const QueuedPodInfo& b) const override;
  Status PreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                   PreFilterResult& result) override;
  Status PostFilter(CycleState& state, const PodInfo& pod, const NodeStatuses& statuses,
                    PostFilterResult& result) override;
  bool MayHelp(const PodInfo&) override { return false; }  // it has a text, and evicts no pod
  Status Permit(CycleState& state, const PodInfo& pod, absl::string_view node_name,
                absl::Duration& timeout) override;
  Status Reserve(CycleState& state, const PodInfo& pod, absl::string_view node_name) override;
  void Unreserve(CycleState& state, const PodInfo& pod, absl::string_view node_name) override;
  std::vector<ClusterEventWithHint> EventsToRegister() const override;
  bool HintsReadSpecOnly() const override { return true; }
  void ExplainWaiting(const PodInfo& pod, const Status& rejection, const NodeTable& nodes,
                      WaitingFor& waiting) const override;
  int MostMoves() const override { return args_.most_moves; }
  // Not a pod without an owner, which no controller would make again; one of which an annotation or
  // a label says that it is to stay; or one that the kubelet runs by itself.
  bool MayMove(const PodInfo& pod) const override;

 private:
  Coscheduling(const CoschedulingArgs& args, Handle& handle)
      : GroupApis(kName, handle, EveryApi(handle), DefaultsOf(args)),
        args_(args),
        handle_(handle),
        classes_(handle.Shared<ExtendedResourceClasses>()) {}

  static Defaults DefaultsOf(const CoschedulingArgs& args);

  const api::PodGroup* FindPodGroup(absl::string_view name) const;
  // What the nodes lack of the minResources of the group; "" if nothing.
  std::string ResourceGap(const api::PodGroup& pod_group, const GroupMembers* members,
                          const NodeTable& nodes) const;

  const CoschedulingArgs args_;
  Handle& handle_;
  const std::shared_ptr<ExtendedResourceClasses> classes_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_COSCHEDULING_COSCHEDULING_H_
