// Which incoming events a registered event stands for.
#include "berth/framework/enqueue.h"

namespace berth {
namespace {

bool Covers(EventResource registered, EventResource incoming) {
  if (registered.type == EventResource::kWildcard || registered == incoming) return true;
  return registered.type == EventResource::kPod &&
         (incoming.type == EventResource::kAssignedPod ||
          incoming.type == EventResource::kUnscheduledPod);
}

}  // namespace

// kube-scheduler v1.35 framework/types.go MatchClusterEvents. Its comparison of the actions as
// numbers, which keeps a general update from plugins that registered special ones, is not needed:
// here a general update has a bit of its own.
bool ClusterEvent::Matches(const ClusterEvent& incoming) const {
  return Covers(resource, incoming.resource) && (action & incoming.action) != 0;
}

}  // namespace berth
