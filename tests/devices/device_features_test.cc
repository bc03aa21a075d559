// SPDX-License-Identifier: Apache-2.0
// What claims get with feature gates on.
#include "berth/devices/device_features.h"

#include "berth/devices/device_explanation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/devices/small_inventory.h"

namespace berth::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr char kAnyDevice[] = "{requests: [{name: r, exactly: {deviceClassName: any}}]}";

// A slice of node n0 and a pool of its name, with the rest of the spec.
std::string SliceWith(const std::string& name, const std::string& rest, int slices = 1) {
  return absl::StrCat("{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: ",
                      name, "}, spec: {driver: d, pool: {name: n0, generation: 1, ",
                      "resourceSliceCount: ", slices, "}, ", rest, "}}");
}

// --- DRADeviceTaints ---

constexpr char kTainted[] =
    "nodeName: n0, devices: [{name: sick, taints: [{key: k, value: v, effect: NoSchedule}]}, "
    "{name: odd, taints: [{key: k, effect: None}]}]";

std::string Tolerating(const std::string& toleration) {
  return absl::StrCat("{requests: [{name: r, exactly: {deviceClassName: any, count: 2, ",
                      "tolerations: [", toleration, "]}}]}");
}

TEST(DeviceTaintsTest, AreIgnoredByDefault) {
  SmallInventory devices;
  devices.Add(SliceWith("s", kTainted));
  devices.Claim(kAnyDevice);
  EXPECT_EQ(devices.On("n0"), "r=n0/sick");
}

TEST(DeviceTaintsTest, KeepClaimsOffThatDoNotTolerateThem) {
  SmallInventory devices;
  devices.set_features({.device_taints = true});
  devices.Add(SliceWith("s", kTainted));
  devices.Claim(kAnyDevice);
  EXPECT_EQ(devices.On("n0"), "r=n0/odd");
}

TEST(DeviceTaintsTest, AreToleratedByKeyValueAndEffect) {
  const auto with = [](const std::string& toleration) {
    SmallInventory devices;
    devices.set_features({.device_taints = true});
    devices.Add(SliceWith("s", kTainted));
    devices.Claim(Tolerating(toleration));
    return devices.On("n0");
  };
  constexpr char kBoth[] = "r=n0/sick r=n0/odd";
  EXPECT_EQ(with("{operator: Exists}"), kBoth);
  EXPECT_EQ(with("{key: k, operator: Exists, effect: NoSchedule}"), kBoth);
  EXPECT_EQ(with("{key: k, value: v}"), kBoth);
  EXPECT_EQ(with("{key: k, operator: Equal, value: w}"), "impossible");
  EXPECT_EQ(with("{key: other, operator: Exists}"), "impossible");
  EXPECT_EQ(with("{key: k, operator: Exists, effect: NoExecute}"), "impossible");
}

TEST(DeviceTaintsTest, TolerationsAreInTheResult) {
  SmallInventory devices;
  devices.set_features({.device_taints = true});
  devices.Add(SliceWith("s", kTainted));
  devices.Claim(Tolerating("{key: k, operator: Exists}"));
  ASSERT_EQ(devices.On("n0"), "r=n0/sick r=n0/odd");
  ASSERT_EQ(devices.last_result().devices().results(0).tolerations_size(), 1);
  EXPECT_EQ(devices.last_result().devices().results(0).tolerations(0).key(), "k");
}

// --- DRADeviceTaintRules ---

std::string RuleOn(const std::string& selector, const std::string& effect = "NoExecute",
                   const std::string& name = "rule") {
  return absl::StrCat(
      "{apiVersion: resource.k8s.io/v1alpha3, kind: DeviceTaintRule, metadata: ", "{name: ", name,
      "}, spec: {", selector, "taint: {key: broken, value: badly, ", "effect: ", effect, "}}}");
}

