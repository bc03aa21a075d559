// SPDX-License-Identifier: Apache-2.0
// The tables of field_values.h, from kubernetes v1.35 pkg/apis/*/validation.
#include "api/field_values.h"

#include <limits>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "api/field_error.h"
#include "api/near_miss.h"
#include "berth/api/quantity.h"

namespace berth {
namespace {

constexpr absl::string_view kEffects = "NoSchedule PreferNoSchedule NoExecute";
constexpr absl::string_view kPreemptionPolicies = "PreemptLowerPriority Never";
constexpr absl::string_view kAccessModes =
    "ReadWriteOnce ReadOnlyMany ReadWriteMany ReadWriteOncePod";
constexpr absl::string_view kVolumeModes = "Filesystem Block";
constexpr absl::string_view kAllocationModes = "ExactCount All";
constexpr absl::string_view kHonorIgnore = "Honor Ignore";

constexpr bool kAccepted = false;  // whatever stands there: an API server does not check it

constexpr FieldValues kEnumerations[] = {
    {"Toleration", "operator", "Equal Exists", "Gt Lt"},  // TaintTolerationComparisonOperators
    {"Toleration", "effect", kEffects},
    {"Taint", "effect", kEffects},
    {"NodeSelectorRequirement", "operator", "In NotIn Exists DoesNotExist Gt Lt"},
    {"TopologySpreadConstraint", "whenUnsatisfiable", "DoNotSchedule ScheduleAnyway"},
    {"TopologySpreadConstraint", "nodeAffinityPolicy", kHonorIgnore},
    {"TopologySpreadConstraint", "nodeTaintsPolicy", kHonorIgnore},
    {"PodSpec", "restartPolicy", "Always OnFailure Never"},
    {"PodSpec", "preemptionPolicy", kPreemptionPolicies},
    {"PodOS", "name", "linux windows"},
    {"PodStatus", "phase", "Pending Running Succeeded Failed Unknown", "", kAccepted},
    {"Container", "restartPolicy", "Always OnFailure Never"},
    {"Container", "imagePullPolicy", "Always IfNotPresent Never"},
    {"ContainerPort", "protocol", "TCP UDP SCTP"},
    {"ContainerResizePolicy", "resourceName", "cpu memory"},
    {"ContainerResizePolicy", "restartPolicy", "NotRequired RestartContainer"},
    {"HostPathVolumeSource", "type",
     "DirectoryOrCreate Directory FileOrCreate File Socket CharDevice BlockDevice"},
    {"AzureDiskVolumeSource", "cachingMode", "None ReadOnly ReadWrite"},
    {"AzureDiskVolumeSource", "kind", "Shared Dedicated Managed"},
    {"PersistentVolumeClaimSpec", "accessModes", kAccessModes},
    {"PersistentVolumeClaimSpec", "volumeMode", kVolumeModes},
    {"PersistentVolumeClaimStatus", "phase", "Pending Bound Lost", "", kAccepted},
    {"PersistentVolumeSpec", "accessModes", kAccessModes},
    {"PersistentVolumeSpec", "volumeMode", kVolumeModes},
    {"PersistentVolumeSpec", "persistentVolumeReclaimPolicy", "Retain Recycle Delete"},
    {"PersistentVolumeStatus", "phase", "Pending Available Bound Released Failed", "", kAccepted},
    {"ServiceSpec", "type", "ClusterIP NodePort LoadBalancer ExternalName"},
    {"NamespaceStatus", "phase", "Active Terminating", "", kAccepted},
    {"NodeCondition", "status", "True False Unknown", "", kAccepted},
    {"PodCondition", "status", "True False Unknown", "", kAccepted},
    {"StatefulSetSpec", "podManagementPolicy", "OrderedReady Parallel"},
    {"PodDisruptionBudgetSpec", "unhealthyPodEvictionPolicy", "IfHealthyBudget AlwaysAllow"},
    {"PriorityClass", "preemptionPolicy", kPreemptionPolicies},
    {"KubernetesPodGroupSpec", "preemptionPolicy", kPreemptionPolicies},
    {"CompositePodGroupSpec", "preemptionPolicy", kPreemptionPolicies},
    {"CSIDriverSpec", "volumeLifecycleModes", "Persistent Ephemeral"},
    {"CSIDriverSpec", "fsGroupPolicy", "ReadWriteOnceWithFSType File None"},
    {"StorageClass", "reclaimPolicy", "Delete Retain"},
    {"StorageClass", "volumeBindingMode", "Immediate WaitForFirstConsumer"},
    {"DeviceAllocationConfiguration", "source", "FromClass FromClaim"},
    {"ExactDeviceRequest", "allocationMode", kAllocationModes},
    {"DeviceSubRequest", "allocationMode", kAllocationModes},
    {"DeviceTaint", "effect", "None NoSchedule NoExecute"},
    {"DeviceToleration", "operator", "Equal Exists"},
    {"DeviceToleration", "effect", "NoSchedule NoExecute"},
};

constexpr ResourceField kResources[] = {
    {"ResourceRequirements", "limits", ResourceOwner::kContainer},
    {"ResourceRequirements", "requests", ResourceOwner::kContainer},
    {"PodSpec", "overhead", ResourceOwner::kContainer},
    {"RuntimeClassOverhead", "podFixed", ResourceOwner::kContainer},
    {"NodeStatus", "capacity", ResourceOwner::kNode},
    {"NodeStatus", "allocatable", ResourceOwner::kNode},
    {"VolumeResourceRequirements", "limits", ResourceOwner::kVolume},
    {"VolumeResourceRequirements", "requests", ResourceOwner::kVolume},
    {"PersistentVolumeSpec", "capacity", ResourceOwner::kVolume},
    {"PersistentVolumeClaimStatus", "capacity", ResourceOwner::kVolume},
    {"PodGroupSpec", "minResources", ResourceOwner::kGroup},
    {"VolcanoPodGroupSpec", "minResources", ResourceOwner::kGroup},
    {"ElasticQuotaSpec", "min", ResourceOwner::kQuota},
    {"ElasticQuotaSpec", "max", ResourceOwner::kQuota},
    {"ClusterQuotaSpec", "min", ResourceOwner::kQuota},
    {"ClusterQuotaSpec", "max", ResourceOwner::kQuota},
    {"ClusterQuotaSpec", "borrowingLimit", ResourceOwner::kQuota},
    {"ClusterQuotaSpec", "lendingLimit", ResourceOwner::kQuota},
    {"ClusterQuotaSpec", "weights", ResourceOwner::kQuota},
};

constexpr RequiredField kRequired[] = {
    {"Taint", "key"},
    {"Taint", "effect"},
    {"DeviceTaint", "key"},
    {"DeviceTaint", "effect"},
    {"NodeSelectorRequirement", "key"},
    {"NodeSelectorRequirement", "operator"},
    {"PreferredSchedulingTerm", "weight"},
    {"PodAffinityTerm", "topologyKey"},
    {"WeightedPodAffinityTerm", "weight"},
    {"TopologySpreadConstraint", "maxSkew"},
    {"TopologySpreadConstraint", "topologyKey"},
    {"TopologySpreadConstraint", "whenUnsatisfiable"},
    {"PodSchedulingGate", "name"},
    {"PersistentVolumeClaimVolumeSource", "claimName"},
};

template <typename Row, size_t size>
const Row* Find(const Row (&rows)[size], absl::string_view message, absl::string_view field) {
  for (const Row& row : rows) {
    if (row.message == message && row.field == field) return &row;
  }
  return nullptr;
}

// `values` have spaces between them; `text` is not empty.
bool IsAmong(absl::string_view text, absl::string_view values) {
  for (size_t at = values.find(text); at != values.npos; at = values.find(text, at + 1)) {
    const size_t end = at + text.size();
    if ((at == 0 || values[at - 1] == ' ') && (end == values.size() || values[end] == ' ')) {
      return text.find(' ') == text.npos;
    }
  }
  return false;
}

bool HasDomain(absl::string_view name) { return absl::StrContains(name, '/'); }

bool IsKubernetesOwn(absl::string_view name, ResourceOwner owner) {
  if (owner == ResourceOwner::kVolume) return name == "storage";
  if (name == "cpu" || name == "memory" || name == "ephemeral-storage") return true;
  if (absl::StartsWith(name, "hugepages-")) return true;
  if (owner == ResourceOwner::kContainer) return false;
  if (name == "pods") return true;
  if (owner == ResourceOwner::kQuota) return name == "gpu";
  return owner == ResourceOwner::kNode &&
         (name == "storage" || absl::StartsWith(name, "attachable-volumes-"));
}

std::vector<std::string> NamesOf(ResourceOwner owner) {
  if (owner == ResourceOwner::kVolume) return {"storage"};
  std::vector<std::string> names = {"cpu", "memory", "ephemeral-storage"};
  if (owner != ResourceOwner::kContainer) names.emplace_back("pods");
  if (owner == ResourceOwner::kQuota) names.emplace_back("gpu");
  return names;
}

// The resource of a quota's line: of `gpu{model=H100}` gpu.
absl::string_view ResourceOfLine(absl::string_view line) { return line.substr(0, line.find('{')); }

}  // namespace

absl::Span<const FieldValues> EnumeratedFields() { return kEnumerations; }
absl::Span<const ResourceField> ResourceFields() { return kResources; }
absl::Span<const RequiredField> RequiredFields() { return kRequired; }

const FieldValues* FindFieldValues(absl::string_view message, absl::string_view field) {
  return Find(kEnumerations, message, field);
}

const ResourceField* FindResourceField(absl::string_view message, absl::string_view field) {
  return Find(kResources, message, field);
}

bool IsRequiredField(absl::string_view message, absl::string_view field) {
  return Find(kRequired, message, field) != nullptr;
}

ValueMistake CheckValue(absl::string_view text, const FieldValues& field) {
  if (text.empty() || IsAmong(text, field.values)) return {};
  const std::vector<std::string> values = absl::StrSplit(field.values, ' ');
  if (IsAmong(text, field.not_read)) {
    return {.is_refused = false,
            .message = absl::StrCat(Quoted(text), " is not read; it counts as none of ",
                                    absl::StrJoin(values, ", "))};
  }
  return {.is_refused = field.is_refused,
          .message = absl::StrCat(Quoted(text), " is none of ", absl::StrJoin(values, ", "),
                                  DidYouMean(text, values))};
}

ValueMistake CheckResourceName(absl::string_view name, ResourceOwner owner) {
  if (owner == ResourceOwner::kQuota) name = ResourceOfLine(name);
  if (IsKubernetesOwn(name, owner)) return {};
  if (HasDomain(name) && owner != ResourceOwner::kVolume) return {};
  const std::string advice =
      name == "gpu" ? "; did you mean \"nvidia.com/gpu\"?" : DidYouMean(name, NamesOf(owner));
  // Others may have lines that no pod asks for, such as Kueue's of transformed resources.
  const bool is_of_pods = owner == ResourceOwner::kGroup || owner == ResourceOwner::kQuota;
  if (is_of_pods && advice.empty()) return {};
  if (owner == ResourceOwner::kVolume) {
    return {.is_refused = false,
            .message = absl::StrCat("volumes have no such resource; only storage counts", advice)};
  }
  const std::string what = absl::StrCat(
      "no such resource", advice, advice.empty() ? "; " : " ", "A name without a domain is one of ",
      absl::StrJoin(NamesOf(owner), ", "),
      " and hugepages-<size>; write any other with its domain, as in example.com/", name);
  return {.is_refused = owner == ResourceOwner::kContainer, .message = what};
}

std::string CheckResourceAmount(absl::string_view name, absl::string_view amount,
                                ResourceOwner owner) {
  const bool is_extended = HasDomain(name) && !absl::StrContains(name, "kubernetes.io/");
  const bool is_counted_in_wholes =
      owner == ResourceOwner::kContainer || owner == ResourceOwner::kNode;
  if (!is_counted_in_wholes || (!is_extended && name != "pods")) return "";
  const absl::StatusOr<Quantity> quantity = Quantity::Parse(amount);
  if (!quantity.ok()) return "";
  // As upstream: of what is finer than a thousandth, what MilliValue() makes of it counts.
  const int64_t milli = quantity->MilliValue();
  const bool is_too_large_for_it = milli == std::numeric_limits<int64_t>::max();
  if (milli % 1000 == 0 || is_too_large_for_it) return "";
  return absl::StrCat(
      amount, " is not a whole number, and an API server refuses it for ", name,
      owner == ResourceOwner::kContainer && absl::StrContains(name, "gpu")
          ? "; a pod asks for a part of a GPU by the annotation gpu-fraction (\"0.5\") or "
            "alibabacloud.com/gpu-milli (\"500\"), without this resource, with GpuDevices enabled"
          : "");
}

}  // namespace berth
