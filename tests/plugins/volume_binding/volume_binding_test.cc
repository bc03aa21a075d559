// SPDX-License-Identifier: Apache-2.0
// Tests of VolumeBinding.
#include "plugins/volume_binding/volume_binding.h"

#include "berth/api/core_v1.pb.h"
#include "berth/cluster.h"
#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

std::unique_ptr<VolumeBinding> Make(FakeHandle& handle) {
  return MakePlugin<VolumeBinding, VolumeBindingArgs>(handle);
}

// "now" binds at once, "later" when the pod has a node; "maker" makes volumes of at most 5Gi in
// zone a.
constexpr char kClasses[] = R"(
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: now}, provisioner: m, volumeBindingMode: Immediate}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: later}, provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: maker}, provisioner: m, volumeBindingMode: WaitForFirstConsumer,
 allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a]}]}]}
---
{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: m}, spec: {storageCapacity: true}}
---
{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: k, namespace: default},
 storageClassName: maker, nodeTopology: {matchLabels: {zone: a}}, capacity: 9Gi, maximumVolumeSize: 5Gi}
---
)";

std::string ClaimOf(absl::string_view name, absl::string_view storage_class,
                    absl::string_view size = "1Gi", absl::string_view annotations = "") {
  return absl::StrCat("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: ", name,
                      ", uid: ", name, ", annotations: {", annotations,
                      "}}, spec: {accessModes: [ReadWriteOnce], storageClassName: ", storage_class,
                      ", resources: {requests: {storage: ", size, "}}}}\n---\n");
}

// A volume for nodes of one zone.
std::string VolumeIn(absl::string_view zone, absl::string_view name, absl::string_view size,
                     absl::string_view more = "", absl::string_view phase = "Available") {
  return absl::StrCat(
      "{apiVersion: v1, kind: PersistentVolume, metadata: {name: ", name,
      "}, status: {phase: ", phase,
      "}, spec: {storageClassName: later, accessModes: [ReadWriteOnce], ",
      "capacity: {storage: ", size, "}, nodeAffinity: {required: ",
      "{nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [", zone,
      "]}]}]}}", more, "}}\n---\n");
}

TEST(VolumeBindingTest, Filter) {
  constexpr char kNoVolume[] = "node(s) didn't find available persistent volumes to bind";
  constexpr char kNoSpace[] = "node(s) did not have enough free storage";
  const std::string on_n = "volume.kubernetes.io/selected-node: n1";
  const std::string on_m = "volume.kubernetes.io/selected-node: m";
  struct Case {
    std::string name, objects, want;  // want: the reason, or empty
  };
  for (const Case& c : {
           Case{"a volume that fits", ClaimOf("c", "later") + VolumeIn("a", "v", "1Gi"), ""},
           Case{"none at all", ClaimOf("c", "later"), kNoVolume},
           Case{"in another zone", ClaimOf("c", "later") + VolumeIn("b", "v", "1Gi"), kNoVolume},
           Case{"too small", ClaimOf("c", "later", "2Gi") + VolumeIn("a", "v", "1Gi"), kNoVolume},
           Case{"not available", ClaimOf("c", "later") + VolumeIn("a", "v", "1Gi", "", "Released"),
                kNoVolume},
           Case{"another volume mode",
                ClaimOf("c", "later") + VolumeIn("a", "v", "1Gi", ", volumeMode: Block"),
                kNoVolume},
           Case{"promised to another claim",
                ClaimOf("c", "later") +
                    VolumeIn("a", "v", "1Gi", ", claimRef: {namespace: default, name: d}"),
                kNoVolume},
           Case{"promised to this claim",
                ClaimOf("c", "later") + VolumeIn("a", "v", "1Gi",
                                                 ", claimRef: {namespace: default, name: c}",
                                                 "Pending"),
                ""},
           Case{"promised to this claim elsewhere, so another is no help",
                ClaimOf("c", "later") + VolumeIn("a", "w", "1Gi") +
                    VolumeIn("b", "v", "1Gi", ", claimRef: {namespace: default, name: c}"),
                kNoVolume},
           Case{"is made", ClaimOf("c", "maker", "5Gi"), ""},
           Case{"is too large to be made", ClaimOf("c", "maker", "6Gi"), kNoSpace},
           Case{"is being made here", ClaimOf("c", "maker", "1Gi", on_n), ""},
           Case{"is being made elsewhere", ClaimOf("c", "maker", "1Gi", on_m), kNoVolume},
       }) {
    FakeHandle handle({}, ObjectsFromYaml(kClasses + c.objects));
    const auto plugin = Make(handle);
    EXPECT_EQ(RunFilter(*plugin, MakePod().Claim("c").Obj(),
                        MakeNode().Name("n1").Label("zone", "a").Info()),
              c.want.empty() ? Status::Success() : Unresolvable(c.want))
        << c.name;
  }
  FakeHandle handle({}, ObjectsFromYaml(kClasses + ClaimOf("c", "maker")));
  EXPECT_EQ(RunFilter(*Make(handle), MakePod().Claim("c").Obj(),
                      MakeNode().Name("n1").Label("zone", "b").Info()),
            Unresolvable(kNoVolume))
      << "the class makes none there";
}

