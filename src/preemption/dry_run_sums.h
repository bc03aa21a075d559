// SPDX-License-Identifier: Apache-2.0
// The room that evictions make on a node, by sums, for a pod that needs resources alone.
#ifndef BERTH_SRC_PREEMPTION_DRY_RUN_SUMS_H_
#define BERTH_SRC_PREEMPTION_DRY_RUN_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "berth/api/resources.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/handle.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"
#include "framework/resource_need.h"

namespace berth {

// The fast form of a DryRun: says whether the pod would fit on a node without some of its pods, as
// the Filter plugins do, without a copy of the node. Keep one a dry run. Scheduling thread.
class DryRunSums {
 public:
  // Null if sums do not tell: what other plugins say follows pods of this node, too, or amounts are
  // so large that sums might overflow. `node` outlives it.
  static std::unique_ptr<DryRunSums> Make(Handle& handle, const ResourceNeed& need,
                                          const CycleState& state, const PodInfo& pod,
                                          const NodeInfo& node);

  // Takes a pod off the node, and puts one back that was taken off. False, and nothing is changed,
  // if it is none of those: then the sums are of no use any more.
  bool Remove(const PodInfo& pod) { return Move(pod, true); }
  bool Add(const PodInfo& pod) { return Move(pod, false); }
  // Whether the pod has room beside the pods that are left and those nominated to the node.
  bool HasRoom() const;
  // What the plugins that do not compare requests say, whichever pods are left.
  const Status& others() const { return others_; }
  // The node without the pods that are gone.
  const NodeInfo& node();

 private:
  static constexpr int64_t kOverflowBits = ~((int64_t{1} << 56) - 1);
  static bool CannotOverflow(int64_t amount) { return (amount & kOverflowBits) == 0; }

  struct Resource {
    ResourceId id;
    int64_t wanted;     // by the pod and those that run there or are nominated
    int64_t available;  // allocatable
  };

  DryRunSums(const NodeInfo& node, Status others);
  bool AddNeed(const ResourceNeed& need);
  bool AddNominated(absl::Span<const std::shared_ptr<const PodInfo>> nominated);
  bool Move(const PodInfo& pod, bool away);

  const NodeInfo& original_;
  const Status others_;
  absl::InlinedVector<Resource, 4> resources_;
  int64_t pods_;
  absl::InlinedVector<bool, 64> gone_;  // by position in original_.pods()
  size_t gone_count_ = 0;
  size_t last_ = 0;               // the position that was moved last
  std::optional<NodeInfo> node_;  // as it is now, once it was asked for
};

// A run that has not begun goes by `sums`, which may be null, for as long as these tell.
void UseSums(DryRun& run, std::unique_ptr<DryRunSums> sums);

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_DRY_RUN_SUMS_H_
