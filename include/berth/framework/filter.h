// SPDX-License-Identifier: Apache-2.0
// The Filter extension point: may this pod run on this node?
#ifndef BERTH_FRAMEWORK_FILTER_H_
#define BERTH_FRAMEWORK_FILTER_H_

#include "berth/framework/cycle_state.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth {

class NodeTable;
class NodeVerdicts;

class FilterPlugin {
 public:
  virtual ~FilterPlugin() = default;

  // Returns Success if `pod` may run on `node`; Unschedulable if not, but evicting pods might
  // help; UnschedulableAndUnresolvable if nothing would; Pending if something outside the pod has
  // to happen first, and evicting would not help; Error to end the pod's cycle.
  //
  // Evaluate `node` as given, not the snapshot's node of that name: in preemption it is a copy
  // with pods removed.
  //
  // Threads: today the scheduling thread; the contract keeps parallel calls open, for different
  // nodes of one cycle. Only read `state`, or lock what you write in it.
  virtual Status Filter(const CycleState& state, const PodInfo& pod,
                        const NodeInfo& node) const = 0;

  // Gives each candidate row of `verdicts` the code Filter() would give it. The rows are
  // unmodified snapshot nodes. Returns Success, or Error to end the pod's cycle. The default
  // calls Filter() row by row; override it only for speed. Messages come from Filter(), and
  // only when they are read.
  virtual Status FilterNodes(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                             NodeVerdicts& verdicts) const;
};

}  // namespace berth

#endif  // BERTH_FRAMEWORK_FILTER_H_