// What a claim for one device gets of two, with a rule.
std::string WithRule(const std::string& rule) {
  SmallInventory devices;
  devices.set_features({.device_taints = true, .device_taint_rules = true});
  devices.Add(Slice("n0", {"a", "b"}));
  devices.Add(rule);
  devices.Claim(kAnyDevice);
  return devices.On("n0");
}

TEST(DeviceTaintRulesTest, TaintWhatTheirSelectorSays) {
  EXPECT_EQ(WithRule(RuleOn("deviceSelector: {driver: d, pool: n0, device: a}, ")), "r=n0/b");
  EXPECT_EQ(WithRule(RuleOn("deviceSelector: {device: a}, ")), "r=n0/b");
  EXPECT_EQ(WithRule(RuleOn("deviceSelector: {device: c}, ")), "r=n0/a");
  EXPECT_EQ(WithRule(RuleOn("deviceSelector: {pool: n1, device: a}, ")), "r=n0/a");
  EXPECT_EQ(WithRule(RuleOn("deviceSelector: {driver: e, device: a}, ")), "r=n0/a");
  EXPECT_EQ(WithRule(RuleOn("deviceSelector: {pool: n0}, ")), "impossible");
  EXPECT_EQ(WithRule(RuleOn("deviceSelector: {}, ")), "impossible");
  EXPECT_EQ(WithRule(RuleOn("")), "r=n0/a");  // no selector
  EXPECT_EQ(WithRule(RuleOn("deviceSelector: {}, ", "None")), "r=n0/a");
}

TEST(DeviceTaintRulesTest, AreToleratedAsTaintsOfSlicesAre) {
  SmallInventory devices;
  devices.set_features({.device_taints = true, .device_taint_rules = true});
  devices.Add(SliceWith("s", kTainted));
  devices.Add(RuleOn("deviceSelector: {}, "));
  devices.Claim(Tolerating("{key: broken, operator: Exists}"));
  EXPECT_EQ(devices.On("n0"), "impossible");
  devices.ForgetClaims();
  devices.Claim(
      Tolerating("{key: broken, operator: Exists}, {key: k, operator: Exists, effect: "
                 "NoSchedule}"));
  EXPECT_EQ(devices.On("n0"), "r=n0/sick r=n0/odd");
}

TEST(DeviceTaintRulesTest, ComeChangeAndGo) {
  SmallInventory devices;
  devices.set_features({.device_taints = true, .device_taint_rules = true});
  devices.Claim(kAnyDevice);
  devices.Add(RuleOn("deviceSelector: {device: a}, "));
  devices.Add(RuleOn("deviceSelector: {device: b}, ", "NoSchedule", "other"));
  devices.Add(Slice("n0", {"a", "b", "c"}));  // later than its rules
  EXPECT_EQ(devices.On("n0"), "r=n0/c");
  devices.Add(RuleOn("deviceSelector: {device: c}, "));
  EXPECT_EQ(devices.On("n0"), "r=n0/a");
  devices.Add(Slice("n0", {"b", "c"}));
  EXPECT_EQ(devices.On("n0"), "impossible");
  EXPECT_THAT(devices.inventory().RemoveTaintRule("other").names,
              ElementsAre(Symbol::Intern("n0")));
  EXPECT_EQ(devices.On("n0"), "r=n0/b");
  EXPECT_TRUE(devices.inventory().RemoveTaintRule("other").names.empty());
}

// Its status is written again and again while pods are evicted.
TEST(DeviceTaintRulesTest, TheSameRuleOnceMoreAffectsNobody) {
  SmallInventory devices;
  devices.set_features({.device_taints = true, .device_taint_rules = true});
  devices.Add(Slice("n0", {"a"}));
  devices.Add(Slice("n1", {"b"}));
  const auto set = [&](const std::string& rule) {
    return devices.inventory()
        .SetTaintRule(ObjectsFromYaml(rule)[0].Share<api::DeviceTaintRule>())
        .names;
  };
  EXPECT_THAT(set(RuleOn("deviceSelector: {device: a}, ")), ElementsAre(Symbol::Intern("n0")));
  EXPECT_THAT(set(RuleOn("deviceSelector: {device: a}, ")), ElementsAre());
  EXPECT_THAT(set(RuleOn("deviceSelector: {device: b}, ")),
              UnorderedElementsAre(Symbol::Intern("n0"), Symbol::Intern("n1")));
}

