// SPDX-License-Identifier: Apache-2.0
// What manifests are told that an API server refuses of slices: names, versions, shared counters,
// taints, binding conditions and the policies of capacities.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/object_rules.h"
#include "tests/api/problems_of.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> OfSlice(absl::string_view spec, absl::string_view metadata = "name: s") {
  return ProblemsOfManifest(
      absl::StrCat("apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {", metadata,
                   "}\nspec: {", spec, "}\n"));
}

constexpr absl::string_view kPool =
    "driver: d.x, pool: {name: p, resourceSliceCount: 1}, nodeName: n0, ";

std::string OfDevice(absl::string_view device) {
  return absl::StrCat(kPool, "devices: [{name: a, ", device, "}]");
}

std::string OfDevices(absl::string_view devices) {
  return absl::StrCat(
      "driver: d.x, pool: {name: p, resourceSliceCount: 1}, perDeviceNodeSelection: true, devices: "
      "[",
      devices, "]");
}

struct Case {
  std::string spec;
  absl::string_view expected;  // of the one problem; empty: there is none
};

// An error where the slice is new, and a warning where an API server has stored it.
void ExpectRefused(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    if (c.expected.empty()) {
      EXPECT_THAT(OfSlice(c.spec), IsEmpty()) << c.spec;
      continue;
    }
    const auto says = HasSubstr(std::string(c.expected));
    EXPECT_THAT(OfSlice(c.spec), ElementsAre(AllOf(HasSubstr(": error: "), says))) << c.spec;
    for (const absl::string_view stored : {"name: s, uid: u", "name: s, resourceVersion: '1'"}) {
      EXPECT_THAT(OfSlice(c.spec, stored), ElementsAre(AllOf(HasSubstr(": warning: "), says)))
          << c.spec;
    }
  }
}

TEST(SliceRules, NamesAndVersions) {
  ExpectRefused({
      {OfDevice("attributes: {v: {version: 1.2.0}}"), ""},
      {OfDevice("attributes: {v: {version: \"1.2\"}}"),
       "spec.devices[0].attributes[v].version: \"1.2\" is no version by semver.org"},
      {OfDevice("attributes: {v: {version: v1.2.0}}"), "\"v1.2.0\" is no version"},
      {OfDevice("attributes: {a b: {int: 1}}"),
       "spec.devices[0].attributes[a b]: \"a b\" is no name"},
      {OfDevice("attributes: {d.x/a_1: {int: 1}}"), ""},
      {OfDevice(absl::StrCat("attributes: {v: {string: ", std::string(65, 'x'), "}}")),
       "attributes[v].string: has 65 characters, and may have 64"},
      {OfDevice("capacity: {a-b: {value: 1}}"),
       "spec.devices[0].capacity[a-b]: \"a-b\" is no name"},
      {absl::StrCat(kPool, "devices: [{name: G_0}]"), "spec.devices[0].name: \"G_0\" is no name"},
      {absl::StrCat(kPool, "devices: [{}]"), "spec.devices[0].name: is missing"},
      {"driver: Bad_Driver, pool: {name: p, resourceSliceCount: 1}, nodeName: n0",
       "spec.driver: \"Bad_Driver\" is no driver"},
      {"driver: GPU.x, pool: {name: p, resourceSliceCount: 1}, nodeName: n0", ""},
      {"driver: d.x, pool: {name: a//b, resourceSliceCount: 1}, nodeName: n0",
       "spec.pool.name: \"a//b\" is no name"},
      {"driver: d.x, pool: {name: a/b.c, resourceSliceCount: 1}, nodeName: n0", ""},
      {"driver: d.x, pool: {name: p, generation: -1, resourceSliceCount: 1}, nodeName: n0",
       "spec.pool.generation: is negative"},
      {"driver: d.x, pool: {name: p, resourceSliceCount: 0}, nodeName: n0",
       "spec.pool.resourceSliceCount: is 0, so that the pool is never complete"},
      {"driver: d.x, pool: {name: p}, nodeName: n0", "spec.pool.resourceSliceCount: is missing"},
      {"pool: {name: p, resourceSliceCount: 1}, nodeName: n0", "spec.driver: is missing"},
      {OfDevice("attributes: {v: {}}"), "spec.devices[0].attributes[v]: has no value"},
  });
}