TEST(VolumeBindingTest, TwoClaimsOfOnePodTakeTwoVolumes) {
  const std::string claims = ClaimOf("big", "later", "2Gi") + ClaimOf("small", "later", "1Gi");
  const PodPtr pod = MakePod().Claim("big").Claim("small").Obj();
  const NodeInfo node = MakeNode().Name("n1").Label("zone", "a").Info();
  FakeHandle enough({}, ObjectsFromYaml(kClasses + claims + VolumeIn("a", "v", "3Gi") +
                                        VolumeIn("a", "w", "1Gi")));
  EXPECT_TRUE(RunFilter(*Make(enough), pod, node).ok());
  FakeHandle one({}, ObjectsFromYaml(kClasses + claims + VolumeIn("a", "v", "3Gi")));
  EXPECT_FALSE(RunFilter(*Make(one), pod, node).ok());
}

// So that nodes which other plugins do not tell apart are scored as one.
TEST(VolumeBindingTest, ScoresNothingAndSaysSoBeforeNodesAreKnown) {
  FakeHandle handle({}, ObjectsFromYaml(kClasses + ClaimOf("c", "later")));
  const auto plugin = Make(handle);
  const PodBuilder pod = MakePod().Claim("c");
  CycleState state;
  std::vector<DomainSum> sums;
  const auto said = plugin->PreScoreDomains(state, *pod.Obj(), handle.nodes(), sums);
  EXPECT_TRUE(said.has_value() && said->IsSkip());
  EXPECT_TRUE(sums.empty());
  EXPECT_TRUE(plugin->PreScore(state, *pod.Obj(), handle.nodes(), {}).IsSkip());
}

TEST(VolumeBindingTest, PreFilter) {
  FakeHandle handle({}, ObjectsFromYaml(kClasses + ClaimOf("now", "now") + R"(
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: lost}, spec: {volumeName: v}, status: {phase: Lost}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: p-foreign}}
)"));
  const auto plugin = Make(handle);
  const auto pre_filter = [&](const PodBuilder& pod) {
    CycleState state;
    PreFilterResult result;
    return plugin->PreFilter(state, *pod.Obj(), handle.nodes(), result);
  };
  EXPECT_TRUE(pre_filter(MakePod()).IsSkip());
  EXPECT_EQ(pre_filter(MakePod().Claim("now")),
            Unresolvable("pod has unbound immediate PersistentVolumeClaims"));
  EXPECT_EQ(pre_filter(MakePod().Claim("x")),
            Unresolvable("persistentvolumeclaim \"x\" not found"));
  EXPECT_EQ(
      pre_filter(MakePod().Claim("lost")),
      Unresolvable("persistentvolumeclaim \"lost\" bound to non-existent persistentvolume \"v\""));
  EXPECT_EQ(pre_filter(MakePod().Name("p").EphemeralVolume("e")),
            Unresolvable("waiting for ephemeral volume controller to create the "
                         "persistentvolumeclaim \"p-e\""));
  EXPECT_EQ(pre_filter(MakePod().Name("p").EphemeralVolume("foreign")),
            Unresolvable("PVC default/p-foreign was not created for pod default/p "
                         "(pod is not owner)"));
}

