// SPDX-License-Identifier: Apache-2.0
// What the in-memory cluster makes of claims and volumes, and updates with an optimistic lock.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/manifest.h"
#include "berth/api/storage_v1.pb.h"
#include "berth/in_memory_cluster.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

using testing::ObjectsFromYaml;

class VolumeControllerTest : public ::testing::Test {
 protected:
  VolumeControllerTest() : cluster_(clock_) { cluster_.RunVolumeController(); }

  void Set(const std::string& yaml) {
    for (Object& object : ObjectsFromYaml(yaml)) cluster_.Set(std::move(object));
  }
  void Class(const std::string& name, const std::string& mode, const std::string& provisioner,
             const std::string& more = "") {
    Set(absl::StrCat("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: ", name,
                     "}, volumeBindingMode: ", mode, ", provisioner: ", provisioner, more, "}"));
  }
  void AddVolume(const std::string& name, const std::string& size, const std::string& more = "") {
    Set(absl::StrCat("{apiVersion: v1, kind: PersistentVolume, metadata: {name: ", name,
                     "}, spec: {storageClassName: c, accessModes: [ReadWriteOnce], capacity: ",
                     "{storage: ", size, "}", more, "}}"));
  }
  void AddClaim(const std::string& name, const std::string& annotations = "",
                const std::string& more = "") {
    Set(absl::StrCat("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: ", name,
                     ", annotations: {", annotations,
                     "}}, spec: {storageClassName: c, accessModes: [ReadWriteOnce], resources: ",
                     "{requests: {storage: 2Gi}}", more, "}}"));
  }
  template <class T>
  std::shared_ptr<const T> Find(const std::string& key) {
    return std::static_pointer_cast<const T>(cluster_.Find(kKindOf<T>, key));
  }
  api::PersistentVolume VolumeNamed(const std::string& name) {
    const auto found = Find<api::PersistentVolume>(name);
    return found == nullptr ? api::PersistentVolume() : *found;
  }
  api::PersistentVolumeClaim ClaimNamed(const std::string& name) {
    const auto found = Find<api::PersistentVolumeClaim>("default/" + name);
    return found == nullptr ? api::PersistentVolumeClaim() : *found;
  }
  void Advance(absl::Duration by) {
    clock_.Advance(by);
    cluster_.AdvanceTo(clock_.Now());
  }
  // The one volume that the claim has got.
  std::string VolumeOf(const std::string& claim) { return ClaimNamed(claim).spec().volume_name(); }
  std::string PhaseOf(const std::string& volume) { return VolumeNamed(volume).status().phase(); }

  SimulatedClock clock_{absl::UnixEpoch()};
  InMemoryCluster cluster_;
};

TEST_F(VolumeControllerTest, BindsAnImmediateClaimToTheSmallestVolumeThatSuits) {
  Class("c", "Immediate", "kubernetes.io/no-provisioner");
  AddVolume("large", "5Gi");
  AddVolume("small", "1Gi");
  AddVolume("right", "2Gi");
  AddVolume("block", "2Gi", ", volumeMode: Block");
  EXPECT_EQ(PhaseOf("right"), "Available");
  AddClaim("a");
  const api::PersistentVolumeClaim claim = ClaimNamed("a");
  EXPECT_EQ(claim.spec().volume_name(), "right");
  EXPECT_EQ(claim.status().phase(), "Bound");
  EXPECT_EQ(claim.status().capacity().at("storage").string(), "2Gi");
  EXPECT_TRUE(claim.metadata().annotations().contains("pv.kubernetes.io/bind-completed"));
  EXPECT_TRUE(claim.metadata().annotations().contains("pv.kubernetes.io/bound-by-controller"));
  const api::PersistentVolume volume = VolumeNamed("right");
  EXPECT_EQ(volume.status().phase(), "Bound");
  EXPECT_EQ(volume.spec().claim_ref().name(), "a");
  EXPECT_EQ(volume.spec().claim_ref().uid(), claim.metadata().uid());
  EXPECT_TRUE(volume.metadata().annotations().contains("pv.kubernetes.io/bound-by-controller"));
}

TEST_F(VolumeControllerTest, AVolumeGoesToTheFirstClaimThatWaitsForIt) {
  AddClaim("a");
  AddClaim("b");
  EXPECT_EQ(ClaimNamed("a").status().phase(), "Pending");
  AddVolume("v", "2Gi");
  EXPECT_EQ(VolumeOf("a"), "v");
  EXPECT_EQ(VolumeOf("b"), "");
  AddVolume("w", "2Gi");
  EXPECT_EQ(VolumeOf("b"), "w");
}

