// SPDX-License-Identifier: Apache-2.0
// Why pods wait for devices, as `berth explain` and `berth simulate` say it alike: feature gates
// that are off, claims of others, conditions of devices, shares.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/app/behaviour/claims_yaml.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// --- Feature gates that are off -----------------------------------------------------------------

// Of `command` with kube-scheduler's default gates.
Outcome RunByDefault(absl::string_view command, const std::string& cluster) {
  return RunBerth(absl::StrCat(command, " --cluster ",
                               WriteTemporary("by_default.yaml", absl::StrCat(kNodes, cluster))));
}

// The path of a configuration that turns gates on or off.
std::string ConfigurationWithGates(absl::string_view file, absl::string_view gates) {
  return WriteTemporary(file, absl::StrCat("apiVersion: kubescheduler.config.k8s.io/v1\n",
                                           "kind: KubeSchedulerConfiguration\nprofiles:\n",
                                           "- pluginConfig:\n  - name: DynamicResources\n",
                                           "    args: {featureGates: {", gates, "}}\n"));
}

TEST(GatesThatAreOff, AreNamedOnceALoad) {
  const std::string two_tainted =
      absl::StrCat(ClassOf("d"), SliceOf("d", Gpus(1, ", taints: [{key: a, effect: NoSchedule}]")),
                   SliceOf("e", Gpus(1, ", taints: [{key: a, effect: NoExecute}]")));
  const std::string shared =
      "  devices: [{name: nic, allowMultipleAllocations: true, capacity: {m: {value: 1}}}]\n";
  const std::string conditions = Gpus(1, ", bindingConditions: [A], bindingFailureConditions: [B]");
  struct Case {
    std::string objects;
    absl::string_view expected;  // "" for nothing
  };
  for (const Case& c : std::vector<Case>{
           {two_tainted,
            "ResourceSlice d: taints of its devices keep no claim off: feature gate "
            "DRADeviceTaints of DynamicResources is off (featureGates in its arguments) (and 1 "
            "more like this)"},
           {SliceOf("d", Gpus(1, ", taints: [{key: a, effect: None}]")), ""},
           {SliceOf("d", shared), "goes to one claim: feature gate DRAConsumableCapacity"},
           {ClaimOf("c", RequestOf("d", ", capacity: {requests: {m: 1}}")),
            "its requests for capacity are ignored, devices are given whole: feature gate "
            "DRAConsumableCapacity"},
           {absl::StrCat(SliceOf("d",
                                 Gpus(1,
                                      ", consumesCounters: [{counterSet: s, counters: {m: {value: "
                                      "1}}}]"),
                                 2),
                         SliceOf("d", "  sharedCounters: [{name: s, counters: {m: {value: 1}}}]\n",
                                 2, "-counters")),
            "its partitions go to no claim: feature gate DRAPartitionableDevices"},
           {SliceOf("d", conditions), "feature gate DRADeviceBindingConditions"},
           {ClassOf("d", "extendedResourceName: d.x/gpu, "),
            "DeviceClass d: pods that request d.x/gpu get none of its devices: feature gate "
            "DRAExtendedResource"},
           {"---\napiVersion: resource.k8s.io/v1alpha3\nkind: DeviceTaintRule\nmetadata: {name: "
            "r}\nspec: {taint: {key: a, effect: NoSchedule}}\n",
            "DeviceTaintRule r: is ignored: feature gate DRADeviceTaintRules"},
           {SliceOf("d", Gpus(1)), ""}}) {
    for (const absl::string_view command : {"explain", "simulate"}) {
      const std::string said = RunByDefault(command, c.objects).err;
      if (c.expected.empty()) {
        EXPECT_THAT(said, ::testing::Not(HasSubstr("feature gate"))) << c.objects;
        continue;
      }
      EXPECT_THAT(said, HasSubstr(absl::StrCat(c.expected)));
      EXPECT_EQ(said.find(": warning: "), said.rfind(": warning: ")) << said;
    }
  }
  EXPECT_THAT(Explain(absl::StrCat(ClassOf("d"), SliceOf("d", shared), ClaimOf("c", RequestOf("d")),
                                   PodOf({"c"}))),
              ElementsAre("fits", "c: gets r d/d/nic (m 1)"));
}

