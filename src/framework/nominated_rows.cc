// SPDX-License-Identifier: Apache-2.0
// Implementation of nominated_rows.h.
#include "framework/nominated_rows.h"

#include <limits>
#include <utility>

#include "table/row_move.h"

namespace berth {

void NominatedRows::CatchUp(const NodeTable& nodes, const Nominator& nominator) {
  const auto changes = nominator.ChangesSince(nominations_version_);
  if (!changes.has_value() || !CatchUpWithMoves(nodes, nominator)) {
    Collect(nodes, nominator);
  } else {
    for (const Symbol node : *changes) {
      const NodeRow row = nodes.FindRow(node);
      if (row < 0) continue;
      const auto pods = nominator.NominatedPods(node);
      if (pods.empty()) {
        Remove(row);
      } else {
        Set(row, pods);
      }
    }
  }
  table_ = nodes.id();
  version_ = nodes.version();
  nominations_version_ = nominator.version();
}

// False if too much happened. A node that came may be one that pods were nominated to before.
bool NominatedRows::CatchUpWithMoves(const NodeTable& nodes, const Nominator& nominator) {
  bool moved = false;
  const bool followed = table_ == nodes.id() && nodes.Replay(
                                                    version_, [](const RowChange&) {},
                                                    [&](const RowMove& move) {
                                                      moved = true;
                                                      move.Apply(slot_of_, kCame);
                                                    });
  if (!followed || !moved) return followed;
  Clear();
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    if (std::exchange(slot_of_[row], kNone) == kNone) continue;
    const auto pods = nominator.NominatedPods(nodes.node(row).name());
    if (!pods.empty()) Set(row, pods);
  }
  return true;
}

void NominatedRows::Collect(const NodeTable& nodes, const Nominator& nominator) {
  Clear();
  slot_of_.assign(nodes.size(), kNone);
  ForEachNominatedRow(nominator, nodes, [&](NodeRow row) {
    if (!contains(row)) Set(row, nominator.NominatedPods(nodes.node(row).name()));
  });
}

void NominatedRows::Clear() {
  rows_.clear();
  pods_.clear();
  ForEachColumn([](auto& column) { column.clear(); });
}

void NominatedRows::Set(NodeRow row, absl::Span<const std::shared_ptr<const PodInfo>> pods) {
  if (!contains(row)) {
    slot_of_[row] = static_cast<int32_t>(rows_.size());
    rows_.push_back(row);
    pods_.emplace_back();
    ForEachColumn([](auto& column) { column.push_back(0); });
  }
  const int32_t slot = slot_of_[row];
  NominatedPodsOfRow& kept = pods_[slot];
  kept = {pods, {}};
  for (const auto& pod : pods) kept.requests.Add(pod->requests());
  // A sum of such ones would not tell whether one of them is too large.
  constexpr int64_t kUntold = std::numeric_limits<int64_t>::min();
  for (const auto& pod : pods) {
    pod->requests().ForEach([&](ResourceId id, int64_t amount) {
      if (amount < 0) kept.requests.Set(id, kUntold);
    });
  }
  highest_priority_[slot] = pods.front()->priority();
  lowest_priority_[slot] = pods.back()->priority();
  pod_count_[slot] = static_cast<int32_t>(pods.size());
  for (ResourceId id = 0; id < kCommonResources; ++id) {
    const int64_t amount = kept.requests.Get(id);
    if (requests_[id].empty() && amount == 0) continue;
    requests_[id].resize(pods_.size());
    requests_[id][slot] = amount;
  }
}

void NominatedRows::Remove(NodeRow row) {
  if (!contains(row)) return;
  const int32_t slot = std::exchange(slot_of_[row], kNone);
  if (rows_.back() != row) {
    rows_[slot] = rows_.back();
    pods_[slot] = std::move(pods_.back());
    ForEachColumn([slot](auto& column) { column[slot] = column.back(); });
    slot_of_[rows_[slot]] = slot;
  }
  rows_.pop_back();
  pods_.pop_back();
  ForEachColumn([](auto& column) { column.pop_back(); });
}

}  // namespace berth
