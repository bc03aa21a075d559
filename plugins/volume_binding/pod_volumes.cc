// SPDX-License-Identifier: Apache-2.0
// From the claims of a pod to what they need: bound volumes, volumes to take, volumes to make.
#include "plugins/volume_binding/pod_volumes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/storage_v1.pb.h"

namespace berth {
namespace {

using Claim = api::PersistentVolumeClaim;
using Volume = api::PersistentVolume;

template <class T>
bool HasAnnotation(const T& object, const char* key) {
  return object.metadata().annotations().contains(key);
}

struct ClaimName {
  std::string name;
  bool ephemeral = false;
};

// The claim that a volume of the pod uses; nothing if it uses none.
std::optional<ClaimName> ClaimNameOf(const PodInfo& pod, const api::Volume& volume) {
  const api::VolumeSource& source = volume.volume_source();
  if (source.has_persistent_volume_claim()) {
    return ClaimName{source.persistent_volume_claim().claim_name(), false};
  }
  if (source.has_ephemeral()) return ClaimName{absl::StrCat(pod.name(), "-", volume.name()), true};
  return std::nullopt;
}

bool IsControlledBy(const Claim& claim, const PodInfo& pod) {
  for (const api::OwnerReference& owner : claim.metadata().owner_references()) {
    if (owner.controller()) return owner.uid() == pod.object().metadata().uid();
  }
  return false;
}

Status CheckClaim(const PodInfo& pod, const ClaimName& name, const Claim* claim) {
  const auto reject = [](std::string reason) {
    return Status::UnschedulableAndUnresolvable(std::move(reason));
  };
  const std::string quoted = absl::StrCat("persistentvolumeclaim \"", name.name, "\"");
  if (claim == nullptr && name.ephemeral) {
    return reject(absl::StrCat("waiting for ephemeral volume controller to create the ", quoted));
  }
  if (claim == nullptr) return reject(absl::StrCat(quoted, " not found"));
  if (claim->status().phase() == "Lost") {
    return reject(absl::StrCat(quoted, " bound to non-existent persistentvolume \"",
                               claim->spec().volume_name(), "\""));
  }
  if (claim->metadata().has_deletion_timestamp()) {
    return reject(absl::StrCat(quoted, " is being deleted"));
  }
  if (name.ephemeral && !IsControlledBy(*claim, pod)) {
    return reject(absl::StrCat("PVC ", pod.namespace_name().view(), "/", name.name,
                               " was not created for pod ", pod.key(), " (pod is not owner)"));
  }
  return Status::Success();
}

// The claim that a volume is bound or promised to, by itself or by an assumption.
enum class Owner { kNone, kThisClaim, kAnotherClaim };
Owner OwnerOf(const Volume& volume, const Claim& claim, const std::string& identity,
              const AssumedVolumes& assumed) {
  if (const std::string* taken_by = assumed.ClaimOf(volume)) {
    return *taken_by == identity ? Owner::kThisClaim : Owner::kAnotherClaim;
  }
  if (!volume.spec().has_claim_ref()) return Owner::kNone;
  const api::ObjectReference& ref = volume.spec().claim_ref();
  const bool same = ref.name() == claim.metadata().name() &&
                    ref.namespace_() == claim.metadata().namespace_() &&
                    (ref.uid().empty() || ref.uid() == claim.metadata().uid());
  return same ? Owner::kThisClaim : Owner::kAnotherClaim;
}

template <class Spec>
absl::string_view VolumeMode(const Spec& spec) {
  return spec.has_volume_mode() ? absl::string_view(spec.volume_mode()) : "Filesystem";
}

bool HasAccessModes(const Volume& volume, const Claim& claim) {
  const auto& offered = volume.spec().access_modes();
  const auto& wanted = claim.spec().access_modes();
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& mode) {
    return std::find(offered.begin(), offered.end(), mode) != offered.end();
  });
}

