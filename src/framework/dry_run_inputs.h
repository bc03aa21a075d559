// SPDX-License-Identifier: Apache-2.0
// What the result of a dry run depends on: as long as that stays the same, preemption may use the
// result again, or know without a dry run that a node cannot help.
#ifndef BERTH_SRC_FRAMEWORK_DRY_RUN_INPUTS_H_
#define BERTH_SRC_FRAMEWORK_DRY_RUN_INPUTS_H_

#include <optional>
#include <string>
#include <vector>

#include "berth/api/symbol.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/pod_info.h"
#include "berth/incremental/domain_filter.h"
#include "berth/incremental/filter_inputs.h"
#include "berth/incremental/resource_filter.h"

namespace berth {

// What the verdicts of Filter plugins in a dry run depend on, besides the node with its pods and
// the pods nominated to it, which count by the pod's priority. What came of a node for one pod
// holds for every other as long as the node stays as it is, and all of this is the same.
struct DryRunInputs {
  std::string pod_class;       // equal for pods that filters cannot distinguish
  FilterInputs filter_inputs;  // the rest that is about all nodes
  // Verdicts of rules on topology domains: only those of the node count. A rule that is missing
  // has the verdict 0 on all of them.
  std::vector<TrackedDistance> domains;
};

// The first ResourceFilter among the Filter plugins that the pod's state does not skip, and what it
// needs.
struct ResourceNeed {
  NeededResources needed;
  Symbol plugin;
  // Whether the plugins before it let the pod onto a node still if they do now and pods go.
  bool others_allow_removal = false;
  friend bool operator==(const ResourceNeed&, const ResourceNeed&) = default;
};

// Where preemption gets them from: Handle::dry_run_inputs(). Scheduling thread.
class DryRunInputsSource {
 public:
  virtual ~DryRunInputsSource() = default;

  // Fills in what the Filter plugins that `state` does not skip depend on. Returns false if one of
  // them cannot say.
  virtual bool FindDryRunInputs(const CycleState& state, const PodInfo& pod,
                                DryRunInputs& inputs) = 0;
  // What a node must have left for the pod; absent if no ResourceFilter says.
  virtual std::optional<ResourceNeed> FindNeededResources(const CycleState& state,
                                                          const PodInfo& pod) = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_DRY_RUN_INPUTS_H_
