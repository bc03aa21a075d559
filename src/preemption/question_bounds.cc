// Implementation of question_bounds.h.
#include "preemption/question_bounds.h"

#include <algorithm>
#include <cstddef>

#include "framework/nominated_rows.h"

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
                        nominations.has_value() && nodes.Replay(version_, on_change, on_move);
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
  const auto look = [&](NodeRow row) {
    if (is_known_[row]) return;
    const bool is_own = row == own_row;  // the pod itself does not count: at best, nobody does
    Find(row, finder,
         is_own ? BoundFinder::Pods() : nominator.NominatedPods(nodes.node(row).name()));
    is_known_[row] = 1;
    changes_.Add(row, nodes.size());
  };
  if (moved) {
    for (NodeRow row = 0; row < nodes.size(); ++row) look(row);
    changes_.Restart();
  } else {
    for (const NodeRow row : forgotten_) look(row);
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
  if (chances_[row].kind != EvictionChance::Kind::kPossible) return;
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
