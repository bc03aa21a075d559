// Implementation of prospects.h.
#include "preemption/prospects.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace berth {

// For best_: rows in play with higher bounds are better.
class Prospects::ByBound {
 public:
  explicit ByBound(const Prospects& prospects)
      : bounds_(prospects.bounds_.data()), is_in_play_(prospects.is_in_play_.data()) {}

  NodeRow BestOf(NodeRow begin, NodeRow end) const {
    NodeRow best = -1;
    for (NodeRow row = begin; row < end; ++row) {
      if (!is_in_play_[row] || bounds_[row].kind != EvictionBound::Kind::kPossible) continue;
      if (best < 0 || bounds_[best] < bounds_[row]) best = row;
    }
    return best;
  }
  NodeRow Better(NodeRow left, NodeRow right) const {
    if (left < 0) return right;
    if (right < 0) return left;
    return bounds_[left] < bounds_[right] ? right : left;
  }

 private:
  const EvictionBound* bounds_;
  const uint8_t* is_in_play_;
};

void Prospects::Refresh(const NodeTable& nodes, const EvictionOutlook& outlook,
                        const Nominator& nominator, NodeRow own_row, uint64_t budgets_version) {
  bool moved = false;
  const auto on_change = [&](const RowChange& change) { Forget(change.row); };
  const auto on_move = [&](const RowMove& move) {
    move.Apply(bounds_);
    move.Apply(is_known_);
    move.Apply(is_in_play_);
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
    bounds_[row] = finder.Find(
        row, is_own ? BoundFinder::Pods() : nominator.NominatedPods(nodes.node(row).name()));
    is_known_[row] = 1;
  };
  all_changed_ |= moved;
  if (moved) {
    for (NodeRow row = 0; row < nodes.size(); ++row) look(row);
  } else {
    for (const NodeRow row : changed_) look(row);
  }
}

void Prospects::Forget(NodeRow row) {
  if (row < 0 || !is_known_[row]) return;
  is_known_[row] = 0;
  changed_.push_back(row);
}

void Prospects::FindAll(const NodeTable& nodes, const BoundFinder& finder,
                        const Nominator& nominator) {
  bounds_.clear();
  bounds_.reserve(nodes.size());
  for (NodeRow row = 0; row < nodes.size(); ++row) bounds_.push_back(finder.Find(row));
  is_known_.assign(nodes.size(), 1);
  is_in_play_.assign(nodes.size(), 0);
  changed_.clear();
  all_changed_ = true;
  nominator.ForEach([&](const PodInfo&, absl::string_view node) {
    const std::optional<Symbol> name = Symbol::Find(node);
    if (name.has_value()) Forget(nodes.FindRow(*name));
  });
}

NodeRow Prospects::Best() {
  const int size = static_cast<int>(bounds_.size());
  if (all_changed_ || static_cast<int>(changed_.size()) > size / 16) {
    best_.Build(size, ByBound(*this));
  } else {
    for (const NodeRow row : changed_) best_.Update(row, ByBound(*this));
  }
  changed_.clear();
  all_changed_ = false;
  return best_.best();
}

Prospects& ProspectsOfQuestions::Find(const EvictionQuestion& question, const NodeTable& nodes,
                                      const EvictionOutlook& outlook, const Nominator& nominator,
                                      NodeRow own_row, uint64_t budgets_version) {
  // A row takes some 40 bytes.
  const size_t most = std::clamp<size_t>((size_t{1} << 19) / (nodes.size() + 1), 4, 64);
  auto found = std::find_if(latest_.begin(), latest_.end(),
                            [&](const auto& known) { return known->question() == question; });
  if (found == latest_.end()) {
    if (latest_.size() >= most) latest_.resize(most - 1);
    found = latest_.insert(latest_.end(), std::make_unique<Prospects>(question));
  }
  std::rotate(latest_.begin(), found, found + 1);
  latest_.front()->Refresh(nodes, outlook, nominator, own_row, budgets_version);
  return *latest_.front();
}

}  // namespace berth
