// SPDX-License-Identifier: Apache-2.0
// What the columns of nodes leave out: pods that are about to leave a node, and to come to it.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_EXPECTED_PODS_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_EXPECTED_PODS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "berth/api/resources.h"
#include "berth/columns/node_table.h"
#include "berth/handle/nominator.h"

namespace berth {

// Sums by row, kept from plan to plan: a plan costs the rows that changed. Scheduling thread.
class ExpectedPods {
 public:
  struct OnRow {
    // The requests of pods that are nominated, less those of pods that are being deleted.
    ResourceVector more;
    int leaving_pods = 0, coming_pods = 0;
    int32_t lowest_priority = std::numeric_limits<int32_t>::max();  // of those that are nominated
    bool is_exact = true;  // no sum ended at an end of int64
    uint64_t generation = 0;

    bool is_none() const { return leaving_pods == 0 && coming_pods == 0; }
  };

  // Brings the sums in step.
  void Refresh(const NodeTable& nodes, const Nominator& nominator);
  const OnRow& at(NodeRow row) const { return rows_[row]; }

  // Grows with each row that was counted again: it, or its nominations, changed.
  uint64_t recounts() const { return first_recount_ + recounted_.size(); }
  // The rows since then, oldest first; absent if all of them were, or too many.
  std::optional<absl::Span<const NodeRow>> RecountedSince(uint64_t recounts) const;

 private:
  void RecountAll(const NodeTable& nodes, const Nominator& nominator);
  void Recount(const NodeTable& nodes, const Nominator& nominator, NodeRow row);

  uint64_t table_ = 0, version_ = 0;  // NodeTable::id() and version()
  uint64_t nominations_version_ = 0;
  std::vector<OnRow> rows_;
  uint64_t first_recount_ = 1;
  std::vector<NodeRow> recounted_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_EXPECTED_PODS_H_
