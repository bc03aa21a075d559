// SPDX-License-Identifier: Apache-2.0
// kube-scheduler v1.35 plugins/helper/spread.go DefaultSelector.
#include "plugins/pod_topology_spread/default_selector.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "berth/api/apps_v1.pb.h"
#include "berth/api/core_v1.pb.h"

namespace berth {
namespace {

void Merge(const LabelSet& more, LabelSet& labels) {
  for (const auto& [key, value] : more.entries()) labels.Set(key, value);
}

// The selector of a controller narrows `selector`; one that selects nothing or does not parse does
// not count.
void Narrow(bool has_selector, const api::LabelSelector& of_controller, LabelSelector& selector) {
  if (!has_selector) return;
  const absl::StatusOr<LabelSelector> other = LabelSelector::FromProto(&of_controller);
  if (!other.ok()) return;
  for (const LabelRequirement& requirement : other->requirements()) selector.Add(requirement);
}

const api::OwnerReference* FindController(const PodInfo& pod) {
  if (!pod.has_owners()) return nullptr;
  const auto& owners = pod.object().metadata().owner_references();
  const auto it = absl::c_find_if(owners, [](const auto& owner) { return owner.controller(); });
  return it == owners.end() ? nullptr : &*it;
}

}  // namespace

void DefaultSelectors::Refresh(const ObjectStore& objects) {
  const uint64_t version = objects.version(Kind::kService);
  if (version_ == version) return;
  version_ = version;
  services_.clear();
  absl::flat_hash_map<Symbol, absl::flat_hash_set<LabelSet>> selectors;  // by namespace
  for (const Object* object : objects.List(Kind::kService)) {
    const auto& selector = object->As<api::Service>().spec().selector();
    if (selector.empty()) continue;  // adds nothing
    selectors[Symbol::Intern(object->namespace_name())].insert(LabelSet::FromMap(selector));
  }
  for (const auto& [namespace_name, of_namespace] : selectors) {
    absl::flat_hash_map<LabelSet::Entry, int> requiring;
    for (const LabelSet& selector : of_namespace) {
      for (const LabelSet::Entry& label : selector.entries()) ++requiring[label];
    }
    ByLabel& by_label = services_[namespace_name];
    for (const LabelSet& selector : of_namespace) {
      const absl::Span<const LabelSet::Entry> labels = selector.entries();
      const auto rarest = absl::c_min_element(
          labels, [&](const auto& a, const auto& b) { return requiring.at(a) < requiring.at(b); });
      by_label[*rarest].push_back(selector);
    }
  }
}

LabelSelector DefaultSelectors::For(const PodInfo& pod, const ObjectStore& objects) {
  Refresh(objects);
  LabelSet labels;
  const auto is_of_pod = [&pod](const LabelSet::Entry& entry) {
    const Symbol* value = pod.labels().Find(entry.first);
    return value != nullptr && *value == entry.second;
  };
  const auto services = services_.find(pod.namespace_name());
  if (services != services_.end()) {
    for (const LabelSet::Entry& label : pod.labels().entries()) {
      const auto requiring = services->second.find(label);
      if (requiring == services->second.end()) continue;
      for (const LabelSet& service : requiring->second) {
        if (absl::c_all_of(service.entries(), is_of_pod)) Merge(service, labels);
      }
    }
  }
  LabelSelector selector = LabelSelector::FromLabels(labels);
  const api::OwnerReference* const owner = FindController(pod);
  if (owner == nullptr) return selector;

  const std::optional<Kind> kind = FindKind(owner->api_version(), owner->kind());
  const absl::string_view ns = pod.namespace_name().view();
  if (kind == Kind::kReplicationController) {
    const auto* controller = objects.Find<api::ReplicationController>(ns, owner->name());
    if (controller == nullptr) return selector;
    Merge(LabelSet::FromMap(controller->spec().selector()), labels);
    return LabelSelector::FromLabels(labels);
  }
  if (kind == Kind::kReplicaSet) {
    const auto* controller = objects.Find<api::ReplicaSet>(ns, owner->name());
    if (controller != nullptr) {
      Narrow(controller->spec().has_selector(), controller->spec().selector(), selector);
    }
  } else if (kind == Kind::kStatefulSet) {
    const auto* controller = objects.Find<api::StatefulSet>(ns, owner->name());
    if (controller != nullptr) {
      Narrow(controller->spec().has_selector(), controller->spec().selector(), selector);
    }
  }
  return selector;
}

}  // namespace berth
