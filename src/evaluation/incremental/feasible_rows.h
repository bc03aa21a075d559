// SPDX-License-Identifier: Apache-2.0
// The rows that no filter rejects, as verdicts change one by one.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_FEASIBLE_ROWS_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_FEASIBLE_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "berth/columns/node_verdicts.h"
#include "berth/framework/status.h"
#include "framework/profile_plugins.h"

namespace berth {

// The verdicts of a ScoreCache. The list of feasible rows is made on demand; count() costs nothing.
// Scheduling thread.
class FeasibleRows {
 public:
  bool contains(NodeRow row) const { return verdicts_.IsFeasible(row); }
  int count() const { return count_; }
  // In order.
  absl::Span<const NodeRow> rows() const;

  // `rows` rows without verdicts: returns all of them. Filters follow, then Recount().
  absl::Span<const NodeRow> Reset(int rows);
  NodeVerdicts& uncounted_verdicts() { return verdicts_; }
  void Recount();
  // The verdict on one row: what its filters returned.
  void Set(NodeRow row, const Status& status, const ProfilePlugins& plugins);

 private:
  NodeVerdicts verdicts_;
  int count_ = 0;
  mutable bool is_listed_ = false;
  mutable std::vector<NodeRow> rows_;
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_FEASIBLE_ROWS_H_