TEST(GatesThatAreOff, AreNamedWhereTheConfigurationTurnsThemOff) {
  const std::string config =
      ConfigurationWithGates("turned_off.yaml", "DRAAdminAccess: false, DRAPrioritizedList: false");
  const std::string cluster = WriteTemporary(
      "turned_off_cluster.yaml",
      absl::StrCat(
          kNodes, ClassOf("d"), SliceOf("d", Gpus(1)),
          ClaimOf("a", RequestOf("d", ", adminAccess: true")),
          ClaimOf("l", "requests: [{name: r, firstAvailable: [{name: x, deviceClassName: d}]}]"),
          "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: "
          "{name: t}\nspec: {spec: {devices: {requests: [{name: r, firstAvailable: "
          "[{name: x, deviceClassName: d}]}]}}}\n"));
  for (const absl::string_view command : {"explain", "simulate"}) {
    const auto run = [&](absl::string_view flags) {
      return RunBerth(absl::StrCat(command, flags, " --cluster ", cluster)).err;
    };
    const std::string said = run(absl::StrCat(" --config ", config));
    EXPECT_THAT(said,
                HasSubstr("ResourceClaim default/a: its adminAccess is an error for its pods: "
                          "feature gate DRAAdminAccess of DynamicResources is off"));
    EXPECT_THAT(said, HasSubstr("ResourceClaim default/l: its firstAvailable keeps its pods from "
                                "all nodes: feature gate DRAPrioritizedList of DynamicResources is "
                                "off (featureGates in its arguments) (and 1 more like this)"));
    EXPECT_THAT(run(""), ::testing::Not(HasSubstr("feature gate")));
  }
}

TEST(GatesThatAreOff, AreAPartOfTheReason) {
  const std::string partition = absl::StrCat(
      ClassOf("d"),
      SliceOf("d", Gpus(1, ", consumesCounters: [{counterSet: s, counters: {m: {value: 1}}}]")),
      ClaimOf("c", RequestOf("d")), PodOf({"c"}));
  EXPECT_THAT(RunByDefault("simulate", partition).out,
              HasSubstr("cannot allocate all claims (devices that match are out of reach while "
                        "DRAPartitionableDevices is off) on 1 of 1 node"));
  const std::string shared = absl::StrCat(
      ClassOf("d"),
      SliceOf("d",
              "  devices: [{name: nic, allowMultipleAllocations: true, capacity: {m: {value: "
              "1}}}]\n"),
      ClaimOf("other", RequestOf("d"), "{request: r, driver: d, pool: d, device: nic}"),
      ClaimOf("c", RequestOf("d")), PodOf({"c"}));
  EXPECT_THAT(RunByDefault("simulate", shared).out,
              HasSubstr("while DRAConsumableCapacity is off) on 1 of 1 node"));
  EXPECT_THAT(RunByDefault("explain", shared).out,
              HasSubstr("c/r cannot have: d/d/nic: in use, and shared only if "
                        "DRAConsumableCapacity, which is off, is on"));
  // Upstream's text alone where no gate is the reason.
  const std::string in_use = absl::StrCat(
      ClassOf("d"), SliceOf("d", Gpus(1)),
      SliceOf("e", Gpus(1, ", consumesCounters: [{counterSet: s, counters: {m: {value: 1}}}]")),
      ClaimOf("other", RequestOf("d"), "{request: r, driver: d, pool: d, device: gpu-0}"),
      ClaimOf("c", RequestOf("d")), PodOf({"c"}));
  EXPECT_THAT(RunByDefault("simulate", in_use).out,
              HasSubstr("cannot allocate all claims on 1 of 1 node"));
  const std::string extended =
      absl::StrCat(ClassOf("d", "extendedResourceName: d.x/gpu, "), SliceOf("d", Gpus(1)),
                   PodOf({}, ", resources: {limits: {d.x/gpu: '1'}}"));
  constexpr char kWouldDo[] =
      "DeviceClass d would stand for it, but feature gate DRAExtendedResource of "
      "DynamicResources is off";
  EXPECT_THAT(RunByDefault("simulate", extended).out,
              HasSubstr(absl::StrCat("Insufficient d.x/gpu (", kWouldDo, ") on 1 of 1 node")));
  EXPECT_THAT(RunByDefault("explain", extended).out,
              HasSubstr(absl::StrCat("n0: DynamicResources d.x/gpu: ", kWouldDo)));
}

