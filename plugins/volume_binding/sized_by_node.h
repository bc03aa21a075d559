// SPDX-License-Identifier: Apache-2.0
// Things of a size that only some nodes can use, as local volumes.
#ifndef BERTH_PLUGINS_VOLUME_BINDING_SIZED_BY_NODE_H_
#define BERTH_PLUGINS_VOLUME_BINDING_SIZED_BY_NODE_H_

#include <memory>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "berth/api/labels.h"
#include "berth/api/symbol.h"

namespace berth {

// The smallest first, of equals the first by name. An Item says its size(), its name(), which no
// other has, whether it Matches(labels) of a node, and the NeededLabel() of every node that it
// matches, if there is one. Adding, taking out and finding cost the logarithm of how many there
// are.
template <class Item>
class SizedByNode {
 public:
  using Pointer = std::shared_ptr<const Item>;

  struct BySize {
    using is_transparent = void;
    bool operator()(const Pointer& a, const Pointer& b) const {
      if (a->size() < b->size()) return true;
      return !(b->size() < a->size()) && a->name() < b->name();
    }
    template <class Size>
    bool operator()(const Pointer& a, const Size& size) const {
      return a->size() < size;
    }
    template <class Size>
    bool operator()(const Size& size, const Pointer& a) const {
      return size < a->size();
    }
  };
  using Ordered = absl::btree_set<Pointer, BySize>;

  void Insert(const Pointer& item) {
    items_.insert(item);
    const auto label = item->NeededLabel();
    (label.has_value() ? by_key_[label->first][label->second] : anywhere_).insert(item);
  }

  // One that was inserted.
  void Erase(const Pointer& item) {
    items_.erase(item);
    const auto label = item->NeededLabel();
    if (!label.has_value()) {
      anywhere_.erase(item);
      return;
    }
    const auto of_key = by_key_.find(label->first);
    const auto here = of_key->second.find(label->second);
    here->second.erase(item);
    if (here->second.empty()) of_key->second.erase(here);
    if (of_key->second.empty()) by_key_.erase(of_key);
  }

  const Ordered& items() const { return items_; }

  // The first of at least that size that suits(item) and matches a node with these labels; or null.
  template <class Size, class Suits>
  const Item* FindOn(const LabelSet& labels, const Size& size, Suits suits) const {
    const Pointer* best = nullptr;
    const auto look = [&](const Ordered& items) {
      for (auto at = items.lower_bound(size); at != items.end(); ++at) {
        if (best != nullptr && !BySize()(*at, *best)) return;
        if (!(*at)->Matches(labels) || !suits(**at)) continue;
        best = &*at;
        return;
      }
    };
    look(anywhere_);
    for (const auto& [key, by_value] : by_key_) {
      const Symbol* const value = labels.Find(key);
      if (value == nullptr) continue;
      const auto here = by_value.find(*value);
      if (here != by_value.end()) look(here->second);
    }
    return best == nullptr ? nullptr : best->get();
  }

 private:
  Ordered items_;
  // By a label that nodes must have, and those that need none.
  absl::flat_hash_map<Symbol, absl::flat_hash_map<Symbol, Ordered>> by_key_;
  Ordered anywhere_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_VOLUME_BINDING_SIZED_BY_NODE_H_