TEST(DeviceTaintRulesTest, AreNamedWhereADeviceIsRejected) {
  SmallInventory devices;
  devices.set_features({.device_taints = true, .device_taint_rules = true});
  devices.Add(Slice("n0", {"a"}));
  devices.Add(RuleOn("deviceSelector: {device: a}, "));
  devices.Claim(kAnyDevice);
  const std::vector<ClaimToAllocate> claims = devices.Parsed();
  const auto is_held = [](const DeviceId&) { return false; };
  const AllocationRequest request = {
      .inventory = devices.inventory(), .claims = claims, .is_held = is_held};
  const std::vector<ExplainedRequest> explained =
      ExplainDevices(request, Symbol::Intern("n0"), LabelSet());
  ASSERT_EQ(explained.size(), 1);
  ASSERT_EQ(explained[0].rejected.size(), 1);
  EXPECT_EQ(explained[0].rejected[0].reason,
            "taint broken=badly:NoExecute of DeviceTaintRule rule");
}

// --- DRADeviceBindingConditions ---

constexpr char kConditional[] =
    "{name: later, bindingConditions: [Ready], bindingFailureConditions: [Broken]}";

TEST(BindingConditionsTest, MatchOnlyWithTheirGate) {
  SmallInventory off;
  off.Add(SliceWith("s", absl::StrCat("nodeName: n0, devices: [", kConditional, "]")));
  off.Claim(kAnyDevice);
  EXPECT_EQ(off.On("n0"), "impossible");
  SmallInventory on;
  on.set_features({.binding_conditions = true});
  on.Add(SliceWith("s", absl::StrCat("nodeName: n0, devices: [", kConditional, "]")));
  on.Claim(kAnyDevice);
  ASSERT_EQ(on.On("n0"), "r=n0/later");
  const auto& result = on.last_result().devices().results(0);
  EXPECT_THAT(result.binding_conditions(), ElementsAre("Ready"));
  EXPECT_THAT(result.binding_failure_conditions(), ElementsAre("Broken"));
}

TEST(BindingConditionsTest, DevicesWithSomeComeLast) {
  const auto first = [](bool on) {
    SmallInventory devices;
    devices.set_features({.binding_conditions = on});
    devices.Add(SliceWith(
        "a", absl::StrCat("nodeName: n0, devices: [{name: beside}, ", kConditional, "]"), 2));
    devices.Add(SliceWith("b", "nodeName: n0, devices: [{name: other}]", 2));
    devices.Add(Slice("n0", {"of-e"}, "e"));
    devices.Claim("{requests: [{name: r, exactly: {deviceClassName: any, count: 3}}]}");
    return devices.On("n0");
  };
  EXPECT_EQ(first(false), "r=n0/beside r=n0/other r=n0/of-e");
  EXPECT_EQ(first(true), "r=n0/of-e r=n0/other r=n0/beside");
}

// Attached to the node where it is used first.
TEST(BindingConditionsTest, ADeviceThatBindsToANodeTiesItsClaimToIt) {
  for (const bool on : {false, true}) {
    SmallInventory devices;
    devices.set_features({.binding_conditions = on});
    devices.Add(SliceWith("s", "allNodes: true, devices: [{name: x, bindsToNode: true}]"));
    devices.Claim(kAnyDevice);
    ASSERT_EQ(devices.On("n7"), "r=n0/x");
    ASSERT_EQ(devices.last_result().has_node_selector(), on);
    if (!on) continue;
    const auto& field =
        devices.last_result().node_selector().node_selector_terms(0).match_fields(0);
    EXPECT_EQ(field.key(), "metadata.name");
    EXPECT_THAT(field.values(), ElementsAre("n7"));
  }
}

// --- DRAPartitionableDevices ---

