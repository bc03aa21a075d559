// The batch form of Filter for plugins that have none of their own.
#include "berth/framework/filter.h"

#include "absl/strings/str_cat.h"

namespace berth {

Status FilterPlugin::FilterNodes(const CycleState& state, const PodInfo& pod,
                                 const NodeTable& nodes, NodeVerdicts& verdicts) const {
  for (const NodeRow row : verdicts.candidates()) {
    const Status status = Filter(state, pod, nodes.node(row));
    if (status.ok()) continue;
    if (status.IsError()) return status;
    if (!status.IsRejected()) {
      return Status::Error(absl::StrCat("Filter returned ", CodeName(status.code()), " for node ",
                                        nodes.node(row).name().view()));
    }
    verdicts.Set(row, status.code());
  }
  return Status::Success();
}

}  // namespace berth
