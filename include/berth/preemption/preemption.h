// SPDX-License-Identifier: Apache-2.0
// Preemption for PostFilter plugins: the search over nodes is shared, the rules are virtual.
#ifndef BERTH_PREEMPTION_PREEMPTION_H_
#define BERTH_PREEMPTION_PREEMPTION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/handle.h"
#include "berth/framework/node_info.h"
#include "berth/framework/postfilter.h"
#include "berth/preemption/disruption_budgets.h"
#include "berth/preemption/victim_rules.h"

namespace berth {

class DryRunSums;

// One node as it would be without some of its pods. Copies node and state when first changed, so
// that looking at a node on which nothing can be evicted costs nothing.
class DryRun {
 public:
  DryRun(Handle& handle, const CycleState& state, const PodInfo& pod, const NodeInfo& node);
  ~DryRun();

  const PodInfo& pod() const { return pod_; }
  // Both valid until the next change.
  const NodeInfo& node() const;
  const CycleState& state() const { return state_ ? *state_ : original_state_; }

  // Take a pod off the node and put it back. An Error if a plugin cannot follow. These and Filter()
  // spend the budget of the attempt.
  Status Remove(const PodInfo& victim);
  Status Add(const std::shared_ptr<const PodInfo>& victim);

  // Units of pods, at least one of them on another node, that hold together what the preemptor
  // could use here: the first to evict first. Empty but where evictions on one node do not help.
  // Remove() and Add() take these pods, too.
  absl::Span<const VictimUnit> elsewhere() const { return elsewhere_; }
  void SetElsewhere(std::vector<VictimUnit> units);
  // The verdict of the Filter plugins on the node as it is now, nominated pods included.
  Status Filter();
  // Whether that is Success. Where the pod needs resources alone, sums tell, and the node is not
  // copied: the Filter plugins are not run.
  bool Fits();

  // Whether Reprieve() puts the pod back before any other that is not spared: a member of a group
  // that would end with it.
  bool IsSpared(const PodInfo& pod) const { return spared_ != nullptr && spared_(pod); }
  void Spare(std::function<bool(const PodInfo&)> spared) { spared_ = std::move(spared); }

  // Whether the pod stays, whatever the rules say of it alone: a member of a group that may not go
  // as a whole. SelectVictims() leaves it on the node.
  bool IsKept(const PodInfo& pod) const { return kept_ != nullptr && kept_(pod); }
  void Keep(std::function<bool(const PodInfo&)> kept) { kept_ = std::move(kept); }

  // For rules that spare pods for a time: the pod will fit here when its victims may go, which is
  // not before `time`.
  void SetRetryAt(absl::Time time) { retry_time_ = time; }
  absl::Time retry_time() const { return retry_time_; }

 private:
  friend void UseSums(DryRun& run, std::unique_ptr<DryRunSums> sums);

  static constexpr int64_t kStepsOfFilter = 4, kStepsOfMove = 2;

  void Copy();
  void LeaveSums();
  // The node that a pod of elsewhere() is on, as it would be; null for the others.
  NodeInfo* OtherNodeOf(const PodInfo& pod);

  Handle& handle_;
  const CycleState& original_state_;
  const PodInfo& pod_;
  const NodeInfo& original_node_;
  std::optional<CycleState> state_;
  std::optional<NodeInfo> node_;
  std::unique_ptr<DryRunSums> sums_;  // in the place of copies; or null
  absl::Time retry_time_ = absl::InfiniteFuture();
  std::function<bool(const PodInfo&)> spared_, kept_;
  std::vector<VictimUnit> elsewhere_;
  absl::flat_hash_map<absl::string_view, Symbol> other_node_of_;  // by uid
  std::map<Symbol, NodeInfo> other_nodes_;                        // that were changed
};

// Which pods may go, and which choice is best. As kube-scheduler's preemption.Interface.
class PreemptionRules {
 public:
  virtual ~PreemptionRules() = default;

  // The node a pod is nominated to and what this cycle's filters said of it; null if there is none.
  struct Nomination {
    const NodeInfo* node = nullptr;
    Code code = Code::kUnschedulableAndUnresolvable;
    std::vector<VictimUnit> elsewhere;  // holders of what it could use there, as in a DryRun
  };
  // Whether `pod` may preempt at all: Success, or Unschedulable with the reason.
  virtual Status PodEligibleToPreempt(const CycleState& state, const PodInfo& pod,
                                      const Nomination& nomination) = 0;

  // How many candidates are enough, of `nodes` potential nodes, and, with scores of its own, which
  // node to try first.
  struct SearchRange {
    int offset = 0;
    int candidates = 0;
  };
  virtual SearchRange Range(int nodes) = 0;

  // The pods to evict from the node so that the pod fits. Returns Success with the candidate's
  // `victims` and `pdb_violations` set, or the reason why preemption does not help there:
  // UnschedulableAndUnresolvable with NoVictimsReason() if no pod may be evicted. The pod fits,
  // by run.Filter(), once they are gone.
  virtual Status SelectVictims(DryRun& run, const DisruptionBudgets& budgets,
                               PreemptionCandidate& candidate) = 0;

  // Victims that SelectVictims() chose on one node, and with each group that ends without them its
  // other members, wherever they run: which of these units may not go, though the others do? Null,
  // the default: all may. One of a single pod was chosen by SelectVictims().
  virtual const VictimUnit* FindForbidden(const CycleState&, const PodInfo&,
                                          absl::Span<const VictimUnit>) const {
    return nullptr;
  }

