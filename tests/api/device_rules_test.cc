// SPDX-License-Identifier: Apache-2.0
// What manifests are told that an API server refuses of claims, classes and slices of devices.
#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/api/problems_of.h"

namespace berth {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> OfClaim(absl::string_view version, absl::string_view devices) {
  return ProblemsOfManifest(absl::StrCat(
      "apiVersion: resource.k8s.io/", version,
      "\nkind: ResourceClaim\nmetadata: {name: k}\nspec:\n  devices: {", devices, "}\n"));
}

std::string Repeat(int times, absl::string_view before, absl::string_view behind) {
  std::string text;
  for (int i = 0; i < times; ++i) absl::StrAppend(&text, i == 0 ? "" : ", ", before, i, behind);
  return text;
}

TEST(DeviceRules, GoodClaimsOfAllVersions) {
  const std::string all =
      "requests: [{name: r, exactly: {deviceClassName: c, allocationMode: All}}, {name: q, "
      "firstAvailable: [{name: a, deviceClassName: c, count: 2}, {name: b, deviceClassName: d}]}], "
      "constraints: [{requests: [r, q, q/a], matchAttribute: d.x/numa}, {distinctAttribute: "
      "d.x/numa}], config: [{requests: [q/b], opaque: {driver: d.x, parameters: {}}}]";
  EXPECT_THAT(OfClaim("v1", all), IsEmpty());
  EXPECT_THAT(OfClaim("v1beta2", all), IsEmpty());
  EXPECT_THAT(OfClaim("v1beta1",
                      "requests: [{name: r, deviceClassName: c, selectors: [{cel: {expression: "
                      "'true'}}]}, {name: q, firstAvailable: [{name: a, deviceClassName: c}]}]"),
              IsEmpty());
  EXPECT_THAT(OfClaim("v1", ""), IsEmpty());
}

TEST(DeviceRules, ClaimsThatAnApiServerRefuses) {
  struct Case {
    absl::string_view version, devices, expected;
  };
  for (const Case& c : std::vector<Case>{
           {"v1", "requests: [{exactly: {deviceClassName: c}}]",
            "f:5:24: error: ResourceClaim default/k: spec.devices.requests[0].name: is missing"},
           {"v1", "requests: [{name: a/b, exactly: {deviceClassName: c}}]",
            "f:5:31: error: ResourceClaim default/k: spec.devices.requests[0].name: \"a/b\" is no"},
           {"v1",
            "requests: [{name: r, exactly: {deviceClassName: c}}, {name: r, exactly: "
            "{deviceClassName: c}}]",
            "spec.devices.requests[1].name: \"r\" is there a second time"},
           {"v1", "requests: [{name: r, deviceClassName: c}]",
            "spec.devices.requests[0].deviceClassName: stands in `exactly` in resource.k8s.io/v1"},
           {"v1beta2", "requests: [{name: r, exactly: {deviceClassName: c}, count: 2}]",
            "spec.devices.requests[0].count: stands in `exactly` in resource.k8s.io/v1beta2"},
           {"v1beta1", "requests: [{name: r, exactly: {deviceClassName: c}}]",
            "spec.devices.requests[0].exactly: is not in resource.k8s.io/v1beta1"},
           {"v1",
            "requests: [{name: r, exactly: {deviceClassName: c}, firstAvailable: [{name: a, "
            "deviceClassName: c}]}]",
            "spec.devices.requests[0].firstAvailable: cannot stand beside exactly"},
           {"v1beta1",
            "requests: [{name: r, deviceClassName: c, firstAvailable: [{name: a, "
            "deviceClassName: c}]}]",
            "spec.devices.requests[0].firstAvailable: cannot stand beside deviceClassName"},
           {"v1",
            "requests: [{name: r, firstAvailable: [{name: a, deviceClassName: c}, {name: a, "
            "deviceClassName: d}]}]",
            "spec.devices.requests[0].firstAvailable[1].name: \"a\" is there a second time"},
           {"v1",
            "requests: [{name: r, exactly: {deviceClassName: c, allocationMode: All, count: 3}}]",
            "spec.devices.requests[0].exactly.count: cannot be set with allocationMode All"},
           {"v1",
            "requests: [{name: r, exactly: {deviceClassName: c}}], constraints: [{requests: [s], "
            "matchAttribute: d.x/a}]",
            "spec.devices.constraints[0].requests[0]: \"s\" is no request of this claim; it has r"},
           {"v1",
            "requests: [{name: r, exactly: {deviceClassName: c}}], config: [{requests: [r/a], "
            "opaque: {driver: d.x, parameters: {}}}]",
            "spec.devices.config[0].requests[0]: \"r/a\" is no request of this claim; it has r"},
           {"v1", "requests: [{name: r, exactly: {deviceClassName: c}}], config: [{requests: [r]}]",
            "spec.devices.config[0].opaque: is missing"},
           {"v1", "config: [{opaque: {driver: d.x}}]",
            "spec.devices.config[0].opaque.parameters: is missing; it is a map"},
           {"v1", "config: [{opaque: {parameters: {}}}]",
            "spec.devices.config[0].opaque.driver: is missing"},
           {"v1",
            "requests: [{name: r, exactly: {deviceClassName: c, tolerations: [{operator: Exists, "
            "value: v}]}}]",
            "exactly.tolerations[0].value: cannot be set with operator Exists"},
           {"v1", "constraints: [{}]",
            "spec.devices.constraints[0]: has neither matchAttribute nor distinctAttribute"},
           {"v1", "constraints: [{matchAttribute: d.x/a-b}]",
            "spec.devices.constraints[0].matchAttribute: \"d.x/a-b\" is no name"},
           {"v1", "constraints: [{matchAttribute: numa}]",
            "spec.devices.constraints[0].matchAttribute: \"numa\" has no domain"},
           {"v1", "constraints: [{matchAttribute: d.x/a, distinctAttribute: d.x/b}]",
            "spec.devices.constraints[0].distinctAttribute: cannot stand beside matchAttribute"},
       }) {
    EXPECT_THAT(
        OfClaim(c.version, c.devices),
        ElementsAre(::testing::AllOf(HasSubstr(" error: "), HasSubstr(std::string(c.expected)))))
        << c.devices;
  }
}

TEST(DeviceRules, NamesOfObjects) {
  for (const auto& [kind, spec] : std::vector<std::pair<std::string, std::string>>{
           {"ResourceClaim", ""},
           {"ResourceClaimTemplate", ""},
           {"DeviceClass", ""},
           {"ResourceSlice",
            "driver: d.x, pool: {name: p, resourceSliceCount: 1}, nodeName: n0"}}) {
    const auto named = [&kind = kind, &spec = spec](absl::string_view name) {
      return ProblemsOfManifest(absl::StrCat("apiVersion: resource.k8s.io/v1\nkind: ", kind,
                                             "\nmetadata: {name: ", name, "}\nspec: {", spec,
                                             "}\n"));
    };
    EXPECT_THAT(named("a.b-c"), IsEmpty()) << kind;
    EXPECT_THAT(named("A_b"),
                ElementsAre(HasSubstr("metadata.name: \"A_b\" is no name of an object")))
        << kind;
  }
}

// Of a request, what `exactly` or a version before it, or a subrequest, may have.
TEST(DeviceRules, RequestsSayWhatTheyAskFor) {
  struct Case {
    absl::string_view version;
    std::string request;
    absl::string_view expected;
  };
  for (const Case& c : std::vector<Case>{
           {"v1", "", "requests[0]: asks for nothing; it has one of exactly and firstAvailable"},
           {"v1", ", firstAvailable: []", "requests[0]: asks for nothing"},
           {"v1beta1", "",
            "requests[0]: asks for nothing; it has one of deviceClassName and firstAvailable"},
           {"v1", ", exactly: {}", "requests[0].exactly.deviceClassName: is missing"},
           {"v1beta1", ", count: 2", "requests[0].deviceClassName: is missing"},
           {"v1", ", firstAvailable: [{name: a}]",
            "requests[0].firstAvailable[0].deviceClassName: is missing"},
           {"v1", ", exactly: {deviceClassName: A_b}",
            "requests[0].exactly.deviceClassName: \"A_b\" is no name of a class"},
           {"v1", ", exactly: {deviceClassName: c, count: -1}",
            "requests[0].exactly.count: is -1; it is at least 1"},
           {"v1", ", firstAvailable: [{name: a, deviceClassName: c, count: -1}]",
            "firstAvailable[0].count: is -1"},
           {"v1", ", exactly: {deviceClassName: c, selectors: [{}]}",
            "exactly.selectors[0]: has no cel"},
           {"v1", ", exactly: {deviceClassName: c, tolerations: [{key: a b}]}",
            "tolerations[0].key: \"a b\" is no key of a label"},
           {"v1", ", exactly: {deviceClassName: c, tolerations: [{key: a, value: b c}]}",
            "tolerations[0].value: \"b c\" is no value of a label"},
           {"v1",
            ", exactly: {deviceClassName: c, tolerations: [" + Repeat(17, "{key: a", "}") + "]}",
            "exactly.tolerations: has 17 entries, and may have 16"},
       }) {
    const std::string devices = absl::StrCat("requests: [{name: r", c.request, "}]");
    EXPECT_THAT(
        OfClaim(c.version, devices),
        ElementsAre(::testing::AllOf(HasSubstr(" error: "), HasSubstr(std::string(c.expected)))))
        << devices;
    EXPECT_THAT(
        ProblemsOfManifest(
            absl::StrCat("apiVersion: resource.k8s.io/", c.version,
                         "\nkind: ResourceClaim\nmetadata: {name: k, uid: u}\nspec: {devices: {",
                         devices, "}}\n")),
        ElementsAre(::testing::AllOf(HasSubstr(" warning: "), HasSubstr(std::string(c.expected)))))
        << devices;
  }
  // An API server makes it 1.
  EXPECT_THAT(OfClaim("v1", "requests: [{name: r, exactly: {deviceClassName: c, count: 0}}]"),
              IsEmpty());
}

TEST(DeviceRules, ConfigurationsAndConstraintsNameRequestsOnce) {
  const std::string request = "requests: [{name: r, exactly: {deviceClassName: c}}], ";
  for (const auto& [rest, expected] : std::vector<std::pair<std::string, std::string>>{
           {"constraints: [{requests: [r, r], matchAttribute: d.x/a}]",
            "spec.devices.constraints[0].requests[1]: \"r\" is there a second time"},
           {"config: [{requests: [r, r], opaque: {driver: d.x, parameters: {}}}]",
            "spec.devices.config[0].requests[1]: \"r\" is there a second time"},
           {"config: [{opaque: {driver: A_b, parameters: {}}}]",
            "spec.devices.config[0].opaque.driver: \"A_b\" is no driver"},
           {"config: [{opaque: {driver: d.x, parameters: 7}}]",
            "spec.devices.config[0].opaque.parameters: is no map"},
       }) {
    EXPECT_THAT(OfClaim("v1", request + rest),
                ElementsAre(HasSubstr("error: ResourceClaim default/k: " + expected)))
        << rest;
  }
}

TEST(DeviceRules, TemplatesAndClassesHaveTheSame) {
  EXPECT_THAT(
      ProblemsOfManifest("apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: "
                         "{name: t}\nspec:\n  spec:\n    devices:\n      requests:\n      - {name: "
                         "r, count: 2}\n"),
      ElementsAre(HasSubstr("f:8:26: error: ResourceClaimTemplate default/t: "
                            "spec.spec.devices.requests[0].count: stands in `exactly`")));
  EXPECT_THAT(
      ProblemsOfManifest("apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: "
                         "c}\nspec: {selectors: [{}]}\n"),
      ElementsAre(HasSubstr("f:4:20: error: DeviceClass c: spec.selectors[0]: has no")));
  EXPECT_THAT(
      ProblemsOfManifest("apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: "
                         "c}\nspec: {extendedResourceName: cpu}\n"),
      ElementsAre(HasSubstr("f:4:30: error: DeviceClass c: spec.extendedResourceName: "
                            "\"cpu\" is no extended resource")));
}

std::vector<std::string> OfSlice(absl::string_view version, absl::string_view spec) {
  return ProblemsOfManifest(absl::StrCat("apiVersion: resource.k8s.io/", version,
                                         "\nkind: ResourceSlice\nmetadata: {name: s}\nspec: {",
                                         spec, "}\n"));
}

TEST(DeviceRules, Slices) {
  const std::string good = "driver: d.x, pool: {name: p, generation: 1, resourceSliceCount: 1}, ";
  EXPECT_THAT(OfSlice("v1", good + "nodeName: n0, devices: [{name: a, attributes: {m: {int: 1}}}]"),
              IsEmpty());
  EXPECT_THAT(OfSlice("v1beta1", good + "allNodes: true, devices: [{name: a, basic: {attributes: "
                                        "{m: {int: 1}}}}]"),
              IsEmpty());
  // As printed by a cluster whose API has the field, and leaves it unset.
  EXPECT_THAT(OfSlice("v1", good + "nodeName: n0, allNodes: false, devices: []"), IsEmpty());
  struct Case {
    absl::string_view version;
    std::string spec, expected;
  };
  for (const Case& c : std::vector<Case>{
           {"v1", good + "nodeName: n0, allNodes: true",
            "error: ResourceSlice s: spec.allNodes: cannot stand beside nodeName"},
           {"v1", good + "devices: [{name: a}]", "error: ResourceSlice s: spec: is for no node"},
           {"v1", good + "nodeName: n0, devices: [{name: a, attributes: {m: {int: 1, string: a}}}]",
            "error: ResourceSlice s: spec.devices[0].attributes[m]: has one value, not int and "
            "string"},
           {"v1", good + "nodeName: n0, devices: [{name: a, attributes: {m: {}}}]",
            "error: ResourceSlice s: spec.devices[0].attributes[m]: has no value"},
           {"v1", good + "nodeName: n0, devices: [{name: a, basic: {}}]",
            "error: ResourceSlice s: spec.devices[0].basic: is not in resource.k8s.io/v1"},
           {"v1beta1", good + "nodeName: n0, devices: [{name: a, capacity: {m: {value: 1}}}]",
            "error: ResourceSlice s: spec.devices[0].capacity: stands in `basic`"},
       }) {
    EXPECT_THAT(OfSlice(c.version, c.spec), ElementsAre(HasSubstr(c.expected))) << c.spec;
  }
}

TEST(DeviceRules, MistakesOfDrivers) {
  const std::string of_nodes =
      "driver: d.x, pool: {name: p, resourceSliceCount: 1}, nodeName: n0, ";
  const std::string of_devices =
      "driver: d.x, pool: {name: p, resourceSliceCount: 1}, perDeviceNodeSelection: true, ";
  struct Case {
    std::string spec;
    absl::string_view expected;
  };
  for (const Case& c : std::vector<Case>{
           {of_nodes + "devices: [{name: a}, {name: b}, {name: a}]",
            "f:4:114: error: ResourceSlice s: spec.devices[2].name: \"a\" is there a second time"},
           {"pool: {name: p, resourceSliceCount: 1}, nodeName: n0, devices: [{name: a}]",
            "spec.driver: is missing"},
           {"driver: d.x, pool: {resourceSliceCount: 1}, nodeName: n0, devices: [{name: a}]",
            "spec.pool.name: is missing"},
           {"driver: d.x, pool: {name: p}, nodeName: n0, devices: [{name: a}]",
            "spec.pool.resourceSliceCount: is missing"},
           {of_nodes + "devices: [" + Repeat(129, "{name: a", "}") + "]",
            "spec.devices: an API server takes at most 128 in a slice"},
           {of_devices + "devices: [{name: a}]", "spec.devices[0]: is for no node"},
           {of_devices + "devices: [{name: a, nodeName: n0, allNodes: true}]",
            "error: ResourceSlice s: spec.devices[0].allNodes: cannot stand beside nodeName"}}) {
    EXPECT_THAT(OfSlice("v1", c.spec), ElementsAre(HasSubstr(c.expected))) << c.spec;
  }
  EXPECT_THAT(OfSlice("v1", of_devices + "devices: [{name: a, nodeName: n0}]"), IsEmpty());
  EXPECT_THAT(OfSlice("v1", of_nodes + "devices: [" + Repeat(128, "{name: a", "}") + "]"),
              IsEmpty());
}

TEST(DeviceRules, Limits) {
  const auto requests = [](int count) {
    return OfClaim("v1", "requests: [" +
                             Repeat(count, "{name: r",
                                    ", exactly: {deviceClassName: "
                                    "c}}") +
                             "]");
  };
  EXPECT_THAT(requests(32), IsEmpty());
  EXPECT_THAT(requests(33), ElementsAre(HasSubstr("error: ResourceClaim default/k: "
                                                  "spec.devices.requests: has 33 entries, and may "
                                                  "have 32")));
  const auto alternatives = [](int count) {
    return OfClaim("v1", "requests: [{name: r, firstAvailable: [" +
                             Repeat(count, "{name: a", ", deviceClassName: c}") + "]}]");
  };
  EXPECT_THAT(alternatives(8), IsEmpty());
  EXPECT_THAT(alternatives(9),
              ElementsAre(HasSubstr("requests[0].firstAvailable: has 9 entries, and may have 8")));
  const auto selectors = [](int count) {
    return OfClaim("v1", "requests: [{name: r, exactly: {deviceClassName: c, selectors: [" +
                             Repeat(count, "{cel: {expression: '1 < ", "'}}") + "]}}]");
  };
  EXPECT_THAT(selectors(32), IsEmpty());
  EXPECT_THAT(selectors(33), ElementsAre(HasSubstr("exactly.selectors: has 33 entries")));
  const auto users = [](int count, absl::string_view allocation) {
    return ProblemsOfManifest(
        absl::StrCat("apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: "
                     "{name: k}\nspec: {}\nstatus: {",
                     allocation, "reservedFor: [",
                     Repeat(count, "{resource: pods, name: p", ", uid: u}"), "]}\n"));
  };
  EXPECT_THAT(users(256, "allocation: {}, "), IsEmpty());
  EXPECT_THAT(users(257, "allocation: {}, "),
              ElementsAre(HasSubstr("status.reservedFor: has 257 entries, and may have 256")));
  EXPECT_THAT(users(1, ""), ElementsAre(HasSubstr("warning: ResourceClaim default/k: "
                                                  "status.reservedFor: the claim has no "
                                                  "allocation")));
}

TEST(DeviceRules, AllocationsNameRequestsAndDevices) {
  const auto with = [](absl::string_view result) {
    return ProblemsOfManifest(absl::StrCat(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: k}\nspec: {devices: "
        "{requests: [{name: q, firstAvailable: [{name: a, deviceClassName: c}]}]}}\nstatus: "
        "{allocation: {devices: {results: [{",
        result, "}]}}}\n"));
  };
  EXPECT_THAT(with("request: q/a, driver: d.x, pool: p, device: g"), IsEmpty());
  EXPECT_THAT(with("request: z, driver: d.x, pool: p, device: g"),
              ElementsAre(HasSubstr("warning: ResourceClaim default/k: status.allocation.devices."
                                    "results[0].request: \"z\" is no request of this claim; it has "
                                    "q, q/a")));
  EXPECT_THAT(with("request: q/a, driver: d.x, pool: p"),
              ElementsAre(HasSubstr("warning: ResourceClaim default/k: status.allocation.devices."
                                    "results[0].device: is missing")));
}

// What a later API allows is not lost.
TEST(DeviceRules, StoredObjectsAreWarnedOf) {
  EXPECT_THAT(
      ProblemsOfManifest("apiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: u}\nspec:\n  "
                         "containers: [{name: c, image: x}]\n  resourceClaims: [{name: a}]\n"),
      ElementsAre(HasSubstr("warning: Pod default/p: spec.resourceClaims[0]: names no")));
  EXPECT_THAT(
      ProblemsOfManifest("apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: k, "
                         "uid: u}\nspec: {devices: {constraints: [{}]}}\n"),
      ElementsAre(HasSubstr("warning: ResourceClaim default/k: spec.devices.constraints")));
}

TEST(DeviceRules, ReferencesOfPods) {
  const auto of_pod = [](absl::string_view claims, absl::string_view uses) {
    return ProblemsOfManifest(absl::StrCat(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n", "  resourceClaims: [", claims,
        "]\n", "  containers: [{name: c, image: x, resources: {claims: [", uses, "]}}]\n"));
  };
  EXPECT_THAT(of_pod("{name: a, resourceClaimName: k}", "{name: a, request: r}"), IsEmpty());
  EXPECT_THAT(of_pod("", ""), IsEmpty());
  EXPECT_THAT(of_pod("{name: a, resourceClaimName: k}", "{name: b}"),
              ElementsAre("f:6:64: error: Pod default/p: spec.containers[0].resources.claims[0]."
                          "name: \"b\" is none of the pod's resourceClaims: a"));
  EXPECT_THAT(of_pod("", "{name: b}"), ElementsAre(HasSubstr("of which it has none")));
  EXPECT_THAT(of_pod("{name: a, resourceClaimName: k, resourceClaimTemplateName: t}", ""),
              ElementsAre(HasSubstr("resourceClaims[0].resourceClaimTemplateName: cannot stand")));
  EXPECT_THAT(of_pod("{name: a, resourceClaimName: k}, {name: a, resourceClaimName: l}", ""),
              ElementsAre(HasSubstr("resourceClaims[1].name: \"a\" is there a second time")));
  EXPECT_THAT(
      of_pod("{name: a}", ""),
      ElementsAre(HasSubstr("error: Pod default/p: spec.resourceClaims[0]: names no claim")));
  EXPECT_THAT(of_pod("{name: A, resourceClaimName: k}", ""),
              ElementsAre(HasSubstr("error: Pod default/p: spec.resourceClaims[0].name: \"A\" is "
                                    "no name")));
  EXPECT_THAT(of_pod("{name: a, resourceClaimName: X_}", ""),
              ElementsAre(HasSubstr("resourceClaims[0].resourceClaimName: \"X_\" is no name of")));
  EXPECT_THAT(of_pod("{name: a, resourceClaimTemplateName: ''}", ""),
              ElementsAre(HasSubstr("resourceClaimTemplateName: \"\" is no name of an object")));
  EXPECT_THAT(of_pod("{name: a, resourceClaimName: k}", "{name: a, request: R}"),
              ElementsAre(HasSubstr("resources.claims[0].request: \"R\" is no name")));
  EXPECT_THAT(of_pod("{name: a, resourceClaimName: k}", "{name: a}, {name: a}"),
              ElementsAre(HasSubstr("resources.claims[1]: \"a\" is there a second time")));
  EXPECT_THAT(of_pod("{name: a, resourceClaimName: k}", "{name: a}, {name: a, request: r}"),
              ElementsAre(HasSubstr("resources.claims[1]: \"a/r\" is there a second time")));
  EXPECT_THAT(
      of_pod("{name: a, resourceClaimName: k}", "{name: a, request: q}, {name: a, request: r}"),
      IsEmpty());
}

TEST(DeviceRules, LabelsOfTemplates) {
  const auto with = [](absl::string_view labels) {
    return ProblemsOfManifest(absl::StrCat(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: t}\nspec:\n",
        "  metadata: {labels: {", labels,
        "}}\n  spec: {devices: {requests: [{name: r, exactly: {deviceClassName: c}}]}}\n"));
  };
  EXPECT_THAT(with("example.com/team: ml, a: ''"), IsEmpty());
  EXPECT_THAT(with("'a b': c"), ElementsAre(HasSubstr("f:5:23: error: ResourceClaimTemplate "
                                                      "default/t: spec.metadata.labels: \"a b\": "
                                                      "\"c\" is no label")));
}

TEST(DeviceRules, TaintRules) {
  const auto with = [](absl::string_view spec) {
    return ProblemsOfManifest(absl::StrCat(
        "apiVersion: resource.k8s.io/v1alpha3\nkind: DeviceTaintRule\nmetadata: {name: r}\nspec: {",
        spec, "}\n"));
  };
  const std::string taint = "taint: {key: a, effect: NoSchedule}, ";
  EXPECT_THAT(with(taint + "deviceSelector: {driver: a.b, pool: x.y/z, device: gpu-0}"), IsEmpty());
  EXPECT_THAT(with("deviceSelector: {driver: a.b}"),
              ElementsAre(HasSubstr("error: DeviceTaintRule r: spec.taint: is missing")));
  EXPECT_THAT(with(taint + "deviceSelector: {driver: a_b}"),
              ElementsAre(HasSubstr("spec.deviceSelector.driver: \"a_b\" is no driver")));
  EXPECT_THAT(with(taint + "deviceSelector: {pool: 'a//b'}"),
              ElementsAre(HasSubstr("spec.deviceSelector.pool: \"a//b\" is no name of a pool")));
  EXPECT_THAT(with(taint + "deviceSelector: {device: a.b}"),
              ElementsAre(HasSubstr("spec.deviceSelector.device: \"a.b\" is no name")));
}

TEST(DeviceRules, ReferencesOfWorkloads) {
  EXPECT_THAT(
      ProblemsOfManifest(
          "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  selector: "
          "{matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec: "
          "{containers: [{name: c, image: x, resources: {claims: [{name: b}]}}]}\n"),
      Contains(HasSubstr("f:8:73: error: Deployment default/d: spec.template.spec.containers[0]."
                         "resources.claims[0].name: \"b\" is none")));
}

}  // namespace
}  // namespace berth