TEST(SliceRules, Nodes) {
  ExpectRefused({
      {OfDevice("nodeName: n0"),
       "spec.devices[0].nodeName: is only for slices with "
       "perDeviceNodeSelection: true"},
      {"driver: d.x, pool: {name: p, resourceSliceCount: 1}, nodeSelector: {nodeSelectorTerms: "
       "[{matchExpressions: [{key: "
       "a, operator: Exists}]}]}",
       ""},
      {"driver: d.x, pool: {name: p, resourceSliceCount: 1}, nodeSelector: {nodeSelectorTerms: []}",
       "spec.nodeSelector.nodeSelectorTerms: has 0 terms"},
      {"driver: d.x, pool: {name: p, resourceSliceCount: 1}, nodeName: N_0",
       "spec.nodeName: \"N_0\" is no name of a node"},
      {"driver: d.x, pool: {name: p, resourceSliceCount: 1}", "spec: is for no node"},
      {OfDevices("{name: a}"), "spec.devices[0]: is for no node"},
      {OfDevices("{name: a, nodeSelector: {nodeSelectorTerms: []}}"),
       "spec.devices[0].nodeSelector.nodeSelectorTerms: has none"},
      {OfDevices("{name: a, nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: a, "
                 "operator: In}]}]}}"),
       "spec.devices[0].nodeSelector.nodeSelectorTerms[0].matchExpressions[0].values: has none"},
  });
}

// kubernetes v1.35 pkg/apis/core/validation ValidateNodeSelector.
TEST(SliceRules, SelectorsOfNodes) {
  const auto with = [](absl::string_view term) {
    return absl::StrCat(
        "driver: d.x, pool: {name: p, resourceSliceCount: 1}, nodeSelector: {nodeSelectorTerms: [{",
        term, "}]}");
  };
  const auto expression = [&](absl::string_view rest) {
    return with(absl::StrCat("matchExpressions: [{key: a, ", rest, "}]"));
  };
  const auto field = [&](absl::string_view rest) {
    return with(absl::StrCat("matchFields: [{", rest, "}]"));
  };
  ExpectRefused({
      {expression("operator: In, values: [b, '']"), ""},
      {expression("operator: In"),
       "spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[0].values: has none; operator In "
       "needs some"},
      {expression("operator: NotIn, values: []"), "values: has none; operator NotIn needs some"},
      {expression("operator: Exists, values: [b]"), "values: cannot be set with operator Exists"},
      {expression("operator: DoesNotExist, values: [b]"), "with operator DoesNotExist"},
      {expression("operator: Gt, values: ['5']"), ""},
      {expression("operator: Gt"), "values: has 0 entries; operator Gt needs one, a whole number"},
      {expression("operator: Lt, values: ['1', '2']"), "values: has 2 entries; operator Lt"},
      {expression("operator: In, values: [b c]"), "values[0]: \"b c\" is no value of a label"},
      {with("matchExpressions: [{key: a b, operator: Exists}]"),
       "key: \"a b\" is no key of a label"},
      {expression("operator: Near, values: [b]"), "\"Near\" is none of In, NotIn"},
      {field("key: metadata.name, operator: In, values: [n0]"), ""},
      {field("key: metadata.name, operator: In, values: [n0, n1]"),
       "matchFields[0].values: has 2 entries; the requirement of a field has one"},
      {field("key: metadata.name, operator: Exists"),
       "matchFields[0].operator: \"Exists\" is none of In and NotIn"},
      {field("key: metadata.uid, operator: In, values: [n0]"),
       "matchFields[0].key: \"metadata.uid\" is no field that can be selected"},
      {field("key: metadata.name, operator: In, values: [N_0]"), "\"N_0\" is no name of a node"},
  });
  // An API server takes these.
  EXPECT_THAT(OfSlice(with("")),
              ElementsAre(HasSubstr("warning: ResourceSlice s: spec.nodeSelector."
                                    "nodeSelectorTerms[0]: is empty")));
  EXPECT_THAT(
      OfSlice(expression("operator: Gt, values: [many]")),
      ElementsAre(HasSubstr("warning: ResourceSlice s: spec.nodeSelector.nodeSelectorTerms[0]"
                            ".matchExpressions[0].values[0]: \"many\" is no whole number")));
}