TEST(VolumeBindingTest, PodsOnTheirWayDoNotTakeOneVolume) {
  FakeHandle handle({MakeNode().Name("n1").Label("zone", "a").Info()},
                    ObjectsFromYaml(kClasses + ClaimOf("c", "later") + ClaimOf("d", "later") +
                                    VolumeIn("a", "v", "1Gi")));
  const auto plugin = Make(handle);
  const PodPtr first = MakePod().Name("first").Claim("c").Obj();
  const PodPtr second = MakePod().Name("second").Claim("d").Obj();
  const NodeInfo& node = handle.nodes().node(0);
  CycleState state;
  PreFilterResult result;
  ASSERT_TRUE(plugin->PreFilter(state, *first, handle.nodes(), result).ok());
  ASSERT_TRUE(plugin->Reserve(state, *first, "n1").ok());
  EXPECT_FALSE(RunFilter(*plugin, second, node).ok());
  EXPECT_TRUE(RunFilter(*plugin, first, node).ok()) << "its own claim may still have it";

  plugin->Unreserve(state, *first, "n1");
  plugin->Unreserve(state, *first, "n1");
  EXPECT_TRUE(RunFilter(*plugin, second, node).ok());

  ASSERT_TRUE(plugin->Reserve(state, *first, "n1").ok());
  handle.object_store().Set(ObjectsFromYaml(VolumeIn("a", "v", "1Gi"))[0]);
  EXPECT_TRUE(RunFilter(*plugin, second, node).ok()) << "the cluster has spoken since";
}

// --- PreBind ---

// One pod whose claim gets its volume on node n1.
struct Late {
  explicit Late(const std::string& objects, absl::string_view args = "{}")
      : handle({MakeNode().Name("n1").Label("zone", "a").Info()},
               ObjectsFromYaml(kClasses + objects)),
        plugin(MakePlugin<VolumeBinding, VolumeBindingArgs>(handle, args)) {
    PreFilterResult result;
    EXPECT_TRUE(plugin->PreFilter(state, *pod, handle.nodes(), result).ok());
    EXPECT_TRUE(plugin->Reserve(state, *pod, "n1").ok());
  }
  Status PreBind() { return plugin->PreBind(state, *pod, "n1"); }
  Status Poll() { return plugin->PollPreBind(state, *pod, "n1"); }
  std::string PollError() {
    const Status status = Poll();
    return status.IsError() ? status.message() : status.ToString();
  }
  void Set(const std::string& yaml) {
    for (Object& object : ObjectsFromYaml(yaml)) handle.object_store().Set(object);
  }
  template <class T>
  const T& Written(size_t i) {
    return handle.updates().at(i).object.As<T>();
  }

  FakeHandle handle;
  std::unique_ptr<VolumeBinding> plugin;
  PodPtr pod = MakePod().Name("p").Claim("c").Obj();
  CycleState state;
};

std::string Selected(absl::string_view more = "") {
  return absl::StrCat("volume.kubernetes.io/selected-node: n1", more);
}
constexpr char kBoundToV[] =
    ", pv.kubernetes.io/bind-completed: 'yes'}}, spec: {volumeName: v}}\n---\n";
std::string Bound(absl::string_view annotations = "a: b") {
  return absl::StrCat(
      "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, uid: c, annotations: {",
      annotations, kBoundToV);
}
constexpr char kPromised[] =
    ", claimRef: {kind: PersistentVolumeClaim, namespace: default, name: c, uid: c}";

