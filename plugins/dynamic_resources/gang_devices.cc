// SPDX-License-Identifier: Apache-2.0
// Implementation of gang_devices.h.
#include "plugins/dynamic_resources/gang_devices.h"

#include <algorithm>
#include <iterator>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "berth/api/node_selector.h"
#include "berth/api/resource_v1.pb.h"
#include "plugins/dynamic_resources/node_allocations.h"

namespace berth {
namespace {

// Devices tried on behalf of one pod on one node: some milliseconds at most.
constexpr int64_t kMaxSteps = 20000;

bool AsksForOneSort(const ClaimsToAllocate& claims) {
  return claims.mappings == nullptr && claims.claims.size() == 1 &&
         claims.claims.front().requests.size() == 1 &&
         claims.claims.front().requests.front().alternatives.size() == 1 &&
         claims.claims.front().constraints.empty();
}

bool CanBeUsedOn(const api::AllocationResult& allocation, const NodeInfo& node) {
  if (!allocation.has_node_selector()) return true;
  const absl::StatusOr<NodeSelector> selector =
      NodeSelector::Create(allocation.node_selector(), "nodeSelectorTerms");
  return selector.ok() && selector->Matches(node.labels(), node.name());
}

}  // namespace

void GangDevices::Begin(absl::string_view group) {
  if (group == group_) return;
  group_ = std::string(group);
  was_out_of_steps_ = false;
  members_.clear();
  is_simple_ = true;
}

bool GangDevices::IsSimple(const Member& member) const {
  if (member.reserved == nullptr || !AsksForOneSort(*member.reserved) ||
      member.reserved->claims.size() != member.claims->claims.size() ||
      member.asked != members_.front().asked) {
    return false;
  }
  const DeviceInventory& inventory = devices_.inventory();
  if (inventory.features().partitionable_devices) return false;
  const Object& claim = member.claims->claims[member.reserved->positions.front()].object;
  const ClusterDevices::Allocation allocation = devices_.InFlight(claim.uid());
  return allocation != nullptr &&
         absl::c_all_of(allocation->devices().results(), [&](const auto& result) {
           const AffectedNodes nodes =
               inventory.NodesOf(DeviceId::Of(result.driver(), result.pool(), result.device()));
           return !nodes.all && nodes.names.size() <= 1;
         });
}

void GangDevices::Add(const std::string& pod_uid, Symbol node, std::string asked,
                      std::shared_ptr<const ClaimsOfPod> claims, const ClaimsToAllocate* reserved) {
  if (group_.empty()) return;
  Remove(pod_uid);
  members_.push_back({pod_uid, node, std::move(asked), std::move(claims), reserved});
  is_simple_ = is_simple_ && IsSimple(members_.back());
}

void GangDevices::Remove(absl::string_view pod_uid) {
  std::erase_if(members_, [&](const Member& member) { return member.pod_uid == pod_uid; });
  if (members_.empty()) is_simple_ = true;
}

bool GangDevices::MayExchange(absl::string_view group, absl::string_view asked, bool joins) const {
  if (members_.empty() || group != group_) return false;
  return joins || !is_simple_ || members_.front().asked != asked;
}

// First the pod's own claims, then member by member those of the others: each gets what the ones
// before it leave. Where one gets nothing, the one before it is asked for its next solution.
class GangDevices::Search {
 public:
  Search(const GangDevices& gang, const Place& place)
      : devices_(gang.devices_), place_(place), freed_(place.released) {
    absl::flat_hash_set<std::string> pods;
    for (const Member& member : gang.members_) pods.insert(member.pod_uid);
    for (const Member& member : gang.members_) {
      if (member.reserved == nullptr || member.reserved->claims.empty()) continue;
      const NodeRow row = place.nodes.FindRow(member.node);
      // Who may not be given all sorts keeps what it was given.
      const bool is_open =
          row >= 0 && member.claims->limits == nullptr &&
          absl::c_all_of(member.reserved->positions, [&](int position) {
            return devices_.IsUnwritten(member.claims->claims[position].object.uid(), pods);
          });
      if (!is_open) continue;
      stages_.push_back({&place.nodes.node(row), member.claims.get(), member.reserved});
      for (const int position : member.reserved->positions) {
        const std::string uid(member.claims->claims[position].object.uid());
        moved_.insert(uid);
        for (const DeviceUse& use : devices_.UsesOf(*devices_.InFlight(uid))) {
          exchanged_.insert(use);
          freed_.insert(use);
        }
      }
    }
    // Who uses a claim that was allocated for another pod must be able to.
    for (const Member& member : gang.members_) {
      const NodeRow row = place.nodes.FindRow(member.node);
      if (row >= 0) AddUsers(*member.claims, member.reserved, place.nodes.node(row));
    }
    AddUsers(place.claims, &place.to_allocate, place.node);
  }

  std::optional<Exchange> Run() {
    if (stages_.empty() || !MayHelp()) return std::nullopt;
    Exchange exchange;
    found_ = &exchange;
    if (!Allocate(0) || is_out_of_steps()) return std::nullopt;
    return exchange;
  }

  bool is_out_of_steps() const { return steps_left_ <= 0; }

 private:
  struct Stage {
    const NodeInfo* node;
    const ClaimsOfPod* claims;
    const ClaimsToAllocate* to_allocate;
  };

  void AddUsers(const ClaimsOfPod& claims, const ClaimsToAllocate* own, const NodeInfo& node) {
    for (size_t i = 0; i < claims.claims.size(); ++i) {
      const bool is_own =
          own != nullptr && absl::c_linear_search(own->positions, static_cast<int>(i));
      if (!is_own && moved_.contains(claims.claims[i].object.uid())) {
        users_[claims.claims[i].object.uid()].push_back(&node);
      }
    }
  }

