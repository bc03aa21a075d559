// SPDX-License-Identifier: Apache-2.0
// What a node must have left for a pod, so that preemption knows without a dry run which nodes
// cannot help.
#ifndef BERTH_SRC_FRAMEWORK_RESOURCE_NEED_H_
#define BERTH_SRC_FRAMEWORK_RESOURCE_NEED_H_

#include <memory>
#include <optional>

#include "absl/types/span.h"
#include "berth/api/symbol.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"
#include "berth/incremental/resource_filter.h"

namespace berth {

// The first ResourceFilter among the Filter plugins that the pod's state does not skip, and what it
// needs.
struct ResourceNeed {
  NeededResources needed;
  Symbol plugin;
  // Whether the plugins before it let the pod onto a node still if they do now and pods go.
  bool others_allow_removal = false;
  friend bool operator==(const ResourceNeed&, const ResourceNeed&) = default;
};

// Where preemption gets it from: Handle::resource_needs(). Scheduling thread.
class ResourceNeedSource {
 public:
  virtual ~ResourceNeedSource() = default;

  // Absent if no ResourceFilter says.
  virtual std::optional<ResourceNeed> FindNeededResources(const CycleState& state,
                                                          const PodInfo& pod) = 0;
  using Pods = absl::Span<const std::shared_ptr<const PodInfo>>;
  // What the Filter plugins but need.plugin say of the node. Absent if that may change as pods
  // leave it or come back, or as those `nominated` to it come.
  virtual std::optional<Status> FilterWhateverPodsRun(const ResourceNeed& need,
                                                      const CycleState& state, const PodInfo& pod,
                                                      const NodeInfo& node, Pods nominated) = 0;
  // Whether `nominated`, a pod nominated to a node, has to fit there beside `pod`.
  virtual bool NominationCountsFor(const PodInfo& nominated, const PodInfo& pod) = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_RESOURCE_NEED_H_