  // How the best candidate is chosen: by the first score; among those with the highest by the
  // second, and so on. Empty, the default, has the scores of DefaultCandidateScores(): then the
  // best of all nodes is chosen or, if more of them have candidates than SearchRange wants, the
  // best of those that can score highest. With scores of its own, the search begins at the offset
  // of SearchRange and dry-runs one node after another.
  using CandidateScore = std::function<int64_t(const PreemptionCandidate&)>;
  virtual std::vector<CandidateScore> OrderedScores() const { return {}; }

  // Why no pod may be evicted from `node`; with null, from none of very many nodes: a message that
  // names each would be as long as the list of nodes. Either it is the same reason for null and
  // every node, or it differs from node to node.
  virtual std::string NoVictimsReason(const NodeInfo* node, const PodInfo& preemptor) const;
};

// Fewest budget violations, lowest highest priority, lowest sum of priorities, fewest victims,
// latest start of the most important victims. kube-scheduler v1.35 preemption.go
// pickOneNodeForPreemption.
std::vector<PreemptionRules::CandidateScore> DefaultCandidateScores();

// Preemption by rules. A PostFilter plugin keeps one, because it keeps what the search found out
// for other pods. Scheduling thread.
class Preemption {
 public:
  explicit Preemption(Handle& handle);
  ~Preemption();

  // Finds the best (OrderedScores()) of the nodes whose status is exactly Unschedulable and fills
  // `result`. Success if a node was found; Unschedulable with what speaks against each node if not,
  // and `retry_at` if that may change by time alone. Changes nothing. Rules that implement
  // PreemptionHints have it done faster. The pruned search yields when state.work_budget() is
  // spent. With state.full_evaluation() every node is dry-run.
  Status Run(PreemptionRules& rules, const CycleState& state, const PodInfo& pod,
             const NodeStatuses& statuses, PostFilterResult& result);

  // Whether some pod on a node has a lower priority than `pod`.
  bool AnyLowerPriority(const PodInfo& pod);
  // Whether an extender may put others in the place of the victims for `pod`.
  bool ExtendersMayChoose(const PodInfo& pod) const;

  // As of now. A budget is parsed once a change.
  const DisruptionBudgets& budgets();

 private:
  struct Parts;

  Handle& handle_;
  const std::unique_ptr<Parts> parts_;
};

// --- Parts that rules share ---

// Higher priority first, then the earlier start; a pod that has not started counts as the latest.
bool MoreImportantPod(const PodInfo& a, const PodInfo& b);

// "No victims found on node n for preemptor pod p", without the node if it is null: a
// NoVictimsReason(), as the plugins of scheduler-plugins put it.
std::string NoVictimsFound(const NodeInfo* node, const PodInfo& preemptor);

// Splits `pods`, in order, into those whose eviction would violate a budget and the others.
struct PodsByBudget {
  std::vector<std::shared_ptr<const PodInfo>> violating, non_violating;
};
PodsByBudget SplitByBudget(absl::Span<const std::shared_ptr<const PodInfo>> pods,
                           const DisruptionBudgets& budgets);

// Where the node without the `removed` pods is not enough for the preemptor: takes off those of
// run.elsewhere(), unit by unit, until it fits or all are gone, and adds them to `removed`. Units
// for which `may_go` is false stay. The last verdict of the filters, or an Error.
Status RemoveElsewhere(DryRun& run, const std::function<bool(const VictimUnit&)>& may_go,
                       std::vector<std::shared_ptr<const PodInfo>>& removed);

// Puts back as many of the `removed` pods as leave room for the preemptor, those that the run
// spares (DryRun::IsSpared()) first, then those under a violated budget, then the most important
// first; `fits` says whether the run still holds. The others become the candidate's victims.
// Success, or an Error.
Status Reprieve(DryRun& run, std::vector<std::shared_ptr<const PodInfo>> removed,
                const DisruptionBudgets& budgets,
                const std::function<bool(const PodInfo&, const PodInfo&)>& more_important,
                const std::function<bool()>& fits, PreemptionCandidate& candidate);

// The rules of DefaultPreemption: pods of lower priority go, and with them groups of which all pods
// that run have a lower one. Derive to change a part.
class PriorityPreemptionRules : public PreemptionRules {
 public:
  // `percentage` of the possible nodes, but at least `absolute` of them and one, are enough.
  PriorityPreemptionRules(Handle& handle, int64_t percentage, int64_t absolute)
      : handle_(handle), percentage_(percentage), absolute_(absolute) {}

  Status PodEligibleToPreempt(const CycleState& state, const PodInfo& pod,
                              const Nomination& nomination) override;
  SearchRange Range(int nodes) override;
  Status SelectVictims(DryRun& run, const DisruptionBudgets& budgets,
                       PreemptionCandidate& candidate) override;
  const VictimUnit* FindForbidden(const CycleState& state, const PodInfo& pod,
                                  absl::Span<const VictimUnit> units) const override;

 protected:
  // Whether `victim`, which has a lower priority, may be evicted for `preemptor`. Let pods of the
  // system preempt ordinary ones, so that they find room.
  virtual absl::StatusOr<bool> MayEvict(const NodeInfo& node, const PodInfo& victim,
                                        const PodInfo& preemptor);
  virtual bool MoreImportant(const PodInfo& a, const PodInfo& b) const;
  // Whether `victim` of lower priority on the nominated node is on its way out for `preemptor`.
  virtual bool IsVictimLeaving(const NodeInfo& node, const PodInfo& victim,
                               const PodInfo& preemptor);

 private:
  Handle& handle_;
  int64_t percentage_, absolute_;
};

}  // namespace berth

#endif  // BERTH_PREEMPTION_PREEMPTION_H_