TEST(VolumeBindingTest, PreBindPromisesTheVolumeToTheClaim) {
  Late late(ClaimOf("c", "later") + VolumeIn("a", "v", "1Gi"));
  EXPECT_TRUE(late.plugin->PreBindPreFlight(late.state, *late.pod, "n1").ok());
  EXPECT_TRUE(late.PreBind().IsWait());
  ASSERT_EQ(late.handle.updates().size(), 1u);
  EXPECT_EQ(late.handle.updates()[0].part, ObjectUpdate::Part::kAllButStatus);
  const auto& written = late.Written<api::PersistentVolume>(0);
  EXPECT_EQ(written.metadata().annotations().at("pv.kubernetes.io/bound-by-controller"), "yes");
  const api::ObjectReference& ref = written.spec().claim_ref();
  EXPECT_EQ(ref.kind(), "PersistentVolumeClaim");
  EXPECT_EQ(ref.api_version(), "v1");
  EXPECT_EQ(ref.namespace_(), "default");
  EXPECT_EQ(ref.name(), "c");
  EXPECT_EQ(ref.uid(), "c");

  EXPECT_TRUE(late.Poll().IsWait()) << "the watch has not shown the write";
  late.Set(VolumeIn("a", "v", "1Gi", kPromised));
  EXPECT_TRUE(late.Poll().IsWait()) << "the claim is not bound";
  late.Set(Bound());
  EXPECT_TRUE(late.Poll().ok());
}

TEST(VolumeBindingTest, PreBindLeavesAloneWhatItsUserHasPromised) {
  Late uid_missing(ClaimOf("c", "later") +
                   VolumeIn("a", "v", "1Gi", ", claimRef: {namespace: default, name: c}"));
  EXPECT_TRUE(uid_missing.PreBind().IsWait());
  ASSERT_EQ(uid_missing.handle.updates().size(), 1u);
  const auto& written = uid_missing.Written<api::PersistentVolume>(0);
  EXPECT_EQ(written.spec().claim_ref().uid(), "c");
  EXPECT_FALSE(written.metadata().annotations().contains("pv.kubernetes.io/bound-by-controller"));

  Late complete(ClaimOf("c", "later") + VolumeIn("a", "v", "1Gi", kPromised));
  EXPECT_TRUE(complete.PreBind().IsWait());
  EXPECT_TRUE(complete.handle.updates().empty());
  complete.Set(Bound());
  EXPECT_TRUE(complete.Poll().ok()) << "there is no write to wait for";
}

TEST(VolumeBindingTest, PreBindSelectsTheNodeForAVolumeThatIsMade) {
  Late late(ClaimOf("c", "maker"));
  EXPECT_TRUE(late.PreBind().IsWait());
  ASSERT_EQ(late.handle.updates().size(), 1u);
  const auto& written = late.Written<api::PersistentVolumeClaim>(0);
  EXPECT_EQ(written.metadata().annotations().at("volume.kubernetes.io/selected-node"), "n1");
  EXPECT_TRUE(late.Poll().IsWait());
  late.Set(ClaimOf("c", "maker", "1Gi", Selected()));
  EXPECT_TRUE(late.Poll().IsWait());
  late.Set(Bound(Selected()));
  EXPECT_TRUE(late.Poll().IsWait()) << "the watch has not shown the volume";
  late.Set(VolumeIn("a", "v", "1Gi"));
  EXPECT_TRUE(late.Poll().ok());

  Late again(ClaimOf("c", "maker", "1Gi", Selected()));
  EXPECT_TRUE(again.PreBind().IsWait());
  EXPECT_TRUE(again.handle.updates().empty()) << "an earlier attempt has";
}

TEST(VolumeBindingTest, PreBindFailsWithTheWrite) {
  Late late(ClaimOf("c", "later") + VolumeIn("a", "v", "1Gi"));
  late.handle.set_update_status(absl::AbortedError("the object has been modified"));
  EXPECT_EQ(late.PreBind(), Status::Error("the object has been modified"));
}