// A GPU of 4 slices, as a whole, as two halves and as four quarters.
std::string Partitioned() {
  std::string devices;
  const auto add = [&devices](const std::string& name, int slices) {
    absl::StrAppend(&devices, "{name: ", name, ", attributes: {size: {int: ", slices,
                    "}}, consumesCounters: [{counterSet: gpu, counters: {slices: {value: '", slices,
                    "'}}}]}, ");
  };
  add("whole", 4);
  for (const char* half : {"h0", "h1"}) add(half, 2);
  for (const char* quarter : {"q0", "q1", "q2", "q3"}) add(quarter, 1);
  return SliceWith("devices", absl::StrCat("nodeName: n0, devices: [", devices, "]"), 2);
}
std::string Counters(const std::string& sets = "{name: gpu, counters: {slices: {value: '4'}}}") {
  return SliceWith("counters", absl::StrCat("nodeName: n0, sharedCounters: [", sets, "]"), 2);
}
std::string OfSize(int size, int count) {
  return absl::StrCat("{requests: [{name: r, exactly: {deviceClassName: any, count: ", count,
                      ", selectors: [{cel: {expression: 'device.attributes[\"d\"].size == ", size,
                      "'}}]}}]}");
}

class PartitionsTest : public ::testing::Test {
 protected:
  PartitionsTest() {
    devices_.set_features({.partitionable_devices = true});
    devices_.Add(Partitioned());
    devices_.Add(Counters());
  }
  std::string Get(int size, int count) {
    devices_.ForgetClaims();
    devices_.Claim(OfSize(size, count));
    return devices_.On("n0");
  }
  SmallInventory devices_;
};

TEST_F(PartitionsTest, TakeTheCountersOfTheirPool) {
  EXPECT_EQ(Get(4, 1), "r=n0/whole");
  EXPECT_EQ(Get(2, 2), "r=n0/h0 r=n0/h1");
  devices_.Hold("d/n0/q2");
  EXPECT_EQ(Get(4, 1), "impossible");
  EXPECT_EQ(Get(2, 1), "r=n0/h0");
  EXPECT_EQ(Get(2, 2), "impossible");
  EXPECT_EQ(Get(1, 3), "r=n0/q0 r=n0/q1 r=n0/q3");
  devices_.Hold("d/n0/whole");  // overdrawn
  EXPECT_EQ(Get(1, 1), "impossible");
}

TEST_F(PartitionsTest, ClaimsOfOnePodShareThem) {
  devices_.Claim(OfSize(2, 1));
  devices_.Claim(OfSize(1, 2));
  EXPECT_EQ(devices_.On("n0"), "r=n0/h0; r=n0/q0 r=n0/q1");
  devices_.Claim(OfSize(1, 1));
  EXPECT_EQ(devices_.On("n0"), "impossible");
}

TEST_F(PartitionsTest, GiveCountersBackWhenTheSearchBacktracks) {
  // The first choice, the whole GPU, leaves nothing for the second request.
  devices_.Claim(
      "{requests: [{name: a, firstAvailable: [{name: big, deviceClassName: any, selectors: [{cel: "
      "{expression: 'device.attributes[\"d\"].size == 4'}}]}, {name: small, deviceClassName: any, "
      "selectors: [{cel: {expression: 'device.attributes[\"d\"].size == 1'}}]}]}, {name: b, "
      "exactly: {deviceClassName: any, selectors: [{cel: {expression: "
      "'device.attributes[\"d\"].size == 2'}}]}}]}");
  EXPECT_EQ(devices_.On("n0"), "a/small=n0/q0 b=n0/h0");
}

