// SPDX-License-Identifier: Apache-2.0
// What is left of the shared counters of a pool.
#ifndef BERTH_SRC_DEVICES_POOL_COUNTERS_H_
#define BERTH_SRC_DEVICES_POOL_COUNTERS_H_

#include <map>
#include <string>
#include <utility>

#include "berth/api/quantity.h"
#include "berth/devices/device_allocator.h"
#include "berth/devices/device_inventory.h"
#include "devices/offered_slice.h"

namespace berth {

// What is left beside the devices that are held, and what a search took of it.
class PoolCounters {
 public:
  struct Counter {
    Quantity total, left;
  };
  using Name = std::pair<std::string, std::string>;  // set and counter

  PoolCounters(const NodePool& pool, const AllocationRequest& request);

  // Takes what the device consumes and returns true, or leaves all as it is. As upstream, a counter
  // that is overdrawn stops all devices of the pool that consume any.
  bool Suffice(const OfferedDevice& device);
  void GiveBack(const OfferedDevice& device);

  const std::map<Name, Counter>& counters() const { return counters_; }
  static Quantity AmountOf(const api::Counter& counter) {
    return Quantity::Parse(counter.value().string()).value_or(Quantity());
  }

 private:
  template <class Change>
  void ForEach(const OfferedDevice& device, Change change) {
    for (const api::DeviceCounterConsumption& consumption : device.message->consumes_counters()) {
      for (const auto& [name, counter] : consumption.counters()) {
        const auto found = counters_.find({consumption.counter_set(), name});
        if (found != counters_.end()) change(found->second.left, AmountOf(counter));
      }
    }
  }
  void Take(const OfferedDevice& device) {
    ForEach(device, [](Quantity& left, const Quantity& amount) { left.Subtract(amount); });
  }

  std::map<Name, Counter> counters_;
};

}  // namespace berth

#endif  // BERTH_SRC_DEVICES_POOL_COUNTERS_H_
