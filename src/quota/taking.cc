// SPDX-License-Identifier: Apache-2.0
// Implementation of taking.h.
#include "berth/quota/taking.h"

#include <algorithm>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace berth {

absl::string_view TakingName(Taking taking) {
  switch (taking) {
    case Taking::kYes:
      return "yes";
    case Taking::kNotPreemptible:
      return "it is not preemptible";
    case Taking::kNever:
      return "its quota takes nothing back";
    case Taking::kFenced:
      return "a fence stands between the quotas";
    case Taking::kNotLower:
      return "its priority is not lower";
    case Taking::kTakerAbove:
      return "the quota would have more than its min";
    case Taking::kHolderWithin:
      return "its quota has no more than its min";
    case Taking::kMinRuntime:
      return "it has not run long enough";
  }
  return "";
}

std::string TakingVerdict::ToString(const QuotaTree& tree) const {
  const std::string subject = tree.spec(quota).subject();
  const auto text = [&](__int128 amount) {
    return tree.lines()[line].QuantityOf(static_cast<int64_t>(amount)).ToString();
  };
  const absl::string_view bound_name = by_share ? "fair share" : "min";
  switch (taking) {
    case Taking::kNever:
      return absl::StrCat(subject, " lets its pods evict nobody for that");
    case Taking::kFenced:
      return absl::StrCat("the fence of ", subject, " stands between the quotas");
    case Taking::kTakerAbove:
      if (line < 0) return absl::StrCat(subject, " has no ", bound_name, " of what is asked for");
      return absl::StrCat(subject, " would use ", text(used), " ", tree.lines()[line].ToString(),
                          ", more than its ", bound_name, ", ", text(bound));
    case Taking::kHolderWithin:
      if (line < 0) return absl::StrCat(subject, " uses nothing of what is asked for");
      return absl::StrCat(subject, " uses ", text(used), " ", tree.lines()[line].ToString(),
                          ", no more than its ", bound_name, ", ", text(bound));
    case Taking::kMinRuntime:
      return absl::StrCat(TakingName(taking), " for ", subject);
    case Taking::kYes:
    case Taking::kNotPreemptible:
    case Taking::kNotLower:
      break;
  }
  return std::string(TakingName(taking));
}

__int128 TakingRule::OfChildren(QuotaId quota, int line, Bound bound) const {
  return bound == Bound::kGuarantee ? tree_.guaranteed_below(quota, line)
                                    : shares_.OfChildren(quota, line);
}

// What a quota never lends counts as used: no other quota can have it, so a quota that uses as much
// beside it has it from others.
TakingRule::Side TakingRule::SideOf(QuotaId quota, QuotaId ancestor, int line, Bound bound) const {
  const __int128 whole =
      bound == Bound::kGuarantee ? tree_.guarantee(quota, line) : Share(quota, line);
  if (quota != ancestor) return {whole, tree_.Held(quota, line)};
  // Pods of the ancestor itself stand beside its children.
  return {std::max<__int128>(0, whole - OfChildren(quota, line, bound)), tree_.own(quota, line)};
}

bool TakingRule::StaysWithin(const QuotaTaker& taker, const QuotaTree::Branches& branches,
                             Bound bound, TakingVerdict* why) const {
  bool claims = false;
  if (why != nullptr) {
    *why = {.taking = Taking::kTakerAbove, .quota = branches.a, .by_share = bound == Bound::kShare};
  }
  for (const auto& [line, amount] : taker.request) {
    if (!tree_.Concerns(branches.a, line)) continue;
    const Side side = SideOf(branches.a, branches.ancestor, line, bound);
    const __int128 used = UsedWith(taker, branches, line, amount, side);
    if (used > side.bound) {
      if (why != nullptr) {
        why->line = line;
        why->used = used;
        why->bound = side.bound;
      }
      return false;
    }
    claims = true;
  }
  return claims;
}

bool TakingRule::EndsBeyondShare(const QuotaTaker& taker,
                                 const QuotaTree::Branches& branches) const {
  bool claims = false;
  for (const auto& [line, amount] : taker.request) {
    if (!tree_.Concerns(branches.a, line)) continue;
    const Side side = SideOf(branches.a, branches.ancestor, line, Bound::kShare);
    const bool within = UsedWith(taker, branches, line, amount, side) <= side.bound;
    if (!within && side.used >= side.bound) return false;
    claims = true;
  }
  return claims;
}

// What is beyond shares becomes less with each taking: of the two sides the one that has the most
// of it loses some, and the other one comes to have less. So nobody takes in turns.
bool TakingRule::EvensOut(const QuotaTaker& taker, const QuotaHolder* holder,
                          const QuotaTree::Branches& branches) const {
  if (!EndsBeyondShare(taker, branches)) return false;
  return absl::c_all_of(taker.request, [&](const auto& asked) {
    const auto& [line, amount] = asked;
    if (!tree_.Concerns(branches.a, line)) return true;
    const Side a = SideOf(branches.a, branches.ancestor, line, Bound::kShare);
    const __int128 beyond = UsedWith(taker, branches, line, amount, a) - a.bound;
    if (beyond <= 0) return true;
    const Side b = SideOf(branches.b, branches.ancestor, line, Bound::kShare);
    if (b.used - b.bound <= beyond) return false;
    if (holder == nullptr) return true;
    const int64_t held = AmountOfLine(holder->amounts, line);
    return held > 0 && b.used - held >= b.bound;
  });
}

