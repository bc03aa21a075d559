// SPDX-License-Identifier: Apache-2.0
// The devices of the cluster and who holds them: one for all profiles.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_CLUSTER_DEVICES_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_CLUSTER_DEVICES_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/api/kinds.h"
#include "berth/clock.h"
#include "berth/devices/device_id.h"
#include "berth/devices/device_inventory.h"
#include "berth/handle/object_store.h"
#include "berth/mutex.h"
#include "plugins/dynamic_resources/claim_writes.h"
#include "plugins/dynamic_resources/released_devices.h"

namespace berth {

namespace api {
class AllocationResult;
}  // namespace api

// Adds a share of a device to what is consumed of it.
inline void AddTo(std::optional<ConsumedCapacity>& sum, const ConsumedCapacity& share) {
  if (!sum.has_value()) sum.emplace();
  for (const auto& [name, amount] : share) (*sum)[name].Add(amount);
}

// Follows slices, claims and DeviceTaintRules by their journals, and keeps what pods on their way
// to their nodes are given before the cluster says so. Threads: the scheduling thread, but for
// Holds() and what is const of the inventory.
class ClusterDevices {
 public:
  // For the profile that asks first.
  void SetFeatures(const DeviceFeatures& features) {
    if (!std::exchange(has_features_, true)) inventory_.SetFeatures(features);
  }
  // As the cluster has it now. Before each cycle that asks.
  void Update(const ObjectStore& objects, const Clock& clock);

  DeviceInventory& inventory() { return inventory_; }
  const DeviceInventory& inventory() const { return inventory_; }

  // Whether a claim has the device for itself, which admin access does not give, or is about to.
  bool Holds(const DeviceId& device) const {
    return held_.contains(device) || promised_.contains(device);
  }
  // Whether a claim is about to have it for itself.
  bool IsPromised(const DeviceId& device) const { return promised_.contains(device); }
  // What claims have, or are about to have, of a device that they share: without the shares in
  // `released` that no claim is about to have. Absent: there is no share.
  std::optional<ConsumedCapacity> Consumed(const DeviceId& device,
                                           const ReleasedDevices* released = nullptr) const;
  // Grows when anything that Holds() or the inventory say of the node changes.
  uint64_t NodeVersion(Symbol node) const {
    const auto changed = changed_at_.find(node);
    return std::max(all_changed_at_, changed == changed_at_.end() ? 0 : changed->second);
  }
  // The same of any node, and which nodes changed, as NodeChangeSource.
  uint64_t version() const { return version_; }
  std::optional<absl::Span<const Symbol>> ChangesSince(uint64_t version) const;

  // A device of a claim, or a share of it.
  struct UsedDevice {
    DeviceId id;
    std::string share_id;  // empty: all of it
    ConsumedCapacity consumed;
  };
  using UsedDevices = std::vector<UsedDevice>;
  // Without those that it has by admin access.
  UsedDevices DevicesOf(const api::AllocationResult& allocation) const;
  // The same, without what is consumed.
  std::vector<DeviceUse> UsesOf(const api::AllocationResult& allocation) const;

  // The special claim of the pod, which an attempt before left over; or null. With
  // DRAExtendedResource.
  const Object* SpecialClaimOf(absl::string_view pod_uid, const ObjectStore& objects) const;

  // --- Allocations in flight: as kube-scheduler v1.35 dra_manager.go inFlightAllocations ---

  using Allocation = std::shared_ptr<const api::AllocationResult>;
  // What the claim is about to get; null if it is not known to.
  Allocation InFlight(absl::string_view claim_uid) const;
  // Whether special claims are about to be made, or to be seen by the watch.
  bool ExpectsSpecialClaims() const { return !expected_.empty(); }
  // When the first of them is taken for gone, if the watch has not shown it by then: Update() gives
  // up what it was promised. InfiniteFuture if none is awaited.
  absl::Time NextGivenUp() const;
  // The pod, which is assumed on its node, takes the devices for the claim, or joins those that
  // take them already. They stay promised as long as any of these pods has neither given up nor
  // been seen to have written, even if the claim has been allocated meanwhile, and has lost that
  // again. If the claim is gone, it cannot be written any more.
  void Promise(absl::string_view pod_uid, const Object& claim, const Allocation& allocation);
  void GiveUp(absl::string_view pod_uid, absl::string_view claim_uid);
  // Whether the claim is about to get something from these pods alone, and none of them has written
  // that.
  bool IsUnwritten(absl::string_view claim_uid, const absl::flat_hash_set<std::string>& pods) const;
  // The claim, of which that is true, is about to get this instead.
  void Exchange(absl::string_view claim_uid, const Allocation& allocation);
  // The pod has written the allocation, or may have. From now on only the watch ends its part: it
  // may lag behind, and the pod need not live as long. Any thread.
  void NoteWritten(absl::string_view pod_uid, absl::string_view claim_uid, ClaimWrite write);
  // The special claim, which was promised something while only in memory, has been made. Before
  // anything is written to it. Any thread.
  void NoteCreated(absl::string_view claim_uid, const Object& created);
  // The claim has been read again: what was to be written over that version was not. Any thread.
  void NoteRead(absl::string_view claim_uid, absl::string_view version);

