// SPDX-License-Identifier: Apache-2.0
// Nodes whose devices are the same to claims: the allocator says the same of them.
#include "berth/devices/fields_read.h"

#include <map>
#include <random>

#include "devices/offered_slice.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/devices/small_inventory.h"

namespace berth::testing {
namespace {

// "a1 a2; c1", or "all".
std::string ReadBy(SmallInventory& devices) {
  const FieldsRead fields = FieldsReadBy(devices.Parsed());
  if (fields.all) return "all";
  return absl::StrCat(absl::StrJoin(fields.attributes, " "), "; ",
                      absl::StrJoin(fields.capacities, " "));
}

std::string Selecting(const std::string& expression, const std::string& rest = "") {
  return absl::StrCat("{requests: [{name: r, exactly: {deviceClassName: any, selectors: [{cel: ",
                      "{expression: '", expression, "'}}]}}]", rest, "}");
}

TEST(FieldsReadTest, AreThoseOfSelectorsAndConstraints) {
  SmallInventory devices;
  devices.Claim("{requests: [{name: r, exactly: {deviceClassName: any}}]}");
  EXPECT_EQ(ReadBy(devices), "; ");
  devices.Claim(Selecting("device.attributes[\"d\"].model == \"m\" && device.driver == \"d\"",
                          ", constraints: [{matchAttribute: d/numa}]"));
  devices.Claim(Selecting("has(device.capacity[\"d\"].memory) || device.allowMultipleAllocations"));
  EXPECT_EQ(ReadBy(devices), "d/model d/numa; d/memory");
  devices.Claim(Selecting("\"d\" in device.attributes"));
  EXPECT_EQ(ReadBy(devices), "all");
}

TEST(FieldsReadTest, WhatAClassReadsCounts) {
  SmallInventory devices;
  devices.Add(
      "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: "
      "{selectors: [{cel: {expression: 'device.attributes[\"d\"].kind == \"gpu\"'}}]}}");
  devices.Claim("{requests: [{name: r, exactly: {deviceClassName: gpu}}]}");
  EXPECT_EQ(ReadBy(devices), "d/kind; ");
}

class DevicesAsReadTest : public ::testing::Test {
 protected:
  // Of a node of that name, with devices a, b, ... of these fields.
  void Set(const std::string& node, const std::vector<std::string>& fields,
           const std::string& whom = "") {
    std::string devices;
    for (size_t i = 0; i < fields.size(); ++i) {
      absl::StrAppend(&devices, "{name: ", node, "-", i, fields[i].empty() ? "" : ", ", fields[i],
                      "}, ");
    }
    devices_.Add(absl::StrCat(
        "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: ", node,
        "}, spec: {driver: d, ", whom.empty() ? "nodeName: " + node : whom, ", pool: {name: ", node,
        ", generation: 1, resourceSliceCount: 1}, devices: [", devices, "]}}"));
  }
  std::optional<std::string> Of(const std::string& node) {
    return DevicesAsRead(FieldsReadBy(devices_.Parsed()), devices_.inventory(),
                         [this](const DeviceId& id) { return devices_.IsHeld(id); },
                         Symbol::Intern(node), {});
  }
  bool AreEqual() { return Of("n0") == Of("n1"); }

