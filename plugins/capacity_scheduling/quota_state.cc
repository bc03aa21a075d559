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

// What will be used when the leaving pods are gone and `pending` ones run.
int64_t Later(const Usage& usage, const ResourceVector& pending, ResourceId id) {
  return Clamped(__int128{usage.used.Get(id)} - usage.leaving.Get(id) + pending.Get(id));
}

}  // namespace

std::vector<int64_t> QuotaGauges::Read(Symbol namespace_name) const {
  const size_t claims = state_.claimed.size();
  std::vector<int64_t> values(claims * stride_);
  for (size_t claim = 0; claim < claims; ++claim) {
    const ResourceId id = state_.claimed[claim];
    values[Total(claim)] = ledger_.total_usage().used.Get(id);
    values[PendingOfQuota(claim)] =
        Later(ledger_.UsageOf(namespace_name), state_.pending_of_quota, id);
    values[PendingOfAll(claim)] = Later(ledger_.total_usage(), state_.pending_of_all, id);
  }
  const auto namespaces = ledger_.namespaces();
  for (size_t i = 0; i < namespaces.size(); ++i) {
    const Usage& usage = ledger_.UsageOf(namespaces[i]);
    for (size_t claim = 0; claim < claims; ++claim) {
      values[At(claim, 3 + static_cast<int>(i))] = usage.used.Get(state_.claimed[claim]);
    }
  }
  return values;
}

// `gauge` shows what is known of the amount from the ledger and the pending pods; the rest, which a
// dry run changes, is put on the other side.
bool QuotaView::Exceeds(ResourceId id, const Usage& usage, const Usage& change,
                        const ResourceVector& more, int64_t bound, int gauge) const {
  __int128 limit = __int128{bound} - change.used.Get(id);
  int64_t shown = usage.used.Get(id);
  if (moment_ == Moment::kLater) {
    limit += change.leaving.Get(id);
    shown = Later(usage, more, id);
  } else {
    limit -= more.Get(id);
  }
  const bool exceeds = shown > limit;
  if (run_ != nullptr) {
    using Limits = std::numeric_limits<int64_t>;
    if (exceeds) {
      run_->HoldsWhile(gauge, Clamped(limit + 1), Limits::max());
    } else {
      run_->HoldsWhile(gauge, Limits::min(), Clamped(limit));
    }
  }
  return exceeds;
}

bool QuotaView::OverMax(const Quota& quota, const ResourceVector& more) const {
  const Usage& usage = ledger_.UsageOf(quota.namespace_name);
  const Usage& change = state_.changes.Of(quota.namespace_name);
  for (size_t i = 0; i < state_.claimed.size(); ++i) {
    const ResourceId id = state_.claimed[i];
    const int64_t* max = quota.max.Find(id);
    const int gauge =
        moment_ == Moment::kLater ? gauges_.PendingOfQuota(i) : gauges_.UsedBy(quota, i);
    if (max != nullptr && Exceeds(id, usage, change, more, *max, gauge)) return true;
  }
  return false;
}

bool QuotaView::OverMin(const Quota& quota, const ResourceVector& more) const {
  const Usage& usage = ledger_.UsageOf(quota.namespace_name);
  const Usage& change = state_.changes.Of(quota.namespace_name);
  for (size_t i = 0; i < state_.claimed.size(); ++i) {
    const ResourceId id = state_.claimed[i];
    const int gauge =
        moment_ == Moment::kLater ? gauges_.PendingOfQuota(i) : gauges_.UsedBy(quota, i);
    if (quota.Names(id) && Exceeds(id, usage, change, more, quota.MinOf(id), gauge)) return true;
  }
  return false;
}

bool QuotaView::TotalOverMin(const ResourceVector& more) const {
  for (size_t i = 0; i < state_.claimed.size(); ++i) {
    const ResourceId id = state_.claimed[i];
    const int64_t* min = ledger_.total_min().Find(id);
    const int gauge = moment_ == Moment::kLater ? gauges_.PendingOfAll(i) : gauges_.Total(i);
    if (min != nullptr &&
        Exceeds(id, ledger_.total_usage(), state_.changes.total(), more, *min, gauge)) {
      return true;
    }
  }
  return false;
}

}  // namespace berth
