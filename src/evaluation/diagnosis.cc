// SPDX-License-Identifier: Apache-2.0
// Implementation of diagnosis.h.
#include "evaluation/diagnosis.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "berth/api/amounts.h"

namespace berth {

Status VerdictStatuses::status(NodeRow row) const {
  const int group = this->group(row);
  return group == kNoReasonGroup ? Ask(row) : status_of_group_[group];
}

Symbol VerdictStatuses::rejecting_plugin(NodeRow row) const {
  const uint8_t rejector = verdicts_.rejector(row);
  if (rejector < framework_.plugins().filter.size())
    return framework_.plugins().filter[rejector].name;
  return status(row).plugin_symbol();
}

Status VerdictStatuses::Ask(NodeRow row) const {
  if (verdicts_.rejector(row) == NodeVerdicts::kNotFiltered) return excluded_;
  if (verdicts_.IsFeasible(row)) return Status::Success();
  if (verdicts_.rejector(row) == NodeVerdicts::kExtender) {
    const auto said = by_extenders_->find(row);
    return said != by_extenders_->end()
               ? said->second
               : Status::Make(verdicts_.code(row), {}).WithPlugin(Symbol::Intern(kExtenderName));
  }
  return framework_.nomination_filter().RunFilterWithNominatedPods(state_, pod_, nodes_.node(row));
}

NodeRow VerdictStatuses::EndOfReasonGroup(NodeRow row) const {
  const NodeRow end = verdicts_.rows();
  const auto difference = [&](NodeRow next) {
    return static_cast<uint8_t>(static_cast<uint8_t>(verdicts_.code(next)) ^
                                static_cast<uint8_t>(verdicts_.code(row))) |
           (verdicts_.rejector(next) ^ verdicts_.rejector(row)) |
           (verdicts_.reason_id(next) ^ verdicts_.reason_id(row));
  };
  // Mostly very many rows are equal: no early end, so that this compiles to vector instructions.
  constexpr NodeRow kBlock = 64;
  NodeRow next = row + 1;
  while (next + kBlock <= end) {
    int differences = 0;
    for (NodeRow i = 0; i < kBlock; ++i) differences |= difference(next + i);
    if (differences != 0) break;
    next += kBlock;
  }
  while (next < end && difference(next) == 0) ++next;
  return next;
}

// The status of the first row is that of its group, if its per-node form agrees with the verdict.
int VerdictStatuses::FindReasonGroup(NodeRow row, uint32_t key) const {
  const auto [it, is_new] = group_of_.try_emplace(key, kNoReasonGroup);
  if (!is_new) return it->second;
  Status status = Ask(row);
  const uint8_t rejector = verdicts_.rejector(row);
  const bool agrees = rejector >= NodeVerdicts::kNoRejector ||
                      (status.code() == verdicts_.code(row) &&
                       framework_.plugins().FilterIndex(status.plugin_symbol()) == rejector);
  if (!agrees) return kNoReasonGroup;
  it->second = static_cast<int>(status_of_group_.size());
  status_of_group_.push_back(std::move(status));
  return it->second;
}

std::vector<NodeRow> VerdictStatuses::RowsWith(Code code) const {
  return berth::RowsWith(verdicts_, code);
}

int VerdictStatuses::CountWith(Code code) const {
  return static_cast<int>(absl::c_count(verdicts_.codes(), code));
}

bool HasRejector(const NodeVerdicts& verdicts, uint8_t rejector) {
  const absl::Span<const uint8_t> rejectors = verdicts.rejectors();
  return !rejectors.empty() && std::memchr(rejectors.data(), rejector, rejectors.size()) != nullptr;
}

bool AnyFeasible(const NodeVerdicts& verdicts) {
  return HasRejector(verdicts, NodeVerdicts::kNoRejector);
}

RejectorCounts CountRejectors(const NodeVerdicts& verdicts) {
  // Mostly one plugin rejects row after row: with four counters no row waits for the one before.
  constexpr NodeRow kTurns = 4;
  std::array<std::array<int, 256>, kTurns> counts{};
  NodeRow row = 0;
  for (; row + kTurns <= verdicts.rows(); row += kTurns) {
    for (NodeRow turn = 0; turn < kTurns; ++turn) ++counts[turn][verdicts.rejector(row + turn)];
  }
  for (; row < verdicts.rows(); ++row) ++counts[0][verdicts.rejector(row)];
  for (NodeRow turn = 1; turn < kTurns; ++turn) {
    for (size_t i = 0; i < counts[0].size(); ++i) counts[0][i] += counts[turn][i];
  }
  return counts[0];
}

std::vector<NodeRow> RowsWith(const NodeVerdicts& verdicts, Code code) {
  std::vector<NodeRow> rows(verdicts.rows());
  size_t count = 0;
  for (NodeRow row = 0; row < verdicts.rows(); ++row) {
    rows[count] = row;
    count += verdicts.code(row) == code;
  }
  rows.resize(count);
  return rows;
}

FreeCapacity VerdictDiagnosis::MeasureFree(const FreeCapacityQuestion& question) {
  FreeCapacity free = MeasureFreeCapacity(question, nodes_, verdicts_);
  if (AnyFeasible(verdicts_)) {
    FreeCapacityQuestion of_feasible = question;
    of_feasible.rejector = NodeVerdicts::kNoRejector;
    of_feasible.needed = std::numeric_limits<int64_t>::max();
    free.all_free =
        SaturatingAdd(free.all_free, MeasureFreeCapacity(of_feasible, nodes_, verdicts_).all_free);
  }
  return free;
}

std::vector<NodeRow> UniformStatuses::RowsWith(Code code) const {
  std::vector<NodeRow> rows;
  if (code != status_.code()) return rows;
  rows.resize(rows_);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

namespace {

void Count(const Status& status, int nodes, ReasonCounts& counts) {
  for (const std::string& reason : status.reasons()) {
    ReasonCount& count = counts[reason];
    if (count.nodes == 0) count.plugin = status.plugin_symbol();
    count.nodes += nodes;
    count.resolvable |= status.code() == Code::kUnschedulable;
  }
}

}  // namespace

ReasonCounts CountReasons(const VerdictStatuses& statuses, int rows) {
  ReasonCounts counts;
  std::vector<int> rows_of;  // by group
  for (NodeRow row = 0; row < rows;) {
    const int group = statuses.group(row);
    if (group == VerdictStatuses::kNoReasonGroup) {
      Count(statuses.status(row++), 1, counts);
      continue;
    }
    const NodeRow first = std::exchange(row, statuses.EndOfReasonGroup(row));
    if (group >= static_cast<int>(rows_of.size())) rows_of.resize(group + 1, 0);
    // At once, so that a reason names the plugin of the first row that has it.
    if (rows_of[group] == 0) Count(statuses.status_of_reason_group(group), 1, counts);
    rows_of[group] += row - first;
  }
  for (size_t group = 0; group < rows_of.size(); ++group) {
    if (rows_of[group] < 2) continue;
    Count(statuses.status_of_reason_group(static_cast<int>(group)), rows_of[group] - 1, counts);
  }
  return counts;
}

}  // namespace berth
