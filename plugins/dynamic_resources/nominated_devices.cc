// SPDX-License-Identifier: Apache-2.0
// Implementation of nominated_devices.h.
#include "plugins/dynamic_resources/nominated_devices.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/columns/node_table.h"
#include "plugins/dynamic_resources/claim_verdicts.h"
#include "plugins/dynamic_resources/returned_devices.h"

namespace berth {
namespace {

// So often plans of one priority are made again in another order, because one found nothing.
constexpr int kMostOrders = 8;

constexpr uint64_t kUnknown = std::numeric_limits<uint64_t>::max();

// So many claims of leaving pods are tried one by one.
constexpr size_t kMostFreed = 64;

// So many claims that left devices are remembered until they are seen to have got theirs.
constexpr size_t kMostLeft = 4096;

}  // namespace

// --- What others plan for ------------------------------------------------------------------------

std::shared_ptr<const NominatedUses> NominatedDevices::UsesOf(absl::Span<const Plan> plans,
                                                              const PodInfo& pod,
                                                              absl::Span<const PodClaim> claims) {
  auto uses = std::make_shared<NominatedUses>();
  std::vector<std::string> names;
  for (const Plan& plan : plans) {
    if (!plan.is_found || plan.priority < pod.priority() || plan.pod_uid == pod.uid()) continue;
    for (const FreedClaim& claim : plan.freed) {
      uses->freed_claims.emplace(claim.uid, plan.pod_key);
      names.push_back(claim.uid);
    }
    for (const PlannedClaim& planned : plan.claims) {
      if (IsAmong(claims, planned.uid)) continue;
      for (const UsedDevice& device : planned.devices) {
        names.push_back(device.id.ToString());
        if (device.share_id.empty()) {
          uses->devices.emplace(device.id, plan.pod_key);
          continue;
        }
        ConsumedCapacity& shares = uses->shares[device.id];
        for (const auto& [name, amount] : device.consumed) {
          shares[name].Add(amount);
          absl::StrAppend(&names.back(), " ", name, " ", amount.ToString());
        }
      }
    }
  }
  if (names.empty()) return nullptr;
  absl::c_sort(names);
  for (const std::string& name : names) absl::StrAppend(&uses->text, name, "\n");
  return uses;
}

std::shared_ptr<const NominatedUses> NominatedDevices::For(
    const PodInfo& pod, absl::Span<const PodClaim> claims) const {
  if (plans_.empty()) return nullptr;
  const bool has_part =
      planned_.contains(pod.uid()) || absl::c_any_of(claims, [this](const PodClaim& claim) {
        return planned_.contains(claim.object.uid());
      });
  if (has_part) return UsesOf(plans_, pod, claims);
  const auto [known, is_new] = for_others_.try_emplace(pod.priority());
  if (is_new) known->second = UsesOf(plans_, pod, claims);
  return known->second;
}

// --- Plans ---------------------------------------------------------------------------------------

// The plans of all nominated pods, one after another: each has what those before it leave.
class NominatedDevices::Maker {
 public:
  Maker(const Tools& tools, std::vector<Plan> known) : tools_(tools) {
    for (Plan& plan : known) known_.emplace(plan.pod_uid, std::move(plan));
  }

  // Where one finds nothing, it comes first of its priority once, and the others are made again.
  std::vector<Plan> Make(std::vector<Nominated> pods) {
    Sort(pods);
    for (int orders = 0; !MakeInOrder(pods) && orders < kMostOrders; ++orders) {
      const auto failed = pods.begin() + static_cast<std::ptrdiff_t>(failed_);
      const int32_t priority = failed->pod->priority();
      const auto first = absl::c_find_if(
          pods, [&](const Nominated& one) { return one.pod->priority() == priority; });
      std::rotate(first, failed, failed + 1);
      for (const Nominated& one : pods) {
        if (one.pod->priority() <= priority) known_.erase(one.pod->uid());
      }
    }
    return std::move(plans_);
  }