// Whether the claim may take the volume, wherever its pod runs.
bool Suits(const ParsedVolume& parsed, const DelayedClaim& delayed, const AssumedVolumes& assumed) {
  const Volume& volume = *parsed.volume;
  const Claim& claim = *delayed.claim;
  const Owner owner = OwnerOf(volume, claim, delayed.identity, assumed);
  if (owner == Owner::kAnotherClaim || volume.metadata().has_deletion_timestamp() ||
      parsed.capacity < delayed.request || VolumeMode(volume.spec()) != VolumeMode(claim.spec()) ||
      volume.spec().volume_attributes_class_name() != claim.spec().volume_attributes_class_name()) {
    return false;
  }
  if (owner == Owner::kThisClaim) return true;
  return volume.status().phase() == "Available" && HasAccessModes(volume, claim) &&
         (!delayed.selector.has_value() ||
          delayed.selector->Matches(LabelSet::FromMap(volume.metadata().labels())));
}

// More are not named one by one in the inputs of verdicts, which are kept for many pods.
constexpr size_t kMostNamed = 64;

void FindPromised(const AssumedVolumes& assumed, const VolumesByClass& known,
                  DelayedClaim& delayed) {
  const api::ObjectMeta& claim = delayed.claim->metadata();
  const auto promised = delayed.volumes->PromisedTo(claim.namespace_(), claim.name());
  delayed.promised.assign(promised.begin(), promised.end());
  if (const Volume* const taken = assumed.VolumeOf(delayed.identity)) {
    ParsedVolumePtr parsed = known.Find(*taken);
    const bool is_of_class = parsed != nullptr && ClassOf(*taken) == ClassOf(*delayed.claim);
    const bool is_new = std::find(promised.begin(), promised.end(), parsed) == promised.end();
    if (is_of_class && is_new) delayed.promised.push_back(std::move(parsed));
  }
  std::erase_if(delayed.promised, [&](const ParsedVolumePtr& parsed) {
    return OwnerOf(*parsed->volume, *delayed.claim, delayed.identity, assumed) !=
               Owner::kThisClaim ||
           !Suits(*parsed, delayed, assumed);
  });
}

void FindVolumes(const ObjectStore& objects, const AssumedVolumes& assumed, KnownVolumes& known,
                 DelayedClaim& delayed, FilterInputs& inputs) {
  const Claim& claim = *delayed.claim;
  if (claim.spec().has_selector()) {
    absl::StatusOr<LabelSelector> compiled = LabelSelector::FromProto(&claim.spec().selector());
    if (!compiled.ok()) {
      delayed.selector_error = absl::StrCat(
          "error creating internal label selector for claim: ", claim.metadata().namespace_(), "/",
          claim.metadata().name(), ": ", compiled.status().message());
      return;
    }
    delayed.selector = *std::move(compiled);
  }
  known.volumes.Refresh(objects);
  delayed.volumes = known.volumes.Of(ClassOf(claim));
  if (delayed.volumes == nullptr) return;
  FindPromised(assumed, known.volumes, delayed);
  for (const ParsedVolumePtr& promised : delayed.promised) inputs.Add(promised->volume);
  inputs.Add("free");
  const auto& free = delayed.volumes->free().items();
  if (free.size() > kMostNamed) {
    inputs.Add(static_cast<int64_t>(objects.version(Kind::kPersistentVolume)));
    inputs.Add(static_cast<int64_t>(assumed.version()));
    return;
  }
  for (const ParsedVolumePtr& parsed : free) {
    if (Suits(*parsed, delayed, assumed)) inputs.Add(parsed->volume);
  }
}

void FindTopologies(const api::StorageClass& storage_class, Provisioning& provisioning) {
  if (storage_class.allowed_topologies().empty()) return;
  provisioning.topologies.emplace();
  for (const api::TopologySelectorTerm& term : storage_class.allowed_topologies()) {
    if (term.match_label_expressions().empty()) continue;
    std::vector<LabelRequirement> requirements;
    for (const auto& expression : term.match_label_expressions()) {
      const std::vector<absl::string_view> values(expression.values().begin(),
                                                  expression.values().end());
      auto requirement = LabelRequirement::Create(expression.key(), SelectorOperator::kIn, values);
      if (!requirement.ok()) break;
      requirements.push_back(*std::move(requirement));
    }
    if (requirements.size() == static_cast<size_t>(term.match_label_expressions_size())) {
      provisioning.topologies->push_back(std::move(requirements));
    }
  }
}

