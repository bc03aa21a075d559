// SPDX-License-Identifier: Apache-2.0
// Implementation of dry_run_cache.h.
#include "preemption/pruning/dry_run_cache.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/dry_run_inputs.h"
#include "framework/nominated_rows.h"
#include "table/row_move.h"

namespace berth {

// --- CachedResults ---

void CachedResults::Refresh(const NodeTable& nodes, const Nominator& nominator,
                            const NodeJournal& budget_changes, NodeRow own_row,
                            const DryRunInputs& inputs) {
  const auto nominations = nominator.ChangesSince(nominations_version_);
  const auto of_budgets = budget_changes.Since(budget_changes_);
  const bool in_step = nodes_version_ != 0 && nominations.has_value() && of_budgets.has_value() &&
                       nodes.Replay(
                           nodes_version_, [&](const RowChange& change) { Forget(change.row); },
                           [&](const RowMove& move) { Move(move); });
  if (!in_step || !UpdateInputs(nodes, nominator, inputs)) {
    Restart(nodes, inputs);
  } else {
    for (const Symbol name : *nominations) Forget(nodes.FindRow(name));
    for (const Symbol name : *of_budgets) Forget(nodes.FindRow(name));
  }
  nodes_version_ = nodes.version();
  nominations_version_ = nominator.version();
  budget_changes_ = budget_changes.end();
  if (!(filter_inputs_ == inputs.filter_inputs)) filter_inputs_ = inputs.filter_inputs;
  own_row_ = own_row;
  Forget(own_row);
}

// Forgets the rows in whose domains a rule has another number. Neither numbers nor objects say
// anything of pods that are nominated to a node: those rows are forgotten too. False if all of them
// are.
bool CachedResults::UpdateInputs(const NodeTable& nodes, const Nominator& nominator,
                                 const DryRunInputs& inputs) {
  if (!(inputs.filter_inputs == filter_inputs_)) return false;
  if (inputs.domains.empty() && domains_.empty() && inputs.filter_inputs.empty()) return true;
  const auto forget = [this](NodeRow row) { Forget(row); };
  ForEachNominatedRow(nominator, nodes, forget);
  return domains_.CatchUp(inputs.domains, nodes, forget);
}

void CachedResults::Restart(const NodeTable& nodes, const DryRunInputs& inputs) {
  domains_.Keep(inputs.domains);
  outcome_of_.assign(nodes.size(), kUnknown);
  known_count_ = 0;
  candidates_.clear();
  free_.clear();
  failures_.clear();
  failure_of_.clear();
}

void CachedResults::Forget(NodeRow row) {
  if (row < 0 || outcome_of_[row] == kUnknown) return;
  FreePlace(std::exchange(outcome_of_[row], kUnknown));
  --known_count_;
}

// If it is a candidate.
void CachedResults::FreePlace(int32_t outcome) {
  if (!IsCandidate(outcome)) return;
  CandidateOf(outcome) = nullptr;
  free_.push_back(outcome);
}

// Nodes came or went.
void CachedResults::Move(const RowMove& move) {
  for (const NodeRow row : move.gone()) {
    FreePlace(outcome_of_[row]);
    known_count_ -= IsKnown(row);
  }
  move.Apply(outcome_of_, kUnknown);
}

ScoredCandidatePtr CachedResults::candidate(NodeRow row) {
  if (!IsCandidate(outcome_of_[row])) return nullptr;
  ScoredCandidatePtr& known = CandidateOf(outcome_of_[row]);
  if (known->candidate.row != row) {
    auto moved = std::make_shared<ScoredCandidate>(*known);
    moved->candidate.row = row;
    known = std::move(moved);
  }
  return known;
}

void CachedResults::Set(NodeRow row, int32_t outcome) {
  const int32_t before = std::exchange(outcome_of_[row], outcome);
  known_count_ += before == kUnknown;
  FreePlace(before);
}

void CachedResults::SetCandidate(NodeRow row, ScoredCandidatePtr candidate) {
  if (row == own_row_) return;
  if (free_.empty()) {
    free_.push_back(kFirstCandidate - static_cast<int32_t>(candidates_.size()));
    candidates_.emplace_back();
  }
  const int32_t outcome = free_.back();
  free_.pop_back();
  CandidateOf(outcome) = std::move(candidate);
  Set(row, outcome);
}

void CachedResults::SetNoVictims(NodeRow row) {
  if (row != own_row_) Set(row, kNoVictims);
}

void CachedResults::SetFailures(absl::Span<const NodeRow> rows, const Status& status) {
  if (status.IsError()) return;
  std::string reasons;
  for (const std::string& reason : status.reasons()) absl::StrAppend(&reasons, reason, "\n");
  const auto [it, is_new] =
      failure_of_.try_emplace(std::move(reasons), static_cast<int32_t>(failures_.size()));
  if (is_new) failures_.push_back(status);
  for (const NodeRow row : rows) {
    if (row != own_row_) Set(row, it->second);
  }
}

bool CachedResults::MayYield() {
  constexpr int kMostSetbacks = 4;
  if (known_count_ <= known_at_yield_ && ++yields_without_progress_ > kMostSetbacks) return false;
  known_at_yield_ = known_count_;
  return true;
}

void CachedResults::OnSearchEnd() {
  known_at_yield_ = -1;
  yields_without_progress_ = 0;
}

// --- DryRunCache ---

CachedResults& DryRunCache::Find(const std::string& key, int rows) {
  // A row takes 4 bytes, and some 300 more if it is a candidate.
  const size_t most = std::clamp<size_t>((size_t{1} << 19) / (rows + 1), 4, 64);
  auto found = std::find_if(latest_.begin(), latest_.end(),
                            [&](const auto& entry) { return entry->key == key; });
  if (found == latest_.end()) {
    if (latest_.size() >= most) latest_.resize(most - 1);
    auto entry = std::make_unique<Entry>();
    entry->key = key;
    found = latest_.insert(latest_.end(), std::move(entry));
  }
  std::rotate(latest_.begin(), found, found + 1);
  return latest_.front()->results;
}

}  // namespace berth
