// Tests of VolumeZone.
#include "plugins/volume_zone/volume_zone.h"

#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

// A claim "c" bound to a volume with one label.
std::vector<Object> BoundTo(absl::string_view key, absl::string_view value) {
  return ObjectsFromYaml(
      absl::StrCat("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, "
                   "spec: {volumeName: v}}\n---\n"
                   "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v, labels: {",
                   key, ": '", value, "'}}}\n"));
}

TEST(VolumeZoneTest, Filter) {
  constexpr char kZone[] = "topology.kubernetes.io/zone";
  constexpr char kBetaZone[] = "failure-domain.beta.kubernetes.io/zone";
  constexpr char kRegion[] = "topology.kubernetes.io/region";
  struct Case {
    const char *name, *volume_key, *volume_value, *node_key, *node_value;
    bool fits;
  };
  for (const Case& c : {
           Case{"the zone", kZone, "a", kZone, "a", true},
           Case{"another zone", kZone, "a", kZone, "b", false},
           Case{"one of two zones", kZone, "a__b", kZone, "b", true},
           Case{"none of two zones", kZone, "a__b", kZone, "c", false},
           Case{"a label with an empty part counts for nothing", kZone, "a__", kZone, "b", true},
           Case{"beta label of the volume, newer one of the node", kBetaZone, "a", kZone, "a",
                true},
           Case{"not the other way round", kZone, "a", kBetaZone, "a", false},
           Case{"a node of no zone", kZone, "a", "other", "a", true},
           Case{"a node with a region but no zone", kZone, "a", kRegion, "a", false},
           Case{"a volume of no zone", "other", "a", kZone, "b", true},
       }) {
    FakeHandle handle({}, BoundTo(c.volume_key, c.volume_value));
    const auto plugin = MakePlugin<VolumeZone>(handle);
    const NodeInfo node = MakeNode().Label(c.node_key, c.node_value).Info();
    EXPECT_EQ(RunFilter(*plugin, MakePod().Claim("c").Obj(), node),
              c.fits ? Status::Success() : Unresolvable("node(s) had no available volume zone"))
        << c.name;
  }
}

TEST(VolumeZoneTest, ClaimsWithoutAVolume) {
  FakeHandle handle(
      {}, ObjectsFromYaml("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: none}}\n"
                          "---\n"
                          "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: now}, "
                          "spec: {storageClassName: now}}\n---\n"
                          "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: later}, "
                          "spec: {storageClassName: later}}\n---\n"
                          "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: lost}, "
                          "spec: {volumeName: gone}}\n---\n"
                          "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: "
                          "now}, volumeBindingMode: Immediate}\n---\n"
                          "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: "
                          "later}, volumeBindingMode: WaitForFirstConsumer}\n"));
  const auto plugin = MakePlugin<VolumeZone>(handle);
  const auto pre_filter = [&](absl::string_view claim) {
    CycleState state;
    PreFilterResult result;
    return plugin->PreFilter(state, *MakePod().Claim(claim).Obj(), handle.nodes(), result);
  };
  EXPECT_TRUE(pre_filter("later").IsSkip());
  EXPECT_EQ(pre_filter("now"), Unresolvable("PersistentVolume had no name"));
  EXPECT_EQ(pre_filter("none"),
            Unresolvable("PersistentVolumeClaim had no pv name and storageClass name"));
  EXPECT_EQ(pre_filter("lost"), Unresolvable("persistentvolume \"gone\" not found"));
  EXPECT_EQ(pre_filter("what"), Unresolvable("persistentvolumeclaim \"what\" not found"));
}

}  // namespace
}  // namespace berth::testing
