// SPDX-License-Identifier: Apache-2.0
// What VolumeBinding keeps of volumes and capacities, held against what it reads again.
#include "plugins/volume_binding/volumes_by_class.h"

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "berth/api/core_v1.pb.h"
#include "berth/api/storage_v1.pb.h"
#include "berth/columns/node_table.h"
#include "plugins/volume_binding/assumed_volumes.h"
#include "plugins/volume_binding/found_volumes.h"
#include "plugins/volume_binding/pod_volumes.h"
#include "plugins/volume_binding/storage_by_class.h"
#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

constexpr int kNodes = 5, kVolumes = 12, kClaims = 6, kCapacities = 4;

// Volumes, claims and capacities come, change and go; pods take volumes and give them back; nodes
// get other labels.
class RandomStorage {
 public:
  explicit RandomStorage(unsigned seed) : random_(seed) {
    Set(R"({apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local},
            provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer})");
    Set(R"({apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: made},
            provisioner: m, volumeBindingMode: WaitForFirstConsumer})");
    Set("{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: m}, "
        "spec: {storageCapacity: true}}");
    for (int i = 0; i < kNodes; ++i) nodes_.push_back(Node(i));
    std::vector<const NodeInfo*> order;
    for (const NodeInfo& node : nodes_) order.push_back(&node);
    table_.SetOrder(order);
    for (int i = 0; i < kClaims; ++i) SetClaim(i);
  }

  void Step() {
    switch (Random(8)) {
      case 0:
      case 1:
      case 2:
        SetVolume(Random(kVolumes));
        break;
      case 3:
        objects_.Remove(Kind::kPersistentVolume, absl::StrCat("v", Random(kVolumes)));
        break;
      case 4:
        SetClaim(Random(kClaims));
        break;
      case 5:
        SetCapacity(Random(kCapacities));
        break;
      case 6:
        objects_.Remove(Kind::kCSIStorageCapacity, absl::StrCat("default/k", Random(kCapacities)));
        break;
      case 7: {
        const int node = Random(kNodes);
        nodes_[node] = Node(node);
        table_.RefreshRow(node);
        break;
      }
    }
  }

  // The pod of a claim takes what it finds on a node, or gives it back.
  void Reserve() {
    const int i = Random(kClaims);
    assumed_.Prune(objects_);
    PodVolumes volumes;
    ASSERT_TRUE(FindPodVolumes(*PodOf(i), objects_, assumed_, known_, volumes).ok());
    if (volumes.delayed.empty()) return;
    const DelayedClaim& claim = volumes.delayed.front();
    const std::string uid = absl::StrCat("p", i);
    if (Random(2) == 0) return assumed_.Revert(uid, *claim.claim, claim.identity);
    VolumeChoice choice;
    ChooseVolumes(volumes, assumed_, nodes_[Random(kNodes)], nullptr, choice);
    for (const auto& [delayed, volume] : choice.bindings) {
      assumed_.TakeVolume(uid, volume->volume, delayed->identity);
    }
  }

  void Check() {
    assumed_.Prune(objects_);
    for (int i = 0; i < kClaims; ++i) {
      KnownVolumes read;  // again
      PodVolumes kept, plain;
      ASSERT_TRUE(FindPodVolumes(*PodOf(i), objects_, assumed_, known_, kept).ok());
      ASSERT_TRUE(FindPodVolumes(*PodOf(i), objects_, assumed_, read, plain).ok());
      ASSERT_EQ(kept.delayed.size(), 1);
      const DelayedClaim& claim = kept.delayed.front();
      std::vector<NodeRow> rows(kNodes);
      for (int row = 0; row < kNodes; ++row) {
        rows[row] = row;
        VolumeChoice of_kept, of_plain;
        const Status verdict =
            ChooseVolumes(kept, assumed_, nodes_[row], nullptr, of_kept).ToStatus();
        EXPECT_EQ(verdict,
                  ChooseVolumes(plain, assumed_, nodes_[row], nullptr, of_plain).ToStatus());
        EXPECT_EQ(Chosen(of_kept), Chosen(of_plain));
        if (claim.volumes != nullptr && claim.promised.empty()) {
          EXPECT_EQ(Chosen(of_kept), Smallest(*claim.claim, nodes_[row]));
          ++(of_kept.bindings.empty() ? rejected : found);
        }
      }
      if (claim.volumes == nullptr || !claim.promised.empty()) continue;
      const std::vector<uint8_t> by_rows =
          found_.Find(claim, known_.volumes, assumed_, table_, rows);
      for (const NodeRow row : rows) {
        EXPECT_EQ(by_rows[row] != 0, !Smallest(*claim.claim, nodes_[row]).empty()) << row;
      }
    }
  }

  int found = 0, rejected = 0;

 private:
  int Random(int below) { return static_cast<int>(random_() % below); }
  const char* Class() { return Random(3) == 0 ? "made" : "local"; }

  void Set(absl::string_view yaml) { objects_.Set(ObjectsFromYaml(yaml)[0]); }

  NodeInfo Node(int i) {
    return NodeFromYaml(absl::StrCat("{apiVersion: v1, kind: Node, metadata: {name: n", i,
                                     ", labels: {host: n", i, ", zone: z", Random(2), "}}}"));
  }

  void SetVolume(int i) {
    const std::string affinity =
        Random(4) == 0
            ? ""
            : absl::StrCat(
                  ", nodeAffinity: {required: {nodeSelectorTerms: [{"
                  "matchExpressions: [{key: ",
                  Random(2) == 0 ? "zone" : "host", ", operator: In, values: [",
                  Random(2) == 0 ? absl::StrCat("n", Random(kNodes)) : absl::StrCat("z", Random(2)),
                  "]}]}]}}");
    Set(absl::StrCat(
        "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v", i, "}, status: {",
        "phase: ", Random(6) == 0 ? "Released" : "Available", "}, spec: {",
        "storageClassName: ", Class(), ", volumeMode: ", Random(6) == 0 ? "Block" : "Filesystem",
        ", accessModes: [", Random(6) == 0 ? "ReadOnlyMany" : "ReadWriteOnce",
        "], capacity: {storage: ", 1 + Random(3), "Gi}", affinity,
        Random(6) == 0
            ? absl::StrCat(", claimRef: {namespace: default, name: c", Random(kClaims), "}")
            : "",
        "}}"));
  }

  // What a claim asks for does not change: it is another one, and its pod another pod.
  void SetClaim(int i) {
    const std::string name = absl::StrCat("c", i);
    if (const auto* gone = objects_.Find<api::PersistentVolumeClaim>("default", name)) {
      assumed_.Revert(absl::StrCat("p", i), *gone, ClaimIdentity("default", name, name));
    }
    Set(absl::StrCat("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c", i,
                     ", namespace: default, uid: c", i, "}, spec: {storageClassName: ", Class(),
                     ", volumeMode: Filesystem, accessModes: [ReadWriteOnce], ",
                     "resources: {requests: {storage: ", 1 + Random(3), "Gi}}}}"));
  }

  void SetCapacity(int i) {
    Set(absl::StrCat("{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: k",
                     i,
                     ", namespace: default}, storageClassName: made, nodeTopology: {matchLabels: {",
                     Random(2) == 0 ? absl::StrCat("host: n", Random(kNodes))
                                    : absl::StrCat("zone: z", Random(2)),
                     "}}, capacity: ", 1 + Random(3), "Gi}"));
  }

  static std::shared_ptr<const PodInfo> PodOf(int i) {
    return PodFromYaml(absl::StrCat(
        "{apiVersion: v1, kind: Pod, metadata: {name: p", i, ", namespace: default, uid: p", i,
        "}, spec: {containers: [{name: c}], volumes: [{name: v, persistentVolumeClaim: "
        "{claimName: c",
        i, "}}]}}"));
  }

  static std::string Chosen(const VolumeChoice& choice) {
    return choice.bindings.empty() ? "" : choice.bindings.front().volume->name();
  }

  // By the rule, of all volumes that there are: the smallest that the claim may take there.
  std::string Smallest(const api::PersistentVolumeClaim& claim, const NodeInfo& node) const {
    const api::PersistentVolume* best = nullptr;
    const auto size_of = [](const api::PersistentVolume& volume) {
      return std::pair(Storage(volume.spec().capacity()).Value(), volume.metadata().name());
    };
    for (const Object* object : objects_.List(Kind::kPersistentVolume)) {
      const auto& volume = object->As<api::PersistentVolume>();
      const bool suits =
          volume.status().phase() == "Available" && !volume.spec().has_claim_ref() &&
          assumed_.ClaimOf(volume) == nullptr && ClassOf(volume) == ClassOf(claim) &&
          volume.spec().volume_mode() == "Filesystem" &&
          volume.spec().access_modes(0) == "ReadWriteOnce" &&
          !(Storage(volume.spec().capacity()) < Storage(claim.spec().resources().requests())) &&
          VolumeAffinity(volume).Matches(node.labels());
      if (suits && (best == nullptr || size_of(volume) < size_of(*best))) best = &volume;
    }
    return best == nullptr ? "" : best->metadata().name();
  }

  std::mt19937 random_;
  FakeObjectStore objects_;
  std::vector<NodeInfo> nodes_;
  NodeTable table_;
  AssumedVolumes assumed_;
  KnownVolumes known_;
  FoundVolumes found_;
};

