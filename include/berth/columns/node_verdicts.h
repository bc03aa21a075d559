// SPDX-License-Identifier: Apache-2.0
// One byte a node: what the Filter plugins made of it, and which of them rejected it first.
#ifndef BERTH_COLUMNS_NODE_VERDICTS_H_
#define BERTH_COLUMNS_NODE_VERDICTS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "berth/framework/status.h"

namespace berth {

// The engine runs the Filter plugins in order over blocks of rows; each plugin sees the rows that
// no plugin before it rejected. Rows that were never judged have code kUnschedulableAndUnresolvable
// and rejector kNotJudged. Threads: owned by one cycle.
class NodeVerdicts {
 public:
  static constexpr uint8_t kNotJudged = 255;  // left out by PreFilter, or the search ended before
  static constexpr uint8_t kNone = 254;       // feasible
  // The reason of the rejection is that row's alone.
  static constexpr uint8_t kNoReasonId = 255;

  // --- For plugins, inside FilterNodes ---

  // The rows to judge, in the order of the search. Valid until the call returns.
  absl::Span<const NodeRow> candidates() const { return candidates_; }

  // Gives `row`, a candidate, its code: Success, Unschedulable or UnschedulableAndUnresolvable.
  // A candidate that is not given a code stays feasible. `reason_id` is any number below
  // kNoReasonId if Filter() returns the same status for all rows to which the plugin gives that
  // code and that number in this cycle: it is called for one of them.
  void Set(NodeRow row, Code code, uint8_t reason_id = kNoReasonId) {
    codes_[row] = code;
    reason_ids_[row] = reason_id;
    codes_set_ |= uint32_t{1} << std::min<uint8_t>(static_cast<uint8_t>(code), 31);
  }
  // For plugins that make a status of each row: `status` is what Filter() says of `row`. Takes the
  // eight highest reason ids.
  void Set(NodeRow row, const Status& status);

  // --- For the engine ---

  // Forgets everything; `rows` nodes, none judged.
  void Reset(int rows);
  // Makes `rows` the candidates, each feasible so far.
  void BeginBlock(absl::Span<const NodeRow> rows);
  // After a plugin's FilterNodes: notes `plugin` (its index in the profile's Filter order) as the
  // rejector of the candidates it rejected, and keeps the others as candidates.
  void EndPlugin(uint8_t plugin);
  // Bit c: whether Set() gave code c to any candidate since BeginBlock(); 31 is for all from 31 on.
  uint32_t codes_set() const { return codes_set_ | ended_codes_set_; }
  // Appends those of `rows` that are feasible to `feasible`.
  void AppendFeasible(absl::Span<const NodeRow> rows, std::vector<NodeRow>& feasible) const;

  // Reason ids may mean something else from now on: nobody asks about rows judged so far.
  void ClearReasonIds() { said_ = {}; }

  // Nodes came, not judged yet, or went.
  void Move(const RowMove& move) {
    move.Apply(codes_, Code::kUnschedulableAndUnresolvable);
    move.Apply(rejectors_, kNotJudged);
    move.Apply(reason_ids_, kNoReasonId);
  }

  int rows() const { return static_cast<int>(codes_.size()); }
  Code code(NodeRow row) const { return codes_[row]; }
  absl::Span<const Code> codes() const { return codes_; }
  // Index of the Filter plugin that rejected `row` first, kNone or kNotJudged.
  uint8_t rejector(NodeRow row) const { return rejectors_[row]; }
  absl::Span<const uint8_t> rejectors() const { return rejectors_; }
  // What Set() was given for the rejection, or kNoReasonId.
  uint8_t reason_id(NodeRow row) const { return reason_ids_[row]; }
  // Marks `row` as feasible after all.
  void Accept(NodeRow row) { Reject(row, Code::kSuccess, kNone); }
  // Marks `row` as rejected by `rejector` outside the batch form.
  void Reject(NodeRow row, Code code, uint8_t rejector) {
    codes_[row] = code;
    rejectors_[row] = rejector;
    reason_ids_[row] = kNoReasonId;
  }

 private:
  std::vector<Code> codes_;
  std::vector<uint8_t> rejectors_;
  std::vector<uint8_t> reason_ids_;  // of rows that are rejected
  std::vector<NodeRow> candidates_;
  std::vector<Status> said_;      // by reason id, from the highest down
  uint32_t codes_set_ = 0;        // since the last EndPlugin()
  uint32_t ended_codes_set_ = 0;  // before it
};

}  // namespace berth

#endif  // BERTH_COLUMNS_NODE_VERDICTS_H_
