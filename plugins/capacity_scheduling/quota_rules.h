// SPDX-License-Identifier: Apache-2.0
// Which pods CapacityScheduling evicts: by quota across namespaces, by priority within one.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_RULES_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_RULES_H_

#include <optional>
#include <string>
#include <vector>

#include "berth/incremental/preemption_hints.h"
#include "berth/preemption/preemption.h"
#include "plugins/capacity_scheduling/quota_ledger.h"
#include "plugins/capacity_scheduling/quota_state.h"

namespace berth {

// A pod may evict
//   without a quota: pods of lower priority that have no quota either;
//   while its quota stays within its min: pods, whatever their priority, of other quotas that are
//     over theirs at that moment; that is, it takes back what was borrowed and no more;
//   else: pods of lower priority of its own quota.
class QuotaRules final : public PreemptionRules, public PreemptionHints {
 public:
  explicit QuotaRules(const QuotaLedger& ledger) : ledger_(ledger) {}

  Status PodEligibleToPreempt(const CycleState& state, const PodInfo& pod,
                              const Nomination& nomination) override;
  // Every node, the first first.
  SearchRange Range(int nodes) override { return {0, nodes}; }
  Status SelectVictims(DryRun& run, const DisruptionBudgets& budgets,
                       PreemptionCandidate& candidate) override;
  // A group goes as a pod that holds what all of its pods do.
  const VictimUnit* FindForbidden(const CycleState& state, const PodInfo& pod,
                                  absl::Span<const VictimUnit> units) const override;
  std::string NoVictimsReason(const NodeInfo* node, const PodInfo& preemptor) const override;
  // Those of lower priority, unless it takes back what others borrowed.
  Victims PossibleVictims(const CycleState& state, const PodInfo& pod) const override;
  // Where quotas that borrowed have pods; of those of which all that was borrowed is leaving, where
  // it leaves.
  std::optional<std::vector<NodeRow>> RowsWithVictims(const CycleState& state, const PodInfo& pod,
                                                      const NodeTable& nodes) const override;
  std::optional<std::vector<NodeRow>> RowsWithVictims(const QuotaState& state, const PodInfo& pod,
                                                      const NodeTable& nodes) const;

  // Whether the pod takes back what its quota is guaranteed: from whatever priority, of others.
  bool TakesBack(const QuotaState& state, const PodInfo& pod) const {
    return ScopeOf(state, pod) == Scope::kReclaim;
  }
  // Whether it may take back `amounts`, which `victim` holds, or a gang that it is a pod of.
  bool MayTakeBack(const QuotaState& state, const PodInfo& victim, const ResourceVector& amounts,
                   const PodInfo& pod) const;

 private:
  enum class Scope { kWithoutQuota, kReclaim, kOwnQuota };
  Scope ScopeOf(const QuotaState& state, const PodInfo& pod) const;
  bool MayEvict(Scope scope, const QuotaState& state, const PodInfo& victim,
                const PodInfo& pod) const;
  bool MayEvictUnit(Scope scope, const QuotaState& state, const VictimUnit& unit,
                    const PodInfo& pod) const;

  const QuotaLedger& ledger_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_RULES_H_
