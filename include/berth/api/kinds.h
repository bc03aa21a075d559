// SPDX-License-Identifier: Apache-2.0
// The kinds of objects that Berth knows, and which message holds each.
#ifndef BERTH_API_KINDS_H_
#define BERTH_API_KINDS_H_

#include <optional>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

// The one list: enumerator and message name, kind, group, version, plural, whether it has a
// namespace. Kinds of one name in several groups differ in the first.
#define BERTH_KINDS(X)                                                                             \
  X(Pod, "Pod", "", "v1", "pods", true)                                                            \
  X(Node, "Node", "", "v1", "nodes", false)                                                        \
  X(Namespace, "Namespace", "", "v1", "namespaces", false)                                         \
  X(Service, "Service", "", "v1", "services", true)                                                \
  X(ReplicationController, "ReplicationController", "", "v1", "replicationcontrollers", true)      \
  X(ReplicaSet, "ReplicaSet", "apps", "v1", "replicasets", true)                                   \
  X(StatefulSet, "StatefulSet", "apps", "v1", "statefulsets", true)                                \
  X(PodDisruptionBudget, "PodDisruptionBudget", "policy", "v1", "poddisruptionbudgets", true)      \
  X(PersistentVolume, "PersistentVolume", "", "v1", "persistentvolumes", false)                    \
  X(PersistentVolumeClaim, "PersistentVolumeClaim", "", "v1", "persistentvolumeclaims", true)      \
  X(StorageClass, "StorageClass", "storage.k8s.io", "v1", "storageclasses", false)                 \
  X(CSINode, "CSINode", "storage.k8s.io", "v1", "csinodes", false)                                 \
  X(CSIDriver, "CSIDriver", "storage.k8s.io", "v1", "csidrivers", false)                           \
  X(CSIStorageCapacity, "CSIStorageCapacity", "storage.k8s.io", "v1", "csistoragecapacities",      \
    true)                                                                                          \
  X(VolumeAttachment, "VolumeAttachment", "storage.k8s.io", "v1", "volumeattachments", false)      \
  X(DeviceClass, "DeviceClass", "resource.k8s.io", "v1", "deviceclasses", false)                   \
  X(ResourceClaim, "ResourceClaim", "resource.k8s.io", "v1", "resourceclaims", true)               \
  X(ResourceClaimTemplate, "ResourceClaimTemplate", "resource.k8s.io", "v1",                       \
    "resourceclaimtemplates", true)                                                                \
  X(ResourceSlice, "ResourceSlice", "resource.k8s.io", "v1", "resourceslices", false)              \
  X(DeviceTaintRule, "DeviceTaintRule", "resource.k8s.io", "v1alpha3", "devicetaintrules", false)  \
  X(PriorityClass, "PriorityClass", "scheduling.k8s.io", "v1", "priorityclasses", false)           \
  X(Lease, "Lease", "coordination.k8s.io", "v1", "leases", true)                                   \
  X(PodGroup, "PodGroup", "scheduling.x-k8s.io", "v1alpha1", "podgroups", true)                    \
  X(ElasticQuota, "ElasticQuota", "scheduling.x-k8s.io", "v1alpha1", "elasticquotas", true)        \
  X(Device, "Device", "scheduling.koordinator.sh", "v1alpha1", "devices", false)                   \
  X(AlphaWorkload, "Workload", "scheduling.k8s.io", "v1alpha1", "workloads", true)                 \
  X(KubernetesPodGroup, "PodGroup", "scheduling.k8s.io", "v1beta1", "podgroups", true)             \
  X(CompositePodGroup, "CompositePodGroup", "scheduling.k8s.io", "v1alpha3", "compositepodgroups", \
    true)                                                                                          \
  X(VolcanoPodGroup, "PodGroup", "scheduling.volcano.sh", "v1beta1", "podgroups", true)            \
  X(KueueTopology, "Topology", "kueue.x-k8s.io", "v1beta1", "topologies", false)                   \
  X(KaiTopology, "Topology", "kai.scheduler", "v1alpha1", "topologies", false)                     \
  X(ClusterNetworkTopology, "ClusterNetworkTopology", "scheduling.koordinator.sh", "v1alpha1",     \
    "clusternetworktopologies", false)                                                             \
  X(ClusterQuota, "ClusterQuota", "scheduling.berth.dev", "v1alpha1", "clusterquotas", false)

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace berth {

// kPod, kNode … in the order of the list; behind them the kinds of RegisterKind().
enum class Kind {
#define BERTH_KIND(name, kind, group, version, plural, namespaced) k##name,
  BERTH_KINDS(BERTH_KIND)
#undef BERTH_KIND
};

#define BERTH_KIND(name, kind, group, version, plural, namespaced) +1
inline constexpr int kKindCount = 0 BERTH_KINDS(BERTH_KIND);
#undef BERTH_KIND

namespace api {
#define BERTH_KIND(name, kind, group, version, plural, namespaced) class name;
BERTH_KINDS(BERTH_KIND)
#undef BERTH_KIND
}  // namespace api

// kKindOf<api::Pod> is Kind::kPod.
template <class Message>
inline constexpr Kind kKindOf = Message::no_such_kind;
#define BERTH_KIND(name, kind, group, version, plural, namespaced) \
  template <>                                                      \
  inline constexpr Kind kKindOf<api::name> = Kind::k##name;
BERTH_KINDS(BERTH_KIND)
#undef BERTH_KIND

// A kind that is not in the list: of a CustomResourceDefinition, or one that only some plugin
// reads.
struct KindDescription {
  std::string group;    // "example.com"; of the core group empty
  std::string version;  // "v1"
  std::string name;     // "LicencePool"
  std::string plural;   // "licencepools"
  bool is_namespaced = true;
};

// How many kinds there can be, those of the list included.
inline constexpr int kMostKinds = kKindCount + 32;

// Makes a kind known to this process, for good: manifests may have objects of it, plugins may watch
// it and register events for it. What its objects are is in Object::json(). The same description
// gives the same kind again. Before manifests are read and schedulers are made, in main() say.
// Threads: any. AlreadyExists if another version or scope of it is known, or it is in the list;
// InvalidArgument without a version, name or plural; ResourceExhausted beyond kMostKinds.
absl::StatusOr<Kind> RegisterKind(const KindDescription& description);

inline bool IsRegisteredKind(Kind kind) { return static_cast<int>(kind) >= kKindCount; }

// All the kinds in the order of the enum, those that were registered behind.
absl::Span<const Kind> AllKinds();

absl::string_view KindName(Kind kind);    // "PodGroup"
absl::string_view ApiVersion(Kind kind);  // "v1", "scheduling.x-k8s.io/v1alpha1"
absl::string_view ApiGroup(Kind kind);    // "", "scheduling.x-k8s.io"
absl::string_view Plural(Kind kind);      // "podgroups"
bool IsNamespaced(Kind kind);
// Plural, version and group, as plugins name custom resources in their events:
// "podgroups.v1alpha1.scheduling.x-k8s.io"; "pods.v1" for the core group, which has no name.
absl::string_view GroupResource(Kind kind);

// The kind that `api_version` and `kind` name in a manifest; nullopt if Berth does not know it.
// PodGroup and ElasticQuota are also known under scheduling.sigs.k8s.io (Koordinator's group), the
// kinds of resource.k8s.io as v1beta1, v1beta2 and v1 too, Kubernetes' PodGroup as v1alpha2 and
// v1alpha3 too, Kueue's Topology as v1alpha1 and v1beta2 too, and Volcano's PodGroup as
// kube-batch's scheduling.incubator.k8s.io/v1alpha1 and /v1alpha2.
std::optional<Kind> FindKind(absl::string_view api_version, absl::string_view kind);

std::ostream& operator<<(std::ostream& out, Kind kind);

}  // namespace berth

#endif  // BERTH_API_KINDS_H_
