// SPDX-License-Identifier: Apache-2.0
// Implementation of bound_cache.h.
#include "preemption/pruning/bound_cache.h"

#include <algorithm>
#include <cstddef>

#include "absl/algorithm/container.h"
#include "table/far_behind.h"
#include "table/row_move.h"
#include "table/rows_with.h"

namespace berth {

void CandidateBounds::Refresh(const BoundInputs& inputs, const NominatedRows& with_nominated_pods) {
  const auto& [nodes, levels, nominator, budget_changes, own_row] = inputs;
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
    ComputeAll(calculator, nodes.size());
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

void CandidateBounds::ComputeAll(const BoundCalculator& calculator, int rows) {
  feasibility_.resize(rows);
  bounds_.clear();
  for (NodeRow row = 0; row < rows; ++row) Compute(row, calculator, {});
  is_known_.assign(rows, 1);
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

CandidateBounds& BoundCache::Find(const PreemptorClass& preemptor, const BoundInputs& inputs,
                                  bool exact) {
  // A row takes some 40 bytes.
  const size_t most = std::clamp<size_t>((size_t{1} << 19) / (inputs.nodes.size() + 1), 4, 64);
  const auto find = [&](auto is_of_use) {
    return absl::c_find_if(latest_, [&](const auto& it) { return is_of_use(it->preemptor()); });
  };
  auto found = find([&](const PreemptorClass& kept) { return kept == preemptor; });
  if (found == latest_.end() && !exact) {
    found = find([&](const auto& kept) { return RequestsSlightlyLess(kept, preemptor); });
  }
  if (found == latest_.end()) {
    if (latest_.size() >= most) latest_.resize(most - 1);
    found = latest_.insert(latest_.end(), std::make_unique<CandidateBounds>(preemptor));
  }
  std::rotate(latest_.begin(), found, found + 1);
  with_nominated_pods_.CatchUp(inputs.nodes, inputs.nominator);
  latest_.front()->Refresh(inputs, with_nominated_pods_);
  return *latest_.front();
}

}  // namespace berth