TEST(VolumeBindingTest, PreBindEndsWhenItCannotSucceedAnyMore) {
  const std::string take = ClaimOf("c", "later") + VolumeIn("a", "v", "1Gi");
  const std::string make = ClaimOf("c", "maker");
  struct Case {
    std::string name, objects, then, want;
    std::vector<std::pair<Kind, std::string>> gone = {};
  };
  for (const Case& c : {
           Case{"the claimRef is gone", take, VolumeIn("a", "v", "2Gi"),
                "binding volumes: ClaimRef got reset for pv \"v\""},
           Case{"the volume moves", take, VolumeIn("b", "v", "1Gi", kPromised),
                "binding volumes: pv \"v\" node affinity doesn't match node \"n1\": no matching "
                "NodeSelectorTerms"},
           Case{"the volume is gone",
                take,
                "",
                "binding volumes: failed to check binding: persistentvolumes \"v\" not found",
                {{Kind::kPersistentVolume, "v"}}},
           Case{"the claim is gone",
                take,
                "",
                "binding volumes: failed to check binding: persistentvolumeclaims \"default/c\" "
                "not found",
                {{Kind::kPersistentVolumeClaim, "default/c"}}},
           Case{"the claim to be provisioned is gone",
                make,
                "",
                "binding volumes: failed to check provisioning pvc: persistentvolumeclaims "
                "\"default/c\" not found",
                {{Kind::kPersistentVolumeClaim, "default/c"}}},
           Case{"the provisioner gives up", make, ClaimOf("c", "maker", "1Gi", "a: b"),
                "binding volumes: provisioning failed for PVC \"c\""},
           Case{"and no annotation is left", make, ClaimOf("c", "maker"),
                "binding volumes: selectedNode annotation reset for PVC \"c\""},
           Case{"another node is selected", make,
                ClaimOf("c", "maker", "1Gi", "volume.kubernetes.io/selected-node: n2"),
                "binding volumes: provisioning failed for PVC \"c\""},
           Case{"the volume is made elsewhere", make, Bound(Selected()) + VolumeIn("b", "v", "1Gi"),
                "binding volumes: pv \"v\" node affinity doesn't match node \"n1\": no matching "
                "NodeSelectorTerms"},
       }) {
    Late late(c.objects);
    ASSERT_TRUE(late.PreBind().IsWait()) << c.name;
    if (!c.then.empty()) late.Set(c.then);
    for (const auto& [kind, key] : c.gone) late.handle.object_store().Remove(kind, key);
    EXPECT_EQ(late.PollError(), c.want) << c.name;
  }
  Late late(make);
  ASSERT_TRUE(late.PreBind().IsWait());
  EXPECT_EQ(late.plugin->PollPreBind(late.state, *late.pod, "n9").message(),
            "binding volumes: failed to get node \"n9\": node \"n9\" not found");
}

TEST(VolumeBindingTest, PreBindEndsAfterTheTimeout) {
  Late late(ClaimOf("c", "maker"), "{bindTimeoutSeconds: 30}");
  ASSERT_TRUE(late.PreBind().IsWait());
  late.handle.fake_clock().Advance(absl::Seconds(29));
  EXPECT_TRUE(late.Poll().IsWait());
  late.handle.fake_clock().Advance(absl::Seconds(1));
  EXPECT_EQ(late.handle.CounterOf("stage_error/bind").value(), 0);
  EXPECT_EQ(late.PollError(), "binding volumes: context deadline exceeded");
  EXPECT_EQ(late.handle.CounterOf("stage_error/bind").value(), 1);

  Late bound(ClaimOf("c", "maker"), "{bindTimeoutSeconds: 0}");
  ASSERT_TRUE(bound.PreBind().IsWait());
  bound.Set(Bound(Selected()) + VolumeIn("a", "v", "1Gi"));
  EXPECT_TRUE(bound.Poll().ok()) << "late is better than never";
}

// A watch that begins again delivers objects again that are the same.
TEST(VolumeBindingTest, AnAssumptionOutlivesTheSameVersion) {
  const std::string volume =
      "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v, resourceVersion: '7'}, status: "
      "{phase: Available}, spec: {storageClassName: later, accessModes: [ReadWriteOnce], capacity: "
      "{storage: 1Gi}}}\n---\n";
  Late late(ClaimOf("c", "later") + ClaimOf("d", "later") + volume);
  ASSERT_TRUE(late.PreBind().IsWait());
  const PodPtr other = MakePod().Name("other").Claim("d").Obj();
  late.Set(volume);
  EXPECT_FALSE(RunFilter(*late.plugin, other, late.handle.nodes().node(0)).ok());
  EXPECT_TRUE(late.Poll().IsWait());
  late.plugin->Unreserve(late.state, *late.pod, "n1");
  EXPECT_TRUE(RunFilter(*late.plugin, other, late.handle.nodes().node(0)).ok());
}

