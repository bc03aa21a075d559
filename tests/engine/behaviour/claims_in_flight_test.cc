// SPDX-License-Identifier: Apache-2.0
// What happens to devices while claims are being written.
#include <string>

#include "berth/api/resource_v1.pb.h"
#include "tests/engine/gang_cluster.h"
#include "tests/engine/world.h"

namespace berth {
namespace {

using testing::ObjectsFromYaml;

// One node with one device, and the claims "c" and "e".
class ClaimsInFlight : public ::testing::Test {
 protected:
  ClaimsInFlight()
      : world_(
            LoadConfigurationFile("config/kube-scheduler-default.yaml", Builtins()).configuration,
            Builtins(), World::Calls::kStepped) {
    world_.Set(CpuNode("n0", "64").Object());
    for (const Object& object : ObjectsFromYaml(R"(
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: any}, spec: {}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: n0}, spec: {driver: d, nodeName: n0, pool: {name: n0, generation: 1, resourceSliceCount: 1}, devices: [{name: x}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: c, namespace: default}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: any}}]}}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: e, namespace: default}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: any}}]}}}
)")) {
      world_.Set(object);
    }
  }

  void SetPod(const std::string& name, const std::string& claim, int priority = 0) {
    testing::PodBuilder pod = CpuPod(name, "1");
    pod.Priority(priority);
    auto& reference = *pod.Message().mutable_spec()->add_resource_claims();
    reference.set_name("claim");
    reference.set_resource_claim_name(claim);
    world_.Set(pod.Object());
  }
  bool IsAllocated(const std::string& claim) {
    const auto found = std::static_pointer_cast<const api::ResourceClaim>(
        world_.memory().Find(Kind::kResourceClaim, absl::StrCat("default/", claim)));
    return found->status().has_allocation();
  }

  World world_;
};

TEST_F(ClaimsInFlight, APodThatIsDeletedWhileItIsWrittenKeepsItsDevices) {
  SetPod("p", "c");
  bool was_deleted = false;
  world_.cluster.before_edit = [&](const ObjectEdit& edit) {
    if (edit.part != ObjectUpdate::Part::kStatus || std::exchange(was_deleted, true)) return;
    world_.memory().Delete(Kind::kPod, "default/p");
    SetPod("q", "e");
    world_.Run();
    EXPECT_EQ(world_.Pending("q").state, UnboundPod::State::kUnschedulable);
  };
  world_.Run();
  world_.executor.RunAll();
  EXPECT_TRUE(was_deleted);
  EXPECT_TRUE(IsAllocated("c"));
  EXPECT_FALSE(IsAllocated("e"));
  world_.Settle();
  EXPECT_NE(IsAllocated("c"), IsAllocated("e"));
}

TEST_F(ClaimsInFlight, AWriteWithoutAnAnswerMayHaveBeenWritten) {
  SetPod("p", "c");
  bool is_first = true;
  world_.cluster.before_edit = [&](const ObjectEdit& edit) {
    if (edit.part != ObjectUpdate::Part::kStatus || !std::exchange(is_first, false)) return;
    SetPod("q", "e", /*priority=*/10);
    world_.Run();
    world_.cluster.lost_edit = RefusingCluster::Lost::kAnswer;
    world_.memory().SetFaults(
        {.seed = 1, .delayed_event = 1, .max_event_delay = absl::Seconds(20)});
  };
  world_.Settle();
  EXPECT_TRUE(IsAllocated("c"));
  for (int i = 0; i < 60; ++i) {
    world_.Advance(absl::Seconds(1));
    ASSERT_FALSE(IsAllocated("e")) << i;
  }
  EXPECT_EQ(world_.NodeOf("p"), "n0");
}

TEST_F(ClaimsInFlight, AWriteThatWasLostPromisesNothing) {
  SetPod("p", "c");
  world_.cluster.lost_edit = RefusingCluster::Lost::kRequest;
  world_.Run();
  world_.executor.RunOne();
  world_.memory().Delete(Kind::kPod, "default/p");
  world_.Settle();
  EXPECT_FALSE(IsAllocated("c"));
  SetPod("q", "e");
  world_.Settle();
  EXPECT_TRUE(IsAllocated("e"));
}

// With DRAExtendedResource: a node with one device, and pods that request it without a claim.
class SpecialClaimsInFlight : public ::testing::Test {
 protected:
  SpecialClaimsInFlight()
      : world_(ParseConfiguration(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig: [{name: DynamicResources, args: {featureGates: {DRAExtendedResource: true}}}]
)",
                                  "config", Builtins())
                   .configuration,
               Builtins(), World::Calls::kStepped) {
    world_.Set(CpuNode("n0", "64").Object());
    for (const Object& object : ObjectsFromYaml(R"(
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: any}, spec: {extendedResourceName: example.com/x}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: n0}, spec: {driver: d, nodeName: n0, pool: {name: n0, generation: 1, resourceSliceCount: 1}, devices: [{name: x}]}}
)")) {
      world_.Set(object);
    }
  }
  void SetPod(const std::string& name) {
    world_.Set(CpuPod(name, "1").Request("example.com/x", "1").Object());
  }
  // Those that have the device.
  int Allocated() {
    int allocated = 0;
    for (const Object& claim : world_.memory().List(Kind::kResourceClaim)) {
      allocated += static_cast<int>(claim.As<api::ResourceClaim>().status().has_allocation());
    }
    return allocated;
  }
  int Claims() { return static_cast<int>(world_.memory().List(Kind::kResourceClaim).size()); }

  World world_;
};

TEST_F(SpecialClaimsInFlight, ACreationWithoutAnAnswerIsFoundAndDeleted) {
  SetPod("p");
  int created = 0;
  world_.cluster.before_create = [&](const Object&) { ++created; };
  world_.cluster.lose_create = true;
  world_.Settle();
  EXPECT_EQ(created, 1);
  EXPECT_EQ(world_.NodeOf("p"), "");
  // The claim of the attempt that failed is in the way, is deleted, and then the pod has another.
  for (int i = 0; i < 60 && world_.NodeOf("p").empty(); ++i) {
    world_.Advance(absl::Seconds(1));
    ASSERT_LE(Allocated(), 1);
  }
  EXPECT_EQ(world_.NodeOf("p"), "n0");
  EXPECT_EQ(created, 2);
  EXPECT_EQ(Claims(), 1);
  EXPECT_EQ(Allocated(), 1);
}

TEST_F(SpecialClaimsInFlight, TheDeviceIsPromisedWhileTheClaimIsMade) {
  SetPod("p");
  bool was_made = false;
  world_.cluster.before_create = [&](const Object& claim) {
    if (std::exchange(was_made, true)) return;
    EXPECT_EQ(claim.As<api::ResourceClaim>().metadata().generate_name(), "p-extended-resources-");
    SetPod("q");
    world_.Run();
    EXPECT_EQ(world_.Pending("q").state, UnboundPod::State::kUnschedulable);
  };
  world_.Settle();
  EXPECT_TRUE(was_made);
  EXPECT_EQ(world_.NodeOf("p"), "n0");
  EXPECT_EQ(world_.NodeOf("q"), "");
  EXPECT_EQ(Allocated(), 1);
}

}  // namespace
}  // namespace berth
