// SPDX-License-Identifier: Apache-2.0
// Implementation of short_rows.h.
#include "plugins/capacity_scheduling/short_rows.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"

namespace berth {

RowSummer::RowSummer(const NodeTable& nodes, const ExpectedPods& expected, Resources resources,
                     int32_t priority)
    : nodes_(nodes), expected_(expected), resources_(std::move(resources)), priority_(priority) {
  for (const Resource& of : resources_) {
    columns_.push_back({of, nodes_.allocatable(of.id), nodes_.requested(of.id)});
  }
}

bool RowSummer::FindLack(const Column& column, NodeRow row, const ExpectedPods::OnRow& expected,
                         int64_t& lack) {
  lack = 0;
  if (column.of.is_of_devices && column.has[row] <= 0) return true;
  if (__builtin_sub_overflow(column.used[row], column.has[row], &lack)) return false;
  if (__builtin_add_overflow(lack, column.of.asked, &lack)) return false;
  return expected.is_none() ||
         !__builtin_add_overflow(lack, expected.more.Get(column.of.id), &lack);
}

bool RowSummer::FindSums(NodeRow row, RowSums& sums) const {
  sums = RowSums();
  const ExpectedPods::OnRow& expected = expected_.at(row);
  // Of nominated pods the pod itself does not count, nor do those of a lower priority.
  if (!expected.is_exact || expected.lowest_priority < priority_) return false;
  const int64_t coming = nodes_.pod_count()[row] + 1 + expected.coming_pods;
  if (__builtin_sub_overflow(coming - expected.leaving_pods, nodes_.allowed_pods()[row],
                             &sums.pods)) {
    return false;
  }
  sums.is_short = sums.pods > 0;
  for (const Column& column : columns_) {
    int64_t lack = 0;
    if (!FindLack(column, row, expected, lack)) return false;
    if (lack <= 0) continue;
    sums.is_short = true;
    const int64_t most = column.of.most;
    if (most <= 0) {
      sums.is_possible = false;
    } else {
      // Mostly one: no division.
      sums.pods = std::max(sums.pods, lack <= most ? 1 : (lack - 1) / most + 1);
    }
  }
  return true;
}

bool ShortRows::Kept::AddUp(const RowSummer& summer, NodeRow row) {
  RowSums sums;
  if (!summer.FindSums(row, sums)) return false;
  OfRow& known = rows_[row];
  known.pods = sums.pods;
  known.state = !sums.is_short     ? State::kFree
                : sums.is_possible ? State::kShort
                                   : State::kImpossible;
  return true;
}

ShortRows::Kept& ShortRows::For(const RowSummer& summer) {
  auto kept = absl::c_find_if(kept_, [&](const Kept& other) {
    return other.priority_ == summer.priority() && other.resources_ == summer.resources();
  });
  if (kept == kept_.end()) {
    if (kept_.size() < kMost) {
      kept_.emplace_back();
      kept = kept_.end() - 1;
    } else {
      kept = absl::c_min_element(
          kept_, [](const Kept& a, const Kept& b) { return a.last_use_ < b.last_use_; });
    }
    kept->resources_ = summer.resources();
    kept->priority_ = summer.priority();
    kept->table_ = 0;
  }
  const auto recounted = summer.expected().RecountedSince(kept->recounts_);
  const auto rows = static_cast<size_t>(summer.nodes().size());
  if (kept->table_ != summer.nodes().id() || kept->rows_.size() != rows || !recounted.has_value()) {
    kept->rows_.assign(rows, Kept::OfRow());
  } else {
    for (const NodeRow row : *recounted) kept->rows_[row].state = Kept::State::kUnknown;
  }
  kept->table_ = summer.nodes().id();
  kept->recounts_ = summer.expected().recounts();
  kept->last_use_ = ++uses_;
  return *kept;
}

}  // namespace berth