TEST(SliceRules, CountersTaintsAndConditions) {
  const std::string counters = "sharedCounters: [{name: c, counters: {m: {value: 1}}}]";
  ExpectRefused({
      {absl::StrCat(kPool, counters), ""},
      {absl::StrCat(kPool, counters, ", devices: [{name: a}]"),
       "spec.sharedCounters: cannot stand beside devices; write a slice of its own"},
      {absl::StrCat(kPool, "sharedCounters: [{name: c}]"),
       "spec.sharedCounters[0].counters: has none"},
      {absl::StrCat(kPool,
                    "sharedCounters: [{name: c, counters: {m: {value: 1}}}, {name: c, "
                    "counters: {m: {value: 1}}}]"),
       "spec.sharedCounters[1].name: \"c\" is there a second time"},
      {OfDevice("consumesCounters: [{counters: {m: {value: 1}}}]"),
       "spec.devices[0].consumesCounters[0].counterSet: is missing"},
      {OfDevice("taints: [{key: a/b, effect: NoSchedule}]"), ""},
      {OfDevice("taints: [{key: a b, effect: NoSchedule}]"),
       "spec.devices[0].taints[0].key: \"a b\" is no key of a label"},
      {OfDevice("bindingConditions: [A], bindingFailureConditions: [B]"), ""},
      {OfDevice("bindingConditions: [A]"),
       "spec.devices[0].bindingConditions: needs bindingFailureConditions beside it"},
      {OfDevice("bindingFailureConditions: [A]"),
       "bindingFailureConditions: needs bindingConditions beside it"},
      {OfDevice("bindingConditions: [A], bindingFailureConditions: [A]"),
       "spec.devices[0].bindingFailureConditions[0]: \"A\" is there a second time"},
  });
  std::string devices = "{name: t, taints: [{key: a, effect: NoSchedule}]}";
  for (int i = 0; i < 64; ++i) absl::StrAppend(&devices, ", {name: d", i, "}");
  EXPECT_THAT(OfSlice(absl::StrCat(kPool, "devices: [", devices, "]")),
              ElementsAre(HasSubstr("error: ResourceSlice s: spec.devices: an API server takes at "
                                    "most 64 in a slice with taints or counters")));
}

// Negative amounts are refused by their own; no sum or remainder of them is worked out.
TEST(SliceRules, PoliciesOfExtremeAmounts) {
  for (const absl::string_view policy :
       {"default: '9223372036854775807', validRange: {min: '-9223372036854775807', step: '-1'}",
        "default: '-9223372036854775807', validRange: {min: '9223372036854775807', step: '1'}",
        "default: '1', validRange: {min: '0', max: '-9223372036854775807', step: '1n'}",
        "default: '1', validRange: {min: '9223372036854775807', step: '-500m'}"}) {
    const std::vector<std::string> problems = OfSlice(OfDevice(
        absl::StrCat("allowMultipleAllocations: true, capacity: {m: {value: '9223372036854775807', "
                     "requestPolicy: {",
                     policy, "}}}")));
    EXPECT_THAT(problems, testing::Contains(HasSubstr("is negative"))) << policy;
  }
}

