// SPDX-License-Identifier: Apache-2.0
// PodInfo: parsing of a pod into the form that scheduling reads.
#include "berth/framework/pod_info.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/pod_status.h"
#include "berth/api/time.h"
#include "berth/check.h"
#include "values/pod_requests.h"

namespace berth {
namespace {

Symbol AnyAddress() {
  static const Symbol any_address = Symbol::Intern("0.0.0.0");
  return any_address;
}

Symbol SymbolOr(absl::string_view text, absl::string_view fallback) {
  return Symbol::Intern(text.empty() ? fallback : text);
}

// kube-scheduler v1.35 imagelocality/image_locality.go normalizedImageName.
Symbol NormalizedImageName(absl::string_view name) {
  const size_t colon = name.rfind(':');
  const size_t slash = name.rfind('/');
  const bool has_tag =
      colon != absl::string_view::npos && (slash == absl::string_view::npos || colon > slash);
  return has_tag ? Symbol::Intern(name) : Symbol::Intern(absl::StrCat(name, ":latest"));
}

bool KeepsRunning(const api::Container& init_container) {
  return init_container.restart_policy() == "Always";
}

// An absent selector selects nothing.
absl::StatusOr<LabelSelector> ParseSelector(bool present, const api::LabelSelector& selector) {
  return LabelSelector::FromProto(present ? &selector : nullptr);
}

// kube-scheduler v1.35 framework/types.go newAffinityTerm.
absl::StatusOr<AffinityTerm> ParseAffinityTerm(const api::PodAffinityTerm& term,
                                               Symbol pod_namespace) {
  absl::StatusOr<LabelSelector> selector =
      ParseSelector(term.has_label_selector(), term.label_selector());
  if (!selector.ok()) return selector.status();
  absl::StatusOr<LabelSelector> namespace_selector =
      ParseSelector(term.has_namespace_selector(), term.namespace_selector());
  if (!namespace_selector.ok()) return namespace_selector.status();

  AffinityTerm parsed;
  parsed.selector = *std::move(selector);
  parsed.namespace_selector = *std::move(namespace_selector);
  parsed.topology_key = Symbol::Intern(term.topology_key());
  if (term.namespaces().empty() && !term.has_namespace_selector()) {
    parsed.namespaces.push_back(pod_namespace);
  }
  for (const std::string& name : term.namespaces()) {
    parsed.namespaces.push_back(Symbol::Intern(name));
  }
  std::sort(parsed.namespaces.begin(), parsed.namespaces.end());
  parsed.namespaces.erase(std::unique(parsed.namespaces.begin(), parsed.namespaces.end()),
                          parsed.namespaces.end());
  return parsed;
}

// The terms of one list, or why it does not parse.
template <class Terms>
absl::StatusOr<std::vector<AffinityTerm>> ParseTerms(const Terms& terms, Symbol pod_namespace) {
  std::vector<AffinityTerm> parsed;
  for (const api::PodAffinityTerm& term : terms) {
    absl::StatusOr<AffinityTerm> one = ParseAffinityTerm(term, pod_namespace);
    if (!one.ok()) return one.status();
    parsed.push_back(*std::move(one));
  }
  return parsed;
}

template <class Terms>
absl::StatusOr<std::vector<WeightedAffinityTerm>> ParseWeightedTerms(const Terms& terms,
                                                                     Symbol pod_namespace) {
  std::vector<WeightedAffinityTerm> parsed;
  for (const api::WeightedPodAffinityTerm& term : terms) {
    absl::StatusOr<AffinityTerm> one = ParseAffinityTerm(term.pod_affinity_term(), pod_namespace);
    if (!one.ok()) return one.status();
    parsed.push_back({*std::move(one), term.weight()});
  }
  return parsed;
}

absl::StatusOr<NodeInclusionPolicy> ParsePolicy(const std::string& text,
                                                NodeInclusionPolicy fallback) {
  if (text.empty()) return fallback;
  if (text == "Honor") return NodeInclusionPolicy::kHonor;
  if (text == "Ignore") return NodeInclusionPolicy::kIgnore;
  return absl::InvalidArgumentError(
      absl::StrCat("unsupported value \"", text, "\": want Honor or Ignore"));
}

absl::StatusOr<UnsatisfiableAction> ParseAction(const std::string& text) {
  if (text == "DoNotSchedule") return UnsatisfiableAction::kDoNotSchedule;
  if (text == "ScheduleAnyway") return UnsatisfiableAction::kScheduleAnyway;
  return absl::InvalidArgumentError(
      absl::StrCat("unsupported value \"", text, "\": want DoNotSchedule or ScheduleAnyway"));
}

absl::Status At(absl::string_view path, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", status.message()));
}

// kube-scheduler v1.35 podtopologyspread/common.go filterTopologySpreadConstraints.
absl::StatusOr<TopologySpreadConstraint> ParseConstraint(
    const api::TopologySpreadConstraint& constraint, const LabelSet& pod_labels) {
  TopologySpreadConstraint parsed;
  parsed.max_skew = constraint.max_skew();
  parsed.topology_key = Symbol::Intern(constraint.topology_key());
  if (constraint.has_min_domains()) parsed.min_domains = constraint.min_domains();

  absl::StatusOr<UnsatisfiableAction> action = ParseAction(constraint.when_unsatisfiable());
  if (!action.ok()) return At("whenUnsatisfiable", action.status());
  parsed.when_unsatisfiable = *action;

  absl::StatusOr<LabelSelector> selector =
      ParseSelector(constraint.has_label_selector(), constraint.label_selector());
  if (!selector.ok()) return At("labelSelector", selector.status());
  parsed.selector = *std::move(selector);
  for (const std::string& key : constraint.match_label_keys()) {
    const Symbol* value = pod_labels.Find(Symbol::Intern(key));
    if (value == nullptr) continue;
    parsed.selector.Add(LabelRequirement::Equals(Symbol::Intern(key), *value));
  }

  absl::StatusOr<NodeInclusionPolicy> policy =
      ParsePolicy(constraint.node_affinity_policy(), parsed.node_affinity_policy);
  if (!policy.ok()) return At("nodeAffinityPolicy", policy.status());
  parsed.node_affinity_policy = *policy;
  policy = ParsePolicy(constraint.node_taints_policy(), parsed.node_taints_policy);
  if (!policy.ok()) return At("nodeTaintsPolicy", policy.status());
  parsed.node_taints_policy = *policy;
  return parsed;
}

}  // namespace

bool AffinityTerm::Matches(Symbol pod_namespace, const LabelSet& pod_labels,
                           const LabelSet* namespace_labels) const {
  static const LabelSet no_labels;
  const bool right_namespace =
      std::find(namespaces.begin(), namespaces.end(), pod_namespace) != namespaces.end() ||
      namespace_selector.Matches(namespace_labels != nullptr ? *namespace_labels : no_labels);
  return right_namespace && selector.Matches(pod_labels);
}

// kube-scheduler v1.35 staging framework/types.go HostPortInfo.CheckConflict.
bool HostPort::ConflictsWith(const HostPort& other) const {
  return port == other.port && protocol == other.protocol &&
         (ip == other.ip || ip == AnyAddress() || other.ip == AnyAddress());
}

// Fills one PodInfo, part by part.
struct PodInfo::Shared final : PodInfo {
  Shared() = default;
  explicit Shared(const PodInfo& other) : PodInfo(other) {}
};

class PodInfoParser {
 public:
  explicit PodInfoParser(std::shared_ptr<const PackedPod> object)
      : pod_(std::make_shared<PodInfo::Shared>()) {
    pod_->object_ = std::move(object);
  }

