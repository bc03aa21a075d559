// SPDX-License-Identifier: Apache-2.0
// Implementation of packing.h.
#include "search/packing.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "berth/api/amounts.h"

namespace berth {
namespace {

// A weight of one: divisible by how many pods mostly share a node.
constexpr int64_t kOne = 720720;
// More pods than that are none of a group; sums of weights stay below 2^63.
constexpr int64_t kMostPods = 1 << 16;
// Nodes with other room than those before are looked at until so many sorts are known.
constexpr size_t kMostSorts = 4;
constexpr int kMostNodesForSorts = 64;
// What is spent on exact sums for a node, and in all.
constexpr int64_t kStepsOfNode = 200, kSteps = 20000;
constexpr int64_t kUnknown = -1;

}  // namespace

PackingBound::PackingBound(const std::vector<PodsOfKind>& kinds, int64_t others,
                           std::shared_ptr<const CountedNeeds> counted)
    : others_(others), counted_(std::move(counted)) {
  const size_t sorts = counted_ == nullptr ? 0 : counted_->sorts();
  for (const PodsOfKind& kind : kinds) {
    for (const auto& [resource, amount] : kind.needed.requests) {
      if (amount > 0 && !absl::c_linear_search(resources_, resource)) {
        resources_.push_back(resource);
      }
    }
  }
  for (const PodsOfKind& kind : kinds) {
    Kind& added = kinds_.emplace_back(Kind{Amounts(1 + resources_.size() + sorts, 0), kind.pods});
    added.pods = std::min(added.pods, kMostPods);
    added.needed.front() = 1;
    for (const auto& [resource, amount] : kind.needed.requests) {
      const auto known = absl::c_find(resources_, resource);
      if (known != resources_.end()) added.needed[1 + (known - resources_.begin())] = amount;
    }
    absl::c_copy(kind.counted, added.needed.begin() + 1 + resources_.size());
  }
}

PackingBound::Amounts PackingBound::FreeOn(const NodeTable& nodes, NodeRow row,
                                           int32_t gone_below) const {
  Amounts free = {nodes.allowed_pods()[row] - nodes.pod_count()[row]};
  for (const ResourceId resource : resources_) {
    free.push_back(
        SaturatingSubtract(nodes.allocatable(resource)[row], nodes.requested(resource)[row]));
  }
  if (nodes.lowest_priority()[row] < gone_below) {
    for (const auto& pod : nodes.node(row).pods()) {
      if (pod->priority() >= gone_below) continue;
      ++free.front();
      for (size_t i = 0; i < resources_.size(); ++i) {
        free[i + 1] = SaturatingAdd(free[i + 1], pod->requests().Get(resources_[i]));
      }
    }
  }
  for (int64_t& amount : free) amount = std::max<int64_t>(0, amount);
  if (counted_ == nullptr) return free;
  const size_t first = free.size();
  free.resize(first + counted_->sorts(), 0);
  const bool any_fits = absl::c_any_of(kinds_, [&](const Kind& kind) {
    for (size_t i = 0; i < first; ++i) {
      if (kind.needed[i] > free[i]) return false;
    }
    return true;
  });
  if (any_fits) {
    counted_->FreeOn(nodes.node(row), gone_below, absl::MakeSpan(free).subspan(first));
  }
  return free;
}

int64_t PackingBound::Fitting(const Kind& kind, const Amounts& free) {
  int64_t fitting = kind.pods;
  for (size_t i = 0; i < free.size(); ++i) {
    if (kind.needed[i] > 0) fitting = std::min(fitting, free[i] / kind.needed[i]);
  }
  return fitting;
}

PackingBound::Amounts PackingBound::FittingAlone(const Amounts& free) const {
  Amounts fitting;
  for (const Kind& kind : kinds_) fitting.push_back(Fitting(kind, free));
  return fitting;
}

// The lightest of the pods are wanted.
void PackingBound::AddMeasure(Amounts weights, int64_t wanted,
                              std::vector<Measure>& measures) const {
  std::vector<std::pair<int64_t, int64_t>> lightest;  // the weight of so many each
  for (size_t i = 0; i < kinds_.size(); ++i) lightest.emplace_back(weights[i], kinds_[i].pods);
  absl::c_sort(lightest);
  Measure measure{std::move(weights)};
  for (const auto& [weight, pods] : lightest) {
    const int64_t counted = std::min(pods, wanted);
    measure.wanted += weight * counted;
    wanted -= counted;
  }
  if (measure.wanted > 0) measures.push_back(std::move(measure));
}

// Of the kinds from that one on. kUnknown if the steps are spent.
int64_t PackingBound::Heaviest(const Amounts& weights, size_t kind, Amounts& free,
                               int64_t& steps) const {
  if (--steps < 0) return kUnknown;
  const Kind& pods = kinds_[kind];
  const int64_t fitting = Fitting(pods, free);
  if (kind + 1 == kinds_.size()) return fitting * weights[kind];
  const auto take = [&](int64_t more) {
    for (size_t i = 0; i < free.size(); ++i) free[i] -= more * pods.needed[i];
  };
  int64_t heaviest = 0;
  take(fitting);
  for (int64_t taken = fitting;; --taken) {
    const int64_t others = Heaviest(weights, kind + 1, free, steps);
    if (others == kUnknown) return kUnknown;
    heaviest = std::max(heaviest, taken * weights[kind] + others);
    if (taken == 0) return heaviest;
    take(-1);
  }
}

// The same if pods could be cut: by the resource of which the heaviest mixture takes the most.
int64_t PackingBound::HeaviestInParts(const Amounts& weights, const Amounts& free) const {
  const Amounts fitting = FittingAlone(free);
  __int128 least = 0;
  for (size_t k = 0; k < kinds_.size(); ++k) least += __int128{weights[k]} * fitting[k];
  for (size_t i = 0; i < free.size(); ++i) {
    __int128 most = 0;
    bool is_bound = true;
    for (size_t k = 0; k < kinds_.size(); ++k) {
      if (fitting[k] == 0 || weights[k] == 0) continue;
      const int64_t needed = kinds_[k].needed[i];
      is_bound = is_bound && needed > 0;
      if (needed > 0) {
        most = std::max(most, (__int128{weights[k]} * free[i] + needed - 1) / needed);
      }
    }
    if (is_bound) least = std::min(least, most);
  }
  return static_cast<int64_t>(std::min(least, __int128{std::numeric_limits<int64_t>::max()}));
}

// `free_of(i)`: what is free on the node of that position.
template <class FreeOf>
std::vector<PackingBound::Measure> PackingBound::Measures(int64_t wanted, int nodes,
                                                          FreeOf free_of) const {
  std::vector<Measure> measures;
  AddMeasure(Amounts(kinds_.size(), 1), wanted, measures);
  for (size_t i = 1; i < kinds_.front().needed.size(); ++i) {
    int64_t most = 0;
    for (const Kind& kind : kinds_) most = std::max(most, kind.needed[i]);
    if (most == 0) continue;
    Amounts weights;
    for (const Kind& kind : kinds_) {
      weights.push_back(static_cast<int64_t>(__int128{kind.needed[i]} * kOne / most));
    }
    AddMeasure(std::move(weights), wanted, measures);
  }
  std::vector<Amounts> sorts;  // of nodes, by how many pods of each kind fit
  for (int i = 0; i < std::min(nodes, kMostNodesForSorts) && sorts.size() < kMostSorts; ++i) {
    Amounts fitting = FittingAlone(free_of(i));
    if (absl::c_linear_search(sorts, fitting)) continue;
    Amounts weights;
    for (const int64_t pods : fitting) weights.push_back(kOne / std::max<int64_t>(1, pods));
    AddMeasure(std::move(weights), wanted, measures);
    sorts.push_back(std::move(fitting));
  }
  return measures;
}

PackingBound::Verdict PackingBound::Check(const NodeTable& nodes, const std::vector<NodeRow>* rows,
                                          int64_t wanted, int32_t gone_below) const {
  if (wanted <= others_) return {false, wanted};
  const int count = rows != nullptr ? static_cast<int>(rows->size()) : nodes.size();
  const auto free_of = [&](int i) {
    return FreeOn(nodes, rows != nullptr ? (*rows)[i] : NodeRow{i}, gone_below);
  };
  std::vector<Measure> measures = Measures(wanted - others_, count, free_of);
  int64_t steps = kSteps;
  size_t open = measures.size();
  for (int i = 0; i < count; ++i) {
    const Amounts free = free_of(i);
    for (Measure& measure : measures) {
      if (measure.sum >= measure.wanted) continue;
      Amounts left = free;
      const int64_t given = std::min(kStepsOfNode, steps);
      int64_t steps_left = given;
      int64_t heaviest = Heaviest(measure.weights, 0, left, steps_left);
      steps -= given - std::max<int64_t>(0, steps_left);
      if (heaviest == kUnknown) heaviest = HeaviestInParts(measure.weights, free);
      measure.sum = SaturatingAdd(measure.sum, heaviest);
      if (measure.sum >= measure.wanted) --open;
    }
    if (open == 0) return {false, wanted};
  }
  return {true, std::min(others_ + measures.front().sum, wanted - 1)};
}

}  // namespace berth