// Whether the holder's side has more than its bound of a line, and so has each quota on the way
// down to the holder; unless they are promised more than the one above them has, which it may take
// back.
bool TakingRule::IsAboveOn(int line, QuotaId holder, const QuotaTree::Branches& branches,
                           Bound bound, TakingVerdict* why) const {
  const auto no = [&](QuotaId quota, __int128 used, __int128 of) {
    if (why == nullptr) return false;
    *why = {.taking = Taking::kHolderWithin,
            .quota = quota,
            .line = line,
            .used = used,
            .bound = of,
            .by_share = bound == Bound::kShare};
    return false;
  };
  const Side side = SideOf(branches.b, branches.ancestor, line, bound);
  if (side.used <= side.bound) return no(branches.b, side.used, side.bound);
  for (QuotaId quota = holder; quota != branches.b && quota != branches.ancestor;
       quota = tree_.parent(quota)) {
    const __int128 own =
        bound == Bound::kGuarantee ? tree_.guarantee(quota, line) : Share(quota, line);
    if (tree_.Held(quota, line) > own) continue;
    const QuotaId above = tree_.parent(quota);
    if (tree_.guaranteed_below(above, line) <= tree_.guarantee(above, line)) {
      return no(quota, tree_.Held(quota, line), own);
    }
  }
  return true;
}

bool TakingRule::IsAbove(const QuotaTaker& taker, const QuotaHolder& holder,
                         const QuotaTree::Branches& branches, Bound bound,
                         TakingVerdict& why) const {
  why = {
      .taking = Taking::kHolderWithin, .quota = holder.quota, .by_share = bound == Bound::kShare};
  bool is_above = false;
  for (const auto& [line, amount] : holder.amounts) {
    if (amount <= 0 || !tree_.Concerns(holder.quota, line)) continue;
    const bool asked_for = AmountOfLine(taker.request, line) > 0;
    const bool decides = asked_for || tree_.lines()[line].is_scalar();
    const bool above = IsAboveOn(line, holder.quota, branches, bound, decides ? &why : nullptr);
    // A pod that holds guaranteed GPUs does not go for CPU that was borrowed.
    if (!above && tree_.lines()[line].is_scalar()) return false;
    is_above |= above && asked_for;
  }
  return is_above;
}

QuotaId TakingRule::FenceBetween(QuotaId taker, QuotaId holder,
                                 const QuotaTree::Branches& branches) const {
  const auto first = [&](QuotaId from, QuotaFence fence) {
    for (QuotaId quota = from; quota != branches.ancestor && quota > 0;
         quota = tree_.parent(quota)) {
      const QuotaFence of_quota = tree_.spec(quota).fence;
      if (of_quota == fence || of_quota == QuotaFence::kBoth) return quota;
    }
    return QuotaTree::kCluster;
  };
  const QuotaId out = first(taker, QuotaFence::kOut);
  return out != QuotaTree::kCluster ? out : first(holder, QuotaFence::kIn);
}

// A pod's priority with those of the quotas above it, up to below the ancestor. YuniKorn
// priority.offset.
int64_t TakingRule::PriorityBelow(QuotaId ancestor, QuotaId quota, int32_t of_pod) const {
  int64_t priority = of_pod;
  for (; quota != ancestor; quota = tree_.parent(quota)) priority += tree_.spec(quota).priority;
  return priority;
}

// The quota `from`, or the nearest above it that says so, counts. KAI min-runtime: the quota just
// below the lowest common ancestor, on the holder's side.
TakingVerdict TakingRule::UnlessTooSoon(const QuotaHolder& holder, QuotaId from,
                                        std::optional<absl::Duration> QuotaSpec::*field) const {
  for (QuotaId quota = from; quota > 0; quota = tree_.parent(quota)) {
    const std::optional<absl::Duration>& least = tree_.spec(quota).*field;
    if (!least.has_value()) continue;
    const absl::Time at = holder.start_time + *least;
    if (at <= now_) break;
    return {.taking = Taking::kMinRuntime, .until = at, .quota = quota};
  }
  return {};
}

template <class Test>
bool TakingRule::OnSomeSide(const QuotaTaker& taker, const Test& test) const {
  for (QuotaId quota = taker.quota; quota != QuotaTree::kCluster; quota = tree_.parent(quota)) {
    // As a side of its parent, and, of the taker's own quota, beside its children.
    for (const QuotaId ancestor : {tree_.parent(quota), quota}) {
      if (test(QuotaTree::Branches{quota, quota, ancestor})) return true;
    }
  }
  return false;
}

