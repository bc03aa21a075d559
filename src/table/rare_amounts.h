// SPDX-License-Identifier: Apache-2.0
// Amounts of the resources that are not common, in as much memory as there are amounts.
#ifndef BERTH_SRC_TABLE_RARE_AMOUNTS_H_
#define BERTH_SRC_TABLE_RARE_AMOUNTS_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "berth/api/resources.h"

namespace berth {

// By resource, then by slot: a number that the owner gives a node, such as its row.
class RareAmounts {
 public:
  using Rare = ResourceVector::Rare;

  // All that there is at `slot` from now on. Calls on_change(id, amount) for each amount that was
  // another one before; 0 if there is none any more.
  template <class OnChange>
  void Set(int32_t slot, const Rare& amounts, OnChange on_change) {
    if (amounts.empty() && at_.empty()) return;
    static const Rare& kNone = *new Rare();
    const auto known = at_.find(slot);
    const Rare& before = known == at_.end() ? kNone : known->second;
    if (before == amounts) return;
    const auto change = [&](ResourceId id, int64_t amount) {
      Change(slot, id, amount);
      on_change(id, amount);
    };
    auto old = before.begin();
    for (const auto& [id, amount] : amounts) {
      for (; old != before.end() && old->first < id; ++old) change(old->first, 0);
      const bool is_same = old != before.end() && old->first == id && old->second == amount;
      if (!is_same) change(id, amount);
      if (old != before.end() && old->first == id) ++old;
    }
    for (; old != before.end(); ++old) change(old->first, 0);
    if (amounts.empty()) {
      at_.erase(known);
    } else {
      at_[slot] = amounts;
    }
  }
  void Set(int32_t slot, const Rare& amounts) {
    Set(slot, amounts, [](ResourceId, int64_t) {});
  }
  void Clear() {
    at_.clear();
    of_.clear();
    size_ = 0;
  }

  // How many amounts there are.
  size_t size() const { return size_; }
  bool Has(ResourceId id) const { return of_.contains(id); }
  // In how many slots there is any of the resource.
  size_t PlacesWith(ResourceId id) const {
    const auto of = of_.find(id);
    return of == of_.end() ? 0 : of->second.size();
  }
  // Calls visit(slot, amount) for each amount of the resource, none of which is 0. In no order.
  template <class Visit>
  void ForEach(ResourceId id, Visit visit) const {
    const auto of = of_.find(id);
    if (of == of_.end()) return;
    for (const auto& [slot, amount] : of->second) visit(slot, amount);
  }

 private:
  void Change(int32_t slot, ResourceId id, int64_t amount) {
    if (amount != 0) {
      auto [it, is_new] = of_[id].insert_or_assign(slot, amount);
      size_ += is_new ? 1 : 0;
      return;
    }
    const auto of = of_.find(id);
    of->second.erase(slot);
    --size_;
    if (of->second.empty()) of_.erase(of);
  }

  absl::flat_hash_map<int32_t, Rare> at_;
  absl::flat_hash_map<ResourceId, absl::flat_hash_map<int32_t, int64_t>> of_;
  size_t size_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_TABLE_RARE_AMOUNTS_H_