TEST(PartitionsPoolTest, ASharedDeviceWithoutCapacitiesTakesItsCountersOnce) {
  SmallInventory devices;
  devices.set_features({.partitionable_devices = true, .consumable_capacity = true});
  devices.Add(SliceWith(
      "devices",
      "nodeName: n0, devices: [{name: shared, allowMultipleAllocations: true, attributes: {size: "
      "{int: 3}}, "
      "consumesCounters: [{counterSet: gpu, counters: {slices: {value: '3'}}}]}, {name: own, "
      "attributes: {size: "
      "{int: 2}}, consumesCounters: [{counterSet: gpu, counters: {slices: {value: '2'}}}]}]",
      2));
  devices.Add(Counters());
  for (int claim = 0; claim < 2; ++claim) devices.Claim(kAnyDevice);
  EXPECT_EQ(devices.On("n0"), "r=n0/shared; r=n0/shared");
  devices.ForgetClaims();
  devices.Consume("d/n0/shared", {});
  devices.Claim(OfSize(2, 1));
  EXPECT_EQ(devices.On("n0"), "impossible");
}

TEST(PartitionsPoolTest, UnknownCountersMakeAPoolInvalid) {
  SmallInventory devices;
  devices.set_features({.partitionable_devices = true});
  devices.Add(Partitioned());
  devices.Add(Counters("{name: other, counters: {slices: {value: '4'}}}"));
  devices.Claim(kAnyDevice);
  EXPECT_EQ(devices.On("n0"), "invalid pools");
}

TEST(PartitionsPoolTest, NothingIsTakenWhileCountersAreMissing) {
  SmallInventory devices;
  devices.set_features({.partitionable_devices = true});
  devices.Add(Partitioned());
  devices.Claim(kAnyDevice);
  EXPECT_EQ(devices.On("n0"), "impossible");
  devices.Add(Counters());
  EXPECT_EQ(devices.On("n0"), "r=n0/whole");
}

TEST(PerDeviceNodesTest, EachDeviceSaysForWhichNodesItIs) {
  SmallInventory devices;
  devices.set_features({.partitionable_devices = true});
  devices.Add(SliceWith("s",
                        "perDeviceNodeSelection: true, devices: [{name: a, nodeName: n0}, "
                        "{name: b, nodeName: n1}, {name: c, allNodes: true}]"));
  devices.Claim(kAnyDevice);
  EXPECT_EQ(devices.On("n0"), "r=n0/a");
  EXPECT_EQ(devices.last_result().node_selector().node_selector_terms(0).match_fields(0).values(0),
            "n0");
  EXPECT_EQ(devices.On("n1"), "r=n0/b");
  EXPECT_EQ(devices.On("n2"), "r=n0/c");
  EXPECT_FALSE(devices.last_result().has_node_selector());
}

TEST(PerDeviceNodesTest, SelectorsAreAskedFirst) {
  SmallInventory devices;
  devices.set_features({.partitionable_devices = true});
  devices.Add(SliceWith("s",
                        "perDeviceNodeSelection: true, devices: [{name: a, nodeName: n0, "
                        "attributes: {k: {int: 2}}}, {name: b, nodeName: n1}]"));
  devices.Claim(
      "{requests: [{name: r, exactly: {deviceClassName: any, selectors: [{cel: {expression: "
      "'device.attributes[\"d\"].k == 1'}}]}}]}");
  EXPECT_THAT(devices.On("n0"), HasSubstr("error: claim default/c0: selector #0: CEL runtime"));
}

// --- DRAConsumableCapacity ---

constexpr char kNic[] =
    "nodeName: n0, devices: [{name: nic, allowMultipleAllocations: true, attributes: {port: {int: "
    "1}}, capacity: {bandwidth: {value: 10Gi, requestPolicy: {default: 1Gi, validRange: {min: 1Gi, "
    "max: 8Gi, step: 1Gi}}}}}]";

std::string Bandwidth(const std::string& amount) {
  return absl::StrCat("{requests: [{name: r, exactly: {deviceClassName: any, capacity: {requests: ",
                      "{bandwidth: ", amount, "}}}}]}");
}