TEST(GatesThatAreOff, AreNotCutFromTheTable) {
  const std::string name =
      "a-class-with-quite-a-long-name-" + std::string(80, 'x') + ".example.com";
  const std::string cluster = absl::StrCat(
      "---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: ", name,
      "}\nspec: {extendedResourceName: d.x/gpu}\n",
      PodOf({}, ", resources: {limits: {d.x/gpu: '1'}}"));
  EXPECT_THAT(RunByDefault("simulate", cluster).out,
              HasSubstr(absl::StrCat("(DeviceClass ", name,
                                     " would stand for it, but feature gate DRAExtendedResource of "
                                     "DynamicResources is off) on 1 of 1 node")));
}

// --- Pools that are not whole --------------------------------------------------------------------

TEST(PoolsThatAreNotWhole, AreNamedWithTheirSlices) {
  const std::string incomplete = absl::StrCat(ClassOf("d"), SliceOf("d", Gpus(1), 2),
                                              ClaimOf("c", RequestOf("d")), PodOf({"c"}));
  EXPECT_THAT(RunByDefault("simulate", incomplete).out,
              HasSubstr("cannot allocate all claims (pool d/d is incomplete: it has 1 of 2 slices "
                        "of generation 1) on 1 of 1 node"));
  EXPECT_THAT(Explain(incomplete),
              ElementsAre("does not fit", "c/r: asks for 1 device, and can have none",
                          "c/r cannot have: d/d/gpu-0: its pool d/d is incomplete: it has 1 of 2 "
                          "slices of generation 1"));
  // Another pool is enough: nothing is said of this one.
  const std::string enough = absl::StrCat(
      incomplete, ClassOf("e"), SliceOf("e", Gpus(1)), ClaimOf("f", RequestOf("e")),
      "---\napiVersion: v1\nkind: Pod\nmetadata: {name: q}\nspec: {containers: [{name: "
      "c, image: x}], resourceClaims: [{name: f, resourceClaimName: f}]}\n");
  EXPECT_THAT(RunByDefault("simulate", enough).out, HasSubstr("default/q  n0"));
}

TEST(PoolsThatAreNotWhole, AreInvalidIfTwoSlicesHaveADeviceOfOneName) {
  const std::string twice =
      absl::StrCat(ClassOf("d"), SliceOf("d", Gpus(1), 2), SliceOf("d", Gpus(2), 2, "-more"),
                   ClaimOf("c", RequestOf("d")), PodOf({"c"}));
  EXPECT_THAT(RunByDefault("simulate", twice).out,
              HasSubstr("invalid resource pools were encountered (pool d/d is invalid: two devices "
                        "are named gpu-0) on 1 of 1 node"));
  const Outcome validated =
      RunBerth("validate --cluster " + WriteTemporary("twice.yaml", absl::StrCat(kNodes, twice)));
  EXPECT_EQ(validated.status, 0);
  EXPECT_THAT(validated.err,
              HasSubstr("warning: ResourceSlice d-more: spec.devices[0].name: \"gpu-0\" is in "
                        "ResourceSlice d, too. On a node that has both pool d/d is invalid"));
  // With all its devices wanted it is an error, as with kube-scheduler.
  EXPECT_THAT(
      RunByDefault(
          "simulate",
          absl::StrCat(ClassOf("d"), SliceOf("d", Gpus(1), 2), SliceOf("d", Gpus(2), 2, "-more"),
                       ClaimOf("c", RequestOf("d", ", allocationMode: All")), PodOf({"c"})))
          .out,
      HasSubstr("asks for all devices, but resource pool d/d is currently invalid"));
}

// --- What simulate and explain say alike ---------------------------------------------------------

TEST(ExplainClaims, ClaimsOfPodsThatHaveEndedAreFree) {
  const auto taken_by = [](absl::string_view pod) {
    return absl::StrCat(
        ClassOf("d"), SliceOf("d", Gpus(1)),
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: ended, uid: uid-ended}\nspec: {nodeName: "
        "n0, containers: [{name: c, image: x}]}\nstatus: {phase: Succeeded}\n",
        ClaimOf("other", RequestOf("d"), "{request: r, driver: d, pool: d, device: gpu-0}"),
        "  reservedFor: [{resource: pods, name: ", pod, ", uid: uid-", pod, "}]\n",
        ClaimOf("c", RequestOf("d")), PodOf({"c"}));
  };
  for (const absl::string_view pod : {"ended", "absent"}) {
    EXPECT_THAT(Explain(taken_by(pod)), ElementsAre("fits", "c: gets r d/d/gpu-0")) << pod;
    EXPECT_THAT(RunByDefault("simulate", taken_by(pod)).out, HasSubstr("default/p  n0")) << pod;
  }
}

