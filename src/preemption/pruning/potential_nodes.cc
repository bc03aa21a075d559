// Implementation of potential_nodes.h.
#include "preemption/pruning/potential_nodes.h"

#include <utility>

#include "preemption/pruning/bound_cache.h"

namespace berth {

inline void Standings::Settle(NodeRow row, bool unschedulable, const RememberedRuns& runs) {
  int32_t standing = kOut;
  if (unschedulable) standing = runs.IsFailure(row) ? runs.failure(row) : kInPlay;
  if (has_bounds_) prospects_.SetInPlay(row, standing == kInPlay);
  const int32_t before = std::exchange(standing_of_[row], standing);
  if (before != standing) {
    Count(before, -1);
    Count(standing, 1);
  }
  if (!runs.knows_times() && helps_from_.empty()) return;
  const bool counts = standing >= 0 || standing == RememberedRuns::kNoVictims;
  NoteHelp(row, counts ? runs.helps_from(row) : absl::InfiniteFuture());
}

void Standings::Follow(const NodeStatuses& statuses, const RememberedRuns& runs,
                       const QuestionBounds* bounds) {
  const bool had_bounds = std::exchange(has_bounds_, bounds != nullptr);
  const bool in_step = bounds == nullptr || (prospects_.Follow(*bounds) && had_bounds);
  const auto said_again = statuses.ChangesSince(statuses_);
  const auto tried = runs.changes().Since(runs_);
  statuses_ = statuses.version();
  runs_ = runs.changes().end();
  if (!in_step || !said_again.has_value() || !tried.has_value()) {
    SettleAll(statuses, runs);
    return;
  }
  for (const absl::Span<const NodeRow> rows : {*said_again, *tried}) {
    for (const NodeRow row : rows) Settle(row, statuses.code(row) == Code::kUnschedulable, runs);
  }
}

void Standings::FollowRuns(const RememberedRuns& runs) {
  const auto tried = runs.changes().Since(runs_);
  runs_ = runs.changes().end();
  const auto settle = [&](NodeRow row) { Settle(row, standing_of_[row] != kOut, runs); };
  if (tried.has_value()) {
    for (const NodeRow row : *tried) settle(row);
  } else {
    for (NodeRow row = 0; row < size(); ++row) settle(row);
  }
}

void Standings::SettleAll(const NodeStatuses& statuses, const RememberedRuns& runs) {
  standing_of_.assign(runs.size(), kOut);
  counts_.clear();
  without_victims_ = 0;
  helps_from_of_.clear();
  helps_from_.clear();
  const absl::Span<const Code> codes = statuses.codes();
  for (NodeRow row = 0; row < size(); ++row) {
    const Code code = codes.empty() ? statuses.code(row) : codes[row];
    Settle(row, code == Code::kUnschedulable, runs);
  }
}

void Standings::NoteHelp(NodeRow row, absl::Time time) {
  const auto known = helps_from_of_.find(row);
  if (known != helps_from_of_.end()) {
    if (known->second == time) return;
    helps_from_.erase(helps_from_.find(known->second));
    helps_from_of_.erase(known);
  }
  if (time == absl::InfiniteFuture()) return;
  helps_from_of_.emplace(row, time);
  helps_from_.insert(time);
}

}  // namespace berth
