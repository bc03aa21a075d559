// SPDX-License-Identifier: Apache-2.0
// Implementation of pool_counters.h.
#include "devices/pool_counters.h"

#include <algorithm>

namespace berth {
namespace {

// Held by a claim, or by several together.
bool IsInUse(const OfferedDevice& device, const AllocationRequest& request) {
  return request.is_held(device.id) || (device.allows_multiple && request.consumed != nullptr &&
                                        request.consumed(device.id).has_value());
}

}  // namespace

PoolCounters::PoolCounters(const NodePool& pool, const AllocationRequest& request) {
  for (const auto& slice : pool.counters) {
    for (const api::CounterSet& set : slice->spec().shared_counters()) {
      for (const auto& [name, counter] : set.counters()) {
        const Quantity amount = AmountOf(counter);
        counters_[{set.name(), name}] = {amount, amount};
      }
    }
  }
  for (const auto* const slices : {&pool.slices, &pool.counters, &pool.others}) {
    for (const auto& slice : *slices) {
      for (const OfferedDevice& device : slice->devices()) {
        if (device.consumes_counters && IsInUse(device, request)) Take(device);
      }
    }
  }
}

bool PoolCounters::Suffice(const OfferedDevice& device) {
  Take(device);
  const bool suffice = std::none_of(counters_.begin(), counters_.end(), [](const auto& counter) {
    return counter.second.left.IsNegative();
  });
  if (!suffice) GiveBack(device);
  return suffice;
}

void PoolCounters::GiveBack(const OfferedDevice& device) {
  ForEach(device, [](Quantity& left, const Quantity& amount) { left.Add(amount); });
}

}  // namespace berth