// The claim that a template made for an earlier pod of that name goes with it in a cluster.
TEST(ExplainClaims, AClaimOfAnotherPodIsToldAlike) {
  const auto owned_by = [](absl::string_view owner, absl::string_view more) {
    return absl::StrCat(
        ClassOf("d"), SliceOf("d", Gpus(1)), more,
        "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: t, "
        "namespace: default}\nspec: {spec: {devices: {",
        RequestOf("d"),
        "}}}\n---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: mine, "
        "namespace: default, uid: k, ownerReferences: [{apiVersion: v1, kind: Pod, name: ",
        owner, ", uid: uid-", owner, ", controller: true}]}\nspec: {devices: {", RequestOf("d"),
        "}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: uid-p}\nspec: {containers: "
        "[{name: c, image: x}], resourceClaims: [{name: r, resourceClaimTemplateName: t}]}\n"
        "status: {resourceClaimStatuses: [{name: r, resourceClaimName: mine}]}\n");
  };
  const std::string other =
      "---\napiVersion: v1\nkind: Pod\nmetadata: {name: q, uid: uid-q}\nspec: {nodeName: n0, "
      "containers: [{name: c, image: x}]}\nstatus: {phase: Running}\n";
  for (const auto& [cluster, said] :
       {std::pair(
            owned_by("q", other),
            "ResourceClaim default/mine was not created for pod default/p (pod is not owner)"),
        std::pair(
            absl::StrReplaceAll(owned_by("p", ""), {{"name: p, uid: uid-p, controller",
                                                     "name: p, uid: uid-old, controller"}}),
            "ResourceClaim default/mine was not created for pod default/p (pod is not owner)"),
        std::pair(owned_by("gone", ""), "could not find ResourceClaim \"default/mine\"")}) {
    EXPECT_THAT(RunByDefault("explain", cluster).out, HasSubstr(said));
    EXPECT_THAT(RunByDefault("simulate", cluster).out, HasSubstr(said));
  }
}

TEST(ExplainClaims, WhatAPodInPreBindWaitsFor) {
  const std::string config =
      ConfigurationWithGates("conditions.yaml", "DRADeviceBindingConditions: true");
  const std::string cluster = WriteTemporary(
      "waits.yaml",
      absl::StrCat(kNodes, ClassOf("d"),
                   SliceOf("d", Gpus(1,
                                     ", bindingConditions: [A, B], bindingFailureConditions: "
                                     "[C]")),
                   ClaimOf("c", RequestOf("d")), PodOf({"c"})));
  const auto run = [&](absl::string_view command) {
    return RunBerth(absl::StrCat(command, " --config ", config, " --cluster ", cluster)).out;
  };
  const auto waits = HasSubstr("placed on n0, bound when A and B of d/d/gpu-0 are true; until 20");
  EXPECT_THAT(run("simulate"), waits);
  const std::string json = run("simulate -o json");
  EXPECT_THAT(json, HasSubstr("\"reason\":\"placed on n0, bound when A and B of d/d/gpu-0 are"));
  EXPECT_THAT(json, HasSubstr("\"reason\":\"BINDING\""));
  EXPECT_THAT(run("explain"), HasSubstr("c: gets r d/d/gpu-0 (bound when A and B are true)"));
}

TEST(ExplainClaims, SharesAreCounted) {
  const auto asks = [](int count, absl::string_view amount, absl::string_view used) {
    return Explain(absl::StrCat(
        ClassOf("d"),
        SliceOf("d",
                "  devices: [{name: nic, allowMultipleAllocations: true, capacity: {bandwidth: "
                "{value: 100G}}}]\n"),
        used.empty()
            ? ""
            : ClaimOf("other", RequestOf("d"),
                      absl::StrCat("{request: r, driver: d, pool: d, device: nic, shareID: "
                                   "s, consumedCapacity: {bandwidth: ",
                                   used, "}}")),
        ClaimOf("c",
                RequestOf("d", absl::StrCat(", count: ", count,
                                            ", capacity: {requests: {bandwidth: ", amount, "}}"))),
        PodOf({"c"})));
  };
  EXPECT_THAT(asks(3, "40G", ""),
              ElementsAre("does not fit",
                          "c/r: asks for 3 devices, and can have 2: d/d/nic (nic 2 times)"));
  EXPECT_THAT(asks(3, "40G", "30G"),
              ElementsAre("does not fit", "c/r: asks for 3 devices, and can have 1: d/d/nic"));
  EXPECT_THAT(asks(2, "40G", "20G").front(), "fits");
}

}  // namespace
}  // namespace berth
