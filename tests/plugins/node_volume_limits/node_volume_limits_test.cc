// SPDX-License-Identifier: Apache-2.0
// Tests of NodeVolumeLimits.
#include "plugins/node_volume_limits/node_volume_limits.h"

#include "berth/api/core_v1.pb.h"
#include "plugins/node_volume_limits/migrated_volumes.h"
#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

constexpr char kObjects[] = R"(
{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: n1},
 spec: {drivers: [{name: d, nodeID: n1, allocatable: {count: 2}}, {name: free, nodeID: n1}]}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c1}, spec: {volumeName: v1}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c2}, spec: {volumeName: v2}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c3}, spec: {storageClassName: s}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c4}, spec: {volumeName: v4}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: v1}, spec: {csi: {driver: d, volumeHandle: h1}}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: v2}, spec: {csi: {driver: d, volumeHandle: h2}}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: v4}, spec: {csi: {driver: free, volumeHandle: h4}}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: s}, provisioner: d}
)";
constexpr char kAttachment[] =
    "{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: a}, "
    "spec: {attacher: d, nodeName: n1, source: {persistentVolumeName: v2}}}";

TEST(NodeVolumeLimitsTest, Filter) {
  struct Case {
    const char* name;
    Strings wanted, used;
    bool attached, fits;  // whether volume v2 has an attachment
  };
  for (const Case& c : {
           Case{"up to the limit", {"c1", "c2"}, {}, false, true},
           Case{"a claim without a volume counts", {"c1", "c2", "c3"}, {}, false, false},
           Case{"over the limit with what is there", {"c3"}, {"c1", "c2"}, false, false},
           Case{"a volume counts once", {"c1"}, {"c1", "c2"}, false, true},
           Case{"an attachment counts", {"c3"}, {"c1"}, true, false},
           Case{"but not twice", {"c3"}, {"c2"}, true, true},
           Case{"a driver without a limit", {"c4"}, {"c1", "c2"}, false, true},
       }) {
    std::vector<Object> objects = ObjectsFromYaml(kObjects);
    if (c.attached) objects.push_back(ObjectsFromYaml(kAttachment)[0]);
    FakeHandle handle({}, objects);
    const auto plugin = MakePlugin<NodeVolumeLimits>(handle);
    PodBuilder pod = MakePod().Name("p"), other = MakePod().Name("other");
    for (const auto& claim : c.wanted) pod.Claim(claim);
    for (const auto& claim : c.used) other.Claim(claim);
    EXPECT_EQ(RunFilter(*plugin, pod.Obj(), MakeNode().Name("n1").Info({other.Obj()})),
              c.fits ? Status::Success() : Status::Unschedulable("node(s) exceed max volume count"))
        << c.name;
    EXPECT_TRUE(RunFilter(*plugin, pod.Obj(), MakeNode().Name("no-csi-node").Info()).ok());
  }
}

TEST(NodeVolumeLimitsTest, MissingClaimsAndPodsWithoutClaims) {
  FakeHandle handle;
  const auto plugin = MakePlugin<NodeVolumeLimits>(handle);
  EXPECT_EQ(RunFilter(*plugin, MakePod().Claim("c").Obj(), MakeNode().Info()),
            Unresolvable("looking up PVC default/c: persistentvolumeclaim \"c\" not found"));
  CycleState state;
  PreFilterResult result;
  EXPECT_TRUE(plugin->PreFilter(state, *MakePod().Obj(), handle.nodes(), result).IsSkip());
}

TEST(NodeVolumeLimitsTest, NamesOfMigratedVolumes) {
  struct Case {
    const char *zone, *source, *driver, *handle;  // handle null: not a valid name
  };
  for (const Case& c : {
           Case{"a", "gcePersistentDisk: {pdName: d}", "pd.csi.storage.gke.io",
                "projects/UNSPECIFIED/zones/a/disks/d"},
           Case{"", "gcePersistentDisk: {pdName: d}", "pd.csi.storage.gke.io",
                "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"},
           Case{"us-east1-b__us-east1-c", "gcePersistentDisk: {pdName: d}", "pd.csi.storage.gke.io",
                "projects/UNSPECIFIED/regions/us-east1/disks/d"},
           Case{"us-east1-b__us-west1-c", "gcePersistentDisk: {pdName: d}", "pd.csi.storage.gke.io",
                nullptr},
           Case{"", "awsElasticBlockStore: {volumeID: vol-1}", "ebs.csi.aws.com", "vol-1"},
           Case{"", "awsElasticBlockStore: {volumeID: 'aws://z/vol-1'}", "ebs.csi.aws.com",
                "vol-1"},
           Case{"", "awsElasticBlockStore: {volumeID: 'aws://z/1'}", "ebs.csi.aws.com", nullptr},
           Case{"", "azureDisk: {diskName: disk, diskURI: u}", "disk.csi.azure.com", "u"},
           Case{"", "cinder: {volumeID: i}", "cinder.csi.openstack.org", "i"},
       }) {
    const auto volume = FromYaml<api::PersistentVolume>(
        absl::StrCat("{apiVersion: v1, kind: PersistentVolume, metadata: {name: v, labels: "
                     "{topology.kubernetes.io/zone: '",
                     c.zone, "'}}, spec: {", c.source, "}}"));
    ASSERT_NE(FindMigratedPlugin(*volume), nullptr) << c.source;
    EXPECT_EQ(FindMigratedPlugin(*volume)->driver, c.driver) << c.source;
    EXPECT_EQ(CsiHandle(*volume).value_or("none"), c.handle == nullptr ? "none" : c.handle)
        << c.source;
  }
}

