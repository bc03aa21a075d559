// SPDX-License-Identifier: Apache-2.0
// Implementation of still_fits.h.
#include "engine/still_fits.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace berth {
namespace {

bool AsksForMore(const ResourceVector& now, const ResourceVector& before) {
  bool more = false;
  now.ForEach([&](ResourceId id, int64_t amount) { more |= amount > before.Get(id); });
  return more;
}

// What the Filter plugins say of a pod on the node that it is counted on, as if it were not. It may
// be counted in a later state than the one that was placed.
Status Refilter(ClusterState& cluster, const Framework& framework, const PodInfo& pod,
                const NodeInfo& node) {
  PluginMask filters = 0;
  for (const Hook<FilterPlugin>& hook : framework.plugins().filter) filters |= MaskOf(hook);
  cluster.Refresh();
  CycleState state;
  PreFilterOutcome pre_filter =
      framework.filters().RunPreFilter(state, pod, cluster.nodes(), filters);
  if (!pre_filter.status.ok()) return std::move(pre_filter.status);
  const CachedPod* const counted = cluster.cache().FindPod(*pod.identity());
  NodeInfo without_pod = node;
  if (counted != nullptr && without_pod.RemovePod(pod.uid())) {
    Status removed =
        framework.filters().RunPreFilterRemovePod(state, pod, *counted->pod, without_pod);
    if (!removed.ok()) return removed;
  }
  return framework.filters().RunFilter(state, pod, without_pod);
}

}  // namespace

Status StillFits(ClusterState& cluster, const AssumedPod& placement) {
  if (!cluster.ChangedOutside(placement.node, placement.assumed_at)) return Status::Success();
  const std::shared_ptr<const PodInfo> latest = cluster.FindPod(*placement.pod->identity());
  if (latest != nullptr && AsksForMore(latest->requests(), placement.pod->requests())) {
    return Status::Unschedulable("the pod asks for more than when it was placed");
  }
  const NodeInfo* node = cluster.FindNode(placement.node);
  if (node == nullptr || !node->has_node()) {
    return Status::Unschedulable(absl::StrCat("node ", placement.node_name, " is gone"));
  }
  return Refilter(cluster, *placement.framework, *placement.pod, *node);
}

}  // namespace berth