 private:
  // A share, which a claim may both have and be about to have. Members of a gang may exchange a
  // share for another one of the same device, with the same id.
  struct Share {
    std::string id;
    int holders = 0;
    ConsumedCapacity consumed;
  };

  using Uids = absl::flat_hash_set<std::string>;
  struct Flight {
    Uids pods;                        // that have not written yet
    std::vector<ClaimWrite> written;  // by others, and not seen yet
    std::string claim_key;
    Allocation allocation;
    UsedDevices devices;
    bool is_expected = false;              // a special claim that the watch has not shown yet
    std::optional<absl::Time> written_at;  // since when all of its pods have written
    std::optional<absl::Time> passed_at;   // and when the watch was seen to show later writes
    absl::Time GivenUpAt() const;
  };
  struct Note {
    std::string pod_uid, claim_uid;
    ClaimWrite write;
    bool is_read = false;           // else a write, or
    std::optional<Object> created;  // the claim under its own uid
  };
  using Flights = absl::flat_hash_map<std::string, Flight>;  // by the claim's uid

  template <class Visit>
  void ForEachDevice(const api::AllocationResult& allocation, Visit visit) const;
  void TakeNotes();
  void UpdateSlices(const ObjectStore& objects);
  void UpdateTaintRules(const ObjectStore& objects);
  void UpdateClaims(const ObjectStore& objects);
  void SetClaim(const ObjectStore& objects, const Identity& claim);
  // Ends the part of the pods whose writes are seen in `now`, the claim of that name.
  void DropSeen(const Object* now, absl::string_view claim_uid);
  void DropExpected(const ObjectStore& objects);
  // The same of what is in flight for the claim, if anything is.
  void DropSeen(const ObjectStore& objects, absl::string_view claim_uid);
  void DropIfEmpty(Flights::iterator flight);
  void NoteSpecialClaim(const std::string& key, const Object* now);
  using Holders = absl::flat_hash_map<DeviceId, int>;
  void Add(const UsedDevices& devices, Holders& holders);
  void Subtract(const UsedDevices& devices, Holders& holders);
  void AddShare(const UsedDevice& device);
  void SubtractShare(const UsedDevice& device);
  void NoteChanged(const DeviceId& device);
  void NoteChanged(const std::vector<Symbol>& nodes, bool all);

  DeviceInventory inventory_;
  bool has_features_ = false;
  uint64_t slices_version_ = 0, rules_version_ = 0, claims_version_ = 0;
  bool has_read_slices_ = false, has_read_rules_ = false, has_read_claims_ = false;
  absl::flat_hash_set<std::string> slices_, rules_;         // names
  absl::flat_hash_map<std::string, UsedDevices> by_claim_;  // by key
  Holders held_;                                            // how many claims hold it
  Flights in_flight_;
  absl::flat_hash_set<std::string> expected_;  // uids of flights with is_expected
  uint64_t latest_claim_ = 0;                  // the highest version that the watch has shown
  absl::Time now_;                             // of the last Update() amid flights with is_expected
  absl::flat_hash_map<std::string, std::set<std::string>> special_claims_;  // keys by pod uid
  absl::flat_hash_map<std::string, std::string> special_owners_;            // the other way
  Holders promised_;
  absl::flat_hash_map<DeviceId, std::vector<Share>> shares_;
  std::vector<std::string> noted_;  // claims of which a note was taken since the last Update()

  uint64_t version_ = 1, all_changed_at_ = 1;
  absl::flat_hash_map<Symbol, uint64_t> changed_at_;  // by node
  std::vector<Symbol> changes_;                       // the latest; the last one led to version_

  Mutex mutex_;
  std::vector<Note> notes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_CLUSTER_DEVICES_H_
