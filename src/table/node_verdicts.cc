// SPDX-License-Identifier: Apache-2.0
// NodeVerdicts: the engine's side.
#include "berth/columns/node_verdicts.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "berth/check.h"
#include "table/row_move.h"

namespace berth {
namespace {

// Calls visit(block, consecutive) for parts of `rows`. Which rows are feasible is hard to foretell,
// so a branch for each is not worth it; but often none of very many is.
template <class Visit>
void ForEachBlock(absl::Span<const NodeRow> rows, Visit visit) {
  constexpr size_t kBlock = 512;
  const bool consecutive = AreConsecutive(rows);
  for (; !rows.empty(); rows.remove_prefix(std::min(kBlock, rows.size()))) {
    visit(rows.subspan(0, kBlock), consecutive);
  }
}

// Notes `plugin` as the rejector of the rows that are not feasible any more, and copies the others
// to `kept`, which may be the beginning of `rows`. Returns the end of them. Pointers, and no
// members: a byte that is stored could be part of any of these.
NodeRow* KeepFeasible(absl::Span<const NodeRow> rows, const Code* codes, uint8_t plugin,
                      uint8_t* rejectors, NodeRow* kept) {
  for (const NodeRow row : rows) {
    const bool feasible = codes[row] == Code::kSuccess;
    rejectors[row] = feasible ? NodeVerdicts::kNoRejector : plugin;
    *kept = row;
    kept += feasible ? 1 : 0;
  }
  return kept;
}

}  // namespace

void NodeVerdicts::Reset(int rows) {
  codes_.assign(rows, Code::kUnschedulableAndUnresolvable);
  rejectors_.assign(rows, kNotFiltered);
  reason_ids_.resize(rows);
  candidates_.clear();
  shared_statuses_.clear();
}

void NodeVerdicts::Move(const RowMove& move) {
  move.Apply(codes_, Code::kUnschedulableAndUnresolvable);
  move.Apply(rejectors_, kNotFiltered);
  move.Apply(reason_ids_, kNoReasonId);
}

void NodeVerdicts::Set(NodeRow row, const Status& status) {
  constexpr size_t kMostCompared = 8;
  size_t i = 0;
  while (i < shared_statuses_.size() && shared_statuses_[i] != status) ++i;
  if (i == shared_statuses_.size() && i < kMostCompared) shared_statuses_.push_back(status);
  Set(row, status.code(),
      i < shared_statuses_.size() ? static_cast<uint8_t>(kNoReasonId - 1 - i) : kNoReasonId);
}

void NodeVerdicts::BeginBlock(absl::Span<const NodeRow> rows) {
  candidates_.assign(rows.begin(), rows.end());
  codes_set_ = ended_codes_set_ = 0;
  if (AreConsecutive(rows)) {
    BERTH_DCHECK(rows.empty() || (rows.front() >= 0 && rows.back() < this->rows()));
    const NodeRow first = rows.empty() ? 0 : rows.front();
    std::fill_n(codes_.begin() + first, rows.size(), Code::kSuccess);
    std::fill_n(rejectors_.begin() + first, rows.size(), kNoRejector);
    return;
  }
  for (const NodeRow row : rows) {
    BERTH_DCHECK(row >= 0 && row < this->rows()) << row;
    codes_[row] = Code::kSuccess;
    rejectors_[row] = kNoRejector;
  }
}

void NodeVerdicts::EndPlugin(uint8_t plugin) {
  BERTH_DCHECK(plugin < kNoRejector);
  const uint32_t rejections = codes_set_ & ~(uint32_t{1} << static_cast<uint8_t>(Code::kSuccess));
  ended_codes_set_ |= std::exchange(codes_set_, 0);
  if (rejections == 0) return;  // mostly a plugin has nothing against any node
  static_assert(sizeof(Code) == 1);
  NodeRow* kept = candidates_.data();
  ForEachBlock(candidates_, [&](absl::Span<const NodeRow> block, bool consecutive) {
    const NodeRow first = block.front();
    if (consecutive &&
        std::memchr(&codes_[first], static_cast<int>(Code::kSuccess), block.size()) == nullptr) {
      std::fill_n(rejectors_.begin() + first, block.size(), plugin);
      return;
    }
    kept = KeepFeasible(block, codes_.data(), plugin, rejectors_.data(), kept);
  });
  candidates_.resize(kept - candidates_.data());
}

void NodeVerdicts::AppendFeasible(absl::Span<const NodeRow> rows,
                                  std::vector<NodeRow>& feasible) const {
  ForEachBlock(rows, [&](absl::Span<const NodeRow> block, bool consecutive) {
    if (consecutive &&
        std::memchr(&rejectors_[block.front()], kNoRejector, block.size()) == nullptr)
      return;
    const size_t before = feasible.size();
    feasible.resize(before + block.size());
    const uint8_t* const rejectors = rejectors_.data();
    NodeRow* next = feasible.data() + before;
    for (const NodeRow row : block) {
      *next = row;
      next += rejectors[row] == kNoRejector ? 1 : 0;
    }
    feasible.resize(next - feasible.data());
  });
}

}  // namespace berth
