// SPDX-License-Identifier: Apache-2.0
// Hypothetical usage and the comparisons. scheduler-plugins capacityscheduling/elasticquota.go,
// with resources that a quota does not name left out.
#include "plugins/capacity_scheduling/quota_state.h"

#include <algorithm>
#include <limits>

namespace berth {

void UsageChanges::SetResources(absl::Span<const ResourceId> ids) {
  ids_.assign(ids.begin(), ids.end());
  total_.assign(ids.size(), Change());
}

UsageChanges::Change UsageChanges::Of(Symbol namespace_name, size_t resource) const {
  for (const OfNamespace& of : by_namespace_) {
    if (of.name == namespace_name) return of.changes[resource];
  }
  return Change();
}

UsageChanges::SeenPod* UsageChanges::Find(const PodInfo& pod) {
  const IdentityPtr& who = pod.identity();
  for (SeenPod& seen : seen_) {
    if (seen.who == who) return &seen;
  }
  for (SeenPod& seen : seen_) {  // another state of it, read anew
    if (seen.uid_hash == who->uid_hash() && seen.who->uid() == who->uid()) return &seen;
  }
  return nullptr;
}

int UsageChanges::FindOrAdd(const QuotaLedger& ledger, Symbol namespace_name) {
  for (size_t i = 0; i < by_namespace_.size(); ++i) {
    if (by_namespace_[i].name == namespace_name) return static_cast<int>(i);
  }
  const Quota* quota = ledger.Find(namespace_name);
  if (quota == nullptr) return -1;
  OfNamespace& added = by_namespace_.emplace_back();
  added.name = namespace_name;
  added.changes.resize(ids_.size());
  for (const ResourceId id : ids_) added.named.push_back(quota->Names(id));
  return static_cast<int>(by_namespace_.size()) - 1;
}

UsageChanges::SeenPod* UsageChanges::See(const QuotaLedger& ledger, const PodInfo& pod,
                                         bool charged) {
  const int of_namespace = FindOrAdd(ledger, pod.namespace_name());
  if (of_namespace < 0) return nullptr;
  if (seen_.empty()) seen_.reserve(16);
  SeenPod& seen = seen_.emplace_back();
  seen.who = pod.identity();
  seen.uid_hash = seen.who->uid_hash();
  seen.of_namespace = of_namespace;
  seen.present = charged;
  seen.leaves = pod.deletion_time().has_value();
  const auto no_claim = [](const std::string&) { return false; };
  const ResourceVector& amounts = ledger.RequestOf(pod, no_claim);
  const auto& named = by_namespace_[of_namespace].named;
  seen.amounts.resize(ids_.size());
  for (size_t i = 0; i < ids_.size(); ++i) {
    seen.amounts[i] = named[i] ? amounts.Get(ids_[i]) : 0;
  }
  for (const std::string& claim : ledger.ClaimsOf(pod)) {
    seen.claims.push_back(FindOrAddClaim(ledger, pod, claim, of_namespace));
  }
  return &seen;
}

int UsageChanges::FindOrAddClaim(const QuotaLedger& ledger, const PodInfo& pod,
                                 const std::string& claim, int of_namespace) {
  for (size_t i = 0; i < claims_.size(); ++i) {
    if (claims_[i].claim == claim) return static_cast<int>(i);
  }
  SeenClaim& added = claims_.emplace_back();
  added.claim = claim;
  added.of_namespace = of_namespace;
  if (const QuotaLedger::ChargedClaim* const charged = ledger.FindClaim(claim)) {
    added.now = *charged;
  } else {
    added.now.amount = ledger.AmountOf(pod, claim);
  }
  return static_cast<int>(claims_.size()) - 1;
}

void UsageChanges::Join(const QuotaLedger& ledger, const PodInfo& pod) {
  if (pod.spec().resource_claims().empty()) return;
  const int of_namespace = FindOrAdd(ledger, pod.namespace_name());
  if (of_namespace < 0) return;
  for (const std::string& claim : ledger.ClaimsOf(pod)) {
    if (ledger.FindClaim(claim) == nullptr) continue;
    SeenClaim& joined = claims_[FindOrAddClaim(ledger, pod, claim, of_namespace)];
    MoveClaim(joined, -1);
    joined.joining = 1;
    MoveClaim(joined, 1);
  }
}

void UsageChanges::Add(const QuotaLedger& ledger, const PodInfo& pod) {
  SeenPod* seen = Find(pod);
  if (seen == nullptr) seen = See(ledger, pod, ledger.IsCharged(*pod.identity()));
  if (seen != nullptr) Set(*seen, true);
}

void UsageChanges::Remove(const QuotaLedger& ledger, const PodInfo& pod) {
  SeenPod* seen = Find(pod);
  if (seen == nullptr) seen = See(ledger, pod, true);
  if (seen != nullptr) Set(*seen, false);
}

void UsageChanges::Set(SeenPod& seen, bool present) {
  if (seen.present == present) return;
  seen.present = present;
  for (size_t i = 0; i < seen.amounts.size(); ++i) {
    const __int128 amount = present ? __int128{seen.amounts[i]} : -__int128{seen.amounts[i]};
    ChangeUsage(seen.of_namespace, i, amount, seen.leaves ? amount : 0);
  }
  for (const int position : seen.claims) {
    SeenClaim& claim = claims_[position];
    MoveClaim(claim, -1);
    claim.now.users += present ? 1 : -1;
    if (seen.leaves) claim.now.leaving += present ? 1 : -1;
    MoveClaim(claim, 1);
  }
}

void UsageChanges::ChangeUsage(int of_namespace, size_t resource, __int128 used, __int128 leaving) {
  for (Changes* const changes : {&by_namespace_[of_namespace].changes, &total_}) {
    (*changes)[resource].used += used;
    (*changes)[resource].leaving += leaving;
  }
}

void UsageChanges::MoveClaim(const SeenClaim& claim, int sign) {
  const auto& named = by_namespace_[claim.of_namespace].named;
  QuotaLedger::ChargedClaim with_joining = claim.now;
  with_joining.users += claim.joining;
  for (size_t i = 0; i < ids_.size(); ++i) {
    if (!named[i]) continue;
    ChangeUsage(claim.of_namespace, i, __int128{sign} * with_joining.Used(ids_[i]),
                __int128{sign} * with_joining.Leaving(ids_[i]));
  }
}

// --- Comparisons ---

namespace {

constexpr __int128 kNoBound = __int128{1} << 100;

__int128 MaxOf(const Quota& quota, ResourceId id) {
  const int64_t* max = quota.max.Find(id);
  return max == nullptr ? kNoBound : __int128{*max};
}

// What is still used when the leaving pods are gone.
__int128 Kept(const Usage& usage, ResourceId id) {
  return __int128{usage.used.Get(id)} - usage.leaving.Get(id);
}

// And when `pending` ones run.
__int128 Later(const Usage& usage, const ResourceVector& pending, ResourceId id) {
  return Kept(usage, id) + pending.Get(id);
}

}  // namespace

bool OverMin(const QuotaLedger& ledger, const QuotaState& state, const Quota& quota,
             const ResourceVector& more) {
  const Usage& usage = ledger.UsageOf(quota.namespace_name);
  for (size_t claim = 0; claim < state.claimed.size(); ++claim) {
    const ResourceId id = state.claimed[claim];
    if (!quota.Names(id)) continue;
    const __int128 limit = __int128{quota.MinOf(id)} -
                           state.changes.Of(quota.namespace_name, claim).used - more.Get(id);
    if (usage.used.Get(id) > limit) return true;
  }
  return false;
}

namespace {

// Of a resource that the quota names, the i-th that the state counts; without what is leaving.
bool KeepsMoreThanMin(const Usage& usage, const QuotaState& state, const Quota& quota, size_t i) {
  const ResourceId id = state.counted[i];
  const UsageChanges::Change change = state.changes.Of(quota.namespace_name, i);
  return Kept(usage, id) > __int128{quota.MinOf(id)} - (change.used - change.leaving);
}

}  // namespace

bool HasBorrowed(const QuotaLedger& ledger, const QuotaState& state, const Quota& quota) {
  const Usage& usage = ledger.UsageOf(quota.namespace_name);
  for (size_t i = 0; i < state.claimed.size(); ++i) {
    if (quota.Names(state.counted[i]) && KeepsMoreThanMin(usage, state, quota, i)) return true;
  }
  return false;
}

bool IsBorrowed(const QuotaLedger& ledger, const QuotaState& state, const Quota& quota,
                const ResourceVector& amounts) {
  const Usage& usage = ledger.UsageOf(quota.namespace_name);
  bool is_borrowed = false;
  for (size_t i = 0; i < state.counted.size(); ++i) {
    const ResourceId id = state.counted[i];
    if (!quota.Names(id) || amounts.Get(id) == 0) continue;
    const bool over_min = KeepsMoreThanMin(usage, state, quota, i);
    if (!over_min && IsScalar(id)) return false;
    is_borrowed |= over_min && i < state.claimed.size();
  }
  return is_borrowed;
}

QuotaRoom::QuotaRoom(const QuotaLedger& ledger, const QuotaState& state, const Quota& own,
                     Moment moment, const ResourceVector& of_quota, const ResourceVector& of_all)
    : state_(state), namespace_name_(own.namespace_name), moment_(moment) {
  const Usage& usage = ledger.UsageOf(own.namespace_name);
  for (size_t claim = 0; claim < state.claimed.size(); ++claim) {
    const ResourceId id = state.claimed[claim];
    AddBound(of_quota_, claim, usage, of_quota, MaxOf(own, id));
    const int64_t* min = ledger.total_min().Find(id);
    if (min == nullptr) continue;
    AddBound(of_all_, claim, ledger.total_usage(), of_all, *min);
  }
}

void QuotaRoom::AddBound(Bounds& bounds, size_t claim, const Usage& usage,
                         const ResourceVector& more, __int128 limit) const {
  const ResourceId id = state_.claimed[claim];
  const bool later = moment_ == Moment::kLater;
  bounds.push_back({claim, later ? Later(usage, more, id) : __int128{usage.used.Get(id)},
                    later ? limit : limit - more.Get(id)});
}

bool QuotaRoom::AnyExceeds(const Bounds& bounds) const {
  for (const Bound& bound : bounds) {
    const UsageChanges::Change change = &bounds == &of_all_
                                            ? state_.changes.OfTotal(bound.claim)
                                            : state_.changes.Of(namespace_name_, bound.claim);
    __int128 limit = bound.limit - change.used;
    if (moment_ == Moment::kLater) limit += change.leaving;
    if (bound.shown > limit) return true;
  }
  return false;
}

}  // namespace berth
