// Preemption for PostFilter plugins: the search is shared, the rules are hooks.
#ifndef BERTH_FRAMEWORK_PREEMPTION_H_
#define BERTH_FRAMEWORK_PREEMPTION_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/handle.h"
#include "berth/framework/node_info.h"
#include "berth/framework/postfilter.h"

namespace berth {

// A PodDisruptionBudget as preemption counts it down.
struct DisruptionBudget {
  Symbol namespace_name;
  LabelSelector selector;
  int64_t disruptions_allowed = 0;
  std::vector<std::string> disrupted_pods;  // already counted by the API server
};

// Which pods may go, and which choice is best. As kube-scheduler's preemption.Interface.
class PreemptionRules {
 public:
  virtual ~PreemptionRules() = default;

  // Whether `pod` may preempt at all: Success, or Unschedulable with upstream's reason.
  // `nominated_status` is what the cycle said of the node it is nominated to.
  virtual Status PodEligibleToPreempt(const CycleState& state, const PodInfo& pod,
                                      const Status& nominated_status) = 0;

  // The first row to try and how many candidates are enough, of `nodes` possible ones.
  struct SearchRange {
    int offset;
    int candidates;
  };
  virtual SearchRange Range(int nodes) = 0;

  // The pods to evict from `node`, a copy the rules may change together with `state`, so that
  // `pod` fits; most important first. Returns Success with `victims` and `pdb_violations` set, or
  // the reason why preemption does not help there.
  virtual Status SelectVictims(CycleState& state, const PodInfo& pod, NodeInfo& node,
                               absl::Span<const DisruptionBudget> budgets,
                               PreemptionCandidate& candidate) = 0;
};

// The dry run over all nodes whose status is exactly Unschedulable, and the choice among the
// candidates: fewest budget violations, lowest highest priority, lowest sum of priorities, fewest
// victims, latest start of the most important victims, first. kube-scheduler v1.35
// framework/preemption/preemption.go. Changes nothing.
Status RunPreemption(absl::string_view plugin, Handle& handle, PreemptionRules& rules,
                     CycleState& state, const PodInfo& pod, const NodeStatuses& statuses,
                     PostFilterResult& result);

// --- Parts that rules share ---

// Higher priority first, then the earlier start time.
bool MoreImportantPod(const PodInfo& a, const PodInfo& b);

// Splits `pods`, in order, into those whose eviction would violate a budget and the others.
struct PodsByBudget {
  std::vector<std::shared_ptr<const PodInfo>> violating, non_violating;
};
PodsByBudget SplitByBudget(absl::Span<const std::shared_ptr<const PodInfo>> pods,
                           absl::Span<const DisruptionBudget> budgets);

}  // namespace berth

#endif  // BERTH_FRAMEWORK_PREEMPTION_H_
