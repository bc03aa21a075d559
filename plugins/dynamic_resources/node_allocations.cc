// SPDX-License-Identifier: Apache-2.0
// Implementation of node_allocations.h.
#include "plugins/dynamic_resources/node_allocations.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/algorithm/container.h"

namespace berth {
namespace {

// Work in steps of 0.2 us: what a node costs in any case, and what one step is of devices that are
// tried and of what selectors cost.
constexpr int64_t kStepsOfNode = 4;
constexpr int64_t kTriesAStep = 8;
constexpr int64_t kCostAStep = 4;

// For so many classes of claims the allocator's answers are kept, of about so many nodes together:
// 0.4 KB each.
constexpr size_t kMostKept = 256;
constexpr size_t kMostAnswers = size_t{1} << 17;

// A search is cut off after a number of steps, not by a clock: the same input has the same result.
// kube-scheduler tries about so many devices a second.
constexpr double kStepsASecond = 1e6;

int64_t StepsIn(absl::Duration timeout) {
  if (timeout <= absl::ZeroDuration()) return std::numeric_limits<int64_t>::max();
  const double steps = absl::ToDoubleSeconds(timeout) * kStepsASecond;
  return steps < 1e18 ? std::max<int64_t>(1, static_cast<int64_t>(steps))
                      : std::numeric_limits<int64_t>::max();
}

}  // namespace

NodeAllocations::NodeAllocations(const ClusterDevices& devices, absl::Duration timeout,
                                 DeviceScoring scoring)
    : devices_(devices), max_steps_(StepsIn(timeout)), scoring_(scoring) {}

std::shared_ptr<AllocationsByNode> NodeAllocations::Of(const std::string& signature) {
  const auto known =
      absl::c_find_if(kept_, [&](const auto& kept) { return kept.first == signature; });
  if (known != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, known);
  } else {
    kept_.emplace_front(signature, std::make_shared<AllocationsByNode>());
    size_t answers = 0;
    for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
      const MutexLock lock(kept->second->mutex);
      answers += kept->second->on_node.size();
      if (answers <= kMostAnswers) continue;
      kept_.erase(std::next(kept), kept_.end());
      break;
    }
    if (kept_.size() > kMostKept) kept_.pop_back();
  }
  return kept_.front().second;
}

bool NodeAllocations::IsNominated(const ClaimsOfPod& claims, const DeviceId& device) {
  return claims.nominated != nullptr && claims.nominated->devices.contains(device);
}

std::optional<ConsumedCapacity> NodeAllocations::Consumed(const ClusterDevices& devices,
                                                          const ClaimsOfPod& claims,
                                                          const DeviceId& device,
                                                          const ReleasedDevices* released) {
  std::optional<ConsumedCapacity> sum = devices.Consumed(device, released);
  if (claims.nominated == nullptr) return sum;
  const auto planned = claims.nominated->shares.find(device);
  if (planned != claims.nominated->shares.end()) AddTo(sum, planned->second);
  return sum;
}

NodeAllocations::Answer NodeAllocations::Find(const ClaimsOfPod& claims,
                                              const NodeInfo& node) const {
  AllocationsByNode& kept = *claims.allocations;
  const MutexLock lock(kept.mutex);
  const auto known = kept.on_node.find(node.name());
  if (known == kept.on_node.end() || known->second.node != node.shared_spec() ||
      known->second.version != devices_.NodeVersion(node.name())) {
    return nullptr;
  }
  return known->second.allocation;
}

NodeAllocations::Answer NodeAllocations::On(const ClaimsOfPod& claims, const NodeInfo& node) const {
  Answer known = Find(claims, node);
  if (known != nullptr) return known;
  AllocationsByNode& kept = *claims.allocations;
  const uint64_t version = devices_.NodeVersion(node.name());
  const int64_t cost = devices_.inventory().evaluation_cost();
  auto made = std::make_shared<const absl::StatusOr<NodeAllocation>>(AllocateDevices(
      {.inventory = devices_.inventory(),
       .claims = claims.ToAllocateOn(node)->claims,
       .is_held =
           [&](const DeviceId& device) {
             return devices_.Holds(device) || IsNominated(claims, device);
           },
       .consumed = [&](const DeviceId& device) { return Consumed(devices_, claims, device); },
       .max_steps = max_steps_,
       .scoring = scoring_},
      node.name(), node.labels()));
  if (!made->ok()) return made;
  const MutexLock lock(kept.mutex);
  kept.unspent_steps += kStepsOfNode + (*made)->steps / kTriesAStep +
                        (devices_.inventory().evaluation_cost() - cost) / kCostAStep;
  kept.on_node.insert_or_assign(node.name(),
                                AllocationsByNode::OnNode{version, node.shared_spec(), made});
  return made;
}

void NodeAllocations::Spend(const ClaimsOfPod& claims, WorkBudget& budget) {
  const MutexLock lock(claims.allocations->mutex);
  budget.Spend(std::exchange(claims.allocations->unspent_steps, 0));
}

absl::StatusOr<NodeAllocation> NodeAllocations::With(const ReleasedDevices& released,
                                                     const ClaimsOfPod& claims,
                                                     const NodeInfo& node) const {
  return AllocateDevices(
      {.inventory = devices_.inventory(),
       .claims = claims.ToAllocateOn(node)->claims,
       .is_held =
           [&](const DeviceId& device) {
             // What others are about to have they keep: members of a gang, in its plan.
             return devices_.IsPromised(device) || IsNominated(claims, device) ||
                    (devices_.Holds(device) && !released.contains({device, ""}));
           },
       .consumed =
           [&](const DeviceId& device) { return Consumed(devices_, claims, device, &released); },
       .max_steps = max_steps_},
      node.name(), node.labels());
}

bool NodeAllocations::Yields(const ClaimsOfPod& claims, const CycleState& state, int left) {
  WorkBudget& budget = state.work_budget();
  AllocationsByNode& kept = *claims.allocations;
  if (!budget.is_limited() || !budget.IsSpent()) return false;
  if (left >= std::exchange(kept.left_at_last_yield, left)) {
    budget.Lift();  // others make more to do than is done
    return false;
  }
  budget.Yield();
  return true;
}

}  // namespace berth
