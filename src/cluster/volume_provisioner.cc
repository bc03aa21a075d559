// SPDX-License-Identifier: Apache-2.0
// Implementation of volume_provisioner.h.
#include "cluster/volume_provisioner.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "berth/api/labels.h"
#include "berth/api/quantity.h"
#include "berth/api/time.h"

namespace berth {
namespace {

constexpr absl::Duration kDefaultTime = absl::Seconds(1);
constexpr char kZone[] = "topology.kubernetes.io/zone";

std::string Annotation(const api::ObjectMeta& metadata, const char* key) {
  const auto found = metadata.annotations().find(key);
  return found == metadata.annotations().end() ? std::string() : found->second;
}

bool FailsOn(const api::StorageClass& storage_class, absl::string_view node_name) {
  const std::string nodes = Annotation(storage_class.metadata(), kProvisionFailsOn);
  for (const absl::string_view name : absl::StrSplit(nodes, ',', absl::SkipWhitespace())) {
    if (absl::StripAsciiWhitespace(name) == node_name) return true;
  }
  return false;
}

const std::string* LabelOf(const api::Node& node, const std::string& key) {
  const auto found = node.metadata().labels().find(key);
  return found == node.metadata().labels().end() ? nullptr : &found->second;
}

bool Matches(const api::TopologySelectorTerm& term, const api::Node& node) {
  return absl::c_all_of(term.match_label_expressions(), [&node](const auto& expression) {
    const std::string* const value = LabelOf(node, expression.key());
    return value != nullptr && absl::c_linear_search(expression.values(), *value);
  });
}

bool IsAllowed(const api::StorageClass& storage_class, const api::Node& node) {
  return storage_class.allowed_topologies().empty() ||
         absl::c_any_of(storage_class.allowed_topologies(),
                        [&node](const auto& term) { return Matches(term, node); });
}

// Labels that all nodes have in common that can use a volume made for one of them.
std::vector<std::string> TopologyKeys(const api::StorageClass& storage_class,
                                      const api::CSINode* csi_node) {
  if (csi_node != nullptr) {
    for (const api::CSINodeDriver& driver : csi_node->spec().drivers()) {
      if (driver.name() != storage_class.provisioner()) continue;
      return {driver.topology_keys().begin(), driver.topology_keys().end()};
    }
  }
  if (storage_class.allowed_topologies().empty()) return {kZone};
  std::vector<std::string> keys;
  for (const auto& expression : storage_class.allowed_topologies(0).match_label_expressions()) {
    keys.push_back(expression.key());
  }
  return keys;
}

void LimitToNodesLike(const api::Node& node, const std::vector<std::string>& keys,
                      api::PersistentVolumeSpec& spec) {
  api::NodeSelectorTerm term;
  for (const std::string& key : keys) {
    const std::string* const value = LabelOf(node, key);
    if (value == nullptr) continue;
    api::NodeSelectorRequirement& requirement = *term.add_match_expressions();
    requirement.set_key(key);
    requirement.set_operator_("In");
    requirement.add_values(*value);
  }
  if (term.match_expressions().empty()) return;
  *spec.mutable_node_affinity()->mutable_required()->add_node_selector_terms() = std::move(term);
}

int64_t Bytes(const api::Quantity& quantity) {
  return Quantity::Parse(quantity.string()).value_or(Quantity()).Value();
}

// How large a volume may be that is made of it. kube-scheduler v1.35 binder.go volumeLimit.
int64_t Limit(const api::CSIStorageCapacity& capacity) {
  return Bytes(capacity.has_maximum_volume_size() ? capacity.maximum_volume_size()
                                                  : capacity.capacity());
}

// external-provisioner: claims' size, modes and class; who it is for.
api::PersistentVolume VolumeFor(const api::PersistentVolumeClaim& claim,
                                const api::StorageClass& storage_class) {
  api::PersistentVolume volume;
  volume.mutable_metadata()->set_name(absl::StrCat("pvc-", claim.metadata().uid()));
  (*volume.mutable_metadata()->mutable_annotations())["pv.kubernetes.io/provisioned-by"] =
      storage_class.provisioner();
  api::PersistentVolumeSpec& spec = *volume.mutable_spec();
  const auto& requests = claim.spec().resources().requests();
  if (const auto size = requests.find("storage"); size != requests.end()) {
    (*spec.mutable_capacity())["storage"] = size->second;
  }
  *spec.mutable_access_modes() = claim.spec().access_modes();
  if (claim.spec().has_volume_mode()) spec.set_volume_mode(claim.spec().volume_mode());
  if (claim.spec().has_volume_attributes_class_name()) {
    spec.set_volume_attributes_class_name(claim.spec().volume_attributes_class_name());
  }
  spec.set_storage_class_name(storage_class.metadata().name());
  spec.set_persistent_volume_reclaim_policy(
      storage_class.has_reclaim_policy() ? storage_class.reclaim_policy() : "Delete");
  api::CSIPersistentVolumeSource& source = *spec.mutable_persistent_volume_source()->mutable_csi();
  source.set_driver(storage_class.provisioner());
  source.set_volume_handle(volume.metadata().name());
  api::ObjectReference& ref = *spec.mutable_claim_ref();
  ref.set_kind("PersistentVolumeClaim");
  ref.set_api_version("v1");
  ref.set_namespace_(claim.metadata().namespace_());
  ref.set_name(claim.metadata().name());
  ref.set_uid(claim.metadata().uid());
  return volume;
}

}  // namespace

bool VolumeProvisioner::Serves(const api::StorageClass& storage_class) {
  return !storage_class.provisioner().empty() &&
         storage_class.provisioner() != "kubernetes.io/no-provisioner";
}

absl::Duration VolumeProvisioner::Time(const api::StorageClass& storage_class) {
  const std::string text = Annotation(storage_class.metadata(), kProvisionTime);
  return std::max(absl::ZeroDuration(), ParseDuration(text).value_or(kDefaultTime));
}

bool VolumeProvisioner::Provision(const api::PersistentVolumeClaim& claim,
                                  const api::StorageClass& storage_class,
                                  absl::string_view node_name) {
  const std::shared_ptr<const api::Node> node =
      node_name.empty() ? ChooseNode(storage_class) : objects_.Share<api::Node>(node_name);
  if (node == nullptr) return false;
  const std::string& name = node->metadata().name();
  if (FailsOn(storage_class, name) || !IsAllowed(storage_class, *node)) return false;
  api::PersistentVolume volume = VolumeFor(claim, storage_class);
  LimitToNodesLike(*node, TopologyKeys(storage_class, objects_.Share<api::CSINode>(name).get()),
                   *volume.mutable_spec());
  const auto& capacity = volume.spec().capacity();
  const auto size = capacity.find("storage");
  const bool enough =
      size == capacity.end() ||
      TakeStorage(storage_class, node.get(), volume.metadata().name(), Bytes(size->second));
  if (!enough) return false;
  objects_.Put(Object::Of(std::make_shared<api::PersistentVolume>(std::move(volume))));
  return true;
}

// The first that will do.
std::shared_ptr<const api::Node> VolumeProvisioner::ChooseNode(
    const api::StorageClass& storage_class) const {
  for (const Object& object : objects_.List(Kind::kNode)) {
    const auto& node = object.As<api::Node>();
    if (IsAllowed(storage_class, node) && !FailsOn(storage_class, node.metadata().name())) {
      return object.Share<api::Node>();
    }
  }
  return nullptr;
}

bool VolumeProvisioner::TakeStorage(const api::StorageClass& storage_class, const api::Node* node,
                                    const std::string& volume_name, int64_t bytes) {
  const auto driver = objects_.Share<api::CSIDriver>(storage_class.provisioner());
  if (driver == nullptr || !driver->spec().storage_capacity()) return true;
  const Capacity* const capacity = FindCapacity(storage_class.metadata().name(), *node, bytes);
  if (capacity == nullptr) return false;
  const std::string key = capacity->key;
  taken_[volume_name] = {key, bytes};
  ChangeStorage(key, -bytes);
  return true;
}

// The first to come that has so much for the node.
const VolumeProvisioner::Capacity* VolumeProvisioner::FindCapacity(const std::string& class_name,
                                                                   const api::Node& node,
                                                                   int64_t bytes) const {
  const LabelSet labels = LabelSet::FromMap(node.metadata().labels());
  const Capacity* first = nullptr;
  const auto look = [&](Symbol key, Symbol value) {
    const auto here = capacities_at_.find({class_name, key, value});
    if (here == capacities_at_.end()) return;
    for (const auto& [arrival, capacity] : here->second) {
      if (first != nullptr && arrival > first->arrival) return;
      if (capacity->limit_bytes < bytes || !capacity->nodes.Matches(labels)) continue;
      first = capacity;
      return;
    }
  };
  look(Symbol(), Symbol());
  for (const auto& [key, value] : labels.entries()) look(key, value);
  return first;
}

// The label is one that all nodes have that the capacity is for.
VolumeProvisioner::Place VolumeProvisioner::PlaceOf(const Capacity& capacity) {
  for (const LabelRequirement& requirement : capacity.nodes.requirements()) {
    if (requirement.op() != SelectorOperator::kIn || requirement.values().size() != 1) continue;
    return {capacity.class_name, requirement.key(), requirement.values().front()};
  }
  return {capacity.class_name, Symbol(), Symbol()};
}

bool VolumeProvisioner::FollowCapacity(const Object& object, bool is_gone) {
  const std::string key(object.key());
  uint64_t arrival = next_arrival_;
  std::optional<Capacity> before;
  if (const auto known = capacities_.find(key); known != capacities_.end()) {
    arrival = known->second.arrival;
    const auto place = capacities_at_.find(PlaceOf(known->second));
    place->second.erase(arrival);
    if (place->second.empty()) capacities_at_.erase(place);
    before = std::move(known->second);
    capacities_.erase(known);
  }
  const auto& now = object.As<api::CSIStorageCapacity>();
  if (is_gone || !now.has_node_topology()) return false;
  absl::StatusOr<LabelSelector> nodes = LabelSelector::FromProto(&now.node_topology());
  if (!nodes.ok()) return false;
  next_arrival_ = std::max(next_arrival_, arrival + 1);
  const Capacity& after = capacities_
                              .emplace(key, Capacity{arrival, key, now.storage_class_name(),
                                                     Limit(now), *std::move(nodes)})
                              .first->second;
  capacities_at_[PlaceOf(after)].emplace(arrival, &after);
  return !before.has_value() || before->limit_bytes < after.limit_bytes ||
         before->class_name != after.class_name || before->nodes != after.nodes;
}

void VolumeProvisioner::ChangeStorage(const std::string& capacity_key, int64_t bytes) {
  const auto before = objects_.Share<api::CSIStorageCapacity>(capacity_key);
  if (before == nullptr || !before->has_capacity()) return;
  Quantity left = Quantity::Parse(before->capacity().string()).value_or(Quantity());
  left.Add(Quantity::FromValue(bytes, left.format()));
  auto after = std::make_shared<api::CSIStorageCapacity>(*before);
  after->mutable_capacity()->set_string(left.ToString());
  if (before->has_maximum_volume_size()) {
    const int64_t most =
        largest_.try_emplace(capacity_key, Bytes(before->maximum_volume_size())).first->second;
    Quantity largest = Quantity::FromValue(most, Quantity::Format::kBinarySI);
    after->mutable_maximum_volume_size()->set_string(std::min(largest, left).ToString());
  }
  objects_.Put(Object::Of(std::move(after)));
}

void VolumeProvisioner::Delete(const std::string& volume_name) {
  const auto taken = taken_.find(volume_name);
  if (taken != taken_.end()) {
    ChangeStorage(taken->second.capacity, taken->second.bytes);
    taken_.erase(taken);
  }
  objects_.Remove(Kind::kPersistentVolume, volume_name);
}

}  // namespace berth
