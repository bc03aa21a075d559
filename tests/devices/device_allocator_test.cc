// SPDX-License-Identifier: Apache-2.0
// What claims get, by subject.
#include "berth/devices/device_allocator.h"

#include "berth/api/decode.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/devices/small_inventory.h"

namespace berth::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kOne[] = "{requests: [{name: r, exactly: {deviceClassName: any, count: 1}}]}";
constexpr char kTwo[] = "{requests: [{name: r, exactly: {deviceClassName: any, count: 2}}]}";
constexpr char kAll[] =
    "{requests: [{name: r, exactly: {deviceClassName: any, allocationMode: All}}]}";

// A slice for all nodes, of a pool "shared".
std::string SharedSlice(const std::string& name, const std::string& rest) {
  return absl::StrCat("{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: ",
                      name, ", uid: u}, spec: {driver: d, ", rest, "}}");
}

TEST(ExactCountTest, TakesTheFirstFreeDevices) {
  SmallInventory devices;
  devices.Add(Slice("n0", {"b", "a", "c"}));
  devices.Claim(kTwo);
  EXPECT_EQ(devices.On("n0"), "r=n0/b r=n0/a");
  devices.Hold("d/n0/b");
  EXPECT_EQ(devices.On("n0"), "r=n0/a r=n0/c");
  devices.Hold("d/n0/c");
  EXPECT_EQ(devices.On("n0"), "impossible");
  EXPECT_EQ(devices.On("other"), "impossible");
}

TEST(ExactCountTest, TheDefaultIsOne) {
  SmallInventory devices;
  devices.Add(Slice("n0", {"a", "b"}));
  devices.Claim("{requests: [{name: r, exactly: {deviceClassName: any}}]}");
  EXPECT_EQ(devices.On("n0"), "r=n0/a");
}

TEST(ExactCountTest, ClaimsOfAPodShareTheDevices) {
  SmallInventory devices;
  devices.Add(Slice("n0", {"a", "b", "c"}));
  devices.Claim(kTwo);
  devices.Claim(kOne);
  EXPECT_EQ(devices.On("n0"), "r=n0/a r=n0/b; r=n0/c");
  devices.Claim(kOne);
  EXPECT_EQ(devices.On("n0"), "impossible");
}

TEST(OrderTest, IsByDriverPoolAndSlice) {
  SmallInventory devices;
  for (const char* const name : {"s2", "s1"}) {
    devices.Add(SharedSlice(
        name, absl::StrCat("allNodes: true, pool: {name: p2, generation: 1, resourceSliceCount: 2},"
                           " devices: [{name: ",
                           name, "-a}]")));
  }
  devices.Add(SharedSlice(
      "s9",
      "allNodes: true, pool: {name: p1, generation: 1, resourceSliceCount: 1}, devices: "
      "[{name: z}]"));
  devices.Add(Slice("n0", {"own"}, "c"));
  devices.Claim("{requests: [{name: r, exactly: {deviceClassName: any, count: 4}}]}");
  EXPECT_EQ(devices.On("n0"), "r=n0/own r=p1/z r=p2/s1-a r=p2/s2-a");
}

TEST(AllTest, IsAllOrNothing) {
  SmallInventory devices;
  devices.Add(Slice("n0", {"a", "b"}));
  devices.Claim(kAll);
  EXPECT_EQ(devices.On("n0"), "r=n0/a r=n0/b");
  EXPECT_EQ(devices.On("other"), "impossible");  // none is too few
  devices.Hold("d/n0/b");
  EXPECT_EQ(devices.On("n0"), "impossible");
}

