// Implementation of candidate_heap.h.
#include "preemption/pruning/candidate_heap.h"

#include <algorithm>
#include <cstring>

#include "preemption/pruning/bound_cache.h"

namespace berth {

// For best_: rows in play with higher bounds are better.
class Prospects::ByBound {
 public:
  explicit ByBound(const Prospects& prospects)
      : bounds_(*prospects.bounds_), is_in_play_(prospects.is_in_play_.data()) {}

  NodeRow BestOf(NodeRow begin, NodeRow end) const {
    NodeRow best = -1;
    for (NodeRow row = begin; row < end; ++row) {
      if (!is_in_play_[row]) continue;
      if (bounds_.chance(row).kind() != EvictionChance::Kind::kPossible) continue;
      if (best < 0 || bounds_.at(best) < bounds_.at(row)) best = row;
    }
    return best;
  }
  NodeRow Better(NodeRow left, NodeRow right) const {
    if (left < 0) return right;
    if (right < 0) return left;
    return bounds_.at(left) < bounds_.at(right) ? right : left;
  }

 private:
  const QuestionBounds& bounds_;
  const uint8_t* is_in_play_;
};

bool Prospects::Follow(const QuestionBounds& bounds) {
  bounds_ = &bounds;
  const bool followed = TakeChanges();
  if (!followed) is_in_play_.assign(bounds.size(), 0);
  return followed;
}

// For best_. False if any bound may have changed.
bool Prospects::TakeChanges() {
  const auto changes = bounds_->changes().Since(seen_);
  seen_ = bounds_->changes().end();
  all_changed_ |= !changes.has_value();
  if (all_changed_) {
    changed_.clear();
  } else {
    changed_.insert(changed_.end(), changes->begin(), changes->end());
  }
  return changes.has_value();
}

// Mostly all are, or next to none.
NodeRow Prospects::ListInPlay(NodeRow begin, std::vector<NodeRow>& rows) const {
  constexpr NodeRow kBlock = 64;
  constexpr size_t kSome = 4096;
  rows.clear();
  const NodeRow size = static_cast<NodeRow>(is_in_play_.size());
  while (begin < size && rows.size() < kSome) {
    const NodeRow end = std::min(begin + kBlock, size);
    if (std::memchr(&is_in_play_[begin], 1, static_cast<size_t>(end - begin)) == nullptr) {
      begin = end;
      continue;
    }
    for (; begin < end; ++begin) {
      if (is_in_play_[begin]) rows.push_back(begin);
    }
  }
  return begin;
}

NodeRow Prospects::Best() {
  TakeChanges();  // some were made sharper
  if (bounds_->none_is_possible()) {
    all_changed_ = true;  // since best_ was built
    return -1;
  }
  const int size = static_cast<int>(is_in_play_.size());
  if (all_changed_ || static_cast<int>(changed_.size()) > size / 16) {
    best_.Build(size, ByBound(*this));
  } else {
    for (const NodeRow row : changed_) best_.Update(row, ByBound(*this));
  }
  changed_.clear();
  all_changed_ = false;
  return best_.best();
}

}  // namespace berth
