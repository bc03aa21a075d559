// SPDX-License-Identifier: Apache-2.0
// Implementation of claim_reader.h.
#include "plugins/dynamic_resources/claim_reader.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/columns/node_table.h"
#include "plugins/dynamic_resources/binding_conditions.h"
#include "plugins/dynamic_resources/extended_resource_claim.h"

namespace berth {

ClaimReader::ClaimReader(Handle& handle, ClusterDevices& devices,
                         std::shared_ptr<ExtendedResourceClasses> classes,
                         std::optional<absl::Duration> binding_timeout,
                         std::shared_ptr<const PossibleVictims> victims)
    : handle_(handle),
      devices_(devices),
      classes_(std::move(classes)),
      binding_timeout_(binding_timeout),
      victims_(std::move(victims)) {}

bool ClaimReader::MayUseDevices(const PodInfo& pod) const {
  return HasResourceClaims(pod) || (classes_ != nullptr && RequestsDeviceResources(pod));
}

Status ClaimReader::Read(const PodInfo& pod, ClaimsOfPod& of_pod) const {
  std::vector<ExtendedResource> resources;
  if (classes_ != nullptr) resources = ExtendedResourcesOf(pod, Classes());
  if (!HasResourceClaims(pod) && resources.empty()) return Status::Skip();
  const absl::Status found = FindPodClaims(pod, handle_.objects(), of_pod.claims);
  if (!found.ok()) return Status::UnschedulableAndUnresolvable(std::string(found.message()));
  devices_.Update(handle_.objects(), handle_.clock());
  if (!resources.empty()) AddSpecialClaim(pod, std::move(resources), of_pod);
  if (of_pod.claims.empty()) return Status::Skip();
  PodSignature asked;
  asked.Add(ClassesVersion());
  of_pod.available_on.resize(of_pod.claims.size());
  of_pod.in_flight.resize(of_pod.claims.size());
  of_pod.lost.resize(of_pod.claims.size());
  of_pod.may_be_freed.resize(of_pod.claims.size());
  for (size_t i = 0; i < of_pod.claims.size(); ++i) {
    Status status = ReadClaim(pod, i, of_pod, asked);
    if (!status.ok()) return status;
  }
  if (of_pod.special != nullptr) SignExtendedResources(pod, asked);
  of_pod.asked = asked.bytes();
  return Status::Success();
}

Status ClaimReader::ReadClaim(const PodInfo& pod, size_t position, ClaimsOfPod& of_pod,
                              PodSignature& asked) const {
  const Object& object = of_pod.claims[position].object;
  const api::ResourceClaim& claim = of_pod.claims[position].claim();
  const bool is_allocated = claim.status().has_allocation();
  of_pod.lost[position] = WhyLostNow(claim);
  of_pod.has_lost |= !of_pod.lost[position].empty();
  if (!is_allocated) of_pod.in_flight[position] = devices_.InFlight(object.uid());
  const api::AllocationResult* const allocation =
      is_allocated ? &claim.status().allocation() : of_pod.in_flight[position].get();
  if (allocation != nullptr) {
    if (!allocation->has_node_selector()) return Status::Success();
    absl::StatusOr<NodeSelector> selector =
        NodeSelector::Create(allocation->node_selector(), "nodeSelectorTerms");
    if (!selector.ok()) return Status::Error(selector.status());
    of_pod.may_be_freed[position] = MayBeFreed(pod, object, *selector);
    of_pod.available_on[position] = *std::move(selector);
    return Status::Success();
  }
  if (of_pod.is_special(position)) return Status::Success();
  Status status = CheckClasses(claim);
  if (!status.ok()) return status;
  asked.Add(claim.spec().SerializeAsString());
  of_pod.to_allocate.claims.push_back(Parse(object.Share<api::ResourceClaim>()));
  of_pod.to_allocate.positions.push_back(static_cast<int>(position));
  return Status::Success();
}

bool ClaimReader::MayBeFreed(const PodInfo& pod, const Object& claim,
                             const NodeSelector& available_on) const {
  const api::ResourceClaimStatus& status = claim.As<api::ResourceClaim>().status();
  return victims_ != nullptr && status.has_allocation() && !status.reserved_for().empty() &&
         devices_.InFlight(claim.uid()) == nullptr &&
         absl::c_all_of(status.reserved_for(), [&](const auto& user) {
           return IsPod(user) && MayUserGo(pod, user.uid(), available_on);
         });
}

bool ClaimReader::MayUserGo(const PodInfo& pod, absl::string_view user,
                            const NodeSelector& available_on) const {
  const PodInfo* const running = FindUser(user, available_on);
  return running == nullptr || victims_->Include(handle_.profile_name(), *running, pod);
}

const PodInfo* ClaimReader::FindUser(absl::string_view user,
                                     const NodeSelector& available_on) const {
  const NodeTable& nodes = handle_.nodes();
  const auto find_on = [&](Symbol name) -> const PodInfo* {
    const NodeRow row = nodes.FindRow(name);
    if (row < 0) return nullptr;
    const auto& pods = nodes.node(row).pods();
    const auto found = absl::c_find_if(pods, [&](const auto& pod) { return pod->uid() == user; });
    return found == pods.end() ? nullptr : found->get();
  };
  if (available_on.pinned_node_names().has_value()) {
    for (const Symbol name : *available_on.pinned_node_names()) {
      const PodInfo* const found = find_on(name);
      if (found != nullptr) return found;
    }
    return nullptr;
  }
  const std::pair now(nodes.id(), nodes.version());
  auto known = node_of_user_.find(user);
  if (known == node_of_user_.end() && listed_at_ != now) {
    ListUsers();
    listed_at_ = now;
    known = node_of_user_.find(user);
  }
  return known == node_of_user_.end() ? nullptr : find_on(known->second);
}

void ClaimReader::ListUsers() const {
  const NodeTable& nodes = handle_.nodes();
  node_of_user_.clear();
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    for (const auto& pod : nodes.node(row).pods()) {
      if (HasResourceClaims(*pod)) node_of_user_.emplace(pod->uid(), nodes.node(row).name());
    }
  }
}