  absl::StatusOr<std::shared_ptr<const PodInfo>> Parse(const PodInfo* before) {
    const PodShape& shape = *pod_->object_->shape();
    pod_->object_->ReadOwn([&](const api::Pod& own) {
      ParseMetadata(own);
      labels_ = LabelSet::FromMap(own.metadata().labels());
      resizes_ = ResizesOf(own.status());
      // They count from the moment the pod has a node.
      if (!resizes_.empty() && pod_->node_name_.empty()) resizes_ += "later";
      if (before != nullptr && before->object_->shape().get() == &shape) Share(own, before->spec_);
      if (pod_->spec_ == nullptr) {
        key_ = absl::HashOf(pod_->namespace_name_, labels_, resizes_, own.status().qos_class());
        Share(own, std::static_pointer_cast<const PodInfo::Spec>(shape.Cached(key_)));
      }
    });
    if (pod_->name().empty()) {
      return absl::InvalidArgumentError("metadata.name: Required value");
    }
    if (pod_->spec_ != nullptr) return std::move(pod_);
    object_ = pod_->object_->Unpack();
    absl::Status status = ParseSpec();
    if (!status.ok()) return status;
    if (!spec_->of_this_pod_only) shape.Cache(key_, spec_);
    pod_->spec_ = std::move(spec_);
    return std::move(pod_);
  }