void FindStorage(const api::StorageClass& storage_class, const DelayedClaim& delayed,
                 const ObjectStore& objects, StorageByClass& known, Provisioning& provisioning,
                 FilterInputs& inputs) {
  if (!delayed.claim->spec().resources().requests().contains("storage")) return;
  const auto* driver = objects.Find<api::CSIDriver>("", storage_class.provisioner());
  if (driver == nullptr || !driver->spec().storage_capacity()) return;
  provisioning.storage_is_limited = true;
  known.Refresh(objects);
  provisioning.storage = known.Of(storage_class.metadata().name());
  inputs.Add("storage is limited");
  if (provisioning.storage == nullptr) return;
  if (provisioning.storage->items().size() > kMostNamed) {
    inputs.Add("of all capacities");
    inputs.Add(static_cast<int64_t>(objects.version(Kind::kCSIStorageCapacity)));
    return;
  }
  for (const auto& room : provisioning.storage->items()) {
    if (room->size() >= delayed.request.Value()) inputs.Add(room->capacity);
  }
}

void FindProvisioning(const api::StorageClass& storage_class, const ObjectStore& objects,
                      StorageByClass& known, DelayedClaim& delayed, FilterInputs& inputs) {
  const std::string& provisioner = storage_class.provisioner();
  delayed.provisioning.supported =
      !provisioner.empty() && provisioner != "kubernetes.io/no-provisioner";
  if (!delayed.provisioning.supported) return;
  FindTopologies(storage_class, delayed.provisioning);
  FindStorage(storage_class, delayed, objects, known, delayed.provisioning, inputs);
}

DelayedClaim MakeDelayed(std::shared_ptr<const Claim> claim, const api::StorageClass& storage_class,
                         const ObjectStore& objects, const AssumedVolumes& assumed,
                         KnownVolumes& known, FilterInputs& inputs) {
  DelayedClaim delayed;
  delayed.claim = std::move(claim);
  const api::ObjectMeta& metadata = delayed.claim->metadata();
  delayed.identity = ClaimIdentity(metadata.namespace_(), metadata.name(), metadata.uid());
  delayed.request = Storage(delayed.claim->spec().resources().requests());
  if (const std::string* node = assumed.NodeOf(*delayed.claim)) {
    delayed.selected_node = *node;
  } else if (HasAnnotation(*delayed.claim, kSelectedNode)) {
    delayed.selected_node = Annotation(*delayed.claim, kSelectedNode);
  }
  inputs.Add(delayed.claim);
  inputs.Add(delayed.selected_node.value_or(""));
  if (!delayed.selected_node.has_value()) FindVolumes(objects, assumed, known, delayed, inputs);
  FindProvisioning(storage_class, objects, known.storage, delayed, inputs);
  return delayed;
}

// The volume of a bound claim, or null.
std::optional<VolumeAffinity> FindBound(const Object* volume, const ObjectStore& objects,
                                        FilterInputs& inputs) {
  if (volume == nullptr) {
    inputs.Add(std::shared_ptr<const Volume>());
    return std::nullopt;
  }
  inputs.Add(volume->Share<Volume>());
  VolumeAffinity affinity(volume->As<Volume>());
  if (affinity.depends_on_csi_node()) {
    inputs.Add(static_cast<int64_t>(objects.version(Kind::kCSINode)));
  }
  return affinity;
}

// --- One node ---

bool CanProvision(const Provisioning& provisioning, const LabelSet& labels) {
  if (!provisioning.supported) return false;
  if (!provisioning.topologies.has_value()) return true;
  const auto& topologies = *provisioning.topologies;
  return std::any_of(topologies.begin(), topologies.end(), [&labels](const auto& requirements) {
    return std::all_of(
        requirements.begin(), requirements.end(),
        [&labels](const LabelRequirement& requirement) { return requirement.Matches(labels); });
  });
}