std::shared_ptr<const ClaimsOfPod> ClaimReader::ReadWithout(
    const ClaimsOfPod& of_pod, const absl::flat_hash_set<std::string>& freed) const {
  auto without = std::make_shared<ClaimsOfPod>(of_pod);
  ClaimsToAllocate all;
  size_t next = 0;  // of of_pod.to_allocate
  for (size_t i = 0; i < of_pod.claims.size(); ++i) {
    const Object& claim = of_pod.claims[i].object;
    const auto position = static_cast<int>(i);
    if (next < of_pod.to_allocate.positions.size() &&
        of_pod.to_allocate.positions[next] == position) {
      all.claims.push_back(of_pod.to_allocate.claims[next++]);
      all.positions.push_back(position);
    } else if (freed.contains(claim.uid()) && CheckClasses(of_pod.claims[i].claim()).ok()) {
      all.claims.push_back(Parse(claim.Share<api::ResourceClaim>()));
      all.positions.push_back(position);
      without->available_on[i].reset();
    }
  }
  if (all.claims.size() == of_pod.to_allocate.claims.size()) return nullptr;
  without->to_allocate = std::move(all);
  if (of_pod.special != nullptr) without->special = std::make_shared<SpecialClaim>(*of_pod.special);
  return without;
}

Status ClaimReader::CheckClasses(const api::ResourceClaim& claim) const {
  const std::string key = absl::StrCat(claim.metadata().namespace_(), "/", claim.metadata().name());
  const auto check = [this](const std::string& name, const std::string& request) {
    if (name.empty()) {
      return Status::Error(absl::StrCat("request ", request, ": unsupported request type"));
    }
    if (handle_.objects().Find(Kind::kDeviceClass, "", name) != nullptr) return Status::Success();
    return Status::UnschedulableAndUnresolvable(
        absl::StrCat("request ", request, ": device class ", name, " does not exist"));
  };
  for (const api::DeviceRequest& request : claim.spec().devices().requests()) {
    if (request.has_exactly()) {
      Status status = check(request.exactly().device_class_name(), request.name());
      if (!status.ok()) return status;
    } else if (request.first_available().empty()) {
      return Status::UnschedulableAndUnresolvable(absl::StrCat(
          "resource claim ", key, ", request ", request.name(), ": unknown request type"));
    } else if (!devices_.inventory().features().prioritized_list) {
      return Status::UnschedulableAndUnresolvable(
          absl::StrCat("resource claim ", key, ", request ", request.name(),
                       ": has subrequests, but the DRAPrioritizedList feature is disabled"));
    }
    for (const api::DeviceSubRequest& sub : request.first_available()) {
      Status status = check(sub.device_class_name(), absl::StrCat(request.name(), "/", sub.name()));
      if (!status.ok()) return status;
    }
  }
  return Status::Success();
}

