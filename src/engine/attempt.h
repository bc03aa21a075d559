// One attempt on one group: its pods are placed in a transaction that holds all or nothing.
#ifndef BERTH_SRC_ENGINE_ATTEMPT_H_
#define BERTH_SRC_ENGINE_ATTEMPT_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "berth/framework/postfilter.h"
#include "engine/binding.h"
#include "engine/cluster_state.h"
#include "engine/scheduling_cycle.h"
#include "engine/waiting.h"

namespace berth {

// What to try.
struct AttemptRequest {
  const Framework* framework = nullptr;
  AttemptHistory history;
  std::string group;  // "namespace/name"; empty for a single pod
  // Pending, in the order of the queue.
  absl::InlinedVector<std::shared_ptr<const PodInfo>, 1> pods;
  // How many of them must be placed for any to be; the rest is placed if there is room.
  int minimum = 1;
  int percentage_of_nodes_to_score = 0;
  int64_t steps_at_once = 0;  // SchedulerOptions; 0 for more than one pod
};

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
};

struct AttemptResult {
  // Whether the minimum was reached: `placed` stands, and `failed` are pods beyond it. If not,
  // nothing is placed, and `failed` says why, at least once.
  bool reached = false;
  Binder::Members placed;  // reserved, and permitted or waiting
  std::vector<PodFailure> failed;
  // What PostFilter would do for one of the failed pods: to be carried out.
  struct Plan {
    std::shared_ptr<const PodInfo> pod;
    PostFilterResult result;
  };
  std::optional<Plan> plan;
  // It yielded (WorkBudget): nothing was decided, the same is to be tried again.
  bool yielded = false;
  int cycles = 0;
  int most_placed = 0;  // the most pods that were placed at once
};

// Runs attempts. Everything an attempt did to the cluster state is undone, in reverse order, unless
// it reached its minimum. Scheduling thread.
class Attempts {
 public:
  Attempts(ClusterState& cluster, bool remember_verdicts, int rows_at_once)
      : cluster_(cluster),
        remember_verdicts_(remember_verdicts),
        cycle_(remember_verdicts, rows_at_once) {}

  AttemptResult Run(const AttemptRequest& request);

  // Lets the processor fetch, one step a call, what the next attempt will probably look up.
  void FetchAhead();

  const SchedulingCycle& cycle() const { return cycle_; }

 private:
  struct Class;
  using Order = std::vector<std::shared_ptr<const PodInfo>>;

  std::vector<Class> Classify(const AttemptRequest& request);
  int CountFeasible(const AttemptRequest& request, const PodInfo& pod);
  void PlaceGroup(const AttemptRequest& request, AttemptResult& result);
  bool PlaceAll(const AttemptRequest& request, const std::vector<const Class*>& order,
                AttemptResult& result);
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
  void UndoAll(AttemptResult& result);

  ClusterState& cluster_;
  const bool remember_verdicts_;
  SchedulingCycle cycle_;
  int fetched_ = 0;  // steps, of where the cycle expects the next pod to go
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_ATTEMPT_H_
