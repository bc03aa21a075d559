// SPDX-License-Identifier: Apache-2.0
// What a remote plugin says of one pod and all nodes: the answer to Evaluate, checked.
#ifndef BERTH_SRC_REMOTE_PLUGIN_VERDICTS_H_
#define BERTH_SRC_REMOTE_PLUGIN_VERDICTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "berth/framework/status.h"
#include "berth/v1/plugin.pb.h"

namespace berth {

// By node index. Immutable once decoded.
struct Verdicts {
  static constexpr uint8_t kFeasible = 255;

  uint64_t revision = 0;
  Status status;        // Success, or what the whole evaluation failed with
  Status pre_filter;    // Success, Skip, a rejection or an error
  Status score_status;  // Success, or what Score alone failed with: `scores` do not count
  std::optional<std::vector<bool>> eligible;
  std::vector<uint8_t> reason_ids;  // position in `reasons`, or kFeasible
  std::vector<Status> reasons;
  std::vector<int64_t> scores;  // as they came: whether they are in range is the caller's affair

  const Status& StatusOf(uint32_t index) const {
    static const Status& success = *new Status();
    return reason_ids[index] == kFeasible ? success : reasons[reason_ids[index]];
  }
};

// A status as the plugin means it. Error: InvalidArgument for an unknown code, or more and longer
// reasons than a reader wants.
absl::StatusOr<Status> ReadStatus(const v1::Status& message);

// The same the other way.
void WriteStatus(const Status& status, v1::Status& message);

// The answer about `nodes` nodes. Error: InvalidArgument that says what makes no sense.
absl::StatusOr<Verdicts> ReadEvaluation(const v1::Evaluation& message, uint32_t nodes);

}  // namespace berth

#endif  // BERTH_SRC_REMOTE_PLUGIN_VERDICTS_H_