  // Whether the pod joins a claim whose devices are to be others, or the node can use devices that
  // members have; and no claim that stays as it is keeps it off.
  bool MayHelp() const {
    bool joins = false;
    for (size_t i = 0; i < place_.claims.claims.size(); ++i) {
      const std::optional<NodeSelector>& available_on = place_.claims.available_on[i];
      if (!available_on.has_value()) continue;
      const bool is_moved = moved_.contains(place_.claims.claims[i].object.uid());
      const bool fits = available_on->Matches(place_.node.labels(), place_.node.name());
      if (!is_moved && !fits) return false;
      joins |= is_moved;
    }
    return joins || absl::c_any_of(exchanged_, [this](const DeviceUse& use) {
             const AffectedNodes nodes = devices_.inventory().NodesOf(use.device);
             return nodes.all || absl::c_linear_search(nodes.names, place_.node.name());
           });
  }

  // Stage 0 is the pod itself, stage i + 1 is stages_[i].
  bool Allocate(size_t stage) {
    if (stage == stages_.size() + 1) return true;
    const Stage own{&place_.node, &place_.claims, &place_.to_allocate};
    const Stage& at = stage == 0 ? own : stages_[stage - 1];
    if (at.to_allocate->claims.empty()) return Allocate(stage + 1);
    const absl::StatusOr<NodeAllocation> allocation = AllocateDevices(
        {.inventory = devices_.inventory(),
         .claims = at.to_allocate->claims,
         .is_held =
             [this](const DeviceId& device) {
               return taken_.contains(device) ||
                      NodeAllocations::IsNominated(place_.claims, device) ||
                      (devices_.IsPromised(device) && !exchanged_.contains({device, ""})) ||
                      (devices_.Holds(device) && !freed_.contains({device, ""}));
             },
         .consumed = [this](const DeviceId& device) { return Consumed(device); },
         .max_steps = std::max<int64_t>(steps_left_, 1),
         .scoring = place_.scoring,
         .accept = [&](const NodeAllocation& solution) { return Continue(stage, at, solution); }},
        at.node->name(), at.node->labels());
    if (!allocation.ok()) return false;
    steps_left_ -= allocation->steps;
    if (allocation->outcome != NodeAllocation::Outcome::kAllocated) return false;
    if (stage == 0) found_->own = *allocation;
    return true;
  }

  bool Continue(size_t stage, const Stage& at, const NodeAllocation& solution) {
    if (--steps_left_ <= 0) return true;  // ends it; Run() finds nothing then
    Allocations results;
    for (size_t i = 0; i < at.to_allocate->claims.size(); ++i) {
      auto result = AllocationResultOf(solution, at.to_allocate->claims, static_cast<int>(i));
      if (!result.ok()) return false;
      std::string uid(at.claims->claims[at.to_allocate->positions[i]].object.uid());
      const auto users = users_.find(uid);
      if (users != users_.end() && absl::c_any_of(users->second, [&](const NodeInfo* node) {
            return !CanBeUsedOn(**result, *node);
          })) {
        return false;
      }
      results.emplace_back(std::move(uid), *std::move(result));
    }
    ClusterDevices::UsedDevices taken;
    for (const auto& [uid, result] : results) {
      absl::c_move(devices_.DevicesOf(*result), std::back_inserter(taken));
    }
    for (const auto& device : taken) Take(device);
    const bool is_found = Allocate(stage + 1);
    for (const auto& device : taken) GiveBack(device);
    if (!is_found) return false;
    if (stage > 0) {
      found_->others.insert(found_->others.end(), std::make_move_iterator(results.begin()),
                            std::make_move_iterator(results.end()));
    }
    return true;
  }

  void Take(const ClusterDevices::UsedDevice& device) {
    if (device.share_id.empty()) {
      taken_.insert(device.id);
    } else {
      taken_shares_[device.id].push_back(device.consumed);
    }
  }
  // The last one that was taken of the device.
  void GiveBack(const ClusterDevices::UsedDevice& device) {
    if (device.share_id.empty()) {
      taken_.erase(device.id);
    } else {
      taken_shares_[device.id].pop_back();
    }
  }

  // What claims that stay have of a device that is shared, and what the search took of it.
  std::optional<ConsumedCapacity> Consumed(const DeviceId& device) const {
    auto sum = NodeAllocations::Consumed(devices_, place_.claims, device, &freed_);
    const auto taken = taken_shares_.find(device);
    if (taken == taken_shares_.end()) return sum;
    for (const ConsumedCapacity& share : taken->second) AddTo(sum, share);
    return sum;
  }

  const ClusterDevices& devices_;
  const Place& place_;
  std::vector<Stage> stages_;
  absl::flat_hash_set<std::string> moved_;  // uids of claims
  ReleasedDevices exchanged_;               // what these have
  ReleasedDevices freed_;                   // and what is released
  absl::flat_hash_set<DeviceId> taken_;
  absl::flat_hash_map<DeviceId, std::vector<ConsumedCapacity>> taken_shares_;
  absl::flat_hash_map<std::string, std::vector<const NodeInfo*>> users_;  // by uid of a claim
  int64_t steps_left_ = kMaxSteps;
  Exchange* found_ = nullptr;
};

std::optional<GangDevices::Exchange> GangDevices::Find(const Place& place) const {
  Search search(*this, place);
  std::optional<Exchange> found = search.Run();
  if (search.is_out_of_steps()) was_out_of_steps_ = true;
  return found;
}

std::string GangDevices::WhyNotAllTried() const {
  return was_out_of_steps_ ? "the search for devices that members exchange ended at its limit" : "";
}

}  // namespace berth
