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
  const ResourceVector& amounts = ledger.RequestOf(pod);
  const auto& named = by_namespace_[of_namespace].named;
  seen.amounts.resize(ids_.size());
  for (size_t i = 0; i < ids_.size(); ++i) {
    seen.amounts[i] = named[i] ? amounts.Get(ids_[i]) : 0;
  }
  return &seen;
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
  Changes& of_namespace = by_namespace_[seen.of_namespace].changes;
  for (size_t i = 0; i < seen.amounts.size(); ++i) {
    const __int128 amount = present ? __int128{seen.amounts[i]} : -__int128{seen.amounts[i]};
    of_namespace[i].used += amount;
    total_[i].used += amount;
    if (!seen.leaves) continue;
    of_namespace[i].leaving += amount;
    total_[i].leaving += amount;
  }
}

// --- QuotaGauges ---

namespace {

int64_t Clamped(__int128 amount) {
  using Limits = std::numeric_limits<int64_t>;
  if (amount > Limits::max()) return Limits::max();
  if (amount < Limits::min()) return Limits::min();
  return static_cast<int64_t>(amount);
}

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

std::vector<int64_t> QuotaGauges::Read(const Quota& own) const {
  const size_t claims = state_.counted.size();
  const Usage& of_own = ledger_.UsageOf(own.namespace_name);
  std::vector<int64_t> values(claims * stride_);
  for (size_t claim = 0; claim < claims; ++claim) {
    const ResourceId id = state_.counted[claim];
    const __int128 max = MaxOf(own, id);
    values[Total(claim)] = ledger_.total_usage().used.Get(id);
    values[TotalLater(claim)] = Clamped(Later(ledger_.total_usage(), state_.pending_of_all, id));
    values[OverOwnMax(claim)] = Clamped(of_own.used.Get(id) - max);
    values[OverOwnMaxLater(claim)] = Clamped(Later(of_own, state_.pending_of_quota, id) - max);
  }
  const auto namespaces = ledger_.namespaces();
  for (size_t i = 0; i < namespaces.size(); ++i) {
    const Usage& usage = ledger_.UsageOf(namespaces[i]);
    for (size_t claim = 0; claim < claims; ++claim) {
      const ResourceId id = state_.counted[claim];
      const int at = At(claim, 4 + 2 * static_cast<int>(i));
      values[at] = usage.used.Get(id);
      values[at + 1] = Clamped(Kept(usage, id));
    }
  }
  return values;
}

// --- Comparisons ---

// A gauge shows what the ledger and the pending pods say; the rest, which a dry run changes or
// which is the same for all pods that share what is found out, is on the other side.

namespace {

constexpr __int128 kLowest = -(__int128{1} << 120), kHighest = __int128{1} << 120;

// Whether the gauge, which shows `shown`, exceeds `limit`; the run is told that it depends on it.
bool Exceeds(int gauge, __int128 shown, __int128 limit, DryRun* run) {
  const bool exceeds = shown > limit;
  if (run != nullptr) {
    run->HoldsWhile(gauge, Clamped(exceeds ? limit + 1 : kLowest),
                    Clamped(exceeds ? kHighest : limit));
  }
  return exceeds;
}

}  // namespace

bool OverMin(const QuotaLedger& ledger, const QuotaState& state, const Quota& quota,
             const ResourceVector& more, DryRun* run) {
  const QuotaGauges gauges(ledger, state);
  const Usage& usage = ledger.UsageOf(quota.namespace_name);
  for (size_t claim = 0; claim < state.claimed.size(); ++claim) {
    const ResourceId id = state.claimed[claim];
    if (!quota.Names(id)) continue;
    const __int128 limit = __int128{quota.MinOf(id)} -
                           state.changes.Of(quota.namespace_name, claim).used - more.Get(id);
    if (Exceeds(gauges.UsedBy(quota, claim), usage.used.Get(id), limit, run)) return true;
  }
  return false;
}

bool IsBorrowed(const QuotaLedger& ledger, const QuotaState& state, const Quota& quota,
                const ResourceVector& amounts, DryRun* run) {
  const QuotaGauges gauges(ledger, state);
  const Usage& usage = ledger.UsageOf(quota.namespace_name);
  bool is_borrowed = false;
  for (size_t i = 0; i < state.counted.size(); ++i) {
    const ResourceId id = state.counted[i];
    if (!quota.Names(id) || amounts.Get(id) == 0) continue;
    const UsageChanges::Change change = state.changes.Of(quota.namespace_name, i);
    const __int128 limit = __int128{quota.MinOf(id)} - (change.used - change.leaving);
    const bool over_min = Exceeds(gauges.KeptBy(quota, i), Kept(usage, id), limit, run);
    if (!over_min && IsScalar(id)) return false;
    is_borrowed |= over_min && i < state.claimed.size();
  }
  return is_borrowed;
}

QuotaRoom::QuotaRoom(const QuotaLedger& ledger, const QuotaState& state, const Quota& own,
                     Moment moment, const ResourceVector& of_quota, const ResourceVector& of_all)
    : state_(state), namespace_name_(own.namespace_name), moment_(moment) {
  const QuotaGauges gauges(ledger, state);
  const bool later = moment == Moment::kLater;
  const Usage& usage = ledger.UsageOf(own.namespace_name);
  for (size_t claim = 0; claim < state.claimed.size(); ++claim) {
    const ResourceId id = state.claimed[claim];
    // Of its own quota, a pod compares by how much it is over.
    AddBound(of_quota_, claim, later ? gauges.OverOwnMaxLater(claim) : gauges.OverOwnMax(claim),
             usage, of_quota, 0);
    of_quota_.back().shown -= MaxOf(own, id);
    const int64_t* min = ledger.total_min().Find(id);
    if (min == nullptr) continue;
    AddBound(of_all_, claim, later ? gauges.TotalLater(claim) : gauges.Total(claim),
             ledger.total_usage(), of_all, *min);
  }
}

void QuotaRoom::AddBound(Bounds& bounds, size_t claim, int gauge, const Usage& usage,
                         const ResourceVector& more, __int128 limit) const {
  const ResourceId id = state_.claimed[claim];
  const bool later = moment_ == Moment::kLater;
  bounds.push_back({gauge, claim, later ? Later(usage, more, id) : __int128{usage.used.Get(id)},
                    later ? limit : limit - more.Get(id), kLowest, kHighest});
}

bool QuotaRoom::AnyExceeds(Bounds& bounds) {
  for (Bound& bound : bounds) {
    const UsageChanges::Change change = &bounds == &of_all_
                                            ? state_.changes.OfTotal(bound.claim)
                                            : state_.changes.Of(namespace_name_, bound.claim);
    __int128 limit = bound.limit - change.used;
    if (moment_ == Moment::kLater) limit += change.leaving;
    if (bound.shown > limit) {
      bound.low = std::max(bound.low, limit + 1);
      return true;
    }
    bound.high = std::min(bound.high, limit);
  }
  return false;
}

void QuotaRoom::Tell(DryRun& run) const {
  for (const Bounds* bounds : {&of_quota_, &of_all_}) {
    for (const Bound& bound : *bounds) {
      if (bound.low == kLowest && bound.high == kHighest) continue;  // not asked
      run.HoldsWhile(bound.gauge, Clamped(bound.low), Clamped(bound.high));
    }
  }
}

}  // namespace berth
