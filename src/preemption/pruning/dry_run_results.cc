// Implementation of dry_run_results.h.
#include "preemption/pruning/dry_run_results.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "framework/nominated_rows.h"

namespace berth {
namespace {

constexpr std::pair<int64_t, int64_t> kEverything = {std::numeric_limits<int64_t>::min(),
                                                     std::numeric_limits<int64_t>::max()};

}  // namespace

void RememberedRuns::Refresh(const NodeTable& nodes, const Nominator& nominator,
                             uint64_t budgets_version, NodeRow own_row,
                             const DryRunGrounds& grounds, absl::Span<const int64_t> gauges) {
  const auto nominations = nominator.ChangesSince(nominations_version_);
  const bool in_step = nodes_version_ != 0 && nominations.has_value() &&
                       budgets_version == budgets_version_ &&
                       nodes.Replay(
                           nodes_version_, [&](const RowChange& change) { Forget(change.row); },
                           [&](const RowMove& move) { Move(move); });
  if (!in_step || !FollowGrounds(nodes, nominator, grounds)) {
    domains_.Keep(grounds.domains);
    outcome_of_.assign(nodes.size(), kUnknown);
    known_count_ = 0;
    candidates_.clear();
    free_.clear();
    conditions_.assign(gauges.empty() ? 0 : nodes.size(), {});
    helps_from_.assign(conditions_.size(), absl::InfiniteFuture());
    all_hold_.assign(gauges.size(), kEverything);
    failures_.clear();
    failure_of_.clear();
    changes_.Restart();
  } else {
    for (const Symbol name : *nominations) Forget(nodes.FindRow(name));
  }
  nodes_version_ = nodes.version();
  nominations_version_ = nominator.version();
  budgets_version_ = budgets_version;
  if (!(basis_ == grounds.basis)) basis_ = grounds.basis;
  own_row_ = own_row;
  Forget(own_row);
  CheckGauges(gauges);
}

// Forgets the rows in whose domains a rule has another number. Neither numbers nor objects say
// anything of pods that are nominated to a node: those rows are forgotten too. False if all of them
// are.
bool RememberedRuns::FollowGrounds(const NodeTable& nodes, const Nominator& nominator,
                                   const DryRunGrounds& grounds) {
  if (!(grounds.basis == basis_)) return false;
  if (grounds.domains.empty() && domains_.empty() && grounds.basis.empty()) return true;
  const auto forget = [this](NodeRow row) { Forget(row); };
  ForEachNominatedRow(nominator, nodes, forget);
  return domains_.Follow(grounds.domains, nodes, forget);
}

// Forgets the rows of which a condition does not hold any more.
void RememberedRuns::CheckGauges(absl::Span<const int64_t> gauges) {
  bool all_hold = true;
  for (size_t i = 0; i < gauges.size(); ++i) {
    all_hold &= all_hold_[i].first <= gauges[i] && gauges[i] <= all_hold_[i].second;
  }
  if (all_hold) return;
  std::fill(all_hold_.begin(), all_hold_.end(), kEverything);
  for (NodeRow row = 0; row < static_cast<NodeRow>(outcome_of_.size()); ++row) {
    if (!IsKnown(row)) continue;
    const bool holds = absl::c_all_of(conditions_[row], [&](const GaugeRange& range) {
      return range.low <= gauges[range.gauge] && gauges[range.gauge] <= range.high;
    });
    if (!holds) {
      Forget(row);
      continue;
    }
    for (const GaugeRange& range : conditions_[row]) Tighten(range);
  }
}

void RememberedRuns::Tighten(const GaugeRange& range) {
  auto& [low, high] = all_hold_[range.gauge];
  low = std::max(low, range.low);
  high = std::min(high, range.high);
}

void RememberedRuns::Forget(NodeRow row) {
  if (row < 0 || outcome_of_[row] == kUnknown) return;
  FreePlace(std::exchange(outcome_of_[row], kUnknown));
  --known_count_;
  changes_.Add(row, size());
}

// If it is a candidate.
void RememberedRuns::FreePlace(int32_t outcome) {
  if (!IsCandidate(outcome)) return;
  CandidateOf(outcome) = nullptr;
  free_.push_back(outcome);
}

// Nodes came or went.
void RememberedRuns::Move(const RowMove& move) {
  for (const NodeRow row : move.gone()) {
    FreePlace(outcome_of_[row]);
    known_count_ -= IsKnown(row);
  }
  move.Apply(outcome_of_, kUnknown);
  changes_.Restart();
  if (all_hold_.empty()) return;  // no gauges
  move.Apply(conditions_);
  move.Apply(helps_from_, absl::InfiniteFuture());
}

const WeighedPtr& RememberedRuns::candidate(NodeRow row) {
  static const WeighedPtr& none = *new WeighedPtr();
  if (!IsCandidate(outcome_of_[row])) return none;
  WeighedPtr& known = CandidateOf(outcome_of_[row]);
  if (known->candidate.row != row) {
    auto moved = std::make_shared<WeighedCandidate>(*known);
    moved->candidate.row = row;
    known = std::move(moved);
  }
  return known;
}

void RememberedRuns::Set(NodeRow row, int32_t outcome, const Terms& terms) {
  const int32_t before = std::exchange(outcome_of_[row], outcome);
  known_count_ += before == kUnknown;
  if (before == outcome && all_hold_.empty()) return;
  FreePlace(before);
  changes_.Add(row, size());
  if (all_hold_.empty()) return;
  conditions_[row].assign(terms.conditions.begin(), terms.conditions.end());
  helps_from_[row] = terms.helps_from;
  for (const GaugeRange& range : terms.conditions) Tighten(range);
}

void RememberedRuns::SetCandidate(NodeRow row, WeighedPtr candidate, const Terms& terms) {
  if (row == own_row_) return;
  if (free_.empty()) {
    free_.push_back(kFirstCandidate - static_cast<int32_t>(candidates_.size()));
    candidates_.emplace_back();
  }
  const int32_t outcome = free_.back();
  free_.pop_back();
  CandidateOf(outcome) = std::move(candidate);
  Set(row, outcome, terms);
}

void RememberedRuns::SetNoVictims(NodeRow row, const Terms& terms) {
  if (row == own_row_) return;
  Set(row, kNoVictims, terms);
}

void RememberedRuns::SetFailures(absl::Span<const NodeRow> rows, const Status& status,
                                 const Terms& terms) {
  if (status.IsError()) return;
  std::string reasons;
  for (const std::string& reason : status.reasons()) absl::StrAppend(&reasons, reason, "\n");
  const auto [it, is_new] =
      failure_of_.try_emplace(std::move(reasons), static_cast<int32_t>(failures_.size()));
  if (is_new) failures_.push_back(status);
  for (const NodeRow row : rows) {
    if (row != own_row_) Set(row, it->second, terms);
  }
}

}  // namespace berth