class CapacityTest : public ::testing::Test {
 protected:
  CapacityTest() {
    devices_.set_features({.consumable_capacity = true});
    devices_.Add(SliceWith("s", kNic));
  }
  // What a request gets of the bandwidth, or why nothing.
  std::string Get(const std::string& claim) {
    devices_.ForgetClaims();
    devices_.Claim(claim);
    std::string result = devices_.On("n0");
    if (result != "r=n0/nic") return result;
    return devices_.last_result().devices().results(0).consumed_capacity().at("bandwidth").string();
  }
  SmallInventory devices_;
};

TEST_F(CapacityTest, RequestsAreRoundedUpByThePolicy) {
  EXPECT_EQ(Get(Bandwidth("3Gi")), "3Gi");
  EXPECT_EQ(Get(Bandwidth("2500Mi")), "3Gi");
  EXPECT_EQ(Get(Bandwidth("1")), "1Gi");
  EXPECT_EQ(Get(kAnyDevice), "1Gi");
  EXPECT_EQ(Get(Bandwidth("9Gi")), "impossible");  // more than the policy's maximum
}

TEST_F(CapacityTest, WhatClaimsHaveIsNotLeft) {
  devices_.Consume("d/n0/nic", {{"bandwidth", *Quantity::Parse("6Gi")}});
  EXPECT_EQ(Get(Bandwidth("4Gi")), "4Gi");
  EXPECT_EQ(Get(Bandwidth("5Gi")), "impossible");
}

TEST_F(CapacityTest, ClaimsOfAPodShareADevice) {
  devices_.Claim(Bandwidth("6Gi"));
  devices_.Claim(Bandwidth("4Gi"));
  EXPECT_EQ(devices_.On("n0"), "r=n0/nic; r=n0/nic");
  devices_.Claim(kAnyDevice);
  EXPECT_EQ(devices_.On("n0"), "impossible");
}

TEST_F(CapacityTest, SharesHaveIdsOfTheirOwn) {
  devices_.Claim("{requests: [{name: r, exactly: {deviceClassName: any, count: 2}}]}");
  ASSERT_EQ(devices_.On("n0"), "r=n0/nic r=n0/nic");
  const auto& results = devices_.last_result().devices().results();
  EXPECT_EQ(results[0].share_id().size(), 36);
  EXPECT_NE(results[0].share_id(), results[1].share_id());
}

TEST_F(CapacityTest, UnknownCapacityIsHadNowhere) {
  EXPECT_EQ(Get("{requests: [{name: r, exactly: {deviceClassName: any, capacity: {requests: {x: "
                "1}}}}]}"),
            "impossible");
}

// kube-scheduler v1.35 allocator_experimental.go allocateDevice looks at the constraints of a
// request for all before it looks at what is left, and does not take a matchAttribute back where
// too little is.
class AllOfSharedTest : public ::testing::Test {
 protected:
  AllOfSharedTest() {
    devices_.set_features({.consumable_capacity = true});
    devices_.Add(
        SliceWith("s",
                  "nodeName: n0, devices: [{name: g1, allowMultipleAllocations: true, attributes: "
                  "{m: {string: A}, k: {int: 1}}, capacity: {c: {value: 1}}}, {name: g2, "
                  "allowMultipleAllocations: true, attributes: {m: {string: B}, k: {int: 2}}, "
                  "capacity: {c: {value: 1}}}]"));
  }
  // A request for one device, or for all, of those with that k; of any if k is 0.
  static std::string Request(const std::string& name, int k, bool all) {
    const std::string selector =
        k == 0 ? ""
               : absl::StrCat(", selectors: [{cel: {expression: 'device.attributes[\"d\"].k == ", k,
                              "'}}]");
    return absl::StrCat("{name: ", name, ", exactly: {deviceClassName: any", selector,
                        all ? ", allocationMode: All" : "", "}}");
  }
  static std::string Match(const std::string& requests) {
    return absl::StrCat("{requests: [", requests, "], constraints: [{matchAttribute: d/m}]}");
  }
  SmallInventory devices_;
};