bool HasStorage(const DelayedClaim& delayed, const LabelSet& labels) {
  const Provisioning& provisioning = delayed.provisioning;
  if (!provisioning.storage_is_limited) return true;
  if (provisioning.storage == nullptr) return false;
  return provisioning.storage->FindOn(labels, delayed.request.Value(),
                                      [](const StorageRoom&) { return true; }) != nullptr;
}

template <class IsChosen>
const ParsedVolume* FindFree(const DelayedClaim& delayed, const AssumedVolumes& assumed,
                             const LabelSet& labels, IsChosen is_chosen) {
  return delayed.volumes->free().FindOn(labels, delayed.request, [&](const ParsedVolume& volume) {
    return !is_chosen(volume) && Suits(volume, delayed, assumed);
  });
}

const ParsedVolume* ChooseVolume(const DelayedClaim& delayed, const AssumedVolumes& assumed,
                                 const LabelSet& labels, const VolumeChoice& choice) {
  if (delayed.volumes == nullptr) return nullptr;
  const auto is_chosen = [&](const ParsedVolume& volume) {
    return std::any_of(
        choice.bindings.begin(), choice.bindings.end(),
        [&](const VolumeChoice::Binding& binding) { return binding.volume == &volume; });
  };
  for (const ParsedVolumePtr& promised : delayed.promised) {
    if (is_chosen(*promised)) continue;
    return promised->affinity.Matches(labels) ? promised.get() : nullptr;
  }
  return FindFree(delayed, assumed, labels, is_chosen);
}

void CheckBound(const PodVolumes& volumes, const LabelSet& labels, const api::CSINode* csi_node,
                VolumeVerdict& verdict) {
  for (const std::optional<VolumeAffinity>& affinity : volumes.bound) {
    verdict.bound_exist = affinity.has_value();
    verdict.bound_match = !affinity.has_value() || affinity->Matches(labels, csi_node);
    if (!verdict.bound_exist || !verdict.bound_match) return;
  }
}

}  // namespace

Status CheckClaims(const PodInfo& pod, const ObjectStore& objects, bool& has_claims) {
  has_claims = false;
  for (const api::Volume& volume : pod.spec().volumes()) {
    const std::optional<ClaimName> name = ClaimNameOf(pod, volume);
    if (!name.has_value()) continue;
    has_claims = true;
    const auto* claim = objects.Find<Claim>(pod.namespace_name().view(), name->name);
    Status status = CheckClaim(pod, *name, claim);
    if (!status.ok()) return status;
  }
  return Status::Success();
}

Status FindPodVolumes(const PodInfo& pod, const ObjectStore& objects, const AssumedVolumes& assumed,
                      KnownVolumes& known, PodVolumes& volumes) {
  for (const api::Volume& pod_volume : pod.spec().volumes()) {
    const std::optional<ClaimName> name = ClaimNameOf(pod, pod_volume);
    if (!name.has_value()) continue;
    const Object* object =
        objects.Find(Kind::kPersistentVolumeClaim, pod.namespace_name().view(), name->name);
    const Claim& claim = object->As<Claim>();
    const std::string& volume_name = claim.spec().volume_name();
    if (!volume_name.empty() && HasAnnotation(claim, kBindCompleted)) {
      volumes.bound.push_back(FindBound(objects.Find(Kind::kPersistentVolume, "", volume_name),
                                        objects, volumes.inputs));
      continue;
    }
    const std::string class_name = ClassOf(claim);
    const Object* class_object =
        class_name.empty() ? nullptr : objects.Find(Kind::kStorageClass, "", class_name);
    const auto* storage_class =
        class_object == nullptr ? nullptr : &class_object->As<api::StorageClass>();
    if (storage_class != nullptr && !storage_class->has_volume_binding_mode()) {
      return Status::Error(
          absl::StrCat("VolumeBindingMode not set for StorageClass \"", class_name, "\""));
    }
    if (storage_class != nullptr && volume_name.empty() &&
        storage_class->volume_binding_mode() == "WaitForFirstConsumer") {
      volumes.inputs.Add(class_object->Share<api::StorageClass>());
      volumes.delayed.push_back(MakeDelayed(object->Share<Claim>(), *storage_class, objects,
                                            assumed, known, volumes.inputs));
    } else {
      volumes.has_unbound_immediate = true;
    }
  }
  for (size_t i = 0; i < volumes.delayed.size(); ++i) volumes.by_request.push_back(i);
  std::stable_sort(volumes.by_request.begin(), volumes.by_request.end(), [&](size_t a, size_t b) {
    return volumes.delayed[a].request < volumes.delayed[b].request;
  });
  return Status::Success();
}