bool TakingRule::MayReclaim(const QuotaTaker& taker) const {
  const ReclaimStrategy strategy = tree_.spec(taker.quota).reclaim;
  return strategy != ReclaimStrategy::kNever &&
         OnSomeSide(taker, [&](const QuotaTree::Branches& branches) {
           return StaysWithin(taker, branches, Bound::kGuarantee, nullptr) ||
                  (strategy == ReclaimStrategy::kFairShare && EndsBeyondShare(taker, branches));
         });
}

TakingVerdict TakingRule::WhyNotReclaim(const QuotaTaker& taker) const {
  const ReclaimStrategy strategy = tree_.spec(taker.quota).reclaim;
  const auto stays_within = [&](const QuotaTree::Branches& branches) {
    return StaysWithin(taker, branches, Bound::kGuarantee, nullptr) ||
           (strategy == ReclaimStrategy::kFairShare &&
            StaysWithin(taker, branches, Bound::kShare, nullptr));
  };
  if (taker.quota == QuotaTree::kCluster) return {};
  if (strategy != ReclaimStrategy::kNever && OnSomeSide(taker, stays_within)) return {};
  if (strategy == ReclaimStrategy::kNever) {
    return {.taking = Taking::kNever, .quota = taker.quota};
  }
  TakingVerdict why;
  StaysWithin(taker, {taker.quota, taker.quota, tree_.parent(taker.quota)},
              strategy == ReclaimStrategy::kFairShare ? Bound::kShare : Bound::kGuarantee, &why);
  return why;
}

bool TakingRule::MayGive(const QuotaTaker& taker, QuotaId holder) const {
  const QuotaSpec& spec = tree_.spec(taker.quota);
  if (taker.quota == holder) return spec.preemption != QuotaPreemption::kNever;
  const QuotaTree::Branches branches = tree_.BranchesOf(taker.quota, holder);
  if (FenceBetween(taker.quota, holder, branches) != QuotaTree::kCluster) return false;
  const auto by = [&](Bound bound) {
    const bool may_take = StaysWithin(taker, branches, bound, nullptr) ||
                          (bound == Bound::kShare && EvensOut(taker, nullptr, branches));
    return may_take && absl::c_any_of(taker.request, [&](const auto& asked) {
             return asked.second > 0 && tree_.Concerns(holder, asked.first) &&
                    IsAboveOn(asked.first, holder, branches, bound, nullptr);
           });
  };
  return by(Bound::kGuarantee) ||
         (spec.reclaim == ReclaimStrategy::kFairShare && by(Bound::kShare));
}

TakingVerdict TakingRule::MayTake(const QuotaTaker& taker, const QuotaHolder& holder) const {
  const auto no = [](Taking why, QuotaId quota = QuotaTree::kCluster) {
    return TakingVerdict{.taking = why, .quota = quota};
  };
  if (!holder.preemptible) return no(Taking::kNotPreemptible);
  const QuotaSpec& spec = tree_.spec(taker.quota);

  if (taker.quota == holder.quota) {
    if (spec.preemption == QuotaPreemption::kNever) return no(Taking::kNever, taker.quota);
    const bool newer_equal = spec.preemption == QuotaPreemption::kLowerOrNewerEqualPriority &&
                             holder.priority == taker.priority &&
                             holder.creation_time > taker.creation_time;
    if (holder.priority >= taker.priority && !newer_equal) return no(Taking::kNotLower);
    return UnlessTooSoon(holder, holder.quota, &QuotaSpec::preempt_min_runtime);
  }

  if (spec.reclaim == ReclaimStrategy::kNever) return no(Taking::kNever, taker.quota);
  const QuotaTree::Branches branches = tree_.BranchesOf(taker.quota, holder.quota);
  const QuotaId fence = FenceBetween(taker.quota, holder.quota, branches);
  if (fence != QuotaTree::kCluster) return no(Taking::kFenced, fence);
  if (spec.victims == ReclaimVictims::kLowerPriority && holder.priority >= taker.priority) {
    return no(Taking::kNotLower);
  }
  if (spec.victims == ReclaimVictims::kNotHigherPriority &&
      PriorityBelow(branches.ancestor, holder.quota, holder.priority) >
          PriorityBelow(branches.ancestor, taker.quota, taker.priority)) {
    return no(Taking::kNotLower);
  }
  TakingVerdict why;
  const auto by = [&](Bound bound) {
    const bool may_take = StaysWithin(taker, branches, bound, &why) ||
                          (bound == Bound::kShare && EvensOut(taker, &holder, branches));
    return may_take && IsAbove(taker, holder, branches, bound, why);
  };
  const bool may_take =
      by(Bound::kGuarantee) || (spec.reclaim == ReclaimStrategy::kFairShare && by(Bound::kShare));
  if (!may_take) return why;
  return UnlessTooSoon(holder, branches.b, &QuotaSpec::reclaim_min_runtime);
}

}  // namespace berth
