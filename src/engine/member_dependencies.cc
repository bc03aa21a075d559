// SPDX-License-Identifier: Apache-2.0
// Implementation of member_dependencies.h.
#include "engine/member_dependencies.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"

namespace berth {
namespace {

constexpr size_t kMostMemberKinds = 256;

// Members that are placed alike.
struct LikeMembers {
  MemberOrder members;
  std::vector<std::vector<int>> needs = {};  // for each term the kinds that it selects: one of them
  bool is_taken = false;

  const PodInfo& pod() const { return *members.front(); }
  bool CanEvictLessThan(const LikeMembers& other) const {
    const auto ability = [](const PodInfo& pod) {
      return std::tuple(pod.preemption_policy() != PreemptionPolicy::kNever, pod.priority());
    };
    return ability(pod()) < ability(other.pod());
  }
};

bool Selects(const AffinityTerm& term, const PodInfo& pod) {
  return term.Matches(pod.namespace_name(), pod.labels(), nullptr);
}

// A term that selects its own pod lets the first of them in; what selects no member, others have to
// meet.
std::vector<std::vector<int>> NeedsOf(const PodInfo& pod, const std::vector<LikeMembers>& kinds) {
  std::vector<std::vector<int>> needs;
  for (const AffinityTerm& term : pod.required_affinity_terms()) {
    if (Selects(term, pod)) continue;
    std::vector<int> selected;
    for (size_t i = 0; i < kinds.size(); ++i) {
      if (Selects(term, kinds[i].pod())) selected.push_back(static_cast<int>(i));
    }
    if (!selected.empty()) needs.push_back(std::move(selected));
  }
  return needs;
}

// Absent kinds: too many.
std::vector<LikeMembers> KindsOf(absl::Span<const std::shared_ptr<const PodInfo>> pods) {
  std::vector<LikeMembers> kinds;
  for (const auto& pod : pods) {
    const auto same = absl::c_find_if(
        kinds, [&](const LikeMembers& kind) { return AreEquivalent(kind.pod(), *pod); });
    if (same != kinds.end()) {
      same->members.push_back(pod);
    } else if (kinds.size() == kMostMemberKinds) {
      return {};
    } else {
      kinds.push_back({.members = {pod}});
    }
  }
  return kinds;
}

}  // namespace

MemberOrder NeededFirst(absl::Span<const std::shared_ptr<const PodInfo>> pods) {
  std::vector<LikeMembers> kinds = KindsOf(pods);
  absl::c_stable_sort(
      kinds, [](const LikeMembers& a, const LikeMembers& b) { return a.CanEvictLessThan(b); });
  for (LikeMembers& kind : kinds) kind.needs = NeedsOf(kind.pod(), kinds);
  const auto has_what_it_needs = [&](const LikeMembers& kind) {
    return absl::c_all_of(kind.needs, [&](const std::vector<int>& one_of) {
      return absl::c_any_of(one_of, [&](int other) { return kinds[other].is_taken; });
    });
  };
  MemberOrder order;
  while (order.size() < pods.size() && !kinds.empty()) {
    auto next = absl::c_find_if(
        kinds, [&](const LikeMembers& kind) { return !kind.is_taken && has_what_it_needs(kind); });
    if (next == kinds.end()) {  // they need each other
      next = absl::c_find_if(kinds, [](const LikeMembers& kind) { return !kind.is_taken; });
    }
    next->is_taken = true;
    order.insert(order.end(), next->members.begin(), next->members.end());
  }
  if (absl::c_equal(order, pods)) order.clear();
  return order;
}

}  // namespace berth
