// SPDX-License-Identifier: Apache-2.0
// Whom a pod may evict by quotas of one level, on whatever nodes.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_LEDGER_TRIAL_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_LEDGER_TRIAL_H_

#include <vector>

#include "berth/framework/handle.h"
#include "berth/preemption/victim_rules.h"
#include "plugins/capacity_scheduling/quota_ledger.h"
#include "plugins/capacity_scheduling/quota_rules.h"
#include "plugins/capacity_scheduling/quota_state.h"

namespace berth {

// The rules of QuotaRules for a pod that takes back what its namespace is guaranteed, where no node
// by itself holds enough of what others borrowed. Pods that are being deleted count as gone.
class LedgerTrial final : public VictimTrial {
 public:
  // `state` is that of the pod after PreFilter. What is passed by reference outlives this.
  LedgerTrial(const QuotaLedger& ledger, const QuotaRules& rules, const Handle& handle,
              const QuotaState& state, const PodInfo& pod)
      : ledger_(ledger), rules_(rules), handle_(handle), state_(state), pod_(pod) {}

  // The least important first.
  std::vector<VictimUnit> Units() const override;
  Verdict MayEvict(const VictimUnit& unit) const override;
  void Evict(const VictimUnit& unit) override;
  void Spare(const VictimUnit& unit) override;
  Status HasRoom() const override;

 private:
  const QuotaLedger& ledger_;
  const QuotaRules& rules_;
  const Handle& handle_;
  QuotaState state_;
  const PodInfo& pod_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_LEDGER_TRIAL_H_
