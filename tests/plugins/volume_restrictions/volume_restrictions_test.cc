// SPDX-License-Identifier: Apache-2.0
// Tests of VolumeRestrictions.
#include "plugins/volume_restrictions/volume_restrictions.h"

#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

// A pod with one volume, of this source in YAML.
PodPtr PodWith(absl::string_view source, absl::string_view name = "p") {
  return PodFromYaml(absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: ", name,
                                  ", namespace: default}, spec: {volumes: [{name: v, ", source,
                                  "}]}}"));
}

TEST(VolumeRestrictionsTest, Disks) {
  const Status rejected = Status::Unschedulable("node(s) had no available disk");
  struct Case {
    const char *name, *wanted, *used;
    Status want;
  };
  FakeHandle handle;
  const auto plugin = MakePlugin<VolumeRestrictions>(handle);
  const auto rbd = [](const char* monitors, const char* image, const char* read_only) {
    return absl::StrCat("rbd: {monitors: [", monitors, "], pool: q, image: ", image,
                        ", readOnly: ", read_only, "}");
  };
  const std::string rbd_ab = rbd("a, b", "i", "false"), rbd_b = rbd("b", "i", "true"),
                    rbd_c = rbd("c", "i", "false"), rbd_other = rbd("a", "j", "false");
  for (const Case& c : {
           Case{"one GCE disk", "gcePersistentDisk: {pdName: d}", "gcePersistentDisk: {pdName: d}",
                rejected},
           Case{"another GCE disk", "gcePersistentDisk: {pdName: d}",
                "gcePersistentDisk: {pdName: e}", Status::Success()},
           Case{"one reader is not enough", "gcePersistentDisk: {pdName: d, readOnly: true}",
                "gcePersistentDisk: {pdName: d}", rejected},
           Case{"two readers", "gcePersistentDisk: {pdName: d, readOnly: true}",
                "gcePersistentDisk: {pdName: d, readOnly: true}", Status::Success()},
           Case{"EBS knows no readers", "awsElasticBlockStore: {volumeID: d, readOnly: true}",
                "awsElasticBlockStore: {volumeID: d, readOnly: true}", rejected},
           Case{"iSCSI by name", "iscsi: {iqn: q, lun: 0}", "iscsi: {iqn: q, lun: 1}", rejected},
           Case{"iSCSI readers", "iscsi: {iqn: q, readOnly: true}",
                "iscsi: {iqn: q, readOnly: true}", Status::Success()},
           Case{"RBD with a common monitor", rbd_ab.c_str(), rbd_b.c_str(), rejected},
           Case{"RBD of other monitors", rbd_ab.c_str(), rbd_c.c_str(), Status::Success()},
           Case{"another RBD image", rbd_ab.c_str(), rbd_other.c_str(), Status::Success()},
           Case{"another kind of disk", "gcePersistentDisk: {pdName: d}",
                "awsElasticBlockStore: {volumeID: d}", Status::Success()},
       }) {
    const PodPtr used = PodWith(c.used, "other");
    const PodPtr wanted = PodWith(c.wanted);
    EXPECT_EQ(RunFilter(*plugin, wanted, MakeNode().Name("n").Info({used})), c.want) << c.name;
    EXPECT_EQ(Queues(*plugin, EventResource::Pod(), action::kDelete, wanted, PodDeleted(used)),
              !c.want.ok())
        << c.name;
  }
}

TEST(VolumeRestrictionsTest, OnePodForAReadWriteOncePodClaim) {
  const PodPtr user = MakePod().Name("user").NodeName("n").Claim("c").Obj();
  const PodPtr pod = MakePod().Name("p").Claim("c").Obj();
  FakeHandle handle({MakeNode().Name("n").Info({user}), MakeNode().Name("m").Info()},
                    ObjectsFromYaml("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: "
                                    "{name: c}, spec: {accessModes: [ReadWriteOncePod]}}"));
  const auto plugin = MakePlugin<VolumeRestrictions>(handle);
  CycleState state;
  PreFilterResult result;
  ASSERT_TRUE(plugin->PreFilter(state, *pod, handle.nodes(), result).ok());
  const NodeInfo& other_node = handle.nodes().node(1);
  EXPECT_EQ(plugin->Filter(state, *pod, other_node),
            Status::Unschedulable("node(s) unavailable due to PersistentVolumeClaim with "
                                  "ReadWriteOncePod access mode already in-use by another pod"));
  EXPECT_TRUE(plugin->RemovePod(state, *pod, *user, other_node).ok());
  EXPECT_TRUE(plugin->Filter(state, *pod, other_node).ok());
  EXPECT_TRUE(plugin->AddPod(state, *pod, *user, other_node).ok());
  EXPECT_FALSE(plugin->Filter(state, *pod, other_node).ok());
}

TEST(VolumeRestrictionsTest, PreFilterWithoutRestrictions) {
  FakeHandle handle;
  const auto plugin = MakePlugin<VolumeRestrictions>(handle);
  CycleState state;
  PreFilterResult result;
  EXPECT_TRUE(plugin->PreFilter(state, *MakePod().Obj(), handle.nodes(), result).IsSkip());
  EXPECT_EQ(plugin->PreFilter(state, *MakePod().Claim("c").Obj(), handle.nodes(), result),
            Unresolvable("persistentvolumeclaim \"c\" not found"));
}

// kube-scheduler v1.35 volumerestrictions/volume_restrictions.go EventsToRegister.
TEST(VolumeRestrictionsTest, Hints) {
  FakeHandle handle;
  const auto plugin = MakePlugin<VolumeRestrictions>(handle);
  const PodPtr pod = MakePod().Claim("c").Obj();
  const auto claim = [](absl::string_view name, absl::string_view ns) {
    return absl::StrCat("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: ", name,
                        ", namespace: ", ns, "}}");
  };
  EXPECT_TRUE(Queues(*plugin, pod, ChangedObject::Added(claim("c", "default"))));
  EXPECT_FALSE(Queues(*plugin, pod, ChangedObject::Added(claim("d", "default"))));
  EXPECT_FALSE(Queues(*plugin, pod, ChangedObject::Added(claim("c", "other"))));
  EXPECT_FALSE(Queues(*plugin, pod, {claim("c", "default"), claim("c", "default")}));
  const auto deleted = [&](const PodBuilder& gone) {
    return Queues(*plugin, EventResource::Pod(), action::kDelete, pod, PodDeleted(gone.Obj()));
  };
  EXPECT_TRUE(deleted(MakePod().Claim("c").NodeName("n")));
  EXPECT_FALSE(deleted(MakePod().Claim("d").NodeName("n")));
  EXPECT_FALSE(deleted(MakePod().Namespace("other").Claim("c").NodeName("n")));
  const NodeBuilder node = MakeNode().Name("n");
  EXPECT_TRUE(Queues(*plugin, EventResource::Node(), action::kAdd, pod, NodeAdded(node)));
  EXPECT_FALSE(Queues(*plugin, EventResource::Node(), action::kUpdateNodeLabel, pod,
                      NodeUpdated(node, node)));
}

}  // namespace
}  // namespace berth::testing
