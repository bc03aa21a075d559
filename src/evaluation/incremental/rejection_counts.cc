// SPDX-License-Identifier: Apache-2.0
// Implementation of rejection_counts.h.
#include "evaluation/incremental/rejection_counts.h"

#include "absl/algorithm/container.h"
#include "absl/hash/hash.h"
#include "table/row_move.h"

namespace berth {

size_t RejectionCounts::Hash::operator()(const Status& status) const {
  return absl::HashOf(status.code(), status.plugin_symbol(), status.reasons());
}

void RejectionCounts::Reset(int rows) {
  statuses_.clear();
  rows_with_.clear();
  index_of_.clear();
  status_of_.assign(rows, kNone);
}

std::optional<uint16_t> RejectionCounts::IndexOf(const Status& status) {
  if (const auto it = index_of_.find(status); it != index_of_.end()) return it->second;
  if (statuses_.size() == kNone) return std::nullopt;
  const auto index = static_cast<uint16_t>(statuses_.size());
  index_of_.emplace(status, index);
  statuses_.push_back(status);
  rows_with_.push_back(0);
  return index;
}

void RejectionCounts::Move(const RowMove& move) {
  for (const NodeRow row : move.gone()) Clear(row);
  move.Apply(status_of_, kNone);
}

// The plugin that gives `reason` on the first row that has it.
Symbol RejectionCounts::FirstPlugin(const std::string& reason) const {
  for (const uint16_t index : status_of_) {
    if (index == kNone) continue;
    const Status& status = statuses_[index];
    if (absl::c_linear_search(status.reasons(), reason)) return status.plugin_symbol();
  }
  return Symbol();
}

int RejectionCounts::CountWith(Code code) const {
  int rows = 0;
  for (size_t i = 0; i < statuses_.size(); ++i) {
    if (statuses_[i].code() == code) rows += rows_with_[i];
  }
  return rows;
}

int RejectionCounts::CountOf(Symbol plugin) const {
  int rows = 0;
  for (size_t i = 0; i < statuses_.size(); ++i) {
    if (statuses_[i].plugin_symbol() == plugin) rows += rows_with_[i];
  }
  return rows;
}

ReasonCounts RejectionCounts::Count() const {
  ReasonCounts counts;
  for (size_t i = 0; i < statuses_.size(); ++i) {
    if (rows_with_[i] == 0) continue;
    const Status& status = statuses_[i];
    for (const std::string& reason : status.reasons()) {
      const auto [it, is_new] = counts.try_emplace(reason);
      ReasonCount& count = it->second;
      count.nodes += rows_with_[i];
      count.resolvable |= status.code() == Code::kUnschedulable;
      if (is_new) {
        count.plugin = status.plugin_symbol();
      } else if (count.plugin != status.plugin_symbol()) {
        // Two plugins give the same reason: the one that comes first by row counts.
        count.plugin = FirstPlugin(reason);
      }
    }
  }
  return counts;
}

}  // namespace berth
