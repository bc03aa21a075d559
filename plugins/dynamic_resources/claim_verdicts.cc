// SPDX-License-Identifier: Apache-2.0
// Implementation of claim_verdicts.h.
#include "plugins/dynamic_resources/claim_verdicts.h"

#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"

namespace berth {

absl::StatusOr<ClaimVerdict> ClaimVerdicts::On(const ClaimsState& data,
                                               const NodeInfo& node) const {
  const ClaimsOfPod& claims = *data.pod;
  if (data.without_own != nullptr && IsElsewhere(claims, node)) {
    ReleasedDevices released = data.released;
    released.insert(data.released_by_own.begin(), data.released_by_own.end());
    return ByReleasedDevices(*data.without_own, released, data.limits.get(), node);
  }
  absl::StatusOr<ClaimVerdict> verdict =
      data.is_as_found() ? ByFreeDevices(claims, node)
                         : ByReleasedDevices(claims, data.released, data.limits.get(), node);
  if (!data.may_exchange() || !verdict.ok()) return verdict;
  const bool may_help =
      *verdict == ClaimVerdict::kCannotAllocate || *verdict == ClaimVerdict::kUnavailable;
  return may_help && FindExchange(data, node).has_value() ? ClaimVerdict::kFeasible : verdict;
}

bool ClaimVerdicts::IsByClass(const ClaimsState& data) {
  const ClaimsOfPod& claims = *data.pod;
  return data.is_as_found() && !claims.may_exchange && claims.special == nullptr &&
         absl::c_none_of(claims.available_on, [](const auto& on) { return on.has_value(); }) &&
         claims.allocations != nullptr && claims.allocations->nodes_by_devices != nullptr;
}

absl::StatusOr<ClaimVerdict> ClaimVerdicts::ByFreeDevices(const ClaimsOfPod& claims,
                                                          const NodeInfo& node) const {
  const ClaimVerdict of_special = OnSpecialClaim(claims, node);
  if (of_special != ClaimVerdict::kFeasible) return of_special;
  // What is wrong with claims that are to be allocated counts first.
  if (!claims.ToAllocateOn(node)->claims.empty()) {
    const absl::StatusOr<NodeAllocations::Answer> answer = allocations_.On(claims, node);
    if (!answer.ok()) return answer.status();
    const ClaimVerdict verdict = VerdictOf(answer->outcome);
    if (verdict != ClaimVerdict::kFeasible) return verdict;
  }
  return IsElsewhere(claims, node) ? ClaimVerdict::kUnavailable : ClaimVerdict::kFeasible;
}

absl::StatusOr<ClaimVerdict> ClaimVerdicts::ByReleasedDevices(const ClaimsOfPod& claims,
                                                              const ReleasedDevices& released,
                                                              const DeviceLimitsOfPod* limits,
                                                              const NodeInfo& node) const {
  const ClaimVerdict of_special = OnSpecialClaim(claims, node);
  if (of_special != ClaimVerdict::kFeasible) return of_special;
  const absl::StatusOr<NodeAllocation> allocation =
      allocations_.With(released, claims, limits, node);
  if (!allocation.ok()) return allocation.status();
  const ClaimVerdict verdict = VerdictOf(allocation->outcome);
  if (verdict != ClaimVerdict::kFeasible) return verdict;
  return IsElsewhere(claims, node) ? ClaimVerdict::kUnavailable : ClaimVerdict::kFeasible;
}

std::optional<GangDevices::Exchange> ClaimVerdicts::FindExchange(const ClaimsState& data,
                                                                 const NodeInfo& node) const {
  const ClaimsOfPod& claims = *data.pod;
  if (claims.has_lost || claims.AnyFreedForOthers() || data.limits != nullptr) return std::nullopt;
  return gang_.Find({.claims = claims,
                     .to_allocate = *claims.ToAllocateOn(node),
                     .node = node,
                     .nodes = handle_.nodes(),
                     .released = data.released,
                     .scoring = scoring_});
}

ClaimVerdict ClaimVerdicts::VerdictOf(NodeAllocation::Outcome outcome) {
  switch (outcome) {
    case NodeAllocation::Outcome::kImpossible:
      return ClaimVerdict::kCannotAllocate;
    case NodeAllocation::Outcome::kOverLimits:
      return ClaimVerdict::kOverLimits;
    case NodeAllocation::Outcome::kInvalidPools:
      return ClaimVerdict::kInvalidPools;
    case NodeAllocation::Outcome::kOutOfSteps:
      return ClaimVerdict::kTimedOut;
    case NodeAllocation::Outcome::kAllocated:
      break;
  }
  return ClaimVerdict::kFeasible;
}

ClaimVerdict ClaimVerdicts::OnSpecialClaim(const ClaimsOfPod& claims, const NodeInfo& node) {
  if (claims.special == nullptr) return ClaimVerdict::kFeasible;
  if (claims.special->is_stale()) return ClaimVerdict::kStaleClaim;
  const ClaimsToAllocate* const on_node = claims.ToAllocateOn(node);
  if (on_node == nullptr) return ClaimVerdict::kCannotFit;
  return on_node->problem.empty() ? ClaimVerdict::kFeasible : ClaimVerdict::kCannotAsk;
}

bool ClaimVerdicts::IsElsewhere(const ClaimsOfPod& claims, const NodeInfo& node) {
  return claims.has_lost || claims.AnyFreedForOthers() ||
         absl::c_any_of(claims.available_on, [&](const std::optional<NodeSelector>& available_on) {
           return available_on.has_value() && !available_on->Matches(node.labels(), node.name());
         });
}

bool ClaimVerdicts::MayAllBeFreed(const ClaimsOfPod& claims, const NodeInfo& node) {
  if (claims.has_lost || claims.AnyFreedForOthers()) return false;
  for (size_t i = 0; i < claims.claims.size(); ++i) {
    const std::optional<NodeSelector>& available_on = claims.available_on[i];
    const bool is_elsewhere =
        available_on.has_value() && !available_on->Matches(node.labels(), node.name());
    if (is_elsewhere && !claims.may_be_freed[i]) return false;
  }
  return true;
}

Code ClaimVerdicts::CodeOf(ClaimVerdict verdict, const ClaimsOfPod& claims,
                           const NodeInfo& node) const {
  if (verdict == ClaimVerdict::kFeasible) return Code::kSuccess;
  const bool evictions_may_help =
      verdict == ClaimVerdict::kOverLimits ||
      (preempts_ && verdict == ClaimVerdict::kCannotAllocate) ||
      (preempts_ && verdict == ClaimVerdict::kUnavailable && MayAllBeFreed(claims, node));
  return evictions_may_help ? Code::kUnschedulable : Code::kUnschedulableAndUnresolvable;
}

Status ClaimVerdicts::StatusOf(ClaimVerdict verdict, const ClaimsOfPod& claims,
                               const NodeInfo& node) const {
  const auto rejected = [&](absl::string_view text) {
    return CodeOf(verdict, claims, node) == Code::kUnschedulable
               ? Status::Unschedulable(std::string(text))
               : Status::UnschedulableAndUnresolvable(std::string(text));
  };
  switch (verdict) {
    case ClaimVerdict::kFeasible:
      break;
    case ClaimVerdict::kCannotAllocate:
      return rejected(kCannotAllocate);
    case ClaimVerdict::kOverLimits:
      return rejected(claims.limits->WhyOn(node.labels()));
    case ClaimVerdict::kInvalidPools:
      return rejected(kInvalidPools);
    case ClaimVerdict::kTimedOut:
      return rejected("timed out trying to allocate devices");
    case ClaimVerdict::kUnavailable:
      return rejected("resourceclaim not available on the node");
    case ClaimVerdict::kStaleClaim:
      return rejected("cannot schedule extended resource claim");
    case ClaimVerdict::kCannotFit:
      return rejected("cannot fit resource");
    case ClaimVerdict::kCannotAsk:
      return rejected(claims.ToAllocateOn(node)->problem);
  }
  return Status::Success();
}

}  // namespace berth
