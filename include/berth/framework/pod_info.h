// SPDX-License-Identifier: Apache-2.0
// A pod, parsed once: everything that scheduling reads in a form that costs nothing to read.
#ifndef BERTH_FRAMEWORK_POD_INFO_H_
#define BERTH_FRAMEWORK_POD_INFO_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/api/kinds.h"
#include "berth/api/labels.h"
#include "berth/api/node_selector.h"
#include "berth/api/packed_pod.h"
#include "berth/api/resources.h"
#include "berth/api/symbol.h"
#include "berth/api/taints.h"

namespace berth {

// A (anti-)affinity term with its selectors compiled.
struct AffinityTerm {
  std::vector<Symbol> namespaces;  // by name; the pod's own if the term names none and selects none
  LabelSelector namespace_selector;  // selects nothing if the term has none
  LabelSelector selector;
  Symbol topology_key;

  // Whether the term applies to the pod with these labels. `namespace_labels` are those of its
  // namespace; null counts as none.
  bool Matches(Symbol pod_namespace, const LabelSet& pod_labels,
               const LabelSet* namespace_labels) const;

  friend bool operator==(const AffinityTerm&, const AffinityTerm&) = default;
  template <class H>
  friend H AbslHashValue(H h, const AffinityTerm& t) {
    return H::combine(std::move(h), t.namespaces, t.namespace_selector, t.selector, t.topology_key);
  }
};

struct WeightedAffinityTerm {
  AffinityTerm term;
  int64_t weight;
};

enum class UnsatisfiableAction : uint8_t { kDoNotSchedule, kScheduleAnyway };
enum class NodeInclusionPolicy : uint8_t { kHonor, kIgnore };

// matchLabelKeys are merged into `selector`, whether or not the stored pod has them merged.
struct TopologySpreadConstraint {
  int64_t max_skew = 1;
  Symbol topology_key;
  UnsatisfiableAction when_unsatisfiable = UnsatisfiableAction::kDoNotSchedule;
  LabelSelector selector;
  int64_t min_domains = 1;
  NodeInclusionPolicy node_affinity_policy = NodeInclusionPolicy::kHonor;
  NodeInclusionPolicy node_taints_policy = NodeInclusionPolicy::kIgnore;
};

struct HostPort {
  Symbol ip;        // "0.0.0.0" if the pod names none
  Symbol protocol;  // "TCP" if the pod names none
  int32_t port;

  // Same protocol and port, and the same address or one of them 0.0.0.0.
  bool ConflictsWith(const HostPort& other) const;
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

enum class QosClass : uint8_t { kGuaranteed, kBurstable, kBestEffort };
enum class PreemptionPolicy : uint8_t { kPreemptLowerPriority, kNever };

// Immutable; shared by queue, cache and cycles. Threads: any.
class PodInfo {
 public:
  // Returns InvalidArgument, naming the field, if the pod has no name or a quantity does not parse.
  // What is parsed of a spec is shared among pods of one shape with the same labels and namespace,
  // of which `before`, if not null, may be one.
  static absl::StatusOr<std::shared_ptr<const PodInfo>> Create(
      std::shared_ptr<const PackedPod> object, const PodInfo* before = nullptr);
  static absl::StatusOr<std::shared_ptr<const PodInfo>> Create(
      const std::shared_ptr<const api::Pod>& object);

  // The whole message, for what is not parsed here; include "berth/api/core_v1.pb.h" to read it. It
  // is unpacked at the first call, which costs microseconds, and then takes some 3 KiB.
  const api::Pod& object() const { return object_->message(); }
  // Its spec, of which nodeName, hostname and terminationGracePeriodSeconds are left out. Alike
  // pods share it.
  const api::PodSpec& spec() const { return object_->shape()->spec(); }
  const std::shared_ptr<const PackedPod>& packed() const { return object_; }

  // Shared with the other states of the pod. The names below are valid as long as it is.
  const IdentityPtr& identity() const { return object_->identity(); }
  absl::string_view name() const { return identity()->name(); }
  Symbol namespace_name() const { return namespace_name_; }
  const std::string& uid() const { return identity()->uid(); }  // "Pod/namespace/name" if none
  const std::string& key() const { return identity()->key(); }  // "namespace/name"
  bool has_owners() const { return has_owners_; }  // metadata.ownerReferences is not empty
  const LabelSet& labels() const { return spec_->labels; }
  // The value of an annotation; absent if the pod has none of that key. The message is not unpacked
  // for it: it costs tens of nanoseconds, nothing for pods without annotations, and takes no
  // memory. Valid as long as this pod.
  std::optional<absl::string_view> annotation(absl::string_view key) const {
    return has_annotations_ ? object_->FindAnnotation(key) : std::nullopt;
  }
  absl::Time creation_time() const { return creation_time_; }
  std::optional<absl::Time> deletion_time() const { return deletion_time_; }
  std::optional<absl::Time> start_time() const { return start_time_; }

  Symbol scheduler_name() const { return spec_->scheduler_name; }  // "default-scheduler" if empty
  const std::string& node_name() const { return node_name_; }
  const std::string& nominated_node_name() const { return nominated_node_name_; }
  int32_t priority() const { return spec_->priority; }
  PreemptionPolicy preemption_policy() const { return spec_->preemption_policy; }
  QosClass qos_class() const { return spec_->qos_class; }
  // Whether what is parsed of spec and labels is the very same.
  bool SharesSpec(const PodInfo& other) const { return spec_ == other.spec_; }
  // That, for holding and comparing.
  std::shared_ptr<const void> shared_spec() const { return spec_; }
  // Phase Succeeded or Failed: the pod no longer uses anything.
  bool terminal() const { return terminal_; }
  // Whether the status names claims that were made for the pod.
  bool has_claim_statuses() const { return has_claim_statuses_; }