TEST_F(VolumeControllerTest, AClaimThatWaitsForItsConsumerTakesWhatIsPromisedToIt) {
  Class("c", "WaitForFirstConsumer", "kubernetes.io/no-provisioner");
  AddVolume("v", "2Gi");
  AddClaim("a");
  EXPECT_EQ(VolumeOf("a"), "");
  AddVolume("v", "2Gi", ", claimRef: {namespace: default, name: a}");
  EXPECT_EQ(VolumeOf("a"), "v");
  EXPECT_EQ(PhaseOf("v"), "Bound");
  EXPECT_FALSE(
      VolumeNamed("v").metadata().annotations().contains("pv.kubernetes.io/bound-by-controller"));
}

TEST_F(VolumeControllerTest, AVolumeIsReleasedWithItsClaim) {
  for (const std::string policy : {"Retain", "Delete"}) {
    AddVolume(policy, "2Gi", ", persistentVolumeReclaimPolicy: " + policy);
    AddClaim("a");
    ASSERT_EQ(VolumeOf("a"), policy);
    cluster_.Delete(Kind::kPersistentVolumeClaim, "default/a");
    EXPECT_EQ(PhaseOf(policy), policy == "Retain" ? "Released" : "");
    AddClaim("a");
    EXPECT_EQ(VolumeOf("a"), "") << "another one of that name";
    cluster_.Delete(Kind::kPersistentVolumeClaim, "default/a");
  }
}

TEST_F(VolumeControllerTest, AClaimWaitsForTheVolumeThatItNames) {
  Class("c", "Immediate", "disks");
  AddVolume("other", "2Gi");
  AddClaim("a", "", ", volumeName: v");
  EXPECT_EQ(ClaimNamed("a").status().phase(), "Pending");
  AddVolume("v", "2Gi");
  EXPECT_EQ(ClaimNamed("a").status().phase(), "Bound");
  EXPECT_EQ(VolumeNamed("v").spec().claim_ref().name(), "a");
  EXPECT_EQ(cluster_.NextDue(), absl::InfiniteFuture()) << "none is made for it";
}

TEST_F(VolumeControllerTest, AClaimWhoseVolumeIsGoneIsLost) {
  AddVolume("v", "2Gi");
  AddClaim("a");
  ASSERT_EQ(VolumeOf("a"), "v");
  cluster_.Delete(Kind::kPersistentVolume, "v");
  EXPECT_EQ(ClaimNamed("a").status().phase(), "Lost");
}

TEST_F(VolumeControllerTest, MakesAVolumeForTheSelectedNode) {
  Class("c", "WaitForFirstConsumer", "d", ", reclaimPolicy: Retain");
  Set("{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {topology.kubernetes.io/zone: "
      "z}}}");
  AddClaim("a");
  Advance(absl::Seconds(9));
  EXPECT_EQ(VolumeOf("a"), "");
  AddClaim("a", "volume.kubernetes.io/selected-node: n1");
  EXPECT_EQ(cluster_.NextDue(), clock_.Now() + absl::Seconds(1));
  Advance(absl::Seconds(1));
  const std::string name = VolumeOf("a");
  EXPECT_EQ(name, "pvc-" + ClaimNamed("a").metadata().uid());
  const api::PersistentVolume volume = VolumeNamed(name);
  EXPECT_EQ(volume.status().phase(), "Bound");
  EXPECT_EQ(volume.spec().persistent_volume_reclaim_policy(), "Retain");
  EXPECT_EQ(volume.spec().capacity().at("storage").string(), "2Gi");
  const auto& term = volume.spec().node_affinity().required().node_selector_terms(0);
  ASSERT_EQ(term.match_expressions_size(), 1);
  EXPECT_EQ(term.match_expressions(0).key(), "topology.kubernetes.io/zone");
  EXPECT_EQ(term.match_expressions(0).values(0), "z");
  EXPECT_EQ(cluster_.NextDue(), absl::InfiniteFuture());
}

TEST_F(VolumeControllerTest, AVolumeIsWhereTheDriverSays) {
  Class("c", "Immediate", "d");
  Set("{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: n1}, spec: {drivers: "
      "[{name: "
      "d, nodeID: n1, topologyKeys: [host]}]}}\n---\n"
      "{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {host: h, "
      "topology.kubernetes.io/zone: z}}}");
  AddClaim("a");
  Advance(absl::Seconds(1));
  const api::PersistentVolume volume = VolumeNamed(VolumeOf("a"));
  const auto& term = volume.spec().node_affinity().required().node_selector_terms(0);
  ASSERT_EQ(term.match_expressions_size(), 1);
  EXPECT_EQ(term.match_expressions(0).key(), "host");
}

