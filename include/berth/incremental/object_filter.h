// SPDX-License-Identifier: Apache-2.0
// ObjectFilter: a Filter plugin that depends on objects of the cluster, such as volumes and claims,
// and says on which.
#ifndef BERTH_INCREMENTAL_OBJECT_FILTER_H_
#define BERTH_INCREMENTAL_OBJECT_FILTER_H_

#include "berth/framework/cycle_state.h"
#include "berth/framework/pod_info.h"
#include "berth/incremental/filter_inputs.h"

namespace berth {

// Optional, for Filter plugins whose verdicts are not cached node by node (sign.h), because they
// depend on objects of the cluster. Pods that they look at cost what changed when they are
// tried again, and when others of the same spec came before them.
class ObjectFilter {
 public:
  virtual ~ObjectFilter() = default;

  // Adds everything that Filter() reads in this cycle but the pod's spec, labels and namespace
  // and the node with its pods. With equal inputs it returns the same Status for a node that
  // did not change, and of one to which pods came or from which they went by AddPod() and
  // RemovePod(). `state` is as PreFilter left it, which did not say Skip. Scheduling thread.
  virtual void AddInputs(const CycleState& state, const PodInfo& pod,
                         FilterInputs& inputs) const = 0;
};

}  // namespace berth

#endif  // BERTH_INCREMENTAL_OBJECT_FILTER_H_
