// SPDX-License-Identifier: Apache-2.0
// What `berth explain` prints of claims: which devices they get, and why not others.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/app/behaviour/claims_yaml.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ExplainClaims, DevicesThatAreTakenAndTheSelectorThatRejectedOthers) {
  EXPECT_THAT(
      Explain(absl::StrCat(
          ClassOf("gpu.example.com"), SliceOf("gpu.example.com", R"(  devices:
  - {name: gpu-0, attributes: {model: {string: old}}}
  - {name: gpu-1, attributes: {model: {string: new}}}
  - {name: gpu-2, attributes: {model: {string: new}}}
)"),
          SliceOf("nic.example.com", "  devices: [{name: nic-0}]\n"),
          ClaimOf("gpus",
                  RequestOf("gpu.example.com",
                            ", count: 2, selectors: [{cel: {expression: "
                            "'device.attributes[\"gpu.example.com\"].model == \"new\"'}}]")),
          PodOf({"gpus"}))),
      ElementsAre("fits", "gpus: gets r gpu.example.com/gpu.example.com/gpu-1, gpu-2",
                  "gpus/r cannot have: gpu.example.com/gpu.example.com/gpu-0: selector #0: "
                  "device.attributes[\"gpu.example.com\"].model == \"new\"; "
                  "nic.example.com/nic.example.com/nic-0: selector #0 of class gpu.example.com: "
                  "device.driver == \"gpu.example.com\""));
}

TEST(ExplainClaims, HowManyAreMissing) {
  const std::string one_of_two = absl::StrCat(
      ClassOf("d"), SliceOf("d", Gpus(2)),
      ClaimOf("other", RequestOf("d"), "{request: r, driver: d, pool: d, device: gpu-0}"));
  EXPECT_THAT(
      Explain(absl::StrCat(one_of_two, ClaimOf("c", RequestOf("d", ", count: 2")), PodOf({"c"}))),
      ElementsAre("does not fit", "c/r: asks for 2 devices, and can have 1: d/d/gpu-1",
                  "c/r cannot have: d/d/gpu-0: in use"));
  EXPECT_THAT(Explain(absl::StrCat(ClassOf("d"), SliceOf("d", Gpus(1)),
                                   ClaimOf("other", RequestOf("d"),
                                           "{request: r, driver: d, pool: d, device: gpu-0}"),
                                   ClaimOf("c", RequestOf("d")), PodOf({"c"}))),
              ElementsAre("does not fit", "c/r: asks for 1 device, and can have none",
                          "c/r cannot have: d/d/gpu-0: in use"));
  EXPECT_THAT(Explain(absl::StrCat(ClassOf("d"), ClaimOf("c", RequestOf("d")), PodOf({"c"}))),
              ElementsAre("does not fit", "c/r: the node has no devices"));
  EXPECT_THAT(Explain(absl::StrCat(
                  one_of_two, ClaimOf("c", RequestOf("d", ", allocationMode: All")), PodOf({"c"}))),
              ElementsAre("does not fit",
                          "c/r: asks for all devices that match, also those that it cannot have",
                          "c/r cannot have: d/d/gpu-0: in use"));
}

TEST(ExplainClaims, LongListsAreCutOff) {
  EXPECT_THAT(
      Explain(absl::StrCat(ClassOf("d"), SliceOf("d", Gpus(12)),
                           ClaimOf("c", RequestOf("d", ", count: 9")), PodOf({"c"}))),
      ElementsAre(
          "fits",
          "c: gets r d/d/gpu-0, gpu-1, gpu-2, gpu-3, gpu-4, gpu-5, gpu-6, gpu-7 and 1 more"));
  EXPECT_THAT(
      Explain(absl::StrCat(ClassOf("d"), SliceOf("e", Gpus(12)), ClaimOf("c", RequestOf("d")),
                           PodOf({"c"}))),
      ElementsAre("does not fit", "c/r: asks for 1 device, and can have none",
                  "c/r cannot have: e/e/gpu-0, gpu-1, gpu-2, gpu-3, gpu-4, gpu-5, gpu-6, gpu-7 "
                  "and 4 more: selector #0 of class d: device.driver == \"d\""));
}

TEST(ExplainClaims, DevicesThatDoNotGoTogether) {
  EXPECT_THAT(
      Explain(absl::StrCat(
          ClassOf("d"), SliceOf("d", R"(  devices:
  - {name: a, attributes: {root: {string: '0'}}}
  - {name: b, attributes: {root: {string: '1'}}}
)"),
          ClaimOf("c", RequestOf("d", ", count: 2") + ", constraints: [{matchAttribute: d/root}]"),
          PodOf({"c"}))),
      ElementsAre(
          "does not fit",
          "c/r: asks for 2 devices, and can have at most 2: d/d/a, b; constraints, shared counters "
          "or other requests leave too few of them"));
}

