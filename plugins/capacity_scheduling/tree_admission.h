// SPDX-License-Identifier: Apache-2.0
// What CapacityScheduling does where quotas form a tree (docs/quota.md).
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_TREE_ADMISSION_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_TREE_ADMISSION_H_

#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "berth/extensions/nomination_rules.h"
#include "berth/extensions/waiting.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/handle.h"
#include "berth/framework/postfilter.h"
#include "berth/framework/prefilter.h"
#include "berth/preemption/preemption.h"
#include "berth/preemption/victim_rules.h"
#include "berth/quota/quota_tree.h"
#include "plugins/capacity_scheduling/expected_pods.h"
#include "plugins/capacity_scheduling/quota_book.h"
#include "plugins/capacity_scheduling/refused_takers.h"
#include "plugins/capacity_scheduling/short_rows.h"
#include "plugins/capacity_scheduling/tree_report.h"
#include "plugins/capacity_scheduling/victim_query.h"

namespace berth {

class QuotaTrial;

// The plugin's extension points, as long as the book has a tree. Scheduling thread.
class TreeAdmission final : public NominationRules {
 public:
  // All outlive this.
  struct Parts {
    Handle& handle;
    QuotaBook& book;
    Preemption& preemption;
    RefusedTakers& refused_takers;
    ExpectedPods& expected;
    ShortRows& short_rows;
  };
  explicit TreeAdmission(const Parts& parts)
      : handle_(parts.handle),
        book_(parts.book),
        preemption_(parts.preemption),
        refused_takers_(parts.refused_takers),
        expected_(parts.expected),
        short_rows_(parts.short_rows),
        rules_without_quota_(parts.handle, parts.book),
        borrowers_(parts.book) {}

  // Whether PreFilter() saw the pod of this attempt.
  static bool Saw(const CycleState& state);

  // Rejects a pod that would take its quota, or one above, over a limit; leaves out nodes on which
  // it would be charged a line of some nodes that has no room.
  Status PreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                   PreFilterResult& result);
  // Plans which pods to evict, over all nodes; notes a pod that its share refuses. After PreFilter.
  Status PostFilter(CycleState& state, const PodInfo& pod, const NodeStatuses& statuses,
                    PostFilterResult& result);
  // As VictimRules::BeginTrial(). After PreFilter.
  Status BeginTrial(const CycleState& state, absl::Span<const PodInfo* const> preemptors,
                    std::unique_ptr<VictimTrial>& trial);
  // Of one quota, priorities decide. For pods of other quotas a nominated pod counts, unless it
  // gives way in the plan that is made, or was nominated to the same node later than the pod: the
  // one that was first has the room, and plans of others leave it that.
  std::optional<bool> NominationCountsFor(const PodInfo& nominated,
                                          const PodInfo& pod) const override;
  void ExplainWaiting(const PodInfo& pod, WaitingFor& waiting) const;

 private:
  // Pods of no quota evict pods of lower priority that have none either.
  class RulesWithoutQuota final : public PriorityPreemptionRules {
   public:
    RulesWithoutQuota(Handle& handle, const QuotaBook& book)
        : PriorityPreemptionRules(handle, kPercentage, kAbsolute), book_(book) {}
    // Nor does a pod with them that has one.
    const VictimUnit* FindForbidden(const CycleState& state, const PodInfo& pod,
                                    absl::Span<const VictimUnit> units) const override;

   protected:
    absl::StatusOr<bool> MayEvict(const NodeInfo&, const PodInfo& victim, const PodInfo&) override {
      return !book_.QuotaOf(victim).has_value();
    }

   private:
    static constexpr int64_t kPercentage = 100, kAbsolute = 100;
    const QuotaBook& book_;
  };

  // The nodes that a pod may run on as far as its selectors say, by whether it would be charged a
  // line of some nodes there that has no room; and these lines. Empty if no such line is short.
  struct NodesByLines {
    std::vector<QuotaTree::Shortage> short_lines;
    std::vector<NodeRow> with_room, without_room;
  };
  NodesByLines SplitByLines(const PodInfo& pod, QuotaId quota, const NodeTable& nodes) const;
  Status NarrowByLines(const PodInfo& pod, QuotaId quota, const NodeTable& nodes,
                       PreFilterResult& result, std::vector<NodeRow>& without_room);
  Status Plan(CycleState& state, const PodInfo& pod, const NodeStatuses& statuses,
              QuotaTrial& trial, PostFilterResult& result);
  bool AnyLeavesFrom(absl::string_view node_name) const;
  Status Admit(const CycleState& state, const PodInfo& pod, QuotaId quota, const NodeTable& nodes,
               PreFilterResult& result, std::vector<NodeRow>& without_room);
  void LeaveOutNominated(const PodInfo& pod, QuotaId quota,
                         std::list<QuotaBook::WithoutNomination>& without);
  Status PlanTaking(const FindPlaces& find_places, CycleState& state, const PodInfo& pod,
                    const NodeStatuses& statuses, QuotaTrial& trial, PostFilterResult& result);

  Handle& handle_;
  QuotaBook& book_;
  Preemption& preemption_;
  RefusedTakers& refused_takers_;
  ExpectedPods& expected_;
  ShortRows& short_rows_;
  RulesWithoutQuota rules_without_quota_;
  Borrowers borrowers_;
  const QuotaTrial* trial_ = nullptr;  // of the plan that is made, or null
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_TREE_ADMISSION_H_
