// SPDX-License-Identifier: Apache-2.0
// Things of a size that only some nodes can use, as local volumes.
#ifndef BERTH_PLUGINS_VOLUME_BINDING_SIZED_BY_NODE_H_
#define BERTH_PLUGINS_VOLUME_BINDING_SIZED_BY_NODE_H_

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "berth/api/labels.h"
#include "berth/api/symbol.h"

namespace berth {

// The smallest first, of equals the one that came first. An Item says its size(), whether it
// Matches(labels) of a node, and the NeededLabel() of every node that it matches, if there is one.
// A position is an index into items().
template <class Item>
class SizedByNode {
 public:
  using Pointer = std::shared_ptr<const Item>;

  // In the order in which they came.
  explicit SizedByNode(std::vector<Pointer> items) : items_(std::move(items)) {
    std::stable_sort(items_.begin(), items_.end(),
                     [](const Pointer& a, const Pointer& b) { return a->size() < b->size(); });
    for (size_t i = 0; i < items_.size(); ++i) {
      const auto label = items_[i]->NeededLabel();
      std::vector<int>& positions = label.has_value() ? by_label_[*label] : anywhere_;
      positions.push_back(static_cast<int>(i));
      if (!label.has_value()) continue;
      if (std::find(keys_.begin(), keys_.end(), label->first) == keys_.end()) {
        keys_.push_back(label->first);
      }
    }
  }

  absl::Span<const Pointer> items() const { return items_; }

  // The first position of at least that size whose item suits(item) and matches a node with these
  // labels; or -1.
  template <class Size, class Suits>
  int FindOn(const LabelSet& labels, const Size& size, Suits suits) const {
    int best = -1;
    const auto look = [&](const std::vector<int>& positions) {
      auto at = std::lower_bound(
          positions.begin(), positions.end(), size,
          [&](int position, const Size& wanted) { return items_[position]->size() < wanted; });
      for (; at != positions.end() && (best < 0 || *at < best); ++at) {
        const Item& item = *items_[*at];
        if (item.Matches(labels) && suits(item)) best = *at;
      }
    };
    look(anywhere_);
    for (const Symbol key : keys_) {
      const Symbol* const value = labels.Find(key);
      if (value == nullptr) continue;
      const auto here = by_label_.find({key, *value});
      if (here != by_label_.end()) look(here->second);
    }
    return best;
  }

 private:
  std::vector<Pointer> items_;
  // Positions by a label that nodes must have, and of those that need none.
  std::vector<Symbol> keys_;
  absl::flat_hash_map<std::pair<Symbol, Symbol>, std::vector<int>> by_label_;
  std::vector<int> anywhere_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_VOLUME_BINDING_SIZED_BY_NODE_H_