TEST(ExplainClaims, PartsOfDevices) {
  const std::string halves = absl::StrCat(
      ClassOf("d"),
      SliceOf("d", "  sharedCounters: [{name: gpu-0, counters: {memory: {value: 40Gi}}}]\n", 2,
              "c"),
      SliceOf("d", R"(  devices:
  - {name: whole, consumesCounters: [{counterSet: gpu-0, counters: {memory: {value: 40Gi}}}]}
  - {name: half-0, consumesCounters: [{counterSet: gpu-0, counters: {memory: {value: 20Gi}}}]}
  - {name: half-1, consumesCounters: [{counterSet: gpu-0, counters: {memory: {value: 20Gi}}}]}
)",
              2),
      ClaimOf("other", RequestOf("d"), "{request: r, driver: d, pool: d, device: half-0}"));
  EXPECT_THAT(
      Explain(absl::StrCat(halves, ClaimOf("c", RequestOf("d", ", count: 2")), PodOf({"c"}))),
      ElementsAre("does not fit", "c/r: asks for 2 devices, and can have 1: d/d/half-1",
                  "c/r cannot have: d/d/whole: it needs 40Gi of the counter memory of "
                  "gpu-0, which has 20Gi left; d/d/half-0: in use"));
}

TEST(ExplainClaims, SharesOfDevices) {
  const std::string card = absl::StrCat(
      ClassOf("d"),
      SliceOf(
          "d",
          "  devices: [{name: nic, allowMultipleAllocations: true, capacity: {bandwidth: {value: "
          "100G}}}]\n"),
      ClaimOf("other", RequestOf("d"),
              "{request: r, driver: d, pool: d, device: nic, shareID: s, consumedCapacity: "
              "{bandwidth: 80G}}"));
  EXPECT_THAT(Explain(absl::StrCat(
                  card, ClaimOf("c", RequestOf("d", ", capacity: {requests: {bandwidth: 15G}}")),
                  PodOf({"c"}))),
              ElementsAre("fits", "c: gets r d/d/nic (bandwidth 15G)"));
  EXPECT_THAT(
      Explain(absl::StrCat(card,
                           ClaimOf("c", RequestOf("d", ", capacity: {requests: {bandwidth: 30G}}")),
                           PodOf({"c"}))),
      ElementsAre(
          "does not fit", "c/r: asks for 1 device, and can have none",
          "c/r cannot have: d/d/nic: 20G of 100G bandwidth is left, and it would take 30G"));
}

TEST(ExplainClaims, AlternativesUpToTheOneThatIsTaken) {
  EXPECT_THAT(
      Explain(absl::StrCat(
          ClassOf("d"), ClassOf("e"), SliceOf("d", Gpus(1)), SliceOf("e", Gpus(2)),
          ClaimOf(
              "c",
              "requests: [{name: r, firstAvailable: [{name: two, deviceClassName: d, count: 2}, "
              "{name: other, deviceClassName: e}, {name: one, deviceClassName: d}]}]"),
          PodOf({"c"}))),
      ElementsAre("fits", "c: gets r/other e/e/gpu-0",
                  "c/r/two cannot have: e/e/gpu-0, gpu-1: selector #0 of class d: device.driver == "
                  "\"d\"",
                  "c/r/other cannot have: d/d/gpu-0: selector #0 of class e: device.driver == "
                  "\"e\""));
}

TEST(ExplainClaims, ClaimsThatHaveDevicesAndClaimsThatHaveNone) {
  const std::string two =
      absl::StrCat(ClassOf("d"), SliceOf("d", Gpus(2)), ClaimOf("new", RequestOf("d")));
  const std::string here = "{request: r, driver: d, pool: d, device: gpu-0}";
  EXPECT_THAT(
      Explain(absl::StrCat(two, ClaimOf("old", RequestOf("d"), here), PodOf({"old", "new"}))),
      ElementsAre("fits", "old: has r d/d/gpu-0", "new: gets r d/d/gpu-1",
                  "new/r cannot have: d/d/gpu-0: in use"));
  EXPECT_THAT(
      Explain(absl::StrCat(
          two,
          ClaimOf("old", RequestOf("d"), "{request: r, driver: d, pool: n1, device: gpu-0}", "n1"),
          PodOf({"old", "new"}))),
      ElementsAre("does not fit", "old: has r d/n1/gpu-0, which the node cannot use"));
}

TEST(ExplainClaims, AClaimThatAsksForNothing) {
  EXPECT_THAT(Explain(absl::StrCat(ClaimOf("c", ""), PodOf({"c"}))),
              ElementsAre("fits", "c: gets no devices"));
}

