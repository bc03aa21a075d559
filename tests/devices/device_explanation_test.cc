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

// What keeps each device of node n0 from a claim for one.
std::vector<RejectedDevices> RejectedWith(const DeviceFeatures& features,
                                          const std::vector<std::string>& slices,
                                          const std::vector<std::string>& held = {}) {
  SmallInventory inventory;
  inventory.set_features(features);
  for (const std::string& slice : slices) {
    inventory.Add(absl::StrCat(
        "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {uid: u, name: ", slice,
        "}}"));
  }
  for (const std::string& device : held) inventory.Hold(device);
  inventory.Claim("{requests: [{name: r, exactly: {deviceClassName: any}}]}");
  const std::vector<ClaimToAllocate> claims = inventory.Parsed();
  const std::vector<ExplainedRequest> explained =
      ExplainDevices(inventory.Request(claims), Symbol::Intern("n0"), LabelSet());
  return explained.empty() ? std::vector<RejectedDevices>() : explained[0].rejected;
}

TEST(DeviceExplanation, NamesPoolsThatAreNotWhole) {
  const auto slice = [](absl::string_view name, int slices, absl::string_view devices) {
    return absl::StrCat(name, "}, spec: {driver: d, nodeName: n0, pool: {name: p, generation: 7, ",
                        "resourceSliceCount: ", slices, "}, devices: [", devices, "]");
  };
  auto rejected = RejectedWith({}, {slice("s", 3, "{name: a}"), slice("t", 3, "{name: b}")});
  ASSERT_EQ(rejected.size(), 1u);
  EXPECT_EQ(rejected[0].cause, RejectedDevices::Cause::kIncompletePool);
  EXPECT_EQ(rejected[0].reason, "its pool d/p is incomplete: it has 2 of 3 slices of generation 7");
  EXPECT_EQ(rejected[0].pool, "d/p is incomplete: it has 2 of 3 slices of generation 7");
  EXPECT_EQ(rejected[0].devices.size(), 2u);

  rejected = RejectedWith({}, {slice("s", 1, "{name: a}"), slice("t", 1, "{name: b}")});
  ASSERT_EQ(rejected.size(), 1u);
  EXPECT_EQ(rejected[0].pool,
            "d/p is incomplete: it has 2 slices of generation 7, and resourceSliceCount is 1");

  rejected = RejectedWith({}, {slice("s", 2, "{name: a}"), slice("t", 2, "{name: a}")});
  ASSERT_EQ(rejected.size(), 1u);
  EXPECT_EQ(rejected[0].cause, RejectedDevices::Cause::kInvalidPool);
  EXPECT_EQ(rejected[0].reason, "its pool d/p is invalid: two devices are named a");
}

TEST(DeviceExplanation, NamesGatesBySortOfReason) {
  const std::string slice =
      "s}, spec: {driver: d, nodeName: n0, pool: {name: p, generation: 1, resourceSliceCount: 1}, "
      "devices: [{name: conditions, bindingConditions: [A], bindingFailureConditions: [B]}, {name: "
      "part, consumesCounters: [{counterSet: s, counters: {k: {value: 1}}}]}, {name: nic, "
      "allowMultipleAllocations: true}, {name: gpu}]";
  std::map<std::string, std::pair<RejectedDevices::Cause, std::string>> by_device;
  for (const RejectedDevices& rejected : RejectedWith({}, {slice}, {"d/p/nic", "d/p/gpu"})) {
    by_device[std::string(rejected.devices.front().device.view())] = {rejected.cause,
                                                                      std::string(rejected.gate)};
  }
  using Cause = RejectedDevices::Cause;
  EXPECT_THAT(by_device,
              ::testing::UnorderedElementsAre(
                  ::testing::Pair("conditions",
                                  ::testing::Pair(Cause::kGate, "DRADeviceBindingConditions")),
                  ::testing::Pair("part", ::testing::Pair(Cause::kGate, "DRAPartitionableDevices")),
                  ::testing::Pair("nic", ::testing::Pair(Cause::kInUse, "DRAConsumableCapacity")),
                  ::testing::Pair("gpu", ::testing::Pair(Cause::kInUse, ""))));
}

}  // namespace
}  // namespace berth::testing