 private:
  using Leaving = std::vector<const LeavingClaim*>;

  // Of one priority those first that have a plan already.
  void Sort(std::vector<Nominated>& pods) const {
    absl::c_stable_sort(pods, [this](const Nominated& a, const Nominated& b) {
      if (a.pod->priority() != b.pod->priority()) return a.pod->priority() > b.pod->priority();
      return known_.contains(a.pod->uid()) && !known_.contains(b.pod->uid());
    });
  }

  // False if one was made newly and found nothing, and others of its priority came before it.
  bool MakeInOrder(const std::vector<Nominated>& pods) {
    plans_.clear();
    taken_.clear();
    for (size_t i = 0; i < pods.size(); ++i) {
      const Nominated& nominated = pods[i];
      const auto known = known_.find(nominated.pod->uid());
      const bool stands = known != known_.end() && known->second.node == nominated.node &&
                          IsFree(known->second) && Stands(known->second, tools_);
      Plan plan = stands ? known->second : MakePlan(nominated);
      const bool is_in_order = !plan.is_found && !stands && !plans_.empty() &&
                               plans_.back().priority == plan.priority &&
                               tried_first_.insert(plan.pod_uid).second;
      if (is_in_order) {
        failed_ = i;
        return false;
      }
      for (const PlannedClaim& claim : plan.claims) {
        for (const UsedDevice& device : claim.devices) {
          if (device.share_id.empty()) taken_.insert(device.id);
        }
      }
      plans_.push_back(std::move(plan));
    }
    return true;
  }

  // Of the devices that plans before it have.
  bool IsFree(const Plan& plan) const {
    return absl::c_all_of(plan.claims, [this](const PlannedClaim& claim) {
      return absl::c_none_of(
          claim.devices, [this](const UsedDevice& device) { return taken_.contains(device.id); });
    });
  }

  Plan MakePlan(const Nominated& nominated) {
    const PodInfo& pod = *nominated.pod;
    Plan plan{.pod_uid = std::string(pod.uid()),
              .pod_key = std::string(pod.key()),
              .priority = pod.priority(),
              .node = nominated.node,
              .version = tools_.devices.NodeVersion(nominated.node)};
    const NodeTable& nodes = tools_.handle.nodes();
    const NodeRow row = nodes.FindRow(nominated.node);
    ClaimsOfPod claims;
    if (row < 0 || !tools_.reader.Read(pod, claims).ok()) return plan;
    const NodeInfo& node = nodes.node(row);
    const Leaving own = OwnLeaving(claims, node);
    if (!own.empty()) claims = WithoutDevices(claims, own);
    LeaveOutPlanned(claims.to_allocate, claims);
    claims.nominated = UsesOf(plans_, pod, claims.claims);
    claims.limits = tools_.limits.For(pod.scheduler_name().view(), pod);
    if (ClaimVerdicts::OnSpecialClaim(claims, node) != ClaimVerdict::kFeasible) return plan;
    const ClaimsToAllocate& on_node = *claims.ToAllocateOn(node);
    plan.is_found = true;
    if (on_node.claims.empty()) return plan;
    const absl::StatusOr<NodeAllocation> allocation = Allocate(pod, claims, own, node, plan);
    plan.is_found = IsFound(allocation);
    if (plan.is_found) SetClaims(plan, claims, on_node, *allocation);
    return plan;
  }

  static bool IsFound(const absl::StatusOr<NodeAllocation>& allocation) {
    return allocation.ok() && allocation->outcome == NodeAllocation::Outcome::kAllocated;
  }