TEST(AllTest, NeedsWholePools) {
  SmallInventory devices;
  devices.Add(Slice("n0", {"a", "b"}));
  devices.Add(
      SharedSlice("half",
                  "allNodes: true, pool: {name: p, generation: 1, resourceSliceCount: 2}, devices: "
                  "[{name: x}]"));
  devices.Claim(kAll);
  EXPECT_EQ(devices.On("n0"),
            "error: claim default/c0, request r: asks for all devices, but resource pool d/p is "
            "currently being updated");
  devices.Add(
      SharedSlice("half",
                  "allNodes: true, pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: "
                  "[{name: x}, {name: x}]"));
  EXPECT_EQ(devices.On("n0"),
            "error: claim default/c0, request r: asks for all devices, but resource pool d/p is "
            "currently invalid");
}

TEST(FirstAvailableTest, TakesTheFirstThatFitsWithAllThatComesAfterIt) {
  SmallInventory devices;
  devices.Add(Slice("n0", {"a", "b", "c"}));
  devices.Claim(
      "{requests: [{name: l, firstAvailable: [{name: three, deviceClassName: any, count: 3}, "
      "{name: two, deviceClassName: any, count: 2}, {name: one, deviceClassName: any}]}]}");
  EXPECT_EQ(devices.On("n0"), "l/three=n0/a l/three=n0/b l/three=n0/c");
  devices.Claim(kOne);
  EXPECT_EQ(devices.On("n0"), "l/two=n0/a l/two=n0/b; r=n0/c");
  devices.Hold("d/n0/a");
  EXPECT_EQ(devices.On("n0"), "l/one=n0/b; r=n0/c");
}

TEST(FirstAvailableTest, AnAlternativeMayWantAll) {
  SmallInventory devices;
  devices.Add(Slice("n0", {"a", "b", "c"}));
  devices.Claim(
      "{requests: [{name: l, firstAvailable: [{name: many, deviceClassName: any, count: 4}, "
      "{name: all, deviceClassName: any, allocationMode: All}]}]}");
  EXPECT_EQ(devices.On("n0"), "l/all=n0/a l/all=n0/b l/all=n0/c");
}

TEST(FirstAvailableTest, TwoAlternativesMayWantAll) {
  SmallInventory devices;
  devices.Add(SharedSlice("s",
                          "nodeName: n0, pool: {name: n0, generation: 1, resourceSliceCount: 1}, "
                          "devices: [{name: a, attributes: {k: {int: 1}}}]"));
  const auto all_of = [](const std::string& name, int k) {
    return absl::StrCat("{name: ", name, ", deviceClassName: any, allocationMode: All, selectors: ",
                        "[{cel: {expression: 'device.attributes[\"d\"].k == ", k, "'}}]}");
  };
  devices.Claim(absl::StrCat("{requests: [{name: l, firstAvailable: [", all_of("large", 2), ", ",
                             all_of("small", 1), "]}]}"));
  EXPECT_EQ(devices.On("n0"), "l/small=n0/a");
}

TEST(MatchAttributeTest, GoesBackToFindDevicesOfOneValue) {
  SmallInventory devices;
  devices.Add(SharedSlice(
      "s",
      "nodeName: n0, pool: {name: n0, generation: 1, resourceSliceCount: 1}, devices: ["
      "{name: a, attributes: {numa: {int: 0}}}, {name: b, attributes: {numa: {int: 1}}}, "
      "{name: c}, {name: e, attributes: {numa: {int: 1}}}]"));
  devices.Claim(
      "{requests: [{name: r, exactly: {deviceClassName: any, count: 2}}], "
      "constraints: [{matchAttribute: d/numa}]}");
  EXPECT_EQ(devices.On("n0"), "r=n0/b r=n0/e");
  devices.ForgetClaims();
  // The constraint says nothing of other requests.
  devices.Claim(
      "{requests: [{name: x, exactly: {deviceClassName: any}}, {name: yy, exactly: "
      "{deviceClassName: any}}, {name: z, exactly: {deviceClassName: any}}], "
      "constraints: [{matchAttribute: d/numa, requests: [x, z]}]}");
  EXPECT_EQ(devices.On("n0"), "x=n0/b yy=n0/a z=n0/e");
}

