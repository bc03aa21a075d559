// Hypothetical usage and the comparisons. scheduler-plugins capacityscheduling/elasticquota.go,
// with resources that a quota does not name left out.
#include "plugins/capacity_scheduling/quota_state.h"

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

bool QuotaView::Exceeds(ResourceId id, const Usage& usage, const Usage& change,
                        const ResourceVector& more, int64_t bound) const {
  int64_t used = usage.used.Get(id) + change.used.Get(id);
  if (leaving_pods_ == LeavingPods::kIgnore) {
    used -= usage.leaving.Get(id) + change.leaving.Get(id);
  }
  return more.Get(id) > bound - used;  // the sum might overflow
}

bool QuotaView::OverMax(const Quota& quota, const ResourceVector& more) const {
  for (const ResourceId id : state_.claimed) {
    const int64_t* max = quota.max.Find(id);
    if (max != nullptr && Exceeds(id, ledger_.UsageOf(quota.namespace_name),
                                  state_.changes.Of(quota.namespace_name), more, *max)) {
      return true;
    }
  }
  return false;
}

bool QuotaView::OverMin(const Quota& quota, const ResourceVector& more) const {
  for (const ResourceId id : state_.claimed) {
    if (quota.Names(id) &&
        Exceeds(id, ledger_.UsageOf(quota.namespace_name), state_.changes.Of(quota.namespace_name),
                more, quota.MinOf(id))) {
      return true;
    }
  }
  return false;
}

bool QuotaView::TotalOverMin(const ResourceVector& more) const {
  for (const ResourceId id : state_.claimed) {
    const int64_t* min = ledger_.total_min().Find(id);
    if (min != nullptr && Exceeds(id, ledger_.total_usage(), state_.changes.total(), more, *min)) {
      return true;
    }
  }
  return false;
}

}  // namespace berth
