// SPDX-License-Identifier: Apache-2.0
// One attempt on one group: its pods are placed in a transaction that holds all or nothing.
#ifndef BERTH_SRC_ENGINE_ATTEMPT_H_
#define BERTH_SRC_ENGINE_ATTEMPT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/time/time.h"
#include "berth/framework/postfilter.h"
#include "engine/binding_cycle.h"
#include "engine/cluster_state.h"
#include "engine/group_preemptions.h"
#include "engine/rejection_reasons.h"
#include "engine/scheduling_cycle.h"

namespace berth {

// What to try.
struct AttemptRequest {
  const Framework* framework = nullptr;
  AttemptHistory history;
  std::string group;  // "namespace/name"; empty for a single pod
  // Pending, in the order in which they would be tried one by one.
  absl::InlinedVector<std::shared_ptr<const PodInfo>, 1> pods;
  // How many of them must be placed for any to be; the rest is placed if there is room.
  int minimum = 1;
  int percentage_of_nodes_to_score = 0;
  int64_t work_budget_steps = 0;  // SchedulerOptions; 0 for more than one pod
  absl::Time now;                 // of more than one pod: when victims are expected to leave
};

// Puts members of a group into the order in which they would be tried one by one: by priority, then
// as they came.
void SortByImportance(absl::InlinedVector<std::shared_ptr<const PodInfo>, 1>& pods);
// How many more members of the group must be placed for it to start; 0 if it has.
int MissingMembers(const GroupPlugin& plugin, const Groups& groups, const std::string& group);

// Why one pod was not placed.
struct PodFailure {
  std::shared_ptr<const PodInfo> pod;
  Status status;                          // with the plugin to blame first
  std::vector<Symbol> rejecting_plugins;  // empty: the attempt failed with an error
  std::string message;                    // of its FailedScheduling event
  // What becomes of its nomination: "" clears it, absent leaves it.
  std::optional<std::string> nominated_node = std::nullopt;
  // The same for programs; shared by the pods that failed alike.
  WaitingPtr waiting = nullptr;
  // Of a group's member, while the attempt lasts.
  bool asked = false;          // PostFilter was, or there is nothing to ask it
  bool may_fit_later = false;  // beside siblings that are placed after this
  int placed_before = 0;       // how many had been
};

struct AttemptResult {
  // Whether the minimum was reached: `placed` stands, and `failed` are pods beyond it. If not,
  // nothing is placed, and `failed` says why, at least once.
  bool reached = false;
  StartOrder order = StartOrder::kByImportance;  // of a group, if it was
  Binder::Members placed;                        // reserved, and permitted or waiting
  std::vector<PodFailure> failed;
  // What PostFilter would do for failed pods: to be carried out.
  struct Plan {
    std::shared_ptr<const PodInfo> pod;
    PostFilterResult result;
  };
  absl::InlinedVector<Plan, 1> plans;
  // It yielded (WorkBudget): nothing was decided, the same is to be tried again.
  bool yielded = false;
  int cycles = 0;
  int most_placed = 0;  // the most pods that were placed at once
  int lost = 0;         // of `failed`, how many no sibling can help; while the attempt lasts
};

// What a group that missed its minimum is told, in its plugin's words.
Status WhyGroupFailed(const AttemptRequest& request, const GroupMembers& group,
                      const AttemptResult& result);

// Runs attempts. Everything an attempt did to the cluster state is undone, in reverse order, unless
// it reached its minimum. Scheduling thread.
class Attempts {
 public:
  Attempts(ClusterState& cluster, bool incremental, int filter_block_size)
      : cluster_(cluster),
        incremental_(incremental),
        cycle_(incremental, filter_block_size),
        group_preemptions_(cluster) {}

  AttemptResult Run(const AttemptRequest& request);
  // For who only wanted to know: gives back what was placed.
  void RollBack(AttemptResult& result);

  // Lets the processor fetch, one step a call, what the next attempt will probably look up.
  void PrefetchAhead();

  const SchedulingCycle& cycle() const { return cycle_; }

 private:
  struct Class;
  struct ClassFailures;
  using Order = std::vector<std::shared_ptr<const PodInfo>>;

  // --- attempt_on_group.cc: in which order members are tried, who is tried again ---
  void PlaceGroup(const AttemptRequest& request, AttemptResult& result);
  bool PlaceAll(const AttemptRequest& request, Order order, AttemptResult& result);
  void TryMember(const AttemptRequest& request, const std::shared_ptr<const PodInfo>& pod,
                 ClassFailures& alike, AttemptResult& result);
  static bool IsOutOfReach(const AttemptRequest& request, const AttemptResult& result);
  static Order TakeMembersToRetry(const AttemptRequest& request, AttemptResult& result,
                                  bool beside_siblings);
  std::optional<std::string> EquivalenceKey(const AttemptRequest& request,
                                            const PodInfo& pod) const;
  std::vector<Class> Classify(const AttemptRequest& request);
  int CountFeasible(const AttemptRequest& request, const PodInfo& pod);

  // --- attempt.cc ---
  static bool MayPreempt(const AttemptRequest& request, const AttemptResult& result);
  bool CostsTheGroup(const AttemptRequest& request, const AttemptResult& result,
                     const PostFilterResult& plan) const;
  bool PlaceOne(const AttemptRequest& request, const std::shared_ptr<const PodInfo>& pod,
                AttemptResult& result);
  void Diagnose(const AttemptRequest& request, const std::shared_ptr<const PodInfo>& pod,
                CycleState& state, const CycleResult& cycle, AttemptResult& result);
  PodFailure Refused(const AttemptRequest& request, const std::shared_ptr<const PodInfo>& pod,
                     const Status& status) const;
  void Permit(const AttemptRequest& request, AttemptResult& result);
  static Status PermitOne(const Framework& framework, Binder::Member& member);
  static AttemptResult TooFew(const AttemptRequest& request);
  void Undo(Placement& placement);
  void UndoAll(const AttemptRequest& request, AttemptResult& result);

  ClusterState& cluster_;
  const bool incremental_;
  SchedulingCycle cycle_;
  GroupPreemptions group_preemptions_;  // of an attempt on a group
  int fetched_ = 0;                     // steps, of where the cycle expects the next pod to go
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_ATTEMPT_H_