TEST(MatchAttributeTest, ComparesTypeAndValue) {
  const auto fits = [](const std::string& a, const std::string& b, const std::string& name) {
    SmallInventory devices;
    devices.Add(SharedSlice(
        "s", absl::StrCat("nodeName: n0, pool: {name: n0, generation: 1, resourceSliceCount: 1}, "
                          "devices: [{name: a, attributes: {",
                          a, "}}, {name: b, attributes: {", b, "}}]")));
    devices.Claim(absl::StrCat(
        "{requests: [{name: r, exactly: {deviceClassName: any, count: 2}}], constraints: "
        "[{matchAttribute: ",
        name, "}]}"));
    return devices.On("n0") != "impossible";
  };
  EXPECT_TRUE(fits("k: {string: x}", "k: {string: x}", "d/k"));
  EXPECT_TRUE(fits("k: {bool: true}", "d/k: {bool: true}", "d/k"));
  EXPECT_TRUE(fits("e/k: {version: 1.0.0}", "e/k: {version: 1.0.0}", "e/k"));
  EXPECT_FALSE(fits("k: {string: x}", "k: {string: z}", "d/k"));
  EXPECT_FALSE(fits("k: {string: '1'}", "k: {int: 1}", "d/k"));
  EXPECT_FALSE(fits("k: {version: 1.0.0}", "k: {version: 1.0.0+b}", "d/k"));
  EXPECT_FALSE(fits("k: {string: x}", "k: {string: x}", "e/k"));  // another domain
  EXPECT_FALSE(fits("k: {string: x}", "e/k: {string: x}", "d/k"));
}

TEST(MatchAttributeTest, OfAllDevicesIsAnErrorIfBroken) {
  SmallInventory devices;
  devices.Add(SharedSlice(
      "s",
      "nodeName: n0, pool: {name: n0, generation: 1, resourceSliceCount: 1}, devices: ["
      "{name: a, attributes: {numa: {int: 0}}}, {name: b, attributes: {numa: {int: 1}}}]"));
  devices.Claim(
      absl::StrCat("{requests: [{name: r, exactly: {deviceClassName: any, allocationMode: All}}], "
                   "constraints: [{matchAttribute: d/numa}]}"));
  EXPECT_EQ(devices.On("n0"),
            "error: claim default/c0, request r: cannot add device d/n0/b because a claim "
            "constraint would not be satisfied");
}

TEST(AdminAccessTest, DoesNotMindWhoHoldsADevice) {
  constexpr char kAdmin[] =
      "{requests: [{name: r, exactly: {deviceClassName: any, allocationMode: All, adminAccess: "
      "true}}]}";
  SmallInventory devices;
  devices.Add(Slice("n0", {"a", "b"}));
  devices.Hold("d/n0/a");
  devices.Claim(kAdmin);
  EXPECT_EQ(devices.On("n0"), "r=n0/a! r=n0/b!");
  devices.Claim(kAdmin);
  EXPECT_EQ(devices.On("n0"), "r=n0/a! r=n0/b!; r=n0/a! r=n0/b!");
  devices.Claim(kOne);  // what is picked for the pod is taken all the same
  EXPECT_EQ(devices.On("n0"), "impossible");
}

TEST(LimitTest, AClaimHas32Devices) {
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back(absl::StrCat("x", i));
  SmallInventory devices;
  devices.Add(Slice("n0", names));
  devices.Claim("{requests: [{name: r, exactly: {deviceClassName: any, count: 33}}]}");
  EXPECT_EQ(devices.On("n0"),
            "error: claim default/c0: number of requested devices 33 exceeds the claim limit of "
            "32");
  devices.ForgetClaims();
  devices.Claim(kAll);
  EXPECT_THAT(devices.On("n0"), HasSubstr("number of requested devices 40 exceeds"));
  devices.ForgetClaims();
  // The least of a list counts; what would be too much is passed over.
  devices.Claim(
      "{requests: [{name: l, firstAvailable: [{name: much, deviceClassName: any, count: 33}, "
      "{name: one, deviceClassName: any}]}]}");
  EXPECT_EQ(devices.On("n0"), "l/one=n0/x0");
  devices.Claim("{requests: [{name: r, exactly: {deviceClassName: any, count: 32}}]}");
  EXPECT_THAT(devices.On("n0"), HasSubstr("r=n0/x32"));  // each claim has its own limit
}