  // From what is free and, as in the dry run that chose the victims, from as few claims of leaving
  // pods as will do.
  absl::StatusOr<NodeAllocation> Allocate(const PodInfo& pod, const ClaimsOfPod& claims,
                                          const Leaving& own, const NodeInfo& node, Plan& plan) {
    const auto with = [&](const Leaving& freed) {
      ReleasedDevices released;
      for (const Leaving* const all : {&own, &freed}) {
        for (const LeavingClaim* const claim : *all) {
          released.insert(claim->devices.begin(), claim->devices.end());
        }
      }
      return tools_.allocations.With(released, claims, claims.limits.get(), node);
    };
    for (const LeavingClaim* const claim : own) plan.freed.push_back(FreedClaimOf(*claim));
    Leaving freed;
    absl::StatusOr<NodeAllocation> allocation = with(freed);
    if (IsFound(allocation)) return allocation;
    const Leaving leaving = LeavingFor(pod, claims, node.name());
    for (size_t i = 0; i < leaving.size() && !IsFound(allocation); ++i) {
      freed.push_back(leaving[i]);
      if (i < kMostFreed || i + 1 == leaving.size()) allocation = with(freed);
    }
    if (!IsFound(allocation)) return allocation;
    // The last one is needed.
    for (size_t i = 0; i + 1 < freed.size() && freed.size() <= kMostFreed;) {
      Leaving fewer = freed;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      absl::StatusOr<NodeAllocation> with_fewer = with(fewer);
      if (!IsFound(with_fewer)) {
        ++i;
        continue;
      }
      freed = std::move(fewer);
      allocation = std::move(with_fewer);
    }
    for (const LeavingClaim* const claim : freed) plan.freed.push_back(FreedClaimOf(*claim));
    return allocation;
  }

  static FreedClaim FreedClaimOf(const LeavingClaim& claim) {
    FreedClaim freed{std::string(claim.claim->uid()), std::string(claim.claim->key()), {}};
    for (const auto& user : claim.claim->As<api::ResourceClaim>().status().reserved_for()) {
      freed.users.insert(user.uid());
    }
    return freed;
  }

  const std::vector<LeavingClaim>& AllLeaving() {
    if (!leaving_.has_value()) leaving_ = ClaimsOfLeavingPods(tools_.devices, tools_.handle);
    return *leaving_;
  }

  // The pod's own claims that the node cannot use, and that their users leave: they are allocated
  // anew.
  Leaving OwnLeaving(const ClaimsOfPod& claims, const NodeInfo& node) {
    Leaving own;
    if (!ClaimVerdicts::IsElsewhere(claims, node)) return own;
    for (const LeavingClaim& claim : AllLeaving()) {
      if (IsAmong(claims.claims, claim.claim->uid())) own.push_back(&claim);
    }
    return own;
  }

  ClaimsOfPod WithoutDevices(const ClaimsOfPod& claims, const Leaving& own) const {
    absl::flat_hash_set<std::string> freed;
    for (const LeavingClaim* const claim : own) freed.emplace(claim->claim->uid());
    const auto without = tools_.reader.ReadWithout(claims, freed);
    return without == nullptr ? claims : *without;
  }

  // Those with something for the node that no plan before has. First those that the pod waits for:
  // of less important pods, on its node, and who was asked to go last.
  Leaving LeavingFor(const PodInfo& pod, const ClaimsOfPod& claims, Symbol node) {
    Leaving leaving;
    for (const LeavingClaim& claim : AllLeaving()) {
      const bool is_useful = absl::c_any_of(claim.devices, [&](const DeviceUse& use) {
        const AffectedNodes nodes = tools_.devices.inventory().NodesOf(use.device);
        return !taken_.contains(use.device) &&
               (nodes.all || absl::c_linear_search(nodes.names, node));
      });
      if (is_useful && !IsAmong(claims.claims, claim.claim->uid())) leaving.push_back(&claim);
    }
    const auto rank = [&](const LeavingClaim* claim) {
      return std::pair(claim->highest_priority >= pod.priority(),
                       !absl::c_linear_search(claim->nodes, node));
    };
    absl::c_stable_sort(leaving, [&](const LeavingClaim* a, const LeavingClaim* b) {
      const auto of_a = rank(a), of_b = rank(b);
      return of_a != of_b ? of_a < of_b : a->latest_deletion > b->latest_deletion;
    });
    return leaving;
  }

