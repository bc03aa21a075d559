// SPDX-License-Identifier: Apache-2.0
// Which devices are taken by the rules of device_scoring.h, and what the node's score is: held
// against the rules worked out from scratch.
#include "berth/devices/device_scoring.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/devices/small_inventory.h"

namespace berth::testing {
namespace {

constexpr DeviceScoring kScorings[] = {DeviceScoring::kExpectedWaste, DeviceScoring::kBestFit,
                                       DeviceScoring::kSpread};

// A node of one pool. A counter set or a device of its own is a unit.
class PlainNode {
 public:
  struct Device {
    std::string name;
    int set = -1;              // none: a unit of its own
    std::vector<int> amounts;  // by counter of the set
    bool is_taken = false;
  };

  explicit PlainNode(uint64_t seed) : random_(seed) {
    for (int set = 0, n = Below(5); set < n; ++set) {
      std::vector<int>& totals = totals_.emplace_back();
      for (int i = 0, counters = 1 + Below(3); i < counters; ++i) totals.push_back(1 + Below(8));
      for (int i = 0, devices = 1 + Below(6); i < devices; ++i) {
        Device& device = devices_.emplace_back();
        device.name = "s" + std::to_string(set) + "-" + std::to_string(i);
        device.set = set;
        for (const int total : totals) device.amounts.push_back(Below(total + 1));
        device.amounts[0] = std::max(1, device.amounts[0]);
      }
    }
    for (int i = 0, n = Below(4) + (devices_.empty() ? 1 : 0); i < n; ++i) {
      devices_.push_back({"t" + std::to_string(i)});
    }
    for (Device& device : devices_) {
      if (Below(4) == 0 && IsPossible(device)) device.is_taken = true;
    }
    count_ = 1 + Below(3);
  }

  // As AllocateDevices sees it.
  void AddTo(SmallInventory& inventory) const {
    const std::string head =
        "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: ";
    const std::string spec =
        "}, spec: {driver: d, nodeName: n0, pool: {name: n0, generation: 1, "
        "resourceSliceCount: 2}, ";
    std::string sets, devices;
    for (size_t set = 0; set < totals_.size(); ++set) {
      absl::StrAppend(&sets, "{name: s", set, ", counters: ", Counters(totals_[set]), "}, ");
    }
    for (const Device& device : devices_) {
      absl::StrAppend(&devices, "{name: ", device.name);
      if (device.set >= 0) {
        absl::StrAppend(&devices, ", consumesCounters: [{counterSet: s", device.set,
                        ", counters: ", Counters(device.amounts), "}]");
      }
      absl::StrAppend(&devices, "}, ");
      if (device.is_taken) inventory.Hold("d/n0/" + device.name);
    }
    inventory.Add(absl::StrCat(head, "a", spec, "sharedCounters: [", sets, "]}}"));
    inventory.Add(absl::StrCat(head, "b", spec, "devices: [", devices, "]}}"));
    inventory.Claim(absl::StrCat(
        "{requests: [{name: r, exactly: {deviceClassName: any, count: ", count_, "}}]}"));
  }

  int count() const { return count_; }
  const std::vector<Device>& devices() const { return devices_; }
  void Take(int device) { devices_[device].is_taken = true; }
  void GiveBack(int device) { devices_[device].is_taken = false; }

  bool IsPossible(const Device& device) const {
    if (device.is_taken) return false;
    for (size_t i = 0; i < device.amounts.size(); ++i) {
      if (Left(device.set, i) < device.amounts[i]) return false;
    }
    return true;
  }

  // --- The rules ---