// Whichever 31 of 40 devices the alternative has, the request behind it would be too much: that is
// found out once.
TEST(LimitTest, WhatAnAlternativeLeavesForOthersIsCountedNotSearched) {
  for (const bool scores : {false, true}) {
    std::vector<std::string> names;
    for (int i = 0; i < 40; ++i) names.push_back(absl::StrCat("x", i));
    SmallInventory devices;
    devices.Add(Slice("n0", names));
    if (scores) devices.set_scoring(DeviceScoring::kExpectedWaste);
    devices.set_max_steps(2'000);
    devices.Claim(
        "{requests: [{name: l, firstAvailable: [{name: much, deviceClassName: any, count: 31}, "
        "{name: one, deviceClassName: any}]}, "
        "{name: r, exactly: {deviceClassName: any, count: 5}}]}");
    EXPECT_THAT(devices.On("n0"), HasSubstr("l/one=n0/x0 r=n0/x1")) << scores;
    devices.ForgetClaims();
    // A list behind a list: the first alternative of the second is too much beside any of the
    // first.
    devices.Claim(
        "{requests: [{name: l, firstAvailable: [{name: many, deviceClassName: any, count: 8}, "
        "{name: few, deviceClassName: any, count: 4}]}, "
        "{name: m, firstAvailable: [{name: many, deviceClassName: any, count: 30}, "
        "{name: few, deviceClassName: any, count: 26}]}]}");
    EXPECT_THAT(devices.On("n0"), HasSubstr("l/few=n0/x0")) << scores;
    EXPECT_THAT(devices.On("n0"), HasSubstr("m/few=n0/x4")) << scores;
  }
}

TEST(FeaturesThatAreOffTest, AreNotAllocated) {
  SmallInventory devices;
  devices.Add(SharedSlice(
      "s",
      "nodeName: n0, pool: {name: n0, generation: 1, resourceSliceCount: 1}, devices: ["
      "{name: a, bindingConditions: [ready], bindingFailureConditions: [lost]}, "
      "{name: b, consumesCounters: [{counterSet: x, counters: {c: {value: 1}}}]}, "
      "{name: c, taints: [{key: k, effect: NoSchedule}], allowMultipleAllocations: true}]"));
  devices.Claim(kOne);
  EXPECT_EQ(devices.On("n0"), "r=n0/c");
  devices.ForgetClaims();
  devices.Claim(kAll);  // a matches nothing, b does but is not to be had
  EXPECT_EQ(devices.On("n0"), "impossible");
  devices.ForgetClaims();
  devices.Claim(
      "{requests: [{name: r, exactly: {deviceClassName: any}}], constraints: "
      "[{distinctAttribute: d/numa}]}");
  EXPECT_EQ(devices.On("n0"),
            "error: claim default/c0, constraint #0: empty constraint (unsupported constraint "
            "type?)");
}

TEST(ResultTest, HasTheNodesSelectorOrThatOfTheSlices) {
  SmallInventory devices;
  devices.set_labels({{"zone", "z"}, {"rack", "r"}});
  const auto zone = [](const std::string& name, const std::string& key, const std::string& value) {
    return SharedSlice(name, absl::StrCat("pool: {name: ", name,
                                          ", generation: 1, resourceSliceCount: 1}, nodeSelector: "
                                          "{nodeSelectorTerms: [{matchExpressions: [{key: ",
                                          key, ", operator: In, values: [", value,
                                          "]}]}]}, devices: [{name: x}]"));
  };
  devices.Add(zone("p1", "zone", "z"));
  devices.Add(zone("p2", "zone", "z"));
  devices.Add(zone("p3", "rack", "r"));
  devices.Add(zone("p4", "rack", "other"));
  devices.Claim("{requests: [{name: r, exactly: {deviceClassName: any, count: 3}}]}");
  EXPECT_EQ(devices.On("n0"), "r=p1/x r=p2/x r=p3/x");
  EXPECT_EQ(ToJson(devices.last_result().node_selector()),
            R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In",)"
            R"("values":["z"]},{"key":"rack","operator":"In","values":["r"]}]}]})");
  devices.Add(Slice("n0", {"own"}, "e"));
  devices.ForgetClaims();
  devices.Claim("{requests: [{name: r, exactly: {deviceClassName: any, count: 4}}]}");
  EXPECT_EQ(devices.On("n0"), "r=p1/x r=p2/x r=p3/x r=n0/own");
  EXPECT_EQ(ToJson(devices.last_result().node_selector()),
            R"({"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In",)"
            R"("values":["n0"]}]}]})");
}

TEST(ResultTest, HasNoSelectorIfAllNodesWillDo) {
  SmallInventory devices;
  devices.Add(
      SharedSlice("s",
                  "allNodes: true, pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: "
                  "[{name: x}]"));
  devices.Claim(kOne);
  EXPECT_EQ(devices.On("n0"), "r=p/x");
  EXPECT_FALSE(devices.last_result().has_node_selector());
}

TEST(ResultTest, HasTheConfigurationOfClassesThenOfTheClaim) {
  SmallInventory devices;
  devices.Add(
      "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: tuned}, spec: "
      "{config: [{opaque: {driver: d, parameters: {kind: P, n: [1, 2.5, null]}}}]}}");
  devices.Add(Slice("n0", {"a", "b", "c"}));
  devices.Claim(
      "{requests: [{name: x, exactly: {deviceClassName: tuned}}, {name: yy, exactly: "
      "{deviceClassName: any}}, {name: l, firstAvailable: [{name: s, deviceClassName: tuned}, "
      "{name: other, "
      "deviceClassName: any}]}], "
      "config: [{opaque: {driver: e, parameters: {}}}, {requests: [x, l/s], opaque: {driver: f, "
      "parameters: {}}}, {requests: [l], opaque: {driver: g, parameters: {}}}, "
      "{requests: [l/other], opaque: {driver: h, parameters: {}}}]}");
  EXPECT_EQ(devices.On("n0"), "x=n0/a yy=n0/b l/s=n0/c");
  std::string shown;
  for (const auto& config : devices.last_result().devices().config()) {
    absl::StrAppend(&shown, config.source(), " ", config.device_configuration().opaque().driver(),
                    " [", absl::StrJoin(config.requests(), " "), "]\n");
  }
  EXPECT_EQ(shown,
            "FromClass d [x l/s]\n"
            "FromClaim e []\n"
            "FromClaim f [x l/s]\n"
            "FromClaim f [x l/s]\n"
            "FromClaim g [l]\n");
  EXPECT_THAT(ToJson(devices.last_result()),
              HasSubstr(R"("parameters":{"kind":"P","n":[1,2.5,null]})"));
}

TEST(SearchTest, EqualDevicesThatAreTooFewAreCountedNotPermuted) {
  std::vector<std::string> names;
  for (int i = 0; i < 30; ++i) names.push_back(absl::StrCat("x", i));
  SmallInventory devices;
  devices.Add(Slice("n0", names));
  devices.Claim("{requests: [{name: r, exactly: {deviceClassName: any, count: 31}}]}");
  devices.set_max_steps(10'000);
  EXPECT_EQ(devices.On("n0"), "impossible");
}

TEST(SearchTest, EndsWhenItsStepsAreSpent) {
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) names.push_back(absl::StrCat("x", i));
  SmallInventory devices;
  devices.Add(Slice("n0", names));
  for (int i = 0; i < 11; ++i) devices.Claim(kTwo);  // 22 of 20, in claims apart
  devices.set_max_steps(10'000);
  EXPECT_EQ(devices.On("n0"), "out of steps");
}

TEST(SearchTest, AlternativesAreSteps) {
  SmallInventory devices;
  devices.Add(Slice("n0", {"a"}));
  std::string many;
  for (int i = 0; i < 7; ++i) {
    absl::StrAppend(&many, "{name: s", i, ", deviceClassName: any, count: 33}, ");
  }
  devices.Claim(absl::StrCat("{requests: [{name: l, firstAvailable: [", many,
                             "{name: one, deviceClassName: any}]}]}"));
  EXPECT_EQ(devices.On("n0"), "l/one=n0/a");
  devices.set_max_steps(7);
  EXPECT_EQ(devices.On("n0"), "out of steps");
}

TEST(SearchTest, ANegativeCountIsAProblem) {
  SmallInventory devices;
  devices.Add(Slice("n0", {"a"}));
  devices.Claim(
      "{requests: [{name: l, firstAvailable: [{name: s, deviceClassName: any, count: -1}]}]}");
  EXPECT_EQ(devices.On("n0"), "error: claim default/c0, request s: count -1 is negative");
}

TEST(SelectorTest, IsEvaluatedOnceADevice) {
  SmallInventory devices;
  devices.Add(Slice("n0", {"a", "b"}));
  devices.Add(Slice("m", {"a", "b"}));
  devices.Claim(
      "{requests: [{name: r, exactly: {deviceClassName: any, allocationMode: All, selectors: "
      "[{cel: {expression: 'device.driver == \"d\"'}}]}}]}");
  EXPECT_EQ(devices.On("n0"), "r=n0/a r=n0/b");
  EXPECT_EQ(devices.inventory().evaluations(), 2);
  EXPECT_EQ(devices.On("n0"), "r=n0/a r=n0/b");
  EXPECT_EQ(devices.inventory().evaluations(), 2);
  EXPECT_EQ(devices.On("m"), "r=m/a r=m/b");
  EXPECT_EQ(devices.inventory().evaluations(), 4);
  devices.Add(Slice("n0", {"a"}));  // another version of it
  EXPECT_EQ(devices.On("n0"), "r=n0/a");
  EXPECT_EQ(devices.inventory().evaluations(), 5);
}

TEST(SelectorTest, ItsErrorsNameClaimOrClass) {
  SmallInventory devices;
  devices.Add(Slice("n0", {"a"}));
  devices.Add(
      "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: bad}, spec: "
      "{selectors: [{cel: {expression: 'true'}}, {cel: {expression: "
      "'device.attributes[\"d\"].gone == 1'}}]}}");
  devices.Claim("{requests: [{name: r, exactly: {deviceClassName: bad}}]}");
  EXPECT_THAT(devices.On("n0"), HasSubstr("error: class bad: selector #1: CEL runtime error: "));
  devices.ForgetClaims();
  devices.Claim(
      "{requests: [{name: r, exactly: {deviceClassName: any, selectors: [{cel: {expression: "
      "'device.attributes[\"d\"].gone == 1'}}]}}]}");
  EXPECT_THAT(devices.On("n0"), HasSubstr("error: claim default/c0: selector #0: CEL runtime"));
  devices.ForgetClaims();
  devices.Claim(
      "{requests: [{name: r, exactly: {deviceClassName: any, selectors: [{cel: {expression: "
      "'1 +'}}]}}]}");
  EXPECT_THAT(devices.On("n0"), HasSubstr("error: claim default/c"));
  EXPECT_THAT(devices.On("n0"), HasSubstr(": selector #0: CEL compile error: "));
}

}  // namespace
}  // namespace berth::testing
