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

}  // namespace
}  // namespace berth