  double Waste() const {
    double worth = 0;
    int units = static_cast<int>(totals_.size()), idle = 0;
    for (size_t set = 0; set < totals_.size(); ++set) {
      double possible = 0, all = 0;
      bool is_idle = true;
      for (const Device& device : devices_) {
        if (device.set != static_cast<int>(set)) continue;
        all += Size(device);
        if (IsPossible(device)) possible += Size(device);
        if (device.is_taken) is_idle = false;
      }
      worth += possible / all;
      idle += is_idle ? 1 : 0;
    }
    for (const Device& device : devices_) {
      if (device.set >= 0) continue;
      ++units;
      worth += device.is_taken ? 0 : 1;
      idle += device.is_taken ? 0 : 1;
    }
    double blocks = 0;
    int kinds = 0;
    for (const int block : {2, 4, 8}) {
      if (block > units) continue;
      blocks += idle / block * block;
      ++kinds;
    }
    return -(worth + (kinds == 0 ? 0 : blocks / kinds));
  }
  double LeftOfSet(int set) const {
    double left = 0;
    for (size_t i = 0; i < totals_[set].size(); ++i) left += 1.0 * Left(set, i) / totals_[set][i];
    return left / static_cast<double>(totals_[set].size());
  }
  double LeftOfUnit(int device) const {
    if (devices_[device].set >= 0) return LeftOfSet(devices_[device].set);
    return devices_[device].is_taken ? 0 : 1;
  }
  double LeftOfNode() const {
    double left = 0;
    for (size_t set = 0; set < totals_.size(); ++set) left += LeftOfSet(static_cast<int>(set));
    for (const Device& device : devices_) left += device.set < 0 && !device.is_taken ? 1 : 0;
    return left;
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  int Left(int set, size_t counter) const {
    int left = totals_[set][counter];
    for (const Device& device : devices_) {
      if (device.set == set && device.is_taken) left -= device.amounts[counter];
    }
    return left;
  }
  double Size(const Device& device) const {
    double size = 0;
    for (size_t i = 0; i < device.amounts.size(); ++i) {
      size += 1.0 * device.amounts[i] / totals_[device.set][i];
    }
    return size / static_cast<double>(device.amounts.size());
  }
  static std::string Counters(const std::vector<int>& amounts) {
    std::string yaml = "{";
    for (size_t i = 0; i < amounts.size(); ++i) {
      absl::StrAppend(&yaml, "c", i, ": {value: '", amounts[i], "'}, ");
    }
    return yaml + "}";
  }

  std::mt19937_64 random_;
  std::vector<std::vector<int>> totals_;  // by set and counter
  std::vector<Device> devices_;
  int count_ = 1;
};

TEST(DeviceScoringTest, DevicesAndScoresFollowTheRules) {
  constexpr double kRounding = 1e-4;  // of parts to millionths
  int chosen = 0;
  for (uint64_t seed = 0; seed < 1'500; ++seed) {
    for (const DeviceScoring scoring : kScorings) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, ", scoring ", static_cast<int>(scoring)));
      PlainNode node(seed);
      SmallInventory inventory;
      inventory.set_features({.partitionable_devices = true});
      inventory.set_scoring(scoring);
      node.AddTo(inventory);
      const std::vector<ClaimToAllocate> claims = inventory.Parsed();
      const absl::StatusOr<NodeAllocation> allocation = inventory.Run(claims, "n0");
      ASSERT_TRUE(allocation.ok()) << allocation.status();
      if (allocation->outcome != NodeAllocation::Outcome::kAllocated) continue;
      const std::string got = inventory.On("n0");  // "r=n0/a r=n0/b"
      std::vector<int> taken;
      for (const absl::string_view one : absl::StrSplit(got, ' ')) {
        const absl::string_view name = one.substr(one.find('/') + 1);
        const auto& devices = node.devices();
        const auto found = std::find_if(devices.begin(), devices.end(),
                                        [&](const auto& device) { return device.name == name; });
        ASSERT_NE(found, devices.end()) << got;
        taken.push_back(static_cast<int>(found - devices.begin()));
      }
      ASSERT_EQ(static_cast<int>(taken.size()), node.count());