 private:
  // Takes what is parsed of an alike pod, if it holds for this one.
  void Share(const api::Pod& own, std::shared_ptr<const PodInfo::Spec> spec) {
    if (spec == nullptr || spec->of_this_pod_only ||
        spec->namespace_name != pod_->namespace_name_ || spec->resizes != resizes_ ||
        spec->given_qos_class != own.status().qos_class() || spec->labels != labels_) {
      return;
    }
    pod_->spec_ = std::move(spec);
  }

  absl::Status ParseSpec() {
    spec_ = std::make_shared<PodInfo::Spec>();
    spec_->labels = std::move(labels_);
    spec_->namespace_name = pod_->namespace_name_;
    spec_->given_qos_class = object_->status().qos_class();
    spec_->resizes = std::move(resizes_);
    ParseScheduling();
    ParseContainers();
    ParseNodeAffinity();
    ParsePodAffinity();
    ParseTopologySpread();
    ParseClaims();
    return ParseRequests();
  }

  void ParseMetadata(const api::Pod& own) {
    const api::ObjectMeta& metadata = own.metadata();
    pod_->namespace_name_ = Symbol::Intern(metadata.namespace_());
    pod_->creation_time_ = ToTime(metadata.creation_timestamp());
    if (metadata.has_deletion_timestamp()) {
      pod_->deletion_time_ = ToTime(metadata.deletion_timestamp());
    }
    pod_->has_owners_ = !metadata.owner_references().empty();
    pod_->has_annotations_ = !metadata.annotations().empty();
    const api::PodStatus& status = own.status();
    if (status.has_start_time()) pod_->start_time_ = ToTime(status.start_time());
    pod_->node_name_ = own.spec().node_name();
    pod_->nominated_node_name_ = status.nominated_node_name();
    pod_->terminal_ = HasEnded(status);
    pod_->has_claim_statuses_ =
        status.resource_claim_statuses_size() > 0 || status.has_extended_resource_claim_status();
  }

  void ParseScheduling() {
    const api::PodSpec& spec = object_->spec();
    spec_->scheduler_name = SymbolOr(spec.scheduler_name(), "default-scheduler");
    spec_->priority = spec.priority();
    if (spec.preemption_policy() == "Never") spec_->preemption_policy = PreemptionPolicy::kNever;
    for (const api::PodSchedulingGate& gate : spec.scheduling_gates()) {
      spec_->scheduling_gates.push_back(gate.name());
    }
    spec_->tolerations.reserve(spec.tolerations_size());
    for (const api::Toleration& toleration : spec.tolerations()) {
      spec_->tolerations.push_back(Toleration::FromProto(toleration));
    }
  }