TEST(SliceRules, PoliciesOfCapacities) {
  const auto with = [](absl::string_view policy) {
    return OfDevice(
        absl::StrCat("allowMultipleAllocations: true, capacity: {m: {value: 40Gi, "
                     "requestPolicy: {",
                     policy, "}}}"));
  };
  ExpectRefused({
      {with(""), ""},
      {with("default: 4Gi"), ""},
      {with("default: 8Gi, validRange: {min: 4Gi, max: 20Gi, step: 4Gi}"), ""},
      {with("default: 8Gi, validValues: [4Gi, 8Gi]"), ""},
      {with("default: 500m, validRange: {min: 500m, max: 3, step: 1}"), ""},  // in whole units
      {with("validRange: {min: 4Gi}"), "requestPolicy.default: is missing; beside validRange"},
      {with("validValues: [4Gi]"), "requestPolicy.default: is missing; beside validValues"},
      {with("default: 8Gi, validRange: {max: 20Gi}"), "validRange.min: is missing"},
      {with("default: 8Gi, validRange: {min: 4Gi}, validValues: [8Gi]"),
       "validRange: cannot stand beside validValues"},
      {with("default: 8Gi, validValues: [4Gi]"), "default: 8Gi is none of validValues"},
      {with("default: 4Gi, validValues: [8Gi, 4Gi]"), "validValues[1]: 4Gi is less than the one"},
      {with("default: 4Gi, validValues: [4Gi, 4096Mi]"),
       "validValues[1]: 4096Mi is there a second"},
      {with("default: 4Gi, validValues: [4Gi, 41Gi]"),
       "validValues[1]: 41Gi is more than the capacity, 40Gi"},
      {with("default: 8Gi, validRange: {min: 4Gi, step: 0}"), "validRange.step: is 0"},
      {with("default: 4Gi, validRange: {min: 4Gi, step: 37Gi}"),
       "validRange.step: min and one step are 41Gi, more than the capacity, 40Gi"},
      {with("default: 7Gi, validRange: {min: 4Gi, step: 2Gi}"),
       "default: 7Gi is no whole number of steps of 2Gi above min, 4Gi"},
      {with("default: 7Gi, validRange: {min: 4Gi, max: 20Gi, step: 3Gi}"),
       "validRange.max: 20Gi is no whole number of steps of 3Gi above min, 4Gi"},
      {with("default: 4Gi, validRange: {min: 4Gi, max: 41Gi}"),
       "validRange.max: 41Gi is more than the capacity, 40Gi"},
      {with("default: 1Gi, validRange: {min: 4Gi}"), "default: 1Gi is less than min, 4Gi"},
      {with("default: 9Gi, validRange: {min: 4Gi, max: 8Gi}"),
       "default: 9Gi is more than max, 8Gi"},
      {OfDevice("capacity: {m: {value: 40Gi, requestPolicy: {default: 1Gi}}}"),
       "spec.devices[0].capacity[m].requestPolicy: is only for devices with "
       "allowMultipleAllocations: true"},
  });
  EXPECT_THAT(OfSlice(with("default: 8Gi, validRange: {min: 20Gi, max: 8Gi}")),
              ElementsAre(HasSubstr("validRange.min: 20Gi is more than max, 8Gi"),
                          HasSubstr("default: 8Gi is less than min")));
}

TEST(ObjectRules, Names) {
  for (const absl::string_view good :
       {"0.0.0", "1.2.3", "10.20.30-rc.1+build.5", "1.0.0-0A.is.legal", "1.0.0+001", "1.1.2-x-y"}) {
    EXPECT_TRUE(IsSemanticVersion(good)) << good;
  }
  for (const absl::string_view bad : {"", "1", "1.2", "1.2.3.4", "01.2.3", "1.2.3-01", "1.2.3-",
                                      "1.2.3+", "v1.2.3", "1.2.x", "1.2.3-a..b", "1.2.3 "}) {
    EXPECT_FALSE(IsSemanticVersion(bad)) << bad;
  }
  EXPECT_TRUE(IsQualifiedName("numaNode") && IsQualifiedName("dra.net/rdma_1"));
  for (const absl::string_view bad : {"", "1a", "a-b", "/a", "d.x/", "d.x/a/b", "-d/a"}) {
    EXPECT_FALSE(IsQualifiedName(bad)) << bad;
  }
  EXPECT_FALSE(IsQualifiedName(std::string(33, 'a')));
}

}  // namespace
}  // namespace berth