      const auto rank_of = [&](int device) {
        const double before = node.Waste();
        node.Take(device);
        const double rank = scoring == DeviceScoring::kExpectedWaste ? node.Waste() - before
                            : scoring == DeviceScoring::kBestFit     ? node.LeftOfUnit(device)
                                                                     : -node.LeftOfUnit(device);
        node.GiveBack(device);
        return rank;
      };
      // The first in the order; with several a search may have to go back.
      if (node.count() == 1) {
        const double rank = rank_of(taken[0]);
        for (size_t i = 0; i < node.devices().size(); ++i) {
          if (!node.IsPossible(node.devices()[i])) continue;
          ASSERT_LE(rank, rank_of(static_cast<int>(i)) + kRounding) << node.devices()[i].name;
        }
        ++chosen;
      }
      const double before = node.Waste();
      for (const int device : taken) {
        ASSERT_TRUE(node.IsPossible(node.devices()[device])) << got;
        node.Take(device);
      }
      const double score = scoring == DeviceScoring::kExpectedWaste ? before - node.Waste()
                           : scoring == DeviceScoring::kBestFit     ? -node.LeftOfNode()
                                                                    : node.LeftOfNode();
      ASSERT_NEAR(static_cast<double>(allocation->score) / kScoreOfUnit, score, kRounding) << got;
    }
  }
  EXPECT_GT(chosen, 500);
}

// A request takes what it asks for of what is left of shared devices.
TEST(DeviceScoringTest, SharedDevicesAreFilledOneByOne) {
  const std::map<DeviceScoring, std::string> want = {{DeviceScoring::kFirstFit, "r=n0/a"},
                                                     {DeviceScoring::kExpectedWaste, "r=n0/c"},
                                                     {DeviceScoring::kBestFit, "r=n0/c"},
                                                     {DeviceScoring::kSpread, "r=n0/b"}};
  for (const auto& [scoring, device] : want) {
    SmallInventory inventory;
    inventory.set_features({.consumable_capacity = true});
    inventory.set_scoring(scoring);
    std::string devices;
    for (const char* const name : {"a", "b", "c", "d"}) {
      absl::StrAppend(&devices, "{name: ", name,
                      ", allowMultipleAllocations: true, capacity: {memory: {value: 80Gi}}}, ");
    }
    inventory.Add(absl::StrCat(
        "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {driver: "
        "d, nodeName: n0, pool: {name: n0, generation: 1, resourceSliceCount: 1}, devices: [",
        devices, "]}}"));
    inventory.Consume("d/n0/a", {{"memory", *Quantity::Parse("10Gi")}});
    inventory.Consume("d/n0/c", {{"memory", *Quantity::Parse("40Gi")}});
    inventory.Consume("d/n0/d", {{"memory", *Quantity::Parse("70Gi")}});  // has too little
    inventory.Claim(
        "{requests: [{name: r, exactly: {deviceClassName: any, capacity: {requests: {memory: "
        "20Gi}}}}]}");
    EXPECT_EQ(inventory.On("n0"), device) << static_cast<int>(scoring);
  }
}

// What no selector can tell is tried last, and harms nobody who does not need it.
TEST(DeviceScoringTest, AnErrorOfASelectorComesLast) {
  SmallInventory inventory;
  inventory.set_scoring(DeviceScoring::kExpectedWaste);
  inventory.Add(
      "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {driver: "
      "d, nodeName: n0, pool: {name: n0, generation: 1, resourceSliceCount: 1}, devices: "
      "[{name: a}, {name: b, attributes: {k: {int: 1}}}]}}");
  const std::string request =
      "name: r, exactly: {deviceClassName: any, count: %d, selectors: [{cel: {expression: "
      "'device.attributes[\"d\"].k == 1'}}]}";
  inventory.Claim("{requests: [{" + absl::StrReplaceAll(request, {{"%d", "1"}}) + "}]}");
  EXPECT_EQ(inventory.On("n0"), "r=n0/b");
  inventory.ForgetClaims();
  inventory.Claim("{requests: [{" + absl::StrReplaceAll(request, {{"%d", "2"}}) + "}]}");
  EXPECT_THAT(inventory.On("n0"), ::testing::HasSubstr("error: claim default/c0: selector #0"));
}

}  // namespace
}  // namespace berth::testing
