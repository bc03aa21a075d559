// Implementation of bound_cache.h.
#include "preemption/pruning/bound_cache.h"

#include <algorithm>
#include <cstddef>

#include "framework/far_behind.h"
#include "framework/nominated_rows.h"
#include "framework/rows_with.h"

namespace berth {

void QuestionBounds::Refresh(const NodeTable& nodes, const EvictionOutlook& outlook,
                             const Nominator& nominator, NodeRow own_row,
                             uint64_t budgets_version) {
  bool moved = false;
  const auto on_change = [&](const RowChange& change) { Forget(change.row); };
  const auto on_move = [&](const RowMove& move) {
    move.Apply(chances_);
    if (!bounds_.empty()) move.Apply(bounds_);
    move.Apply(is_known_);
    moved = true;
  };
  const auto nominations = nominator.ChangesSince(nominations_version_);
  const bool followed = table_ == nodes.id() && budgets_version_ == budgets_version &&
                        nominations.has_value() && !IsFarBehind(nodes, version_) &&
                        nodes.Replay(version_, on_change, on_move);
  table_ = nodes.id();
  version_ = nodes.version();
  nominations_version_ = nominator.version();
  budgets_version_ = budgets_version;
  const BoundFinder finder(question_, nodes, outlook);
  if (!followed) {
    FindAll(nodes, finder, nominator);
  } else {
    for (const Symbol name : *nominations) Forget(nodes.FindRow(name));
    Forget(nodes.FindRow(own_node_));
  }
  Forget(own_row);
  own_node_ = own_row < 0 ? Symbol() : nodes.node(own_row).name();
  if (moved) {  // and so did those that were forgotten
    changes_.Restart();
    forgotten_.clear();
    AppendRowsWith(0, is_known_, forgotten_);
  }
  FindForgotten(nodes, finder, nominator, own_row);
}

// The pod itself does not count: of its own row, at best, nobody is nominated to it.
void QuestionBounds::FindForgotten(const NodeTable& nodes, const BoundFinder& finder,
                                   const Nominator& nominator, NodeRow own_row) {
  const auto nominated = RowsWithNominatedPods(forgotten_, nominator, nodes);
  for (const NodeRow row : forgotten_) {
    const bool counts = row != own_row && nominated.contains(row);
    Find(row, finder,
         counts ? nominator.NominatedPods(nodes.node(row).name()) : BoundFinder::Pods());
    is_known_[row] = 1;
    changes_.Add(row, nodes.size());
  }
  forgotten_.clear();
}

void QuestionBounds::Forget(NodeRow row) {
  if (row < 0 || !is_known_[row]) return;
  is_known_[row] = 0;
  forgotten_.push_back(row);
}

void QuestionBounds::Find(NodeRow row, const BoundFinder& finder, BoundFinder::Pods nominated) {
  EvictionBound bound;
  chances_[row] = finder.Find(row, nominated, bound);
  if (chances_[row].kind() != EvictionChance::Kind::kPossible) return;
  bounds_.resize(chances_.size());
  bounds_[row] = bound;
}

void QuestionBounds::FindAll(const NodeTable& nodes, const BoundFinder& finder,
                             const Nominator& nominator) {
  finder.FindAll(chances_, bounds_);
  is_known_.assign(nodes.size(), 1);
  forgotten_.clear();
  changes_.Restart();
  ForEachNominatedRow(nominator, nodes, [this](NodeRow row) { Forget(row); });
}

BoundsOfQuestions::Asked& BoundsOfQuestions::Find(const EvictionQuestion& question,
                                                  const NodeTable& nodes,
                                                  const EvictionOutlook& outlook,
                                                  const Nominator& nominator, NodeRow own_row,
                                                  uint64_t budgets_version) {
  // A row takes some 40 bytes.
  const size_t most = std::clamp<size_t>((size_t{1} << 19) / (nodes.size() + 1), 4, 64);
  auto found = std::find_if(latest_.begin(), latest_.end(), [&](const auto& asked) {
    return asked->bounds.question() == question;
  });
  if (found == latest_.end()) {
    if (latest_.size() >= most) latest_.resize(most - 1);
    found = latest_.insert(latest_.end(), std::make_unique<Asked>(question));
  }
  std::rotate(latest_.begin(), found, found + 1);
  latest_.front()->bounds.Refresh(nodes, outlook, nominator, own_row, budgets_version);
  return *latest_.front();
}

}  // namespace berth