ClaimToAllocate ClaimReader::Parse(std::shared_ptr<const api::ResourceClaim> claim) const {
  const auto find_class = [this](absl::string_view name) {
    const Object* const found = handle_.objects().Find(Kind::kDeviceClass, "", name);
    return found == nullptr ? nullptr : found->Share<api::DeviceClass>();
  };
  return ClaimToAllocate::Parse(std::move(claim), find_class, devices_.inventory());
}

std::string ClaimReader::WhyLostNow(const api::ResourceClaim& claim) const {
  if (!binding_timeout_.has_value()) return "";
  return WhyLost(claim, *binding_timeout_, handle_.clock().Now());
}

int64_t ClaimReader::ClassesVersion() const {
  return static_cast<int64_t>(handle_.objects().version(Kind::kDeviceClass));
}

const ExtendedResourceClasses& ClaimReader::Classes() const {
  const ObjectStore& objects = handle_.objects();
  classes_->Update(objects.version(Kind::kDeviceClass),
                   [&] { return objects.List(Kind::kDeviceClass); });
  return *classes_;
}

void ClaimReader::AddSpecialClaim(const PodInfo& pod, std::vector<ExtendedResource> resources,
                                  ClaimsOfPod& of_pod) const {
  const Object* const left_over = devices_.SpecialClaimOf(pod.uid(), handle_.objects());
  Object claim = left_over != nullptr ? *left_over : MakeSpecialClaim(pod);
  of_pod.special = std::make_shared<SpecialClaim>(
      pod, std::move(resources), claim, static_cast<int>(of_pod.claims.size()),
      [this](auto message) { return Parse(std::move(message)); });
  of_pod.claims.push_back({kSpecialClaimName, std::move(claim)});
}

// --- Signatures ----------------------------------------------------------------------------------

void ClaimReader::Sign(const PodInfo& pod, const std::vector<PodClaim>& claims,
                       PodSignature& signature) const {
  if (classes_ != nullptr) {
    devices_.Update(handle_.objects(), handle_.clock());
    SignExtendedResources(pod, signature);
    signature.Add(int64_t{devices_.SpecialClaimOf(pod.uid(), handle_.objects()) != nullptr});
  }
  signature.Add(ClassesVersion());
  for (const PodClaim& claim : claims) {
    const api::ResourceClaimStatus& status = claim.claim().status();
    const ClusterDevices::Allocation in_flight =
        status.has_allocation() ? nullptr : devices_.InFlight(claim.object.uid());
    const api::AllocationResult* const allocation =
        status.has_allocation() ? &status.allocation() : in_flight.get();
    signature.Add(int64_t{allocation != nullptr});
    signature.Add(allocation != nullptr ? allocation->node_selector().SerializeAsString()
                                        : claim.claim().spec().SerializeAsString());
    signature.Add(int64_t{!WhyLostNow(claim.claim()).empty()});
    signature.Add(
        int64_t{allocation != nullptr &&
                MayBeFreed(pod, claim.object, NodeSelector(allocation->node_selector()))});
  }
}

ClaimReader::Asked ClaimReader::AskedBy(const PodInfo& pod,
                                        const std::vector<PodClaim>& claims) const {
  PodSignature asked;
  asked.Add(ClassesVersion());
  bool joins = false;
  for (const PodClaim& claim : claims) {
    if (claim.claim().status().has_allocation()) continue;
    const bool is_in_flight = devices_.InFlight(claim.object.uid()) != nullptr;
    joins |= is_in_flight;
    if (!is_in_flight) asked.Add(claim.claim().spec().SerializeAsString());
  }
  if (classes_ != nullptr && RequestsDeviceResources(pod)) SignExtendedResources(pod, asked);
  return {asked.bytes(), joins};
}

}  // namespace berth