TEST_F(VolumeControllerTest, AnImmediateClaimWaitsForANodeThatWillDo) {
  Class("c", "Immediate", "d",
        ", allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [b]}]}]");
  AddClaim("a");
  Set("{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {zone: a}}}");
  Advance(absl::Seconds(5));
  EXPECT_EQ(VolumeOf("a"), "");
  EXPECT_EQ(cluster_.NextDue(), absl::InfiniteFuture()) << "it does not try in vain for ever";
  Set("{apiVersion: v1, kind: Node, metadata: {name: m1, labels: {zone: b}}}");
  Advance(absl::Seconds(5));
  EXPECT_NE(VolumeOf("a"), "");
}

TEST_F(VolumeControllerTest, AProvisionerThatFailsTakesTheNodeBack) {
  Set("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: c, annotations: "
      "{simulation.berth/provision-fails-on: 'm1, n1', simulation.berth/provision-time: 5s}}, "
      "volumeBindingMode: WaitForFirstConsumer, provisioner: d}\n---\n"
      "{apiVersion: v1, kind: Node, metadata: {name: n1}}");
  AddClaim("a", "volume.kubernetes.io/selected-node: n1");
  Advance(absl::Seconds(4));
  const auto is_selected = [&] {
    return ClaimNamed("a").metadata().annotations().contains("volume.kubernetes.io/selected-node");
  };
  EXPECT_TRUE(is_selected());
  Advance(absl::Seconds(1));
  EXPECT_FALSE(is_selected());
  EXPECT_EQ(VolumeOf("a"), "");
}

TEST_F(VolumeControllerTest, VolumesTakeFromTheStorageThatTheDriverCounts) {
  Class("c", "Immediate", "d");
  Set("{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: d}, spec: "
      "{storageCapacity: true}}\n---\n"
      "{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: k, namespace: "
      "default}, storageClassName: c, nodeTopology: {}, capacity: 3Gi, maximumVolumeSize: "
      "2Gi}\n---\n"
      "{apiVersion: v1, kind: Node, metadata: {name: n1}}");
  const auto left = [&] { return *Find<api::CSIStorageCapacity>("default/k"); };
  AddClaim("a");
  Advance(absl::Seconds(1));
  EXPECT_NE(VolumeOf("a"), "");
  EXPECT_EQ(left().capacity().string(), "1Gi");
  EXPECT_EQ(left().maximum_volume_size().string(), "1Gi");
  AddClaim("b");
  Advance(absl::Seconds(1));
  EXPECT_EQ(VolumeOf("b"), "");
  cluster_.Delete(Kind::kPersistentVolumeClaim, "default/a");
  Advance(absl::Seconds(1));
  EXPECT_NE(VolumeOf("b"), "") << "what the first had is free";
  cluster_.Delete(Kind::kPersistentVolumeClaim, "default/b");
  EXPECT_EQ(left().capacity().string(), "3Gi");
  EXPECT_EQ(left().maximum_volume_size().string(), "2Gi");
}

// --- Update ---

TEST(InMemoryClusterUpdate, TakesWhatWasMadeOfTheLatestVersionOnly) {
  const SimulatedClock clock(absl::UnixEpoch());
  InMemoryCluster cluster(clock);
  const auto latest = [&] { return cluster.List(Kind::kPersistentVolume).at(0); };
  const auto labelled = [](const Object& object, const std::string& value) {
    auto volume = std::make_shared<api::PersistentVolume>(object.As<api::PersistentVolume>());
    (*volume->mutable_metadata()->mutable_labels())["l"] = value;
    volume->mutable_status()->set_phase(value);
    return Object::Of(std::move(volume));
  };
  cluster.Set(ObjectsFromYaml("{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}}")[0]);
  const Object first = latest();
  EXPECT_TRUE(cluster.Update({labelled(first, "a")}).ok());
  EXPECT_EQ(latest().As<api::PersistentVolume>().metadata().labels().at("l"), "a");
  EXPECT_EQ(latest().As<api::PersistentVolume>().status().phase(), "") << "not its part";
  const absl::Status late = cluster.Update({labelled(first, "b")});
  EXPECT_EQ(late.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(late.message(),
            "Operation cannot be fulfilled on persistentvolumes \"v\": the object has been "
            "modified; please apply your changes to the latest version and try again");

  EXPECT_TRUE(cluster.Update({labelled(latest(), "c"), ObjectUpdate::Part::kStatus}).ok());
  EXPECT_EQ(latest().As<api::PersistentVolume>().metadata().labels().at("l"), "a");
  EXPECT_EQ(latest().As<api::PersistentVolume>().status().phase(), "c");

  const Object before = latest();
  cluster.Set(before);
  EXPECT_TRUE(absl::IsAborted(cluster.Update({labelled(before, "d")}))) << "somebody has set it";
  cluster.Delete(Kind::kPersistentVolume, "v");
  EXPECT_TRUE(absl::IsNotFound(cluster.Update({labelled(before, "e")})));
  EXPECT_TRUE(absl::IsInvalidArgument(cluster.Update({testing::MakePod().Name("p").Object()})));
}

}  // namespace
}  // namespace berth