  void ParseContainers() {
    const api::PodSpec& spec = object_->spec();
    spec_->container_count = spec.containers_size() + spec.init_containers_size();
    for (const auto* containers : {&spec.containers(), &spec.init_containers()}) {
      for (const api::Container& container : *containers) {
        spec_->images.push_back(NormalizedImageName(container.image()));
      }
    }
    // kube-scheduler v1.35 scheduler/util/utils.go GetHostPorts.
    for (const api::Container& container : spec.init_containers()) {
      if (KeepsRunning(container)) ParseHostPorts(container);
    }
    for (const api::Container& container : spec.containers()) ParseHostPorts(container);
  }

  void ParseHostPorts(const api::Container& container) {
    for (const api::ContainerPort& port : container.ports()) {
      int32_t number = port.host_port();
      // The API server's default for hostNetwork, for manifests that did not pass through it.
      if (number == 0 && object_->spec().host_network()) number = port.container_port();
      if (number <= 0) continue;
      spec_->host_ports.push_back(
          {SymbolOr(port.host_ip(), "0.0.0.0"), SymbolOr(port.protocol(), "TCP"), number});
    }
  }

  void ParseNodeAffinity() {
    spec_->required_node_affinity = RequiredNodeAffinity(*object_);
    const api::Affinity& affinity = object_->spec().affinity();
    if (!affinity.has_node_affinity()) return;
    absl::StatusOr<PreferredSchedulingTerms> preferred =
        PreferredSchedulingTerms::Create(affinity.node_affinity());
    if (preferred.ok()) {
      spec_->preferred_node_affinity = *std::move(preferred);
    } else {
      spec_->preferred_node_affinity_status = preferred.status();
    }
  }

  // kube-scheduler v1.35 framework/types.go PodInfo.Update.
  void ParsePodAffinity() {
    const api::PodAffinity& near = object_->spec().affinity().pod_affinity();
    const api::PodAntiAffinity& far = object_->spec().affinity().pod_anti_affinity();
    const Symbol ns = pod_->namespace_name_;
    Keep("requiredAffinityTerms",
         ParseTerms(near.required_during_scheduling_ignored_during_execution(), ns),
         spec_->required_affinity);
    Keep("requiredAntiAffinityTerms",
         ParseTerms(far.required_during_scheduling_ignored_during_execution(), ns),
         spec_->required_anti_affinity);
    Keep("preferredAffinityTerms",
         ParseWeightedTerms(near.preferred_during_scheduling_ignored_during_execution(), ns),
         spec_->preferred_affinity);
    Keep("preferredAntiAffinityTerms",
         ParseWeightedTerms(far.preferred_during_scheduling_ignored_during_execution(), ns),
         spec_->preferred_anti_affinity);
    if (affinity_errors_.empty()) return;
    // As upstream's aggregate errors print.
    spec_->pod_affinity_status = absl::InvalidArgumentError(
        affinity_errors_.size() == 1
            ? affinity_errors_[0]
            : absl::StrCat("[", absl::StrJoin(affinity_errors_, ", "), "]"));
  }

  template <class Terms>
  void Keep(absl::string_view name, absl::StatusOr<Terms> parsed, Terms& terms) {
    if (parsed.ok()) {
      terms = *std::move(parsed);
    } else {
      affinity_errors_.push_back(absl::StrCat(name, ": ", parsed.status().message()));
    }
  }

  void ParseTopologySpread() {
    const auto& constraints = object_->spec().topology_spread_constraints();
    for (int i = 0; i < constraints.size(); ++i) {
      absl::StatusOr<TopologySpreadConstraint> parsed =
          ParseConstraint(constraints[i], spec_->labels);
      if (!parsed.ok()) {
        spec_->topology_spread_constraints.clear();
        spec_->topology_spread_status = absl::InvalidArgumentError(
            absl::StrCat("spec.topologySpreadConstraints[", i, "].", parsed.status().message()));
        return;
      }
      spec_->topology_spread_constraints.push_back(*std::move(parsed));
    }
  }

