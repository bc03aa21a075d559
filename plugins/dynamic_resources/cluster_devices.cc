// SPDX-License-Identifier: Apache-2.0
// Implementation of cluster_devices.h.
#include "plugins/dynamic_resources/cluster_devices.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/types/span.h"
#include "berth/api/resource_v1.pb.h"
#include "plugins/dynamic_resources/extended_resource_claim.h"

namespace berth {
namespace {

constexpr size_t kMostChanges = size_t{1} << 16;

// So long the watch may show a claim after others that were written later, and so long if it shows
// none. One that it has not shown by then was gone before it could.
constexpr absl::Duration kLongestDelay = absl::Minutes(1), kLongestSilence = absl::Minutes(5);

// Whether the watch has come as far as the write. Versions are numbers that grow: of Kubernetes
// from 1.35 on officially.
bool IsSeen(const ClaimWrite& write, const Object& now) {
  const auto& claim = now.As<api::ResourceClaim>();
  uint64_t shown = 0, over = 0;
  if (absl::SimpleAtoi(claim.metadata().resource_version(), &shown) &&
      absl::SimpleAtoi(write.version, &over)) {
    return write.is_change ? shown > over : shown >= over;
  }
  return claim.status().has_allocation();
}

}  // namespace

// allocateddevices.go foreachAllocatedDevice. Without DRAConsumableCapacity a share is all of it.
template <class Visit>
void ClusterDevices::ForEachDevice(const api::AllocationResult& allocation, Visit visit) const {
  for (const api::DeviceRequestAllocationResult& result : allocation.devices().results()) {
    if (result.admin_access()) continue;
    DeviceUse use{DeviceId::Of(result.driver(), result.pool(), result.device()), ""};
    if (inventory_.features().consumable_capacity) use.share_id = result.share_id();
    visit(result, std::move(use));
  }
}

ClusterDevices::UsedDevices ClusterDevices::DevicesOf(
    const api::AllocationResult& allocation) const {
  UsedDevices devices;
  ForEachDevice(allocation, [&](const auto& result, DeviceUse use) {
    UsedDevice& used = devices.emplace_back();
    used.id = use.device;
    used.share_id = std::move(use.share_id);
    if (used.share_id.empty()) return;
    for (const auto& [name, amount] : result.consumed_capacity()) {
      used.consumed.emplace(name, Quantity::Parse(amount.string()).value_or(Quantity()));
    }
  });
  return devices;
}

std::vector<DeviceUse> ClusterDevices::UsesOf(const api::AllocationResult& allocation) const {
  std::vector<DeviceUse> uses;
  ForEachDevice(allocation, [&](const auto&, DeviceUse use) { uses.push_back(std::move(use)); });
  return uses;
}

void ClusterDevices::Update(const ObjectStore& objects, const Clock& clock) {
  TakeNotes();
  if (!expected_.empty()) now_ = clock.Now();
  if (inventory_.features().device_taint_rules) UpdateTaintRules(objects);
  UpdateSlices(objects);
  UpdateClaims(objects);
  if (now_ >= NextGivenUp()) DropExpected(objects);
  // The watch may have been faster than the note.
  for (const std::string& claim_uid : std::exchange(noted_, {})) DropSeen(objects, claim_uid);
}

void ClusterDevices::UpdateSlices(const ObjectStore& objects) {
  const uint64_t version = objects.version(Kind::kResourceSlice);
  if (has_read_slices_ && version == slices_version_) return;
  const auto note = [this](const AffectedNodes& nodes) { NoteChanged(nodes.names, nodes.all); };
  const auto set = [&](const Object& slice) {
    slices_.emplace(slice.name());
    note(inventory_.SetSlice(slice.Share<api::ResourceSlice>()));
  };
  std::optional<absl::Span<const IdentityPtr>> changes;
  if (has_read_slices_) changes = objects.ChangesSince(Kind::kResourceSlice, slices_version_);
  if (changes.has_value()) {
    for (const IdentityPtr& changed : *changes) {
      const Object* const slice = objects.Find(Kind::kResourceSlice, "", changed->name());
      if (slice != nullptr) {
        set(*slice);
      } else if (slices_.erase(changed->name()) > 0) {
        note(inventory_.RemoveSlice(changed->name()));
      }
    }
  } else {
    NoteChanged({}, /*all=*/true);
    for (const std::string& name : std::exchange(slices_, {})) inventory_.RemoveSlice(name);
    for (const Object* slice : objects.List(Kind::kResourceSlice)) {
      slices_.emplace(slice->name());
      inventory_.SetSlice(slice->Share<api::ResourceSlice>());
    }
  }
  has_read_slices_ = true;
  slices_version_ = version;
}

void ClusterDevices::UpdateTaintRules(const ObjectStore& objects) {
  const uint64_t version = objects.version(Kind::kDeviceTaintRule);
  if (has_read_rules_ && version == rules_version_) return;
  const auto note = [this](const AffectedNodes& nodes) { NoteChanged(nodes.names, nodes.all); };
  const auto set = [&](const Object& rule) {
    rules_.emplace(rule.name());
    note(inventory_.SetTaintRule(rule.Share<api::DeviceTaintRule>()));
  };
  std::optional<absl::Span<const IdentityPtr>> changes;
  if (has_read_rules_) changes = objects.ChangesSince(Kind::kDeviceTaintRule, rules_version_);
  if (changes.has_value()) {
    for (const IdentityPtr& changed : *changes) {
      const Object* const rule = objects.Find(Kind::kDeviceTaintRule, "", changed->name());
      if (rule != nullptr) {
        set(*rule);
      } else if (rules_.erase(changed->name()) > 0) {
        note(inventory_.RemoveTaintRule(changed->name()));
      }
    }
  } else {
    const std::vector<const Object*> there = objects.List(Kind::kDeviceTaintRule);
    absl::flat_hash_set<std::string> gone = std::exchange(rules_, {});
    for (const Object* rule : there) gone.erase(std::string(rule->name()));
    for (const std::string& name : gone) note(inventory_.RemoveTaintRule(name));
    for (const Object* rule : there) set(*rule);
  }
  has_read_rules_ = true;
  rules_version_ = version;
}

void ClusterDevices::UpdateClaims(const ObjectStore& objects) {
  const uint64_t version = objects.version(Kind::kResourceClaim);
  if (has_read_claims_ && version == claims_version_) return;
  std::optional<absl::Span<const IdentityPtr>> changes;
  if (has_read_claims_) changes = objects.ChangesSince(Kind::kResourceClaim, claims_version_);
  if (changes.has_value()) {
    for (const IdentityPtr& changed : *changes) SetClaim(objects, *changed);
  } else {
    NoteChanged({}, /*all=*/true);
    for (const auto& [key, devices] : std::exchange(by_claim_, {})) Subtract(devices, held_);
    special_claims_.clear();
    special_owners_.clear();
    for (const Object* claim : objects.List(Kind::kResourceClaim)) {
      SetClaim(objects, *claim->identity());
    }
    std::vector<std::string> in_flight;
    for (const auto& [uid, one] : in_flight_) in_flight.push_back(uid);
    for (const std::string& uid : in_flight) DropSeen(objects, uid);
  }
  DropExpected(objects);  // the watch may have come past some
  has_read_claims_ = true;
  claims_version_ = version;
}

absl::Time ClusterDevices::Flight::GivenUpAt() const {
  absl::Time time = absl::InfiniteFuture();
  if (written_at.has_value()) time = *written_at + kLongestSilence;
  if (passed_at.has_value()) time = std::min(time, *passed_at + kLongestDelay);
  return time;
}

absl::Time ClusterDevices::NextGivenUp() const {
  absl::Time next = absl::InfiniteFuture();
  for (const std::string& uid : expected_) {
    next = std::min(next, in_flight_.find(uid)->second.GivenUpAt());
  }
  return next;
}

void ClusterDevices::DropExpected(const ObjectStore& objects) {
  const std::vector<std::string> expected(expected_.begin(), expected_.end());
  for (const std::string& uid : expected) DropSeen(objects, uid);
}

void ClusterDevices::SetClaim(const ObjectStore& objects, const Identity& claim) {
  const Object* const now =
      objects.Find(Kind::kResourceClaim, claim.namespace_name(), claim.name());
  UsedDevices devices;
  if (now != nullptr) {
    const auto& status = now->As<api::ResourceClaim>().status();
    if (status.has_allocation()) devices = DevicesOf(status.allocation());
  }
  // Added before they are subtracted, also of what is in flight: what stays held does not change.
  Add(devices, held_);
  if (const auto known = by_claim_.find(claim.key()); known != by_claim_.end()) {
    Subtract(known->second, held_);
    by_claim_.erase(known);
  }
  if (!devices.empty()) by_claim_.emplace(claim.key(), std::move(devices));
  if (inventory_.features().extended_resources) NoteSpecialClaim(claim.key(), now);
  // The watch has shown it, even if it is gone by now.
  if (expected_.erase(claim.uid()) > 0) in_flight_.find(claim.uid())->second.is_expected = false;
  DropSeen(now, claim.uid());
}

void ClusterDevices::NoteSpecialClaim(const std::string& key, const Object* now) {
  if (const auto known = special_owners_.find(key); known != special_owners_.end()) {
    const auto claims = special_claims_.find(known->second);
    claims->second.erase(key);
    if (claims->second.empty()) special_claims_.erase(claims);
    special_owners_.erase(known);
  }
  if (now == nullptr) return;
  const auto& claim = now->As<api::ResourceClaim>();
  uint64_t version = 0;
  if (absl::SimpleAtoi(claim.metadata().resource_version(), &version)) {
    latest_claim_ = std::max(latest_claim_, version);
  }
  const absl::string_view owner = SpecialClaimOwner(claim);
  if (owner.empty()) return;
  special_claims_[owner].insert(key);
  special_owners_.emplace(key, owner);
}

const Object* ClusterDevices::SpecialClaimOf(absl::string_view pod_uid,
                                             const ObjectStore& objects) const {
  const auto found = special_claims_.find(pod_uid);
  if (found == special_claims_.end()) return nullptr;
  const absl::string_view key = *found->second.begin();
  const size_t slash = key.find('/');
  return objects.Find(Kind::kResourceClaim, key.substr(0, slash), key.substr(slash + 1));
}

void ClusterDevices::DropSeen(const Object* now, absl::string_view claim_uid) {
  const auto found = in_flight_.find(claim_uid);
  if (found == in_flight_.end()) return;
  Flight& flight = found->second;
  const bool is_there = now != nullptr && now->uid() == claim_uid;
  if (flight.is_expected) {
    const bool is_passed =
        !flight.written.empty() &&
        std::all_of(flight.written.begin(), flight.written.end(), [this](const ClaimWrite& write) {
          uint64_t version = 0;
          return absl::SimpleAtoi(write.version, &version) && version < latest_claim_;
        });
    if (is_passed && !flight.passed_at.has_value()) flight.passed_at = now_;
    const bool is_written = flight.pods.empty() && !flight.written.empty();
    if (is_written && !flight.written_at.has_value()) flight.written_at = now_;
    if (!is_there && now_ < flight.GivenUpAt()) return;
    flight.is_expected = false;
    expected_.erase(claim_uid);
  }
  if (!is_there) {
    flight.pods.clear();
    flight.written.clear();
  } else {
    std::erase_if(flight.written, [&](const ClaimWrite& write) { return IsSeen(write, *now); });
  }
  DropIfEmpty(found);
}

void ClusterDevices::DropSeen(const ObjectStore& objects, absl::string_view claim_uid) {
  const auto found = in_flight_.find(claim_uid);
  if (found == in_flight_.end()) return;
  const absl::string_view key = found->second.claim_key;
  const size_t slash = key.find('/');
  DropSeen(objects.Find(Kind::kResourceClaim, key.substr(0, slash), key.substr(slash + 1)),
           claim_uid);
}

ClusterDevices::Allocation ClusterDevices::InFlight(absl::string_view claim_uid) const {
  const auto found = in_flight_.find(claim_uid);
  return found == in_flight_.end() ? nullptr : found->second.allocation;
}

void ClusterDevices::Promise(absl::string_view pod_uid, const Object& claim,
                             const Allocation& allocation) {
  const auto [entry, is_new] = in_flight_.try_emplace(claim.uid());
  Flight& flight = entry->second;
  if (is_new) {
    flight.claim_key = std::string(claim.key());
    flight.allocation = allocation;
    flight.devices = DevicesOf(*allocation);
    Add(flight.devices, promised_);
    flight.is_expected = IsInMemory(claim);
    if (flight.is_expected) expected_.emplace(claim.uid());
  }
  flight.pods.emplace(pod_uid);
}

void ClusterDevices::GiveUp(absl::string_view pod_uid, absl::string_view claim_uid) {
  TakeNotes();
  const auto found = in_flight_.find(claim_uid);
  if (found == in_flight_.end() || found->second.pods.erase(pod_uid) == 0) return;
  DropIfEmpty(found);
}

bool ClusterDevices::IsUnwritten(absl::string_view claim_uid,
                                 const absl::flat_hash_set<std::string>& pods) const {
  const auto found = in_flight_.find(claim_uid);
  if (found == in_flight_.end() || !found->second.written.empty()) return false;
  return std::all_of(found->second.pods.begin(), found->second.pods.end(),
                     [&](const std::string& pod) { return pods.contains(pod); });
}

void ClusterDevices::Exchange(absl::string_view claim_uid, const Allocation& allocation) {
  Flight& flight = in_flight_.find(claim_uid)->second;
  UsedDevices devices = DevicesOf(*allocation);
  Add(devices, promised_);  // first: what stays promised does not change
  Subtract(flight.devices, promised_);
  flight.devices = std::move(devices);
  flight.allocation = allocation;
}

void ClusterDevices::NoteCreated(absl::string_view claim_uid, const Object& created) {
  const MutexLock lock(mutex_);
  notes_.push_back({.claim_uid = std::string(claim_uid), .created = created});
}

void ClusterDevices::NoteWritten(absl::string_view pod_uid, absl::string_view claim_uid,
                                 ClaimWrite write) {
  const MutexLock lock(mutex_);
  notes_.push_back({std::string(pod_uid), std::string(claim_uid), std::move(write)});
}

void ClusterDevices::NoteRead(absl::string_view claim_uid, absl::string_view version) {
  const MutexLock lock(mutex_);
  notes_.push_back({.claim_uid = std::string(claim_uid),
                    .write = {.version = std::string(version)},
                    .is_read = true});
}

void ClusterDevices::TakeNotes() {
  const MutexLock lock(mutex_);
  for (Note& note : std::exchange(notes_, {})) {
    const auto found = in_flight_.find(note.claim_uid);
    if (found == in_flight_.end()) continue;
    Flight& flight = found->second;
    if (note.created.has_value()) {
      const std::string uid(note.created->uid());
      flight.claim_key = std::string(note.created->key());
      expected_.erase(note.claim_uid);
      expected_.insert(uid);
      auto node = in_flight_.extract(found);
      in_flight_.emplace(uid, std::move(node.mapped()));
      note.claim_uid = uid;
    } else if (note.is_read) {
      std::erase_if(flight.written, [&](const ClaimWrite& write) {
        return write.is_lost && write.version == note.write.version;
      });
    } else {
      flight.pods.erase(note.pod_uid);
      flight.written.push_back(std::move(note.write));
    }
    noted_.push_back(std::move(note.claim_uid));
  }
}

void ClusterDevices::DropIfEmpty(Flights::iterator flight) {
  if (!flight->second.pods.empty() || !flight->second.written.empty()) return;
  Subtract(flight->second.devices, promised_);
  expected_.erase(flight->first);
  in_flight_.erase(flight);
}

void ClusterDevices::Add(const UsedDevices& devices, Holders& holders) {
  for (const UsedDevice& device : devices) {
    if (!device.share_id.empty()) {
      AddShare(device);
      continue;
    }
    if (!Holds(device.id)) NoteChanged(device.id);
    ++holders[device.id];
  }
}

void ClusterDevices::Subtract(const UsedDevices& devices, Holders& holders) {
  for (const UsedDevice& device : devices) {
    if (!device.share_id.empty()) {
      SubtractShare(device);
      continue;
    }
    const auto found = holders.find(device.id);
    if (--found->second > 0) continue;
    holders.erase(found);
    if (!Holds(device.id)) NoteChanged(device.id);
  }
}

void ClusterDevices::AddShare(const UsedDevice& device) {
  std::vector<Share>& shares = shares_[device.id];
  for (Share& share : shares) {
    if (share.id != device.share_id || share.consumed != device.consumed) continue;
    ++share.holders;
    return;
  }
  shares.push_back({device.share_id, 1, device.consumed});
  NoteChanged(device.id);
}

void ClusterDevices::SubtractShare(const UsedDevice& device) {
  const auto found = shares_.find(device.id);
  if (found == shares_.end()) return;
  std::vector<Share>& shares = found->second;
  const auto share = std::find_if(shares.begin(), shares.end(), [&](const Share& share) {
    return share.id == device.share_id && share.consumed == device.consumed;
  });
  if (share == shares.end() || --share->holders > 0) return;
  shares.erase(share);
  if (shares.empty()) shares_.erase(found);
  NoteChanged(device.id);
}

std::optional<ConsumedCapacity> ClusterDevices::Consumed(const DeviceId& device,
                                                         const ReleasedDevices* released) const {
  const auto found = shares_.find(device);
  if (found == shares_.end()) return std::nullopt;
  std::optional<ConsumedCapacity> sum;
  for (const Share& share : found->second) {
    // Who joins the claim holds it a second time.
    if (released != nullptr && share.holders == 1 && released->contains({device, share.id})) {
      continue;
    }
    AddTo(sum, share.consumed);
  }
  return sum;
}

void ClusterDevices::NoteChanged(const DeviceId& device) {
  const AffectedNodes nodes = inventory_.NodesOf(device);
  NoteChanged(nodes.names, nodes.all);
}

void ClusterDevices::NoteChanged(const std::vector<Symbol>& nodes, bool all) {
  if (all) {
    all_changed_at_ = ++version_;
    changed_at_.clear();
    changes_.clear();
    return;
  }
  // A reader further behind than half of these reads all nodes.
  if (changes_.size() >= kMostChanges) {
    changes_.erase(changes_.begin(), changes_.begin() + kMostChanges / 2);
  }
  for (const Symbol node : nodes) {
    changed_at_[node] = ++version_;
    changes_.push_back(node);
  }
}

std::optional<absl::Span<const Symbol>> ClusterDevices::ChangesSince(uint64_t version) const {
  const uint64_t behind = version_ - version;
  if (version < all_changed_at_ || behind > changes_.size()) return std::nullopt;
  return absl::MakeConstSpan(changes_).last(behind);
}

}  // namespace berth
