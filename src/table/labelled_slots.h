// SPDX-License-Identifier: Apache-2.0
// LabelledSlots: which nodes have a label, for keys that few nodes have.
#ifndef BERTH_SRC_TABLE_LABELLED_SLOTS_H_
#define BERTH_SRC_TABLE_LABELLED_SLOTS_H_

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "berth/api/labels.h"

namespace berth {

// By slot: a number that a node keeps.
class LabelledSlots {
 public:
  using Slots = absl::flat_hash_set<int>;

  // The node of `slot` has the labels `after`, and had `before`.
  void Change(int slot, const LabelSet& before, const LabelSet& after) {
    for (const auto& [key, value] : before.entries()) {
      if (after.Has(key)) continue;
      const auto slots = slots_.find(key);
      slots->second.erase(slot);
      if (slots->second.empty()) slots_.erase(slots);
    }
    for (const auto& [key, value] : after.entries()) {
      if (!before.Has(key)) slots_[key].insert(slot);
    }
  }

  // Null if there are none.
  const Slots* Find(Symbol key) const {
    const auto slots = slots_.find(key);
    return slots == slots_.end() ? nullptr : &slots->second;
  }

 private:
  absl::flat_hash_map<Symbol, Slots> slots_;
};

}  // namespace berth

#endif  // BERTH_SRC_TABLE_LABELLED_SLOTS_H_
