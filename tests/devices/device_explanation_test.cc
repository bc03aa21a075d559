// SPDX-License-Identifier: Apache-2.0
// Numbers that an explanation states are those of the slices and claims, and the allocator goes by
// them.
#include "berth/devices/device_explanation.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/devices/small_inventory.h"

namespace berth::testing {
namespace {

// Devices of one node, some shared, some that draw on one counter; what claims have of them; and a
// request for `count` devices with `amount` of the capacity m each.
struct RandomNode {
  struct Device {
    std::string name;
    bool is_shared, is_held;
    int capacity;  // of m
    int consumed;  // of a shared one
    int counter;   // drawn on the counter, or 0
  };

  explicit RandomNode(uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    const bool has_counters = below(2) == 0;
    for (int i = 0, n = 1 + below(4); i < n; ++i) {
      Device& device = devices.emplace_back();
      device.name = absl::StrCat("g", i);
      device.is_shared = below(2) == 0;
      device.is_held = !device.is_shared && below(4) == 0;
      device.capacity = 1 + below(8);
      device.consumed = device.is_shared ? below(device.capacity + 1) : 0;
      device.counter = has_counters && !device.is_shared ? below(4) : 0;
      if (device.is_held) drawn += device.counter;
    }
    counter = drawn + below(6);
    count = 1 + below(6);
    amount = 1 + below(4);
  }

  // How many of the request's devices the device can be.
  int Shares(const Device& device) const {
    if (device.is_held || device.counter > counter - drawn) return 0;
    if (!device.is_shared) return device.capacity >= amount ? 1 : 0;
    return std::min(count, (device.capacity - device.consumed) / amount);
  }
  std::string WhyNot(const Device& device) const {
    if (device.is_held) return "in use";
    const int left = device.capacity - device.consumed;
    if (left < amount) {
      return absl::StrCat(left, " of ", device.capacity, " m is left, and it would take ", amount);
    }
    return absl::StrCat("it needs ", device.counter, " of the counter k of s, which has ",
                        counter - drawn, " left");
  }

  void AddTo(SmallInventory& inventory, int wanted) const {
    DeviceFeatures features;
    features.partitionable_devices = true;
    features.consumable_capacity = true;
    inventory.set_features(features);
    const std::string pool = absl::StrCat(
        "{driver: d, nodeName: n0, pool: {name: n0, generation: 1, resourceSliceCount: 2}, ");
    inventory.Add(absl::StrCat(
        "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: c}, spec: ", pool,
        "sharedCounters: [{name: s, counters: {k: {value: ", counter, "}}}]}}"));
    std::string slice = absl::StrCat(
        "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: d}, spec: ", pool,
        "devices: [");
    for (const Device& device : devices) {
      absl::StrAppend(&slice, "{name: ", device.name, ", capacity: {m: {value: ", device.capacity,
                      "}}");
      if (device.is_shared) absl::StrAppend(&slice, ", allowMultipleAllocations: true");
      if (device.counter > 0) {
        absl::StrAppend(&slice, ", consumesCounters: [{counterSet: s, counters: {k: {value: ",
                        device.counter, "}}}]");
      }
      absl::StrAppend(&slice, "}, ");
      if (device.is_held) inventory.Hold("d/n0/" + device.name);
      if (device.consumed > 0) {
        inventory.Consume("d/n0/" + device.name, {{"m", Quantity::FromValue(device.consumed)}});
      }
    }
    inventory.Add(slice + "]}}");
    inventory.Claim(absl::StrCat("{requests: [{name: r, exactly: {deviceClassName: any, count: ",
                                 wanted, ", capacity: {requests: {m: ", amount, "}}}}]}"));
  }

  std::vector<Device> devices;
  int counter = 0, drawn = 0;  // of the counter: all of it, and what devices in use draw
  int count = 0, amount = 0;
};

TEST(DeviceExplanation, NumbersAreThoseOfSlicesAndClaims) {
  int exact = 0, bounds = 0, reasons = 0;
  for (uint64_t seed = 0; seed < 5'000; ++seed) {
    const RandomNode node(seed);
    SmallInventory inventory;
    node.AddTo(inventory, node.count);
    const std::vector<ClaimToAllocate> claims = inventory.Parsed();
    const std::vector<ExplainedRequest> explained =
        ExplainDevices(inventory.Request(claims), Symbol::Intern("n0"), LabelSet());
    ASSERT_EQ(explained.size(), 1u);
    const ExplainedRequest& request = explained[0];

    std::map<std::string, int64_t> shares;
    for (size_t i = 0; i < request.possible.size(); ++i) {
      shares[std::string(request.possible[i].device.view())] = request.shares[i];
    }
    std::map<std::string, std::string> why_not;
    for (const RejectedDevices& rejected : request.rejected) {
      for (const DeviceId& device : rejected.devices) {
        why_not[std::string(device.device.view())] = rejected.reason;
      }
    }
    int64_t can_have = 0;
    for (const RandomNode::Device& device : node.devices) {
      const int of_device = node.Shares(device);
      can_have += of_device;
      ASSERT_EQ(shares[device.name], of_device) << device.name << ", seed " << seed;
      if (of_device > 0) continue;
      ASSERT_EQ(why_not[device.name], node.WhyNot(device)) << device.name << ", seed " << seed;
      ++reasons;
    }

    // What the allocator makes of the number.
    const auto allocates = [&](int64_t wanted) {
      SmallInventory other;
      node.AddTo(other, static_cast<int>(wanted));
      return other.On("n0") != "impossible";
    };
    can_have = std::min<int64_t>(can_have, node.count);
    if (can_have < node.count) {
      ASSERT_FALSE(allocates(can_have + 1)) << "seed " << seed;
    }
    if (request.may_be_fewer) {
      ++bounds;
    } else if (can_have > 0) {
      ++exact;
      ASSERT_TRUE(allocates(can_have)) << "seed " << seed;
    }
  }
  EXPECT_GT(exact, 1'000);
  EXPECT_GT(bounds, 100);
  EXPECT_GT(reasons, 1'000);
}

}  // namespace
}  // namespace berth::testing