Status VolumeVerdict::ToStatus() const {
  if (!error.empty()) return Status::Error(error);
  std::vector<std::string> reasons;
  if (!bound_match) reasons.push_back("node(s) didn't match PersistentVolume's node affinity");
  if (!unbound_match) {
    reasons.push_back("node(s) didn't find available persistent volumes to bind");
  }
  if (!enough_storage) reasons.push_back("node(s) did not have enough free storage");
  if (!bound_exist) {
    reasons.push_back("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)");
  }
  if (reasons.empty()) return Status::Success();
  return Status::Make(Code::kUnschedulableAndUnresolvable, std::move(reasons));
}

VolumeVerdict ChooseVolumes(const PodVolumes& volumes, const AssumedVolumes& assumed,
                            const NodeInfo& node, const api::CSINode* csi_node,
                            VolumeChoice& choice) {
  const LabelSet& labels = node.labels();
  VolumeVerdict verdict;
  CheckBound(volumes, labels, csi_node, verdict);
  for (const DelayedClaim& delayed : volumes.delayed) {
    if (!delayed.selected_node.has_value()) continue;
    if (*delayed.selected_node != node.name().view()) {
      verdict.unbound_match = false;
      return verdict;
    }
    choice.provisions.push_back(&delayed);
  }
  for (const size_t i : volumes.by_request) {
    const DelayedClaim& delayed = volumes.delayed[i];
    if (delayed.selected_node.has_value()) continue;
    if (!delayed.selector_error.empty()) {
      verdict.error = delayed.selector_error;
      return verdict;
    }
    if (const ParsedVolume* volume = ChooseVolume(delayed, assumed, labels, choice)) {
      choice.bindings.push_back({&delayed, volume});
    } else {
      choice.provisions.push_back(&delayed);
    }
  }
  for (const DelayedClaim* delayed : choice.provisions) {
    const VolumeVerdict of_this = CheckProvision(*delayed, labels);
    if (of_this.ok()) continue;
    verdict.unbound_match = of_this.unbound_match;
    verdict.enough_storage = of_this.enough_storage;
    break;
  }
  return verdict;
}

const ParsedVolume* FindFreeVolume(const DelayedClaim& claim, const AssumedVolumes& assumed,
                                   const LabelSet& node_labels) {
  return FindFree(claim, assumed, node_labels, [](const ParsedVolume&) { return false; });
}

VolumeVerdict CheckProvision(const DelayedClaim& claim, const LabelSet& node_labels) {
  VolumeVerdict verdict;
  verdict.unbound_match = CanProvision(claim.provisioning, node_labels);
  verdict.enough_storage = !verdict.unbound_match || HasStorage(claim, node_labels);
  return verdict;
}

std::string RequestOf(const DelayedClaim& claim) {
  const api::PersistentVolumeClaimSpec& spec = claim.claim->spec();
  std::string request;
  const auto add = [&](absl::string_view part) {
    absl::StrAppend(&request, part.size(), ":", part);
  };
  add(ClassOf(*claim.claim));
  add(claim.request.ToString());
  add(VolumeMode(spec));
  add(spec.volume_attributes_class_name());
  add(spec.has_selector() ? spec.selector().SerializeAsString() : "");
  for (const std::string& mode : spec.access_modes()) add(mode);
  return request;
}

}  // namespace berth
