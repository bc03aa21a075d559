// What CapacityScheduling remembers of one pod in one attempt, and the comparisons it makes.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_STATE_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_STATE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "berth/api/resources.h"
#include "berth/api/symbol.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/preemption.h"
#include "plugins/capacity_scheduling/quota_ledger.h"

namespace berth {

// Pods that are taken to run, or not to run, on top of what the ledger says. Counts each pod once.
class UsageChanges {
 public:
  void Add(const QuotaLedger& ledger, const PodInfo& pod) { Set(ledger, pod, true); }
  void Remove(const QuotaLedger& ledger, const PodInfo& pod) { Set(ledger, pod, false); }

  // The difference to the ledger's UsageOf() and total_usage(), of the resources quotas name.
  const Usage& Of(Symbol namespace_name) const;
  const Usage& total() const { return total_; }

 private:
  void Set(const QuotaLedger& ledger, const PodInfo& pod, bool present);

  absl::flat_hash_map<Symbol, Usage> by_namespace_;
  Usage total_;
  absl::flat_hash_map<std::string, bool> present_;  // by uid, where it differs or did differ
};

struct QuotaState final : StateData {
  ResourceVector request;
  // The resources that the pod requests and its quota names: the only ones that are compared.
  // Empty without a quota.
  std::vector<ResourceId> claimed;
  // `request` and that of the pods nominated to nodes that go first: of the same quota with at
  // least the same priority; for `pending_of_all` also those of other quotas that are not over
  // their min.
  ResourceVector pending_of_quota, pending_of_all;
  UsageChanges changes;

  std::unique_ptr<StateData> Clone() const override { return std::make_unique<QuotaState>(*this); }
};
inline constexpr StateKey<QuotaState> kQuotaState{"CapacityScheduling"};

// The numbers that QuotaView compares with bounds, as gauges of preemption. For each resource that
// the pod claims: what all quotas use, now and when the pending pods run and the leaving ones are
// gone; by how much the pod's own quota is over its max, now and then; and what each quota uses.
// Pods of different quotas have the same gauges, so that they can share what is found out.
class QuotaGauges {
 public:
  QuotaGauges(const QuotaLedger& ledger, const QuotaState& state)
      : ledger_(ledger), state_(state), stride_(4 + static_cast<int>(ledger.namespaces().size())) {}

  // The numbers; `claim` is a position in QuotaState::claimed.
  int Total(size_t claim) const { return At(claim, 0); }
  int TotalLater(size_t claim) const { return At(claim, 1); }
  int OverOwnMax(size_t claim) const { return At(claim, 2); }
  int OverOwnMaxLater(size_t claim) const { return At(claim, 3); }
  int UsedBy(const Quota& quota, size_t claim) const { return At(claim, 4 + quota.index); }
  // The values, for a pod of that quota.
  std::vector<int64_t> Read(const Quota& own) const;

 private:
  int At(size_t claim, int which) const { return static_cast<int>(claim) * stride_ + which; }

  const QuotaLedger& ledger_;
  const QuotaState& state_;
  const int stride_;
};

// Usage as a pod's state sees it, compared with quotas, of the resources the pod claims.
class QuotaView {
 public:
  // What is compared: what is used, or what will be, when pods that are being deleted are gone and
  // pending ones run.
  enum class Moment { kNow, kLater };

  // `run`, if not null, is told on what each comparison depends.
  QuotaView(const QuotaLedger& ledger, const QuotaState& state, Moment moment = Moment::kNow,
            DryRun* run = nullptr)
      : ledger_(ledger), state_(state), moment_(moment), run_(run), gauges_(ledger, state) {}

  // Whether what the quota's pods use, and `more`, exceeds its max or min in any claimed resource
  // that it names. OverMax() is about the pod's own quota, and OverMin() about now. `more` is what
  // the pod asks for, or with kLater its quota's pending pods.
  bool OverMax(const Quota& own, const ResourceVector& more) const;
  bool OverMin(const Quota& quota, const ResourceVector& more = {}) const;
  // Whether what all quotas use together, and `more`, exceeds the sum of their mins. A resource in
  // no min is not shared out and has no such limit. `more` with kLater: all pending pods.
  bool TotalOverMin(const ResourceVector& more) const;

 private:
  bool Exceeds(__int128 shown, __int128 limit, int gauge) const;
  __int128 Limit(ResourceId id, const Usage& change, const ResourceVector& more) const;

  const QuotaLedger& ledger_;
  const QuotaState& state_;
  const Moment moment_;
  DryRun* const run_;
  const QuotaGauges gauges_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_STATE_H_
