// Hypothetical usage and the comparisons. scheduler-plugins capacityscheduling/elasticquota.go,
// with resources that a quota does not name left out.
#include "plugins/capacity_scheduling/quota_state.h"

#include <limits>

namespace berth {

const Usage& UsageChanges::Of(Symbol namespace_name) const {
  static const Usage& kNone = *new Usage();
  const auto it = by_namespace_.find(namespace_name);
  return it == by_namespace_.end() ? kNone : it->second;
}

void UsageChanges::Set(const QuotaLedger& ledger, const PodInfo& pod, bool present) {
  const Quota* quota = ledger.Find(pod.namespace_name());
  if (quota == nullptr) return;
  const ResourceVector* charge = ledger.ChargeOf(pod.uid());
  bool& is_present = present_.try_emplace(pod.uid(), charge != nullptr).first->second;
  if (is_present == present) return;
  is_present = present;

  const ResourceVector amount = Restrict(charge != nullptr ? *charge : QuotaRequest(pod), *quota);
  const auto apply = [&](ResourceVector& sum) { present ? sum.Add(amount) : sum.Subtract(amount); };
  Usage& usage = by_namespace_[pod.namespace_name()];
  apply(usage.used);
  apply(total_.used);
  if (pod.deletion_time().has_value()) {
    apply(usage.leaving);
    apply(total_.leaving);
  }
}

// --- QuotaGauges and QuotaView ---

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

// What will be used when the leaving pods are gone and `pending` ones run.
__int128 Later(const Usage& usage, const ResourceVector& pending, ResourceId id) {
  return __int128{usage.used.Get(id)} - usage.leaving.Get(id) + pending.Get(id);
}

}  // namespace

std::vector<int64_t> QuotaGauges::Read(const Quota& own) const {
  const size_t claims = state_.claimed.size();
  const Usage& of_own = ledger_.UsageOf(own.namespace_name);
  std::vector<int64_t> values(claims * stride_);
  for (size_t claim = 0; claim < claims; ++claim) {
    const ResourceId id = state_.claimed[claim];
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
      values[At(claim, 4 + static_cast<int>(i))] = usage.used.Get(state_.claimed[claim]);
    }
  }
  return values;
}

// A gauge shows what the ledger and the pending pods say; the rest, which a dry run changes or
// which is the same for all pods that share what is found out, is on the other side.
bool QuotaView::Exceeds(__int128 shown, __int128 limit, int gauge) const {
  const bool exceeds = shown > limit;
  if (run_ == nullptr) return exceeds;
  using Limits = std::numeric_limits<int64_t>;
  if (exceeds) {
    run_->HoldsWhile(gauge, Clamped(limit + 1), Limits::max());
  } else {
    run_->HoldsWhile(gauge, Limits::min(), Clamped(limit));
  }
  return exceeds;
}

// What is left of a bound of 0.
__int128 QuotaView::Limit(ResourceId id, const Usage& change, const ResourceVector& more) const {
  const __int128 limit = -__int128{change.used.Get(id)};
  return moment_ == Moment::kLater ? limit + change.leaving.Get(id) : limit - more.Get(id);
}

bool QuotaView::OverMax(const Quota& own, const ResourceVector& more) const {
  const Usage& usage = ledger_.UsageOf(own.namespace_name);
  const Usage& change = state_.changes.Of(own.namespace_name);
  const bool later = moment_ == Moment::kLater;
  for (size_t i = 0; i < state_.claimed.size(); ++i) {
    const ResourceId id = state_.claimed[i];
    const __int128 used = later ? Later(usage, more, id) : __int128{usage.used.Get(id)};
    const int gauge = later ? gauges_.OverOwnMaxLater(i) : gauges_.OverOwnMax(i);
    if (Exceeds(used - MaxOf(own, id), Limit(id, change, more), gauge)) return true;
  }
  return false;
}

bool QuotaView::OverMin(const Quota& quota, const ResourceVector& more) const {
  const Usage& usage = ledger_.UsageOf(quota.namespace_name);
  const Usage& change = state_.changes.Of(quota.namespace_name);
  for (size_t i = 0; i < state_.claimed.size(); ++i) {
    const ResourceId id = state_.claimed[i];
    if (!quota.Names(id)) continue;
    const __int128 limit = quota.MinOf(id) + Limit(id, change, more);
    if (Exceeds(usage.used.Get(id), limit, gauges_.UsedBy(quota, i))) return true;
  }
  return false;
}

bool QuotaView::TotalOverMin(const ResourceVector& more) const {
  const Usage& usage = ledger_.total_usage();
  const Usage& change = state_.changes.total();
  const bool later = moment_ == Moment::kLater;
  for (size_t i = 0; i < state_.claimed.size(); ++i) {
    const ResourceId id = state_.claimed[i];
    const int64_t* min = ledger_.total_min().Find(id);
    if (min == nullptr) continue;
    const __int128 used = later ? Later(usage, more, id) : __int128{usage.used.Get(id)};
    const int gauge = later ? gauges_.TotalLater(i) : gauges_.Total(i);
    if (Exceeds(used, *min + Limit(id, change, more), gauge)) return true;
  }
  return false;
}

}  // namespace berth
