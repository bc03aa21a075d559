// SPDX-License-Identifier: Apache-2.0
// On which nodes pods have to go so that another has room, as far as sums of requests say.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_SHORT_ROWS_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_SHORT_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "berth/api/resources.h"
#include "berth/columns/node_table.h"
#include "berth/framework/pod_info.h"
#include "plugins/capacity_scheduling/expected_pods.h"

namespace berth {

// What sums say of a row.
struct RowSums {
  bool is_short = false;    // a pod has to go for room on the node
  bool is_possible = true;  // that would do
  int64_t pods = 0;         // so many at least
};

// The plain form: adds up what a row has, for one pod.
class RowSummer {
 public:
  // A resource that the pod requests.
  struct Resource {
    ResourceId id;
    int64_t asked, most;         // by the pod, by any pod that may go
    bool is_of_devices = false;  // those stand for it where a node lists none: no matter of sums
    friend bool operator==(const Resource&, const Resource&) = default;
  };
  using Resources = absl::InlinedVector<Resource, 4>;

  // `nodes` and `expected`, which is in step with them, outlive this.
  RowSummer(const NodeTable& nodes, const ExpectedPods& expected, Resources resources,
            int32_t priority);
  // Returns false if sums do not say it.
  bool FindSums(NodeRow row, RowSums& sums) const;

  const NodeTable& nodes() const { return nodes_; }
  const ExpectedPods& expected() const { return expected_; }
  const Resources& resources() const { return resources_; }
  int32_t priority() const { return priority_; }

 private:
  struct Column {
    Resource of;
    absl::Span<const int64_t> has, used;
  };
  // What the row lacks of it, in `lack`; false if the sum is beyond int64.
  static bool FindLack(const Column& column, NodeRow row, const ExpectedPods::OnRow& expected,
                       int64_t& lack);

  const NodeTable& nodes_;
  const ExpectedPods& expected_;
  const Resources resources_;
  const int32_t priority_;
  absl::InlinedVector<Column, 4> columns_;
};

// The fast form: keeps them from plan to plan for the last requests, 16 bytes a row for each. A
// plan for a pod like an earlier one adds up the rows that changed. Scheduling thread.
class ShortRows {
 public:
  class Kept {
   public:
    // As RowSummer::FindSums().
    bool FindSums(const RowSummer& summer, NodeRow row, RowSums& sums) {
      OfRow& known = rows_[row];
      if (known.state == State::kUnknown && !AddUp(summer, row)) return false;
      sums = {known.state != State::kFree, known.state != State::kImpossible, known.pods};
      return true;
    }

   private:
    friend class ShortRows;
    enum class State : uint8_t { kUnknown, kFree, kShort, kImpossible };
    struct OfRow {
      int64_t pods = 0;
      State state = State::kUnknown;
    };
    bool AddUp(const RowSummer& summer, NodeRow row);

    RowSummer::Resources resources_;
    int32_t priority_ = 0;
    uint64_t table_ = 0, recounts_ = 0;  // NodeTable::id(), ExpectedPods::recounts()
    uint64_t last_use_ = 0;
    std::vector<OfRow> rows_;
  };

  // Valid until the next call.
  Kept& For(const RowSummer& summer);

 private:
  static constexpr size_t kMost = 32;
  std::vector<Kept> kept_;
  uint64_t uses_ = 0;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_SHORT_ROWS_H_
