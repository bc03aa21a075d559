// SPDX-License-Identifier: Apache-2.0
// The status of each rejected node, kept so that a cycle in which little changed need not ask
// again.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_REJECTION_COUNTS_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_REJECTION_COUNTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "berth/columns/node_table.h"
#include "berth/framework/status.h"
#include "evaluation/diagnosis.h"

namespace berth {

// Many nodes are rejected for few reasons: each distinct status once, and which of them a row has.
class RejectionCounts {
 public:
  // Forgets everything; `rows` rows, none rejected.
  void Reset(int rows);
  // A number for the status, until Reset(). Nothing if there are too many.
  std::optional<uint16_t> IndexOf(const Status& status);
  // The status of `row` from now on, by its number.
  void Set(NodeRow row, uint16_t index) {
    Clear(row);
    status_of_[row] = index;
    ++rows_with_[index];
  }
  // `row` is not rejected any more.
  void Clear(NodeRow row) {
    if (status_of_[row] != kNone) --rows_with_[std::exchange(status_of_[row], kNone)];
  }
  // Nodes came, not rejected yet, or went.
  void Move(const RowMove& move);
  // What CountReasons() would find, asking every row.
  ReasonCounts Count() const;
  // Success if it is not rejected.
  Status status(NodeRow row) const {
    return status_of_[row] == kNone ? Status::Success() : statuses_[status_of_[row]];
  }
  // Its plugin.
  Symbol plugin(NodeRow row) const {
    return status_of_[row] == kNone ? Symbol() : statuses_[status_of_[row]].plugin_symbol();
  }
  int CountWith(Code code) const;
  int CountOf(Symbol plugin) const;
  // Whether there were so many statuses, most of which perhaps no row has any more, that Reset()
  // pays.
  bool is_crowded() const { return statuses_.size() > 64 + status_of_.size() / 8; }

 private:
  static constexpr uint16_t kNone = 0xffff;
  struct Hash {
    size_t operator()(const Status& status) const;
  };

  Symbol FirstPlugin(const std::string& reason) const;

  std::vector<Status> statuses_;
  std::vector<int> rows_with_;       // by index in statuses_
  std::vector<uint16_t> status_of_;  // by row: an index in statuses_, or kNone
  absl::flat_hash_map<Status, uint16_t, Hash> index_of_;
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_REJECTION_COUNTS_H_
