// SPDX-License-Identifier: Apache-2.0
// Implementation of bound_cache.h.
#include "preemption/pruning/bound_cache.h"

#include <algorithm>
#include <cstddef>

#include "table/far_behind.h"
#include "table/row_move.h"
#include "table/rows_with.h"

namespace berth {

void CandidateBounds::Refresh(const NodeTable& nodes, const PriorityLevels& levels,
                              const Nominator& nominator, const NominatedRows& with_nominated_pods,
                              const NodeJournal& budget_changes, NodeRow own_row) {
  bool moved = false;
  const auto on_change = [&](const RowChange& change) { Forget(change.row); };
  const auto on_move = [&](const RowMove& move) {
    move.Apply(feasibility_);
    if (!bounds_.empty()) move.Apply(bounds_);
    move.Apply(is_known_);
    moved = true;
  };
  const auto nominations = nominator.ChangesSince(nominations_version_);
  const auto of_budgets = budget_changes.Since(budget_changes_);
  const bool followed = table_ == nodes.id() && of_budgets.has_value() && nominations.has_value() &&
                        !IsFarBehind(nodes, version_) && nodes.Replay(version_, on_change, on_move);
  table_ = nodes.id();
  version_ = nodes.version();
  nominations_version_ = nominator.version();
  budget_changes_ = budget_changes.end();
  const BoundCalculator calculator(preemptor_, nodes, levels);
  if (!followed) {
    ComputeAll(calculator);
    for (const NodeRow row : with_nominated_pods.rows()) Forget(row);
  } else {
    for (const Symbol name : *nominations) Forget(nodes.FindRow(name));
    for (const Symbol name : *of_budgets) Forget(nodes.FindRow(name));
    Forget(nodes.FindRow(own_node_));
  }
  Forget(own_row);
  own_node_ = own_row < 0 ? Symbol() : nodes.node(own_row).name();
  if (moved) {  // and so did those that were forgotten
    is_ordered_ = false;
    forgotten_.clear();
    AppendRowsWith(0, is_known_, forgotten_);
  }
  ComputeForgotten(calculator, with_nominated_pods, own_row);
}

// The pod itself does not count: of its own row, at best, no pod is nominated to it.
void CandidateBounds::ComputeForgotten(const BoundCalculator& calculator,
                                       const NominatedRows& with_nominated_pods, NodeRow own_row) {
  constexpr int kPartOfAll = 32;  // so many cost less than to order all
  if (static_cast<int>(forgotten_.size()) > size() / kPartOfAll) is_ordered_ = false;
  for (const NodeRow row : forgotten_) {
    const bool counts = row != own_row && with_nominated_pods.contains(row);
    Compute(row, calculator, counts ? with_nominated_pods.at(row).pods : BoundCalculator::Pods());
    is_known_[row] = 1;
    Reorder(row);
  }
  forgotten_.clear();
}

void CandidateBounds::Forget(NodeRow row) {
  if (row < 0 || !is_known_[row]) return;
  is_known_[row] = 0;
  forgotten_.push_back(row);
}

void CandidateBounds::Compute(NodeRow row, const BoundCalculator& calculator,
                              BoundCalculator::Pods nominated) {
  CandidateBound bound;
  feasibility_[row] = calculator.Compute(row, nominated, bound);
  if (!is_possible(row)) return;
  bounds_.resize(feasibility_.size());
  bounds_[row] = bound;
}

void CandidateBounds::ComputeAll(const BoundCalculator& calculator) {
  calculator.ComputeAll(feasibility_, bounds_);
  is_known_.assign(feasibility_.size(), 1);
  forgotten_.clear();
  is_ordered_ = false;
}

NodeRow CandidateBounds::Best() {
  if (none_is_possible()) return -1;
  if (!is_ordered_) {
    is_hidden_.resize(size());  // none of them is
    order_.Build(size(), ByBound(*this, is_hidden_.data(), /*counts=*/0));
    is_ordered_ = true;
  }
  return order_.best();
}

void CandidateBounds::Hide(NodeRow row) {
  if (!is_possible(row)) return;
  Best();  // puts them in order
  is_hidden_[row] = 1;
  hidden_.push_back(row);
  Reorder(row);
}

void CandidateBounds::ShowAll() {
  for (const NodeRow row : hidden_) {
    is_hidden_[row] = 0;
    Reorder(row);
  }
  hidden_.clear();
}

CandidateBounds& BoundCache::Find(const PreemptorClass& preemptor, const NodeTable& nodes,
                                  const PriorityLevels& levels, const Nominator& nominator,
                                  const NodeJournal& budget_changes, NodeRow own_row) {
  // A row takes some 40 bytes.
  const size_t most = std::clamp<size_t>((size_t{1} << 19) / (nodes.size() + 1), 4, 64);
  auto found = FindKept(preemptor);
  if (found == latest_.end()) {
    if (latest_.size() >= most) latest_.resize(most - 1);
    found = latest_.insert(latest_.end(), std::make_unique<CandidateBounds>(preemptor));
  }
  return Use(found, nodes, levels, nominator, budget_changes, own_row);
}

CandidateBounds* BoundCache::FindReusable(const PreemptorClass& preemptor, const NodeTable& nodes,
                                          const PriorityLevels& levels, const Nominator& nominator,
                                          const NodeJournal& budget_changes, NodeRow own_row) {
  if (FindKept(preemptor) != latest_.end()) return nullptr;
  const auto found = std::find_if(latest_.begin(), latest_.end(), [&](const auto& kept) {
    return RequestsSlightlyLess(kept->preemptor(), preemptor);
  });
  if (found == latest_.end()) return nullptr;
  return &Use(found, nodes, levels, nominator, budget_changes, own_row);
}

BoundCache::Kept::iterator BoundCache::FindKept(const PreemptorClass& preemptor) {
  return std::find_if(latest_.begin(), latest_.end(),
                      [&](const auto& kept) { return kept->preemptor() == preemptor; });
}

CandidateBounds& BoundCache::Use(Kept::iterator kept, const NodeTable& nodes,
                                 const PriorityLevels& levels, const Nominator& nominator,
                                 const NodeJournal& budget_changes, NodeRow own_row) {
  std::rotate(latest_.begin(), kept, kept + 1);
  with_nominated_pods_.CatchUp(nodes, nominator);
  latest_.front()->Refresh(nodes, levels, nominator, with_nominated_pods_, budget_changes, own_row);
  return *latest_.front();
}

}  // namespace berth
