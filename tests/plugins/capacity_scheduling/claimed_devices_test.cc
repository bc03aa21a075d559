// SPDX-License-Identifier: Apache-2.0
// Devices of claims on the lines of quotas.
#include "plugins/capacity_scheduling/claimed_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/testing/fake_handle.h"
#include "berth/testing/objects.h"
#include "plugins/capacity_scheduling/capacity_scheduling.h"
#include "tests/preemption/small_cluster.h"

namespace berth::testing {
namespace {

std::string ClaimFor(absl::string_view name, absl::string_view requests) {
  return absl::StrCat(
      "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: ", name,
      ", namespace: default}, spec: {devices: {requests: [", requests, "]}}}\n---\n");
}
constexpr char kTwoGpus[] = "{name: a, exactly: {deviceClassName: gpu, count: 2}}";
constexpr char kNicOrGpus[] =
    "{name: b, firstAvailable: [{name: one, deviceClassName: nic}, {name: other, deviceClassName: "
    "gpu, "
    "count: 3}]}";

PodPtr PodWithClaims(const std::vector<std::string>& claims, absl::string_view name = "p") {
  PodBuilder pod = MakePod();
  pod.Name(name);
  for (const std::string& claim : claims) {
    auto& reference = *pod.Message().mutable_spec()->add_resource_claims();
    reference.set_name("of-" + claim);
    reference.set_resource_claim_name(claim);
  }
  return pod.Obj();
}

int64_t OfClass(const ResourceVector& amounts, absl::string_view device_class) {
  return amounts.Get(ResourceIdOf(absl::StrCat(device_class, kDevicesOfClass)));
}

TEST(ClaimedDevicesTest, AddUpByClassEachClaimOnce) {
  const FakeObjectStore objects(
      ObjectsFromYaml(ClaimFor("c", kTwoGpus) + ClaimFor("d", kNicOrGpus)));
  const ClaimedDevices devices = DevicesClaimedBy(*PodWithClaims({"c", "d", "c"}), objects);
  EXPECT_TRUE(devices.is_complete);
  EXPECT_EQ(OfClass(devices.amounts.resources, "gpu"), 5);
  EXPECT_EQ(OfClass(devices.amounts.resources, "nic"), 1);
}

TEST(ClaimedDevicesTest, OfTemplatesCountWhenTheyAreMade) {
  const FakeObjectStore objects(ObjectsFromYaml(ClaimFor("p-of", kTwoGpus)));
  const auto with_status = [&](const char* claim, bool has_entry) {
    PodBuilder pod = MakePod();
    pod.Name("p");
    auto& reference = *pod.Message().mutable_spec()->add_resource_claims();
    reference.set_name("of");
    reference.set_resource_claim_template_name("t");
    if (has_entry) {
      auto& status = *pod.Message().mutable_status()->add_resource_claim_statuses();
      status.set_name("of");
      if (claim != nullptr) status.set_resource_claim_name(claim);
    }
    return DevicesClaimedBy(*pod.Obj(), objects);
  };
  EXPECT_FALSE(with_status(nullptr, false).is_complete);
  EXPECT_FALSE(with_status("gone", true).is_complete);
  EXPECT_TRUE(with_status(nullptr, true).is_complete);  // none is needed
  EXPECT_EQ(OfClass(with_status("p-of", true).amounts.resources, "gpu"), 2);
}

// After a restart pods may be seen on their nodes before their claims are.
TEST(ClaimedDevicesTest, AreChargedWhenTheClaimIsSeenLater) {
  for (const bool in_tree : {false, true}) {
    const std::string quota =
        in_tree
            ? "{apiVersion: scheduling.berth.dev/v1alpha1, kind: ClusterQuota, metadata: {name: "
              "q}, spec: {namespaces: [default], max: {gpu.deviceclass.resource.k8s.io/devices: "
              "3}}}"
            : "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: ElasticQuota, metadata: {name: "
              "q, namespace: default}, spec: {min: {gpu.deviceclass.resource.k8s.io/devices: 3}, "
              "max: {gpu.deviceclass.resource.k8s.io/devices: 3}}}";
    FakeHandle handle({MakeNode().Name("n0").Info()},
                      ObjectsFromYaml(quota + "\n---\n" + ClaimFor("new", kTwoGpus)));
    CapacityScheduling plugin(handle);
    const auto admits = [&] {
      CycleState state;
      PreFilterResult result;
      return !plugin.PreFilter(state, *PodWithClaims({"new"}, "q"), handle.nodes(), result)
                  .IsRejected();
    };
    EXPECT_TRUE(admits());
    const PodPtr running = PodWithClaims({"late"});
    handle.test_nodes().AddPod(0, running);
    plugin.OnPodAssigned(*running, handle.nodes().node(0));
    EXPECT_TRUE(admits());
    handle.object_store().Set(ObjectsFromYaml(ClaimFor("late", kTwoGpus))[0]);
    EXPECT_FALSE(admits());
    EXPECT_FALSE(admits());  // charged once
    plugin.OnPodUnassigned(*running, handle.nodes().node(0));
    EXPECT_TRUE(admits());
  }
}

}  // namespace
}  // namespace berth::testing