TEST(VolumesByClassTest, WhatIsKeptIsWhatIsReadAnew) {
  int found = 0, rejected = 0;
  for (unsigned seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomStorage storage(seed);
    for (int step = 0; step < 120 && !HasFailure(); ++step) {
      SCOPED_TRACE(absl::StrCat("step ", step));
      storage.Step();
      if (step % 3 == 0) storage.Reserve();
      storage.Check();
    }
    found += storage.found;
    rejected += storage.rejected;
  }
  EXPECT_GT(found, 1000);
  EXPECT_GT(rejected, 1000);
}

// So many changes that what is known has to be read again.
TEST(VolumesByClassTest, SlotsOfVolumesThatAreGoneAreGivenUp) {
  FakeObjectStore objects;
  VolumesByClass volumes;
  const auto set = [&](int mebibytes) {
    objects.Set(ObjectsFromYaml(absl::StrCat(
        "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, status: {phase: Available}, "
        "spec: {storageClassName: local, capacity: {storage: ",
        mebibytes, "Mi}}}"))[0]);
    volumes.Refresh(objects);
  };
  set(1);
  const uint64_t slots_id = volumes.slots_id();
  for (int i = 2; i <= 3000; ++i) set(i);
  EXPECT_GT(volumes.slots_id(), slots_id);
  EXPECT_LT(volumes.slots_id(), slots_id + 5);
  ASSERT_EQ(volumes.Of("local")->free().items().size(), 1);
  const ParsedVolume& volume = **volumes.Of("local")->free().items().begin();
  EXPECT_EQ(volume.size().ToString(), "3000Mi");
  EXPECT_EQ(volumes.FreeAt(volume.slot), volume.volume.get());
}

}  // namespace
}  // namespace berth::testing
