// SPDX-License-Identifier: Apache-2.0
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

// kube-scheduler v1.35 volumezone/volume_zone.go EventsToRegister.
TEST(VolumeZoneTest, Hints) {
  FakeHandle handle;
  const auto plugin = MakePlugin<VolumeZone>(handle);
  const PodPtr pod = MakePod().Claim("c").Obj();
  const auto storage_class = [](absl::string_view mode) {
    return absl::StrCat("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: s}, ",
                        mode, "provisioner: p}");
  };
  const auto claim = [](absl::string_view name, absl::string_view ns = "default") {
    return absl::StrCat("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: ", name,
                        ", namespace: ", ns, "}}");
  };
  const auto volume = [](absl::string_view labels) {
    return absl::StrCat("{apiVersion: v1, kind: PersistentVolume, metadata: {name: v, labels: {",
                        labels, "}}}");
  };
  struct Case {
    const char* name;
    ChangedObject changed;
    bool queues;
  };
  const std::string zone_a = volume("topology.kubernetes.io/zone: a");
  for (const Case& c : std::vector<Case>{
           {"a class that waits for pods",
            ChangedObject::Added(storage_class("volumeBindingMode: WaitForFirstConsumer, ")), true},
           {"a class that does not",
            ChangedObject::Added(storage_class("volumeBindingMode: Immediate, ")), false},
           {"a class that does not say", ChangedObject::Added(storage_class("")), false},
           {"a class that changes",
            {storage_class(""), storage_class("volumeBindingMode: WaitForFirstConsumer, ")},
            false},
           {"the pod's claim", ChangedObject::Added(claim("c")), true},
           {"the pod's claim again", {claim("c"), claim("c")}, true},
           {"the claim goes", ChangedObject::Deleted(claim("c")), false},
           {"another claim", ChangedObject::Added(claim("d")), false},
           {"a claim elsewhere", ChangedObject::Added(claim("c", "other")), false},
           {"a volume", ChangedObject::Added(volume("")), true},
           {"a volume that moves", {zone_a, volume("topology.kubernetes.io/zone: b")}, true},
           {"a volume that does not",
            {zone_a, volume("topology.kubernetes.io/zone: a, x: other")},
            false},
           {"zones in another order",
            {volume("topology.kubernetes.io/zone: a__b"),
             volume("topology.kubernetes.io/zone: b__a")},
            false},
       }) {
    EXPECT_EQ(Queues(*plugin, pod, c.changed), c.queues) << c.name;
  }
  const NodeBuilder node = MakeNode().Name("n");
  const ObjectChange change = NodeUpdated(node, node);
  EXPECT_TRUE(Queues(*plugin, EventResource::Node(), action::kAdd, pod, NodeAdded(node)));
  EXPECT_TRUE(Queues(*plugin, EventResource::Node(), action::kUpdateNodeLabel, pod, change));
  EXPECT_FALSE(Queues(*plugin, EventResource::Node(), action::kUpdateNodeTaint, pod, change));
  EXPECT_FALSE(Queues(*plugin, EventResource::Pod(), action::kDelete, pod, PodDeleted(pod)));
}

}  // namespace
}  // namespace berth::testing
