// SPDX-License-Identifier: Apache-2.0
// The verdict of the Filter plugins on each node, and which of them rejected it first.
#ifndef BERTH_COLUMNS_NODE_VERDICTS_H_
#define BERTH_COLUMNS_NODE_VERDICTS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "berth/framework/status.h"

namespace berth {

// The framework runs the Filter plugins in order over blocks of rows; each plugin sees the rows
// that no plugin before it rejected. Rows that were not evaluated have code
// kUnschedulableAndUnresolvable and rejector kNotFiltered. Threads: the one that filters.
class NodeVerdicts {
 public:
  // Excluded by PreFilter, or the search ended before the row.
  static constexpr uint8_t kNotFiltered = 255;
  static constexpr uint8_t kNoRejector = 254;  // feasible
  static constexpr uint8_t kExtender = 253;    // rejected by an extender
  // No reason id: the row shares its message with no other row.
  static constexpr uint8_t kNoReasonId = 255;

  // --- For plugins, inside FilterNodes ---

  // The rows to filter, in the order of the search. Valid until the call returns.
  absl::Span<const NodeRow> candidates() const { return candidates_; }

  // Gives `row`, a candidate, its code: Success, Unschedulable, UnschedulableAndUnresolvable or
  // Pending. A candidate without a code stays feasible. `reason_id` is a reason id, any number
  // below kNoReasonId: in this cycle Filter() returns the same Status for all rows to which the
  // plugin gives this code and this id. It is called for one of them when the message is read.
  void Set(NodeRow row, Code code, uint8_t reason_id = kNoReasonId) {
    codes_[row] = code;
    reason_ids_[row] = reason_id;
    codes_set_ |= uint32_t{1} << std::min<uint8_t>(static_cast<uint8_t>(code), 31);
  }
  // For plugins that make the status of each row: `status` is what Filter() returns for `row`. Uses
  // the eight highest reason ids.
  void Set(NodeRow row, const Status& status);

  // --- For the framework ---

  // Drops everything; `rows` nodes, none evaluated.
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

  // Reason ids have other meanings from now on; messages of rows filtered so far are not read.
  void ClearReasonIds() { shared_statuses_ = {}; }

  // Nodes were added, not evaluated yet, or removed.
  void Move(const RowMove& move);

  int rows() const { return static_cast<int>(codes_.size()); }
  Code code(NodeRow row) const { return codes_[row]; }
  absl::Span<const Code> codes() const { return codes_; }
  // Index of the Filter plugin that rejected `row` first, kExtender, kNoRejector or kNotFiltered.
  uint8_t rejector(NodeRow row) const { return rejectors_[row]; }
  // Whether it was filtered and no plugin has rejected it.
  bool IsFeasible(NodeRow row) const { return rejectors_[row] == kNoRejector; }
  absl::Span<const uint8_t> rejectors() const { return rejectors_; }
  // The reason id of the rejection, or kNoReasonId.
  uint8_t reason_id(NodeRow row) const { return reason_ids_[row]; }
  // Marks `row` as feasible after all.
  void Accept(NodeRow row) { Reject(row, Code::kSuccess, kNoRejector); }
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
  std::vector<Status> shared_statuses_;  // by reason id, from the highest down
  uint32_t codes_set_ = 0;               // since the last EndPlugin()
  uint32_t ended_codes_set_ = 0;         // before it
};

}  // namespace berth

#endif  // BERTH_COLUMNS_NODE_VERDICTS_H_