  // Claims that pods share have one plan.
  void LeaveOutPlanned(ClaimsToAllocate& to_allocate, const ClaimsOfPod& claims) const {
    for (size_t i = to_allocate.claims.size(); i-- > 0;) {
      const absl::string_view uid = claims.claims[to_allocate.positions[i]].object.uid();
      const bool is_planned = absl::c_any_of(plans_, [&](const Plan& plan) {
        return absl::c_any_of(plan.claims, [&](const auto& claim) { return claim.uid == uid; });
      });
      if (!is_planned) continue;
      to_allocate.claims.erase(to_allocate.claims.begin() + static_cast<std::ptrdiff_t>(i));
      to_allocate.positions.erase(to_allocate.positions.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  void SetClaims(Plan& plan, const ClaimsOfPod& claims, const ClaimsToAllocate& on_node,
                 const NodeAllocation& allocation) const {
    for (size_t i = 0; i < on_node.claims.size(); ++i) {
      const auto result = AllocationResultOf(allocation, on_node.claims, static_cast<int>(i));
      if (!result.ok()) continue;
      const Object& claim = claims.claims[on_node.positions[i]].object;
      plan.claims.push_back(
          {std::string(claim.uid()), std::string(claim.key()), tools_.devices.DevicesOf(**result)});
      for (const UsedDevice& device : plan.claims.back().devices) {
        if (tools_.devices.Holds(device.id)) plan.awaited.insert(device.id);
      }
    }
  }

  const Tools& tools_;
  absl::flat_hash_map<std::string, Plan> known_;
  std::vector<Plan> plans_;
  absl::flat_hash_set<DeviceId> taken_;
  absl::flat_hash_set<std::string> tried_first_;
  size_t failed_ = 0;
  std::optional<std::vector<LeavingClaim>> leaving_;
};

const Object* NominatedDevices::FindClaim(const Tools& tools, const std::string& key) {
  const size_t slash = key.find('/');
  const absl::string_view name = key;
  return tools.handle.objects().Find(Kind::kResourceClaim, name.substr(0, slash),
                                     name.substr(slash + 1));
}

bool NominatedDevices::Stands(Plan& plan, const Tools& tools) {
  const ClusterDevices& devices = tools.devices;
  // Others may have joined them. One that has lost its devices may be allocated anew.
  std::vector<FreedClaim> left;
  for (const FreedClaim& claim : plan.freed) {
    if (devices.InFlight(claim.uid) != nullptr) return false;
    const Object* const now = FindClaim(tools, claim.key);
    if (now == nullptr || now->uid() != claim.uid) continue;
    const api::ResourceClaimStatus& status = now->As<api::ResourceClaim>().status();
    if (!status.has_allocation()) continue;
    const bool has_others = absl::c_any_of(
        status.reserved_for(), [&](const auto& user) { return !claim.users.contains(user.uid()); });
    if (has_others) return false;
    left.push_back(claim);
  }
  plan.freed = std::move(left);
  const uint64_t version = devices.NodeVersion(plan.node);
  if (plan.version == version) return true;
  if (!plan.is_found) return false;
  for (const PlannedClaim& claim : plan.claims) {
    if (devices.InFlight(claim.uid) != nullptr) return false;
    const Object* const now = FindClaim(tools, claim.key);
    if (now == nullptr || now->As<api::ResourceClaim>().status().has_allocation()) return false;
    for (const UsedDevice& device : claim.devices) {
      // Which shares of a device there are is not followed.
      if (!device.share_id.empty() || devices.IsPromised(device.id)) return false;
      if (!devices.Holds(device.id)) {
        plan.awaited.erase(device.id);
      } else if (!plan.awaited.contains(device.id)) {
        return false;
      }
    }
  }
  plan.version = version;
  return true;
}

std::vector<NominatedDevices::Nominated> NominatedDevices::NominatedPods(
    const Tools& tools, const absl::flat_hash_set<std::string>& profiles) {
  std::vector<Nominated> pods;
  tools.handle.nominator().ForEach([&](const PodInfo& pod, absl::string_view node) {
    if (!profiles.contains(pod.scheduler_name().view()) || !tools.reader.MayUseDevices(pod)) return;
    pods.push_back({&pod, Symbol::Intern(node)});
  });
  return pods;
}

void NominatedDevices::Update(const Tools& tools) {
  if (profiles_.empty()) return;
  const uint64_t nominations = tools.handle.nominator().version();
  if (nominations == nominations_ && plans_.empty()) return;
  tools.devices.Update(tools.handle.objects(), tools.handle.clock());
  const uint64_t claims = tools.handle.objects().version(Kind::kResourceClaim);
  const bool is_same = nominations == nominations_ && tools.devices.version() == devices_;
  if (is_same && (claims == claims_ || !frees_claims_)) return;
  // What a gang takes for gone in its plan is not.
  if (tools.handle.Shared<GoneInPlan>()->number != 0) return DropEnded(tools);
  nominations_ = nominations;
  plans_ = Maker(tools, std::move(plans_)).Make(NominatedPods(tools, profiles_));
  devices_ = tools.devices.version();
  claims_ = claims;
  NoteChanged();
}

void NominatedDevices::DropEnded(const Tools& tools) {
  absl::flat_hash_map<std::string, Symbol> node_of;
  for (const Nominated& one : NominatedPods(tools, profiles_)) {
    node_of.emplace(one.pod->uid(), one.node);
  }
  const size_t dropped = std::erase_if(plans_, [&](const Plan& plan) {
    const auto nominated = node_of.find(plan.pod_uid);
    return nominated == node_of.end() || nominated->second != plan.node;
  });
  if (dropped > 0) NoteChanged();
}

void NominatedDevices::NoteChanged() {
  for_others_.clear();
  planned_.clear();
  frees_claims_ = false;
  for (const Plan& plan : plans_) {
    frees_claims_ |= !plan.freed.empty();
    planned_.insert(plan.pod_uid);
    for (const PlannedClaim& claim : plan.claims) planned_.insert(claim.uid);
  }
}

void NominatedDevices::Forget(const PodInfo& pod) {
  if (!planned_.contains(pod.uid())) return;
  std::erase_if(plans_, [&](const Plan& plan) { return plan.pod_uid == pod.uid(); });
  NoteChanged();
  nominations_ = kUnknown;
}

// --- What is left --------------------------------------------------------------------------------

void NominatedDevices::Took(const PodInfo& pod,
                            absl::Span<const ClusterDevices::Allocation> allocations,
                            const ClusterDevices& devices) {
  if (!planned_.contains(pod.uid())) return;
  const auto plan =
      absl::c_find_if(plans_, [&](const Plan& one) { return one.pod_uid == pod.uid(); });
  if (plan == plans_.end()) return;
  absl::flat_hash_set<DeviceId> taken;
  for (const ClusterDevices::Allocation& allocation : allocations) {
    if (allocation == nullptr) continue;
    for (const UsedDevice& device : devices.DevicesOf(*allocation)) taken.insert(device.id);
  }
  for (const PlannedClaim& claim : plan->claims) {
    const bool leaves = absl::c_any_of(
        claim.devices, [&](const UsedDevice& device) { return !taken.contains(device.id); });
    if (!leaves) continue;
    if (left_some_.size() >= kMostLeft) left_some_.clear();
    left_some_.insert({claim.uid, plan->pod_uid});
  }
}

}  // namespace berth
