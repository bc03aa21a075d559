// SPDX-License-Identifier: Apache-2.0
// What the devices of a node are worth while a search takes some: the rules of device_scoring.h.
#ifndef BERTH_SRC_DEVICES_DEVICE_WORTH_H_
#define BERTH_SRC_DEVICES_DEVICE_WORTH_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "berth/devices/device_features.h"
#include "berth/devices/device_scoring.h"
#include "devices/offered_slice.h"
#include "devices/pool_counters.h"

namespace berth {

// Amounts are in parts of kScoreOfUnit: integers, so that results repeat. Counters are compared in
// thousandths; what the search may take is for PoolCounters to say. One search, one thread.
class DeviceWorth {
 public:
  // A device of the node as the search finds it.
  struct Device {
    const OfferedDevice* device;
    int pool;
    bool is_held;
    const std::optional<ConsumedCapacity>* consumed;  // if it is shared
  };
  // `scoring` is not kFirstFit. The counters of a pool are asked for if a device consumes any.
  DeviceWorth(DeviceScoring scoring, int pools, absl::Span<const Device> devices,
              absl::FunctionRef<const PoolCounters&(int pool)> counters_of);

  // Whether the device can still be had, as far as its own counters go.
  bool IsPossible(int device) const;
  // The lower, the sooner the device is to be taken. It is possible.
  int64_t RankOf(int device, const ConsumedCapacity& consumption);
  // `consumption` is what is taken if the device is shared.
  void Take(int device, const ConsumedCapacity& consumption);
  void GiveBack(int device, const ConsumedCapacity& consumption);
  // The higher, the better is the node for what was taken of it.
  int64_t Score() const;

 private:
  struct Counter {
    int64_t total = 0, left = 0;
  };
  struct Use {
    int counter;
    int64_t amount;
  };
  struct State {
    const OfferedDevice* device;
    int group = -1;
    int64_t size = kScoreOfUnit;
    std::vector<Use> uses;
    bool is_taken = false;
    int shares = 0;  // of a device that is shared
    int64_t consumed = 0;
  };
  // Devices that compete: those of some counter sets, or one alone.
  struct Group {
    int pool;
    int64_t units = 1;
    int64_t size = 0;  // of all its devices
    std::vector<int> devices, counters;
  };
  struct Pool {
    std::vector<int> groups;
    int64_t units = 0, idle_units = 0;
    int taken = 0;  // devices, by the search
  };
  class CounterSets;

  static int64_t PartOf(const OfferedDevice& device, const ConsumedCapacity& consumption);
  // Takes the device, sign 1, or gives it back, sign -1.
  void Change(int device, const ConsumedCapacity& consumption, int sign);
  bool IsIdle(const Group& group) const;
  int64_t LeftOf(const Group& group) const;
  int64_t WorthOf(const Group& group) const;
  static int64_t BlocksOf(const Pool& pool);
  int64_t Worth() const;

  const DeviceScoring scoring_;
  std::vector<Counter> counters_;
  std::vector<State> devices_;
  std::vector<Group> groups_;
  std::vector<Pool> pools_;
  int64_t worth_before_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_DEVICES_DEVICE_WORTH_H_