TEST(NodeVolumeLimitsTest, VolumesWithoutLabelsHaveNamesToo) {
  const auto volume = FromYaml<api::PersistentVolume>(
      "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, "
      "spec: {gcePersistentDisk: {pdName: d}}}");
  EXPECT_EQ(CsiHandle(*volume), "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d");
}

// kube-scheduler v1.35 nodevolumelimits/csi.go EventsToRegister.
TEST(NodeVolumeLimitsTest, Hints) {
  FakeHandle handle;
  const auto plugin = MakePlugin<NodeVolumeLimits>(handle);
  const PodPtr pod = MakePod().Claim("c").Obj();
  const auto csi_node = [](absl::string_view allocatable) {
    return absl::StrCat(
        "{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: n1}, spec: "
        "{drivers: [{name: d, nodeID: n1",
        allocatable, "}]}}");
  };
  const auto claim = [](absl::string_view name, absl::string_view ns = "default") {
    return absl::StrCat("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: ", name,
                        ", namespace: ", ns, "}}");
  };
  struct Case {
    const char* name;
    ChangedObject changed;
    bool queues;
  };
  for (const Case& c : std::vector<Case>{
           {"a node's drivers", ChangedObject::Added(csi_node("")), true},
           {"more volumes",
            {csi_node(", allocatable: {count: 1}"), csi_node(", allocatable: {count: 2}")},
            true},
           {"fewer volumes",
            {csi_node(", allocatable: {count: 2}"), csi_node(", allocatable: {count: 1}")},
            false},
           {"a limit where there was none, which reads as 0",
            {csi_node(""), csi_node(", allocatable: {count: 1}")},
            true},
           {"no limit any more", {csi_node(", allocatable: {count: 1}"), csi_node("")}, false},
           {"the pod's claim", ChangedObject::Added(claim("c")), true},
           {"another claim", ChangedObject::Added(claim("d")), false},
           {"a claim elsewhere", ChangedObject::Added(claim("c", "other")), false},
           {"an update of the claim", {claim("c"), claim("c")}, false},
           {"an attachment", ChangedObject::Deleted(kAttachment), true},
           {"a new attachment", ChangedObject::Added(kAttachment), false},
       }) {
    EXPECT_EQ(Queues(*plugin, pod, c.changed), c.queues) << c.name;
  }

  // A pod with a disk of its own waits for attachments of the disk's driver alone.
  PodBuilder with_disk = MakePod();
  api::Volume* const volume = with_disk.Message().mutable_spec()->add_volumes();
  volume->set_name("disk");
  volume->mutable_volume_source()->mutable_gce_persistent_disk()->set_pd_name("d");
  const auto attachment = [](absl::string_view attacher) {
    return ChangedObject::Deleted(
        absl::StrCat("{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: a}, "
                     "spec: {attacher: ",
                     attacher, ", nodeName: n1, source: {persistentVolumeName: v}}}"));
  };
  EXPECT_TRUE(Queues(*plugin, with_disk.Obj(), attachment("pd.csi.storage.gke.io")));
  EXPECT_FALSE(Queues(*plugin, with_disk.Obj(), attachment("ebs.csi.aws.com")));
  EXPECT_FALSE(Queues(*plugin, MakePod().Obj(), attachment("pd.csi.storage.gke.io")));

  const auto deleted = [&](const PodBuilder& gone) {
    return Queues(*plugin, EventResource::Pod(), action::kDelete, pod, PodDeleted(gone.Obj()));
  };
  EXPECT_TRUE(deleted(MakePod().Claim("x").NodeName("n")));
  EXPECT_TRUE(deleted(PodBuilder(with_disk).NodeName("n")));
  EXPECT_FALSE(deleted(MakePod().Claim("x"))) << "it was on no node";
  EXPECT_FALSE(deleted(MakePod().NodeName("n"))) << "it had no volume";
}

}  // namespace
}  // namespace berth::testing