TEST(ExplainClaims, AdminAccessIsSaid) {
  EXPECT_THAT(
      Explain(absl::StrCat(
          ClassOf("d"), SliceOf("d", Gpus(2)),
          ClaimOf("other", RequestOf("d"), "{request: r, driver: d, pool: d, device: gpu-0}"),
          "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: "
          "{resource.kubernetes.io/admin-access: 'true'}}\n",
          ClaimOf("c", RequestOf("d", ", allocationMode: All, adminAccess: true")), PodOf({"c"}))),
      ElementsAre("fits", "c: gets r d/d/gpu-0 (admin access), gpu-1 (admin access)"));
}

TEST(ExplainClaims, TaintsAreNamed) {
  EXPECT_THAT(
      Explain(absl::StrCat(ClassOf("d"),
                           SliceOf("d", Gpus(1, ", taints: [{key: broken, effect: NoSchedule}]")),
                           ClaimOf("c", RequestOf("d")), PodOf({"c"}))),
      ElementsAre("does not fit", "c/r: asks for 1 device, and can have none",
                  "c/r cannot have: d/d/gpu-0: taint broken:NoSchedule"));
}

TEST(ExplainClaims, ExtendedResourcesAndTheirContainers) {
  const std::string two =
      absl::StrCat(ClassOf("d", "extendedResourceName: example.com/gpu, "), SliceOf("d", Gpus(2)));
  const auto pod = [](int count) {
    return PodOf({}, absl::StrCat(", resources: {limits: {example.com/gpu: '", count, "'}}"));
  };
  EXPECT_THAT(Explain(two + pod(2)),
              ElementsAre("fits",
                          "<extended-resources>: gets container-0-request-0 (example.com/gpu of c) "
                          "d/d/gpu-0, gpu-1"));
  EXPECT_THAT(Explain(two + pod(3)),
              ElementsAre("does not fit",
                          "<extended-resources>/container-0-request-0 (example.com/gpu of c): asks "
                          "for 3 devices, and can have 2: d/d/gpu-0, gpu-1"));
}

// What an API server refuses is said with its place, and validate fails; the others go on, and
// say at run time what a scheduler says.
TEST(ValidateClaims, SelectorsAreCompiled) {
  const std::string bad = WriteTemporary(
      "selectors.yaml",
      absl::StrCat(kNodes, SliceOf("d", Gpus(1)),
                   "---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: d}\n"
                   "spec: {selectors: [{cel: {expression: device.nosuch == 1}}]}\n",
                   ClaimOf("c", RequestOf("d")), PodOf({"c"})));
  const std::string expected =
      absl::StrCat(bad,
                   ":20:39: error: DeviceClass d: spec.selectors[0].cel.expression: compilation "
                   "failed: ERROR: <input>:1:7: undefined field 'nosuch'\n");
  const Outcome validated = RunBerth("validate --cluster " + bad);
  EXPECT_EQ(validated.status, 1);
  EXPECT_EQ(validated.err, expected);
  const Outcome explained = RunBerth("explain --cluster " + bad);
  EXPECT_EQ(explained.status, 0);
  EXPECT_EQ(explained.err, expected);
  EXPECT_THAT(explained.out, HasSubstr("class d: selector #0: CEL compile error: "));
}

TEST(ValidateClaims, WhatAnApiServerRefuses) {
  const std::string bad = WriteTemporary(
      "claim.yaml",
      absl::StrCat(kNodes, ClaimOf("c", "requests: [{name: r, deviceClassName: d}]")));
  for (const absl::string_view command : {"validate", "explain", "simulate"}) {
    const Outcome outcome = RunBerth(absl::StrCat(command, " --cluster ", bad));
    EXPECT_EQ(outcome.status, 1) << command;
    EXPECT_EQ(outcome.err,
              absl::StrCat(bad,
                           ":10:56: error: ResourceClaim default/c: "
                           "spec.devices.requests[0].deviceClassName: stands in `exactly` in "
                           "resource.k8s.io/v1; in the request itself only in v1beta1\n"));
  }
}

TEST(ValidateClaims, AdminAccessAsksForALabelOfTheNamespace) {
  const std::string bad = WriteTemporary(
      "admin.yaml",
      absl::StrCat(kNodes,
                   "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: adm}\n"
                   "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c, "
                   "namespace: adm}\nspec: {devices: {requests: [{name: r, exactly: "
                   "{deviceClassName: d, adminAccess: true}}]}}\n"));
  const auto said = HasSubstr("resource.kubernetes.io/admin-access: \"true\"; give it that label");
  const Outcome validated = RunBerth("validate --cluster " + bad);
  EXPECT_EQ(validated.status, 1);
  EXPECT_THAT(validated.err, said);
  EXPECT_THAT(RunBerth("explain --cluster " + bad).err, said);
  EXPECT_THAT(RunBerth("simulate --cluster " + bad).err, said);
}

}  // namespace
}  // namespace berth
