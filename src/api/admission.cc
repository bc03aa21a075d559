// SPDX-License-Identifier: Apache-2.0
// Implementation of admission.h.
#include "berth/api/admission.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/node_v1.pb.h"
#include "berth/api/scheduling_v1.pb.h"
#include "berth/api/storage_v1.pb.h"

namespace berth {
namespace {

bool IsHugePages(const std::string& resource) { return absl::StartsWith(resource, "hugepages-"); }

// kubernetes v1.35 pkg/apis/core/v1/defaults.go SetDefaults_Pod.
void RequestLimits(api::Container& container) {
  if (container.resources().limits().empty()) return;
  auto& requests = *container.mutable_resources()->mutable_requests();
  for (const auto& [resource, limit] : container.resources().limits()) {
    if (!requests.contains(resource)) requests[resource] = limit;
  }
}

bool AnyContainerRequests(const api::PodSpec& spec, const std::string& resource) {
  const auto requests = [&](const api::Container& container) {
    return container.resources().requests().contains(resource);
  };
  return std::any_of(spec.containers().begin(), spec.containers().end(), requests) ||
         std::any_of(spec.init_containers().begin(), spec.init_containers().end(), requests);
}

// kubernetes v1.35 pkg/apis/core/v1/defaults.go defaultPodRequests. What containers request counts
// for the pod without being repeated there.
void RequestPodLimits(api::PodSpec& spec) {
  if (spec.resources().limits().empty()) return;
  auto& requests = *spec.mutable_resources()->mutable_requests();
  for (const auto& [resource, limit] : spec.resources().limits()) {
    const bool huge_pages = IsHugePages(resource);
    if (resource != "cpu" && resource != "memory" && !huge_pages) continue;
    if (huge_pages || !AnyContainerRequests(spec, resource)) requests.insert({resource, limit});
  }
}

// kubernetes v1.35 pkg/registry/core/pod/strategy.go applyMatchLabelKeysAndMismatchLabelKeys.
void MergeLabelKeys(const google::protobuf::RepeatedPtrField<std::string>& keys,
                    absl::string_view op, const api::Pod& pod, api::LabelSelector& selector) {
  for (const std::string& key : keys) {
    const auto label = pod.metadata().labels().find(key);
    if (label == pod.metadata().labels().end()) continue;
    const auto same = [&](const api::LabelSelectorRequirement& present) {
      return present.key() == key && present.operator_() == op && present.values_size() == 1 &&
             present.values(0) == label->second;
    };
    const auto& present = selector.match_expressions();
    if (std::any_of(present.begin(), present.end(), same)) continue;  // merged already
    api::LabelSelectorRequirement& requirement = *selector.add_match_expressions();
    requirement.set_key(key);
    requirement.set_operator_(std::string(op));
    requirement.add_values(label->second);
  }
}

void MergeLabelKeys(const api::Pod& pod, api::PodAffinityTerm& term) {
  if (!term.has_label_selector()) return;
  MergeLabelKeys(term.match_label_keys(), "In", pod, *term.mutable_label_selector());
  MergeLabelKeys(term.mismatch_label_keys(), "NotIn", pod, *term.mutable_label_selector());
}

template <class Affinity>  // PodAffinity or PodAntiAffinity
void MergeLabelKeysOf(const api::Pod& pod, Affinity& affinity) {
  for (api::PodAffinityTerm& term :
       *affinity.mutable_required_during_scheduling_ignored_during_execution()) {
    MergeLabelKeys(pod, term);
  }
  for (api::WeightedPodAffinityTerm& term :
       *affinity.mutable_preferred_during_scheduling_ignored_during_execution()) {
    MergeLabelKeys(pod, *term.mutable_pod_affinity_term());
  }
}

bool Same(const api::Toleration& a, const api::Toleration& b) {
  return a.key() == b.key() && a.operator_() == b.operator_() && a.value() == b.value() &&
         a.effect() == b.effect();
}

bool IsTrue(const google::protobuf::Map<std::string, std::string>& annotations,
            const std::string& key) {
  const auto it = annotations.find(key);
  return it != annotations.end() && it->second == "true";
}

}  // namespace

// The classes that every cluster has.
const std::map<std::string, Admission::Priority>& Admission::SystemClasses() {
  static const auto* const classes = new std::map<std::string, Priority>{
      {"system-cluster-critical", {2000000000, ""}}, {"system-node-critical", {2000001000, ""}}};
  return *classes;
}

Admission::Admission() : priorities_(SystemClasses()) {}
Admission::~Admission() = default;

void Admission::Learn(const api::PriorityClass& priority_class) {
  const std::string& name = priority_class.metadata().name();
  ForgetPriorityClass(name);
  priorities_[name] = {priority_class.value(), priority_class.preemption_policy()};
  if (priority_class.global_default()) {
    default_priority_classes_.emplace(priority_class.value(), name);
  }
}

void Admission::ForgetPriorityClass(const std::string& name) {
  const auto known = priorities_.find(name);
  if (known == priorities_.end()) return;
  default_priority_classes_.erase({known->second.value, name});
  const auto of_system = SystemClasses().find(name);
  if (of_system == SystemClasses().end()) {
    priorities_.erase(known);
  } else {
    known->second = of_system->second;
  }
}

void Admission::Learn(const api::RuntimeClass& runtime_class) {
  runtime_classes_[runtime_class.metadata().name()] =
      std::make_unique<api::RuntimeClass>(runtime_class);
}

void Admission::Learn(const api::StorageClass& storage_class) {
  const auto& annotations = storage_class.metadata().annotations();
  if (IsTrue(annotations, "storageclass.kubernetes.io/is-default-class") ||
      IsTrue(annotations, "storageclass.beta.kubernetes.io/is-default-class")) {
    default_storage_class_ = storage_class.metadata().name();
  }
}

std::vector<std::string> Admission::Admit(api::Pod& pod) const {
  std::vector<std::string> unknown;
  api::PodSpec& spec = *pod.mutable_spec();
  for (api::Container& container : *spec.mutable_containers()) RequestLimits(container);
  for (api::Container& container : *spec.mutable_init_containers()) RequestLimits(container);
  RequestPodLimits(spec);
  if (spec.affinity().has_pod_affinity()) {
    MergeLabelKeysOf(pod, *spec.mutable_affinity()->mutable_pod_affinity());
  }
  if (spec.affinity().has_pod_anti_affinity()) {
    MergeLabelKeysOf(pod, *spec.mutable_affinity()->mutable_pod_anti_affinity());
  }
  AdmitPriority(*pod.mutable_spec());
  if (!spec.has_priority() && !spec.priority_class_name().empty()) {
    unknown.push_back(absl::StrCat("spec.priorityClassName: there is no PriorityClass ",
                                   spec.priority_class_name(), " here; the pod has priority 0"));
  }
  AdmitRuntimeClass(pod, unknown);
  return unknown;
}

const std::string& Admission::PriorityClassOf(const api::PodSpec& spec) const {
  if (default_priority_classes_.empty() || !spec.priority_class_name().empty()) {
    return spec.priority_class_name();
  }
  return default_priority_classes_.begin()->second;
}

bool Admission::GivesPriority(const api::PodSpec& spec) const {
  return !spec.has_priority() && priorities_.contains(PriorityClassOf(spec));
}

bool Admission::NeedsClasses(const api::Pod& pod) {
  return !pod.spec().has_priority() || !pod.spec().runtime_class_name().empty();
}

// kubernetes v1.35 plugin/pkg/admission/priority/admission.go admitPod.
void Admission::AdmitPriority(api::PodSpec& spec) const {
  if (!GivesPriority(spec)) return;
  const auto& [name, priority] = *priorities_.find(PriorityClassOf(spec));
  spec.set_priority_class_name(name);
  spec.set_priority(priority.value);
  if (!spec.has_preemption_policy() && !priority.preemption_policy.empty()) {
    spec.set_preemption_policy(priority.preemption_policy);
  }
}

// kubernetes v1.35 plugin/pkg/admission/runtimeclass/admission.go.
void Admission::AdmitRuntimeClass(api::Pod& pod, std::vector<std::string>& unknown) const {
  api::PodSpec& spec = *pod.mutable_spec();
  const bool stored = !spec.overhead().empty() || !pod.metadata().uid().empty();
  if (spec.runtime_class_name().empty() || stored) return;
  const auto it = runtime_classes_.find(spec.runtime_class_name());
  if (it == runtime_classes_.end()) {
    unknown.push_back(absl::StrCat("spec.runtimeClassName: there is no RuntimeClass ",
                                   spec.runtime_class_name(),
                                   " here; the pod has no overhead of its own"));
    return;
  }
  const api::RuntimeClass& runtime_class = *it->second;
  *spec.mutable_overhead() = runtime_class.overhead().pod_fixed();
  for (const auto& [key, value] : runtime_class.scheduling().node_selector()) {
    spec.mutable_node_selector()->insert({key, value});
  }
  for (const api::Toleration& toleration : runtime_class.scheduling().tolerations()) {
    const auto same = [&](const api::Toleration& own) { return Same(own, toleration); };
    if (std::none_of(spec.tolerations().begin(), spec.tolerations().end(), same)) {
      *spec.add_tolerations() = toleration;
    }
  }
}

// kubernetes v1.35 plugin/pkg/admission/storage/storageclass/setdefault.
void Admission::Admit(api::PersistentVolumeClaim& claim) const {
  const bool stored = !claim.metadata().uid().empty();
  const bool named =
      claim.spec().has_storage_class_name() ||
      claim.metadata().annotations().contains("volume.beta.kubernetes.io/storage-class");
  if (stored || named || default_storage_class_.empty()) return;
  claim.mutable_spec()->set_storage_class_name(default_storage_class_);
}

// kubernetes v1.35 pkg/apis/core/v1/defaults.go SetDefaults_NodeStatus.
void Admission::Admit(api::Node& node) {
  if (!node.status().allocatable().empty() || node.status().capacity().empty()) return;
  *node.mutable_status()->mutable_allocatable() = node.status().capacity();
}

// kubernetes v1.35 pkg/apis/core/v1/defaults.go SetDefaults_Namespace.
void Admission::Admit(api::Namespace& name) {
  (*name.mutable_metadata()->mutable_labels())["kubernetes.io/metadata.name"] =
      name.metadata().name();
}

}  // namespace berth
