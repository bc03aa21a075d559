// SPDX-License-Identifier: Apache-2.0
// Claims, volumes and what drivers say of nodes, at random, for tests that compare runs with memory
// and without.
#ifndef BERTH_TESTS_ENGINE_RANDOM_STORAGE_H_
#define BERTH_TESTS_ENGINE_RANDOM_STORAGE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/simulation.h"
#include "berth/testing/objects.h"
#include "tests/plugins/random_cluster.h"

namespace berth::testing {

// Storage of the zones z0 to z2 by the label kZoneLabel, in the namespace that is given. Does not
// own what it is given.
class RandomStorage {
 public:
  static constexpr char kZoneLabel[] = "topology.kubernetes.io/zone";

  RandomStorage(Random& random, std::string name_space, std::vector<std::string> nodes)
      : random_(random), name_space_(std::move(name_space)), nodes_(std::move(nodes)) {}

  // The classes, and some of everything else.
  void Begin(InMemoryCluster& cluster) {
    Set(cluster,
        "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: later}, provisioner: "
        "kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}");
    Set(cluster,
        "{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: d}, spec: "
        "{storageCapacity: true}}");
    for (int i = 0; i < 40; ++i) Change(cluster);
  }

  // An object comes, changes or goes.
  void Change(InMemoryCluster& cluster) {
    const std::string number = absl::StrCat(random_.Below(6));
    const bool goes = random_.Percent(15);
    const int kind = random_.Below(12);
    const std::string object = kind <= 3    ? Claim(number)
                               : kind <= 6  ? Volume(number)
                               : kind <= 8  ? CsiNode()
                               : kind == 9  ? Attachment(number)
                               : kind == 10 ? Capacity(number)
                                            : MakerClass();
    const std::vector<Object> objects = ObjectsFromYaml(object);
    if (goes) {
      cluster.Delete(objects[0].kind(), objects[0].key());
    } else {
      cluster.Set(objects[0]);
    }
  }

  // Gives the pod volumes: mostly claims, which may not be there.
  void AddVolumes(PodBuilder& pod) {
    pod.Claim(absl::StrCat("c", random_.Below(6)));
    if (random_.Percent(20)) pod.Claim(absl::StrCat("c", random_.Below(6)));
    if (random_.Percent(20)) {
      api::Volume* const volume = pod.Message().mutable_spec()->add_volumes();
      volume->set_name("disk");
      volume->mutable_volume_source()->mutable_gce_persistent_disk()->set_pd_name(
          absl::StrCat("disk-", random_.Below(2)));
    }
  }

 private:
  void Set(InMemoryCluster& cluster, const std::string& yaml) {
    cluster.Set(ObjectsFromYaml(yaml)[0]);
  }
  std::string Zone() { return absl::StrCat("z", random_.Below(3)); }
  const std::string& Node() { return random_.OneOf(nodes_); }

  std::string Claim(const std::string& number) {
    const bool bound = random_.Percent(70);
    const char* const mode = random_.Percent(20) ? "ReadWriteOncePod" : "ReadWriteOnce";
    const char* const storage_class = random_.Percent(50) ? "later" : "maker";
    std::string text =
        absl::StrCat("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c", number,
                     ", namespace: ", name_space_, ", uid: c", number);
    if (bound) absl::StrAppend(&text, ", annotations: {pv.kubernetes.io/bind-completed: 'yes'}");
    absl::StrAppend(&text, "}, spec: {accessModes: [", mode, "], storageClassName: ", storage_class,
                    ", resources: {requests: {storage: ", random_.Between(1, 4), "Gi}}");
    if (bound) absl::StrAppend(&text, ", volumeName: v", random_.Below(6));
    return text + "}}";
  }

  std::string Volume(const std::string& number) {
    std::string text = absl::StrCat("{apiVersion: v1, kind: PersistentVolume, metadata: {name: v",
                                    number, ", labels: {");
    if (random_.Percent(40)) absl::StrAppend(&text, kZoneLabel, ": ", Zone(), "__", Zone());
    absl::StrAppend(&text, "}}, status: {phase: Available}, spec: {storageClassName: later, ",
                    "accessModes: [ReadWriteOnce, ReadWriteOncePod], capacity: {storage: ",
                    random_.Between(1, 4), "Gi}, ");
    if (random_.Percent(60)) {
      absl::StrAppend(&text, "nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: ",
                      "[{key: ", kZoneLabel, ", operator: In, values: [", Zone(), "]}]}]}}, ");
    }
    if (random_.Percent(30)) return text + "gcePersistentDisk: {pdName: disk-" + number + "}}}";
    return text + "csi: {driver: d, volumeHandle: h" + number + "}}}";
  }

  std::string CsiNode() {
    const char* const migrated = random_.Percent(50) ? "kubernetes.io/gce-pd" : "";
    const std::string& node = Node();
    return absl::StrCat("{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: ", node,
                        ", annotations: {storage.alpha.kubernetes.io/migrated-plugins: '", migrated,
                        "'}}, spec: {drivers: [{name: d, nodeID: host, allocatable: {count: ",
                        random_.Below(4), "}}]}}");
  }

  std::string Attachment(const std::string& number) {
    const std::string& node = Node();
    return absl::StrCat(
        "{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: a", number,
        "}, spec: {attacher: d, nodeName: ", node, ", source: {persistentVolumeName: v",
        random_.Below(6), "}}}");
  }

  std::string Capacity(const std::string& number) {
    const std::string zone = Zone();
    return absl::StrCat(
        "{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: k", number,
        ", namespace: default}, storageClassName: maker, nodeTopology: {matchLabels: {", kZoneLabel,
        ": ", zone, "}}, capacity: ", random_.Between(1, 4), "Gi}");
  }

  std::string MakerClass() {
    return absl::StrCat(
        "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: maker}, provisioner: "
        "d, volumeBindingMode: WaitForFirstConsumer, allowedTopologies: [{matchLabelExpressions: "
        "[{key: ",
        kZoneLabel, ", values: [", Zone(), "]}]}]}");
  }

  Random& random_;
  const std::string name_space_;
  const std::vector<std::string> nodes_;
};

}  // namespace berth::testing

#endif  // BERTH_TESTS_ENGINE_RANDOM_STORAGE_H_