TEST(VolumeBindingTest, Arguments) {
  EXPECT_EQ(ArgsError<VolumeBindingArgs>("{bindTimeoutSeconds: 0}"), "");
  EXPECT_THAT(ArgsError<VolumeBindingArgs>("{bindTimeoutSeconds: -1}"),
              HasSubstr("should not be a negative value"));
}

// kube-scheduler v1.35 volumebinding/volume_binding.go EventsToRegister.
TEST(VolumeBindingTest, Hints) {
  FakeHandle handle;
  const auto plugin = Make(handle);
  PodBuilder builder = MakePod().Claim("c");
  api::Volume* const volume = builder.Message().mutable_spec()->add_volumes();
  volume->set_name("inline");
  volume->mutable_volume_source()->mutable_csi()->set_driver("m");
  const PodPtr pod = builder.Obj();
  const auto storage_class = [](absl::string_view zone, absl::string_view more = "") {
    return absl::StrCat(
        "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: s}, provisioner: m, ",
        more, "allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [", zone, "]}]}]}");
  };
  const auto claim = [](absl::string_view name, absl::string_view ns = "default") {
    return absl::StrCat("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: ", name,
                        ", namespace: ", ns, "}}");
  };
  const auto csi_node = [](absl::string_view migrated) {
    return absl::StrCat("{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: n1, ",
                        "annotations: {storage.alpha.kubernetes.io/migrated-plugins: '", migrated,
                        "'}}}");
  };
  const auto driver = [](absl::string_view name, absl::string_view capacity) {
    return absl::StrCat("{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: ", name,
                        "}, spec: {storageCapacity: ", capacity, "}}");
  };
  const auto capacity = [](absl::string_view amounts) {
    return absl::StrCat(
        "{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: k, namespace: "
        "default}, storageClassName: s",
        amounts, "}");
  };
  const std::string volume_object = "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}}";
  struct Case {
    const char* name;
    ChangedObject changed;
    bool queues;
  };
  for (const Case& c : std::vector<Case>{
           {"a class", ChangedObject::Added(storage_class("a")), true},
           {"other topologies", {storage_class("a"), storage_class("b")}, true},
           {"other properties of a class",
            {storage_class("a"), storage_class("a", "allowVolumeExpansion: true, ")},
            false},
           {"the pod's claim", ChangedObject::Added(claim("c")), true},
           {"an update of it", {claim("c"), claim("c")}, true},
           {"another claim", ChangedObject::Added(claim("d")), false},
           {"a claim elsewhere", ChangedObject::Added(claim("c", "other")), false},
           {"a volume", ChangedObject::Added(volume_object), true},
           {"an update of a volume", {volume_object, volume_object}, true},
           {"a volume goes", ChangedObject::Deleted(volume_object), false},
           {"a node's drivers", ChangedObject::Added(csi_node("")), true},
           {"a plugin migrates", {csi_node(""), csi_node("kubernetes.io/gce-pd")}, true},
           {"no plugin migrates", {csi_node("x"), csi_node("x")}, false},
           {"a driver", ChangedObject::Added(driver("m", "false")), false},
           {"the pod's driver counts no more", {driver("m", "true"), driver("m", "false")}, true},
           {"it begins to count", {driver("m", "false"), driver("m", "true")}, false},
           {"another driver counts no more", {driver("o", "true"), driver("o", "false")}, false},
           {"capacity", ChangedObject::Added(capacity("")), true},
           {"more capacity", {capacity(", capacity: 1Gi"), capacity(", capacity: 2Gi")}, true},
           {"capacity that was not known", {capacity(""), capacity(", capacity: 2Gi")}, true},
           {"less capacity", {capacity(", capacity: 2Gi"), capacity(", capacity: 1Gi")}, false},
           {"more of it, but no larger volume",
            {capacity(", capacity: 2Gi, maximumVolumeSize: 1Gi"),
             capacity(", capacity: 3Gi, maximumVolumeSize: 1Gi")},
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
