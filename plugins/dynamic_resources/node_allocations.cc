// SPDX-License-Identifier: Apache-2.0
// Implementation of node_allocations.h.
#include "plugins/dynamic_resources/node_allocations.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/algorithm/container.h"
#include "plugins/dynamic_resources/allocation_score.h"

namespace berth {
namespace {

// Work in steps of 0.2 us: what a node costs in any case, and what one step is of devices that are
// tried and of what selectors cost.
constexpr int64_t kStepsOfNode = 4;
constexpr int64_t kTriesAStep = 8;
constexpr int64_t kCostAStep = 4;

// For so many classes of claims the allocator's answers are kept, so many of them together: of a
// class of nodes some 30 bytes, of a node that is in none some 60.
constexpr size_t kMostKept = 1024;
constexpr size_t kMostAnswers = size_t{1} << 20;

// So often nodes are compared, each time for claims that read other fields of devices.
constexpr size_t kMostComparisons = 32;
// If nodes are of more classes, the allocator is not asked about all before nodes are scored.
constexpr size_t kMostAsked = 512;

// A search is cut off after a number of steps, not by a clock: the same input has the same result.
// kube-scheduler tries about so many devices a second.
constexpr double kStepsASecond = 1e6;

std::vector<DeviceLimit> LimitsOn(const DeviceLimitsOfPod* limits, const NodeInfo& node) {
  return limits == nullptr ? std::vector<DeviceLimit>() : limits->On(node.labels());
}

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

std::shared_ptr<AllocationsByNode> NodeAllocations::Of(const ClaimsOfPod& claims) {
  std::string signature = claims.asked;
  if (claims.nominated != nullptr) signature += claims.nominated->text;
  if (claims.limits != nullptr) signature += claims.limits->text;
  const auto known = kept_of_.find(signature);
  if (known != kept_of_.end()) {
    kept_.splice(kept_.begin(), kept_, known->second);
    return kept_.front().allocations;
  }
  kept_.push_front({signature, std::make_shared<AllocationsByNode>(NodesByDevicesFor(claims))});
  kept_of_.emplace(kept_.front().signature, kept_.begin());
  size_t classes = 0, answers = 0;
  for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
    const MutexLock lock(kept->allocations->mutex);
    answers += kept->allocations->of_class.size() + kept->allocations->on_node.size();
    if (++classes <= kMostKept && answers <= kMostAnswers) continue;
    for (auto dropped = kept; dropped != kept_.end(); ++dropped) {
      kept_of_.erase(dropped->signature);
    }
    kept_.erase(kept, kept_.end());
    break;
  }
  return kept_.front().allocations;
}

// What nominated pods are about to have is not among what NodesByDevices compares, nor is what a
// node has of extended resources, nor what limits count devices as.
std::shared_ptr<NodesByDevices> NodeAllocations::NodesByDevicesFor(const ClaimsOfPod& claims) {
  if (scoring_ != DeviceScoring::kFirstFit || claims.nominated != nullptr ||
      claims.limits != nullptr || claims.special != nullptr || claims.to_allocate.claims.empty()) {
    return nullptr;
  }
  const FieldsRead fields = FieldsReadBy(claims.to_allocate.claims);
  const auto known = absl::c_find_if(nodes_by_devices_,
                                     [&](const auto& nodes) { return nodes->fields() == fields; });
  if (known != nodes_by_devices_.end()) {
    std::rotate(nodes_by_devices_.begin(), known, known + 1);
    return nodes_by_devices_.front();
  }
  if (nodes_by_devices_.size() >= kMostComparisons) nodes_by_devices_.pop_back();
  nodes_by_devices_.insert(nodes_by_devices_.begin(),
                           std::make_shared<NodesByDevices>(devices_, fields));
  return nodes_by_devices_.front();
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

std::optional<NodeAllocations::Answer> NodeAllocations::Find(const ClaimsOfPod& claims,
                                                             const NodeInfo& node) const {
  AllocationsByNode& kept = *claims.allocations;
  const uint64_t node_class = ClassOf(claims, node);
  const MutexLock lock(kept.mutex);
  if (node_class != NodesByDevices::kNone) {
    const auto known = kept.of_class.find(node_class);
    if (known == kept.of_class.end()) return std::nullopt;
    return known->second;
  }
  const auto known = kept.on_node.find(node.name());
  if (known == kept.on_node.end() || known->second.node != node.shared_spec() ||
      known->second.version != devices_.NodeVersion(node.name())) {
    return std::nullopt;
  }
  return known->second.answer;
}

uint64_t NodeAllocations::ClassOf(const ClaimsOfPod& claims, const NodeInfo& node) {
  NodesByDevices* const nodes = claims.allocations->nodes_by_devices.get();
  return nodes == nullptr ? NodesByDevices::kNone : nodes->ClassOf(node);
}

absl::StatusOr<NodeAllocations::Answer> NodeAllocations::On(const ClaimsOfPod& claims,
                                                            const NodeInfo& node) const {
  const std::optional<Answer> known = Find(claims, node);
  if (known.has_value()) return *known;
  AllocationsByNode& kept = *claims.allocations;
  const int64_t cost = devices_.inventory().evaluation_cost();
  const absl::StatusOr<NodeAllocation> made = Allocate(claims, node);
  if (!made.ok()) return made.status();
  const Answer answer{made->outcome,
                      ScoreOfAllocation(*made, claims.ToAllocateOn(node)->claims, scoring_)};
  const uint64_t node_class = ClassOf(claims, node);
  const MutexLock lock(kept.mutex);
  kept.unspent_steps += kStepsOfNode + made->steps / kTriesAStep +
                        (devices_.inventory().evaluation_cost() - cost) / kCostAStep;
  if (node_class != NodesByDevices::kNone) {
    kept.of_class.insert_or_assign(node_class, answer);
  } else {
    kept.on_node.insert_or_assign(
        node.name(),
        AllocationsByNode::OnNode{devices_.NodeVersion(node.name()), node.shared_spec(), answer});
  }
  return answer;
}

bool NodeAllocations::AnswerEverywhere(const ClaimsOfPod& claims, const NodeTable& nodes,
                                       WorkBudget& budget) const {
  AllocationsByNode& kept = *claims.allocations;
  if (kept.nodes_by_devices == nullptr) return false;
  const auto classes = kept.nodes_by_devices->ClassesOf(nodes, kMostAsked);
  if (!classes.has_value()) return false;
  for (const NodesByDevices::Class& one : *classes) {
    const auto is_known = [&] {
      const MutexLock lock(kept.mutex);
      return kept.of_class.contains(one.number);
    };
    if (is_known()) continue;
    if (budget.IsSpent() || !On(claims, nodes.node(nodes.FindRow(one.node))).ok()) return false;
    Spend(claims, budget);
  }
  return true;
}

absl::StatusOr<NodeAllocation> NodeAllocations::Allocate(const ClaimsOfPod& claims,
                                                         const NodeInfo& node) const {
  const std::vector<DeviceLimit> limits = LimitsOn(claims.limits.get(), node);
  return AllocateDevices(
      {.inventory = devices_.inventory(),
       .claims = claims.ToAllocateOn(node)->claims,
       .is_held =
           [&](const DeviceId& device) {
             return devices_.Holds(device) || IsNominated(claims, device);
           },
       .consumed = [&](const DeviceId& device) { return Consumed(devices_, claims, device); },
       .max_steps = max_steps_,
       .scoring = scoring_,
       .limits = limits},
      node.name(), node.labels());
}

void NodeAllocations::Spend(const ClaimsOfPod& claims, WorkBudget& budget) {
  const MutexLock lock(claims.allocations->mutex);
  budget.Spend(std::exchange(claims.allocations->unspent_steps, 0));
}

absl::StatusOr<NodeAllocation> NodeAllocations::With(const ReleasedDevices& released,
                                                     const ClaimsOfPod& claims,
                                                     const DeviceLimitsOfPod* limits_of_pod,
                                                     const NodeInfo& node) const {
  const std::vector<DeviceLimit> limits = LimitsOn(limits_of_pod, node);
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
       .max_steps = max_steps_,
       .limits = limits},
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
