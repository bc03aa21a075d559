// SPDX-License-Identifier: Apache-2.0
// What the queue asks about room on nodes: FreeResourcesView.
#ifndef BERTH_SRC_ENGINE_FREE_RESOURCES_ON_NODES_H_
#define BERTH_SRC_ENGINE_FREE_RESOURCES_ON_NODES_H_

#include <vector>

#include "engine/attempt.h"
#include "engine/cluster_state.h"
#include "engine/framework_set.h"
#include "engine/group_reservations.h"
#include "engine/post_filter_bounds.h"
#include "queue/free_resources_view.h"

namespace berth {

// What the queue asks, and what it learns of rejections.
class FreeResourcesOnNodes final : public FreeResourcesView {
 public:
  // All outlive this. `reservations` is not read before the first call.
  FreeResourcesOnNodes(ClusterState& cluster, const FrameworkSet& profiles,
                       const GroupReservations& reservations)
      : cluster_(cluster), profiles_(profiles), reservations_(reservations) {}

  FreeResources FreeOn(Symbol node) const override;
  bool OnlyFreeResourcesHelp(const PodInfo& pod) override;

  // Whether the pod will be rejected by the same plugins again as long as no Node object changes
  // and it has room nowhere (Rejection::only_room): one that needs room rejected it, those before
  // that one read nothing but Node objects, or were skipped, and no room is held for others.
  bool WasAllThatLacked(const PodFailure& failure);

 private:
  struct Profile {
    explicit Profile(const Framework& of);
    Symbol name;
    const Framework* framework;
    PluginMask others;  // may reject a pod that has no room for other reasons than Node objects
    PostFilterBounds post_filters;
  };
  // Null if the pod has none.
  const Profile* ProfileOf(const PodInfo& pod);
  bool IsHeldForOthers() const;

  ClusterState& cluster_;
  const FrameworkSet& profiles_;
  const GroupReservations& reservations_;
  std::vector<Profile> known_profiles_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_FREE_RESOURCES_ON_NODES_H_