  void ParseClaims() {
    for (const api::Volume& volume : object_->spec().volumes()) {
      const api::VolumeSource& source = volume.volume_source();
      if (source.has_persistent_volume_claim()) {
        AddClaim(source.persistent_volume_claim().claim_name());
      } else if (source.has_ephemeral()) {
        AddClaim(absl::StrCat(pod_->name(), "-", volume.name()));
        spec_->of_this_pod_only = true;
        spec_->has_other_storage = true;
      } else if (NamesDisk(source)) {
        spec_->has_other_storage = true;
      }
    }
  }

  static bool NamesDisk(const api::VolumeSource& source) {
    return source.has_gce_persistent_disk() || source.has_aws_elastic_block_store() ||
           source.has_azure_disk() || source.has_azure_file() || source.has_cinder() ||
           source.has_portworx_volume() || source.has_vsphere_volume() || source.has_iscsi() ||
           source.has_rbd();
  }

  void AddClaim(std::string name) {
    std::vector<std::string>& claims = spec_->claims;
    if (std::find(claims.begin(), claims.end(), name) == claims.end()) {
      claims.push_back(std::move(name));
    }
  }

  absl::Status ParseRequests() {
    absl::StatusOr<PodRequests> requests = ComputePodRequests(*object_);
    if (!requests.ok()) return requests.status();
    spec_->requests = std::move(requests->requests);
    spec_->nonzero_requests = std::move(requests->nonzero_requests);
    spec_->nonzero_scoring_requests = std::move(requests->nonzero_scoring_requests);
    absl::StatusOr<QosClass> qos_class = ComputeQosClass(*object_);
    if (!qos_class.ok()) return qos_class.status();
    spec_->qos_class = *qos_class;
    return absl::OkStatus();
  }

  LabelSet labels_;
  std::string resizes_;
  size_t key_ = 0;  // of what is shared, among pods of one shape
  std::shared_ptr<const api::Pod> object_;
  std::shared_ptr<PodInfo> pod_;
  std::shared_ptr<PodInfo::Spec> spec_;
  std::vector<std::string> affinity_errors_;
};

std::shared_ptr<const PodInfo> PodInfo::AsBound(std::shared_ptr<const PackedPod> object) const {
  const PackedPod::Binding* bound = object->BoundSince(*object_);
  if (bound == nullptr || spec_->of_this_pod_only || !spec_->resizes.empty()) return nullptr;
  std::shared_ptr<PodInfo> pod = std::make_shared<Shared>(*this);
  pod->node_name_ = std::string(bound->node_name.view());
  pod->start_time_ = bound->start_time;
  pod->nominated_node_name_.clear();
  pod->object_ = std::move(object);
  return pod;
}

std::shared_ptr<const PodInfo> PodInfo::AsEvicted(std::shared_ptr<const PackedPod> object) const {
  const PackedPod::Eviction* evicted = object->EvictedSince(*object_);
  if (evicted == nullptr || !spec_->resizes.empty()) return nullptr;
  std::shared_ptr<PodInfo> pod = std::make_shared<Shared>(*this);
  pod->deletion_time_ = evicted->since;
  pod->object_ = std::move(object);
  return pod;
}

absl::StatusOr<std::shared_ptr<const PodInfo>> PodInfo::Create(
    std::shared_ptr<const PackedPod> object, const PodInfo* before) {
  BERTH_CHECK(object != nullptr);
  if (before != nullptr) {
    if (std::shared_ptr<const PodInfo> pod = before->AsBound(object); pod != nullptr) return pod;
    if (std::shared_ptr<const PodInfo> pod = before->AsEvicted(object); pod != nullptr) return pod;
  }
  return PodInfoParser(std::move(object)).Parse(before);
}

absl::StatusOr<std::shared_ptr<const PodInfo>> PodInfo::Create(
    const std::shared_ptr<const api::Pod>& object) {
  BERTH_CHECK(object != nullptr);
  return Create(PackedPod::Pack(*object));
}

}  // namespace berth