  SmallInventory devices_;
};

TEST_F(DevicesAsReadTest, DifferByWhatIsRead) {
  Set("n0", {"attributes: {uuid: {string: a}, model: {string: m}}"});
  Set("n1", {"attributes: {uuid: {string: b}, model: {string: m}}"});
  devices_.Claim(Selecting("device.attributes[\"d\"].model == \"m\""));
  EXPECT_TRUE(AreEqual());
  devices_.Claim(Selecting("device.attributes[\"d\"].uuid == \"a\""));
  EXPECT_FALSE(AreEqual());
}

TEST_F(DevicesAsReadTest, DifferByWhatIsThereAndHeld) {
  Set("n0", {"", ""});
  Set("n1", {"", ""});
  devices_.Claim("{requests: [{name: r, exactly: {deviceClassName: any}}]}");
  EXPECT_TRUE(AreEqual());
  devices_.Hold("d/n0/n0-1");
  EXPECT_FALSE(AreEqual());
  devices_.Hold("d/n1/n1-1");
  EXPECT_TRUE(AreEqual());
  Set("n1", {"", "", ""});
  EXPECT_FALSE(AreEqual());
}

TEST_F(DevicesAsReadTest, DifferByAnAttributeOfTheDriversOwnDomain) {
  Set("n0", {"attributes: {model: {string: m}}"});
  Set("n1", {"attributes: {d/model: {string: m}}"});
  devices_.Claim(Selecting("device.attributes[\"d\"].model == \"m\""));
  EXPECT_FALSE(AreEqual()) << "though no selector can tell";
  Set("n0", {"attributes: {model: {string: o}}"});
  EXPECT_FALSE(AreEqual());
}

// It makes every selector an error.
TEST_F(DevicesAsReadTest, DifferByAVersionThatIsNone) {
  const std::string version = "attributes: {v: {version: '1.2.0'}}";
  Set("n0", {version});
  Set("n1", {version});
  devices_.Claim(Selecting("device.driver == \"d\""));
  EXPECT_TRUE(AreEqual());
  auto odd = std::make_shared<api::ResourceSlice>(
      devices_.inventory().PoolsOf(Symbol::Intern("n0"), {})->front().slices.front()->message());
  (*odd->mutable_spec()->mutable_devices(0)->mutable_attributes())["v"].set_version("1.2");
  devices_.inventory().SetSlice(std::move(odd));
  EXPECT_FALSE(AreEqual());
}

TEST_F(DevicesAsReadTest, AreNotComparedWhereMoreCounts) {
  devices_.set_features({.device_taints = true});
  Set("n0", {""});
  EXPECT_TRUE(Of("n0").has_value());
  Set("n0", {"taints: [{key: k, effect: NoSchedule}]"});
  EXPECT_FALSE(Of("n0").has_value());
  SmallInventory shared;
  shared.set_features({.consumable_capacity = true});
  EXPECT_FALSE(DevicesAsRead({}, shared.inventory(), [](const DeviceId&) { return false; },
                             Symbol::Intern("n0"), {})
                   .has_value());
}

// Random nodes and claims: nodes with one text have one outcome, the same number of steps, and
// devices of the same places.
TEST_F(DevicesAsReadTest, TheAllocatorSaysTheSameOfNodesThatAreEqual) {
  std::mt19937_64 random(1);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int equal = 0, allocated = 0;
  for (int history = 0; history < 300; ++history) {
    SmallInventory devices;
    const std::string names[] = {
        "driver == \"d\"", "attributes[\"d\"].size > 1", "attributes[\"d\"].size == 1",
        "capacity[\"d\"].m.compareTo(quantity(\"2\")) >= 0", "attributes[\"d\"].maybe == 1"};
    for (int c = 0, claims = 1 + below(2); c < claims; ++c) {
      const std::string request = absl::StrCat(
          "{deviceClassName: any, ",
          below(6) == 0 ? "allocationMode: All" : absl::StrCat("count: ", 1 + below(2)),
          ", selectors: [{cel: {expression: 'device.", names[below(below(10) == 0 ? 5 : 4)],
          "'}}]}");
      devices.Claim(absl::StrCat(
          "{requests: [{name: r, exactly: ", request, "}]",
          below(3) == 0 ? ", constraints: [{matchAttribute: d/numa, requests: [r]}]" : "", "}"));
    }
    for (int n = 0; n < 12; ++n) {
      const std::string node = absl::StrCat("n", n);
      std::string yaml;
      for (int i = 0; i < 2; ++i) {
        absl::StrAppend(&yaml, "{name: x", i, ", attributes: {uuid: {string: u", random() % 1000,
                        "}, size: {int: ", 1 + below(2), "}, numa: {int: ", below(2), "}",
                        below(4) == 0 ? ", maybe: {int: 1}" : "", "}, capacity: {m: {value: '",
                        1 + below(2), "'}}}, ");
        if (below(5) == 0) devices.Hold(absl::StrCat("d/", node, "/x", i));
      }
      devices.Add(absl::StrCat(
          "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: ", node,
          "}, spec: {driver: d, nodeName: ", node, ", pool: {name: ", node,
          ", generation: 1, resourceSliceCount: ", below(10) == 0 ? 2 : 1, "}, devices: [", yaml,
          "]}}"));
    }
    const std::vector<ClaimToAllocate> claims = devices.Parsed();
    const FieldsRead fields = FieldsReadBy(claims);
    std::map<std::string, std::string> answers;
    for (int n = 0; n < 12; ++n) {
      const std::string node = absl::StrCat("n", n);
      const auto text = DevicesAsRead(fields, devices.inventory(),
                                      [&](const DeviceId& id) { return devices.IsHeld(id); },
                                      Symbol::Intern(node), {});
      ASSERT_TRUE(text.has_value());
      const absl::StatusOr<NodeAllocation> allocation = devices.Run(claims, node);
      std::string answer = "error";
      if (allocation.ok()) {
        answer = absl::StrCat(static_cast<int>(allocation->outcome), " ", allocation->steps);
        const bool is_allocated = allocation->outcome == NodeAllocation::Outcome::kAllocated;
        for (size_t i = 0; is_allocated && i < claims.size(); ++i) {
          const auto result = AllocationResultOf(*allocation, claims, static_cast<int>(i));
          for (const auto& picked : (*result)->devices().results()) {
            absl::StrAppend(&answer, " ", picked.device());
            ++allocated;
          }
        }
      }
      const auto [known, is_new] = answers.emplace(*text, answer);
      EXPECT_EQ(known->second, answer) << "history " << history << ", " << node;
      equal += is_new ? 0 : 1;
    }
  }
  EXPECT_GT(equal, 500);
  EXPECT_GT(allocated, 500);
}

}  // namespace
}  // namespace berth::testing
