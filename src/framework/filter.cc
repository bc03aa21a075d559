// SPDX-License-Identifier: Apache-2.0
// The batch form of Filter for plugins that have none of their own.
#include "berth/framework/filter.h"

#include "berth/columns/node_table.h"
#include "berth/columns/node_verdicts.h"

namespace berth {

Status FilterPlugin::FilterNodes(const CycleState& state, const PodInfo& pod,
                                 const NodeTable& nodes, NodeVerdicts& verdicts) const {
  for (const NodeRow row : verdicts.candidates()) {
    const Status status = Filter(state, pod, nodes.node(row));
    if (status.ok()) continue;
    // An Error, or a code that Filter does not know: the framework counts and words it.
    if (!status.IsRejected()) return status;
    verdicts.Set(row, status);
  }
  return Status::Success();
}

}  // namespace berth