TEST_F(AllOfSharedTest, AConstraintIsAnErrorBeforeTooLittleIsLeft) {
  devices_.Claim(absl::StrCat("{requests: [", Request("a", 1, false), "]}"));  // takes g1 whole
  devices_.Claim(Match(absl::StrCat(Request("b", 2, false), ", ", Request("c", 1, true))));
  EXPECT_EQ(devices_.On("n0"),
            "error: claim default/c1, request c: cannot add device d/n0/g1 because a claim "
            "constraint would not be satisfied");
}

TEST_F(AllOfSharedTest, TheOrderOfRequestsDecides) {
  devices_.Claim(absl::StrCat("{requests: [", Request("a", 1, false), "]}"));
  devices_.Claim(Match(absl::StrCat(Request("c", 1, true), ", ", Request("b", 2, false))));
  EXPECT_EQ(devices_.On("n0"), "impossible");
}

TEST_F(AllOfSharedTest, TheValueIsWantedForTheRestOfTheSearch) {
  devices_.Claim(Match(absl::StrCat(Request("a", 0, false), ", ", Request("b", 1, true))));
  EXPECT_EQ(devices_.On("n0"), "impossible");  // a gets g1, which leaves none; then g2 is a B
}

TEST_F(AllOfSharedTest, ADistinctAttributeIsTakenBack) {
  devices_.Claim(absl::StrCat("{requests: [", Request("a", 0, false), "]}"));
  devices_.Claim(absl::StrCat("{requests: [", Request("b", 1, true),
                              "], constraints: [{distinctAttribute: d/m}]}"));
  EXPECT_EQ(devices_.On("n0"), "a=n0/g2; b=n0/g1");
}

TEST(DistinctAttributeTest, IsKnownWithBindingConditionsToo) {
  SmallInventory devices;
  devices.set_features({.binding_conditions = true});
  devices.Add(SliceWith("s",
                        "nodeName: n0, devices: [{name: a, attributes: {m: {int: 1}}}, {name: b, "
                        "attributes: {m: {int: 1}}}, {name: c, attributes: {m: {int: 2}}}]"));
  devices.Claim(
      "{requests: [{name: r, exactly: {deviceClassName: any, count: 2}}], constraints: "
      "[{distinctAttribute: d/m}]}");
  EXPECT_EQ(devices.On("n0"), "r=n0/a r=n0/c");
}

TEST(DistinctAttributeTest, AllDevicesDiffer) {
  SmallInventory devices;
  devices.set_features({.consumable_capacity = true});
  devices.Add(
      SliceWith("s",
                "nodeName: n0, devices: [{name: a, attributes: {numa: {int: 0}}}, {name: b, "
                "attributes: {numa: {int: 0}}}, {name: c, attributes: {numa: {int: 1}}}, "
                "{name: e}]"));
  const auto claim = [](int count) {
    return absl::StrCat("{requests: [{name: r, exactly: {deviceClassName: any, count: ", count,
                        "}}], constraints: [{distinctAttribute: d/numa}]}");
  };
  devices.Claim(claim(2));
  EXPECT_EQ(devices.On("n0"), "r=n0/a r=n0/c");
  devices.ForgetClaims();
  devices.Claim(claim(3));
  EXPECT_EQ(devices.On("n0"), "impossible");
}

// --- Gates that are on by default ---

TEST(GatesTurnedOffTest, ClaimsThatNeedThemAreErrors) {
  SmallInventory devices;
  devices.set_features({.admin_access = false, .prioritized_list = false});
  devices.Add(Slice("n0", {"a"}));
  devices.Claim("{requests: [{name: r, exactly: {deviceClassName: any, adminAccess: true}}]}");
  EXPECT_THAT(devices.On("n0"),
              HasSubstr("admin access is requested, but the feature is disabled"));
  devices.ForgetClaims();
  devices.Claim("{requests: [{name: r, firstAvailable: [{name: s, deviceClassName: any}]}]}");
  EXPECT_THAT(devices.On("n0"), HasSubstr("the DRAPrioritizedList feature is disabled"));
}

}  // namespace
}  // namespace berth::testing