  // What NodeResourcesFit's filter asks of a node, and what the pod takes from the node it runs
  // on: max(containers + sidecars, each init container with the sidecars before it) + overhead,
  // pod-level resources instead where given. If the pod has a node, a resizable container counts
  // max(spec, allocated, actual), without spec if the resize is infeasible.
  const ResourceVector& requests() const { return spec_->requests; }
  // As requests(), but a container without a cpu or memory request counts 100 milli-CPU or 200 MiB:
  // what NodeInfo::nonzero_requested() sums.
  const ResourceVector& nonzero_requests() const { return spec_->nonzero_requests; }
  // What the scorers of NodeResourcesFit count for the pod itself: as nonzero_requests(), but
  // blind to pod-level resources. (NodeResourcesBalancedAllocation counts requests().)
  const ResourceVector& nonzero_scoring_requests() const { return spec_->nonzero_scoring_requests; }

  // The ports of sidecars, then of containers. With hostNetwork, a port without a host port is one
  // as well.
  absl::Span<const HostPort> host_ports() const { return spec_->host_ports; }
  absl::Span<const Toleration> tolerations() const { return spec_->tolerations; }
  absl::Span<const std::string> scheduling_gates() const { return spec_->scheduling_gates; }
  // The images of all containers, then of all init containers; ":latest" added where there is no
  // tag or digest.
  absl::Span<const Symbol> images() const { return spec_->images; }
  int container_count() const { return spec_->container_count; }  // containers + init containers

  // The API server lets some selectors pass that do not parse. Such a pod still counts on its node;
  // the list concerned is empty, its status says why, and the plugin that reads it must refuse the
  // pod.
  const RequiredNodeAffinity& required_node_affinity() const {
    return spec_->required_node_affinity;
  }
  const PreferredSchedulingTerms& preferred_node_affinity() const {
    return spec_->preferred_node_affinity;
  }
  const absl::Status& preferred_node_affinity_status() const {
    return spec_->preferred_node_affinity_status;
  }
  absl::Span<const AffinityTerm> required_affinity_terms() const {
    return spec_->required_affinity;
  }
  absl::Span<const AffinityTerm> required_anti_affinity_terms() const {
    return spec_->required_anti_affinity;
  }
  absl::Span<const WeightedAffinityTerm> preferred_affinity_terms() const {
    return spec_->preferred_affinity;
  }
  absl::Span<const WeightedAffinityTerm> preferred_anti_affinity_terms() const {
    return spec_->preferred_anti_affinity;
  }
  // The first error in the four lists above, with upstream's text: "requiredAffinityTerms: ..."
  const absl::Status& pod_affinity_status() const { return spec_->pod_affinity_status; }
  absl::Span<const TopologySpreadConstraint> topology_spread_constraints() const {
    return spec_->topology_spread_constraints;
  }
  const absl::Status& topology_spread_status() const { return spec_->topology_spread_status; }
  // Names of the PersistentVolumeClaims its volumes use, generic ephemeral volumes included.
  absl::Span<const std::string> claims() const { return spec_->claims; }
  // Whether some volume is a generic ephemeral one, or a disk that the pod names itself, such as
  // gcePersistentDisk or iscsi: then claims() does not say all about its storage, and spec() does.
  bool has_other_storage() const { return spec_->has_other_storage; }

 private:
  friend class PodInfoParser;
  // What is parsed of spec and labels. Pods with equal spec and labels share it.
  struct Spec {
    Symbol namespace_name;  // terms that name no namespace mean it
    std::string given_qos_class;
    std::string resizes;            // what the status says of requests
    bool of_this_pod_only = false;  // looks at the pod's name besides
    LabelSet labels;
    Symbol scheduler_name;
    int32_t priority = 0;
    int32_t container_count = 0;
    PreemptionPolicy preemption_policy = PreemptionPolicy::kPreemptLowerPriority;
    QosClass qos_class = QosClass::kBestEffort;
    ResourceVector requests, nonzero_requests, nonzero_scoring_requests;
    std::vector<HostPort> host_ports;
    std::vector<Toleration> tolerations;
    std::vector<std::string> scheduling_gates;
    std::vector<Symbol> images;
    RequiredNodeAffinity required_node_affinity;
    PreferredSchedulingTerms preferred_node_affinity;
    std::vector<AffinityTerm> required_affinity, required_anti_affinity;
    std::vector<WeightedAffinityTerm> preferred_affinity, preferred_anti_affinity;
    std::vector<TopologySpreadConstraint> topology_spread_constraints;
    absl::Status preferred_node_affinity_status, pod_affinity_status, topology_spread_status;
    std::vector<std::string> claims;
    bool has_other_storage = false;
  };

  PodInfo() = default;
  PodInfo(const PodInfo&) = default;
  struct Shared;  // how one is made: in one piece with its reference count
  // This pod as `object` has it, if that is the same but for having been bound; otherwise null.
  std::shared_ptr<const PodInfo> AsBound(std::shared_ptr<const PackedPod> object) const;
  // The same for having been evicted.
  std::shared_ptr<const PodInfo> AsEvicted(std::shared_ptr<const PackedPod> object) const;

  std::shared_ptr<const PackedPod> object_;
  std::shared_ptr<const Spec> spec_;
  Symbol namespace_name_;
  bool terminal_ = false;
  bool has_owners_ = false;
  bool has_annotations_ = false;
  bool has_claim_statuses_ = false;
  std::string node_name_, nominated_node_name_;
  absl::Time creation_time_;
  std::optional<absl::Time> deletion_time_, start_time_;
};

}  // namespace berth

#endif  // BERTH_FRAMEWORK_POD_INFO_H_
