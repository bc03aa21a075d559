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

}  // namespace
}  // namespace berth::testing
