// NodeVerdicts: the engine's side.
#include "berth/framework/node_verdicts.h"

#include "berth/check.h"

namespace berth {

void NodeVerdicts::Reset(int rows) {
  codes_.assign(rows, Code::kUnschedulableAndUnresolvable);
  rejectors_.assign(rows, kNotJudged);
  candidates_.clear();
}

void NodeVerdicts::BeginBlock(absl::Span<const NodeRow> rows) {
  candidates_.assign(rows.begin(), rows.end());
  for (const NodeRow row : rows) {
    BERTH_DCHECK(row >= 0 && row < this->rows()) << row;
    codes_[row] = Code::kSuccess;
    rejectors_[row] = kNobody;
  }
}

void NodeVerdicts::EndPlugin(uint8_t plugin) {
  BERTH_DCHECK(plugin < kNobody);
  auto kept = candidates_.begin();
  for (const NodeRow row : candidates_) {
    if (codes_[row] == Code::kSuccess) {
      *kept++ = row;
    } else {
      rejectors_[row] = plugin;
    }
  }
  candidates_.erase(kept, candidates_.end());
}

}  // namespace berth
