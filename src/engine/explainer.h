// SPDX-License-Identifier: Apache-2.0
// Evaluates pending pods against the cluster as it stands and says why, changing nothing.
#ifndef BERTH_SRC_ENGINE_EXPLAINER_H_
#define BERTH_SRC_ENGINE_EXPLAINER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "berth/clock.h"
#include "berth/configuration.h"
#include "berth/framework/postfilter.h"
#include "engine/cluster_state.h"
#include "engine/entry_scheduler.h"
#include "engine/framework_set.h"
#include "engine/group_reservations.h"
#include "evaluation/full_evaluator.h"

namespace berth {

struct NodeExplanation {
  std::string name;
  Status filter;
  // For feasible nodes: each plugin's normalised score times its weight, and the sum, in steps of
  // 1/score_resolution point.
  std::map<std::string, int64_t> scores;
  std::optional<int64_t> total;
  std::vector<PluginNotes> notes;
  // For feasible nodes: what the pod's claims would get that have no devices yet.
  std::vector<PlannedAllocation> allocations;
};

struct PreFilterExplanation {
  Status status;
  std::optional<std::vector<std::string>> node_names;  // sorted; absent: every node
};

struct PostFilterExplanation {
  Status status;
  PostFilterResult result;
};

// A group as a whole: what one attempt on all its pending pods would come to.
struct GroupExplanation {
  std::string group;  // "namespace/name"
  std::string profile;
  int min_member = 0;
  int running = 0;
  bool starts = false;                            // at least its minimum would run, or does already
  std::map<std::string, std::string> placements;  // by the pod's "namespace/name"
  std::map<std::string, PostFilterResult> plans;  // the same: the preemptors, and their victims
  std::string message;                            // why it would not start, or is not tried at all
  // What was found out about a place for it: "placed", "plan" (once `plans` are carried out),
  // "infeasible" (proven), "undecided" (the search spent its budget); empty for nothing of that.
  std::string answer;
};

struct PodExplanation {
  std::string pod;      // "namespace/name"
  std::string group;    // "namespace/name"; "" for a pod on its own
  std::string profile;  // "" if no profile is responsible
  std::string alone;    // as WaitingFor::alone
  std::string skipped;  // why the pod is not scheduled at all; then nothing below is set
  std::optional<Status> pre_enqueue;
  std::optional<PreFilterExplanation> pre_filter;
  std::vector<NodeExplanation> nodes;  // by name
  int64_t score_resolution = 1;
  std::vector<std::string> best_nodes;
  struct Nominated {
    std::string node;
    bool feasible;
  };
  std::optional<Nominated> nominated;
  std::optional<PostFilterExplanation> post_filter;
  std::string error;
  std::string message;  // of the FailedScheduling event, if no node is feasible
};

// Each pod is evaluated on its own: none sees a placement or an eviction of another. All nodes are
// filtered, and all feasible ones are scored, even a single one. A group is evaluated as a whole,
// on its own too.
class Explainer {
 public:
  // The profiles over the cluster that `objects` describe. Problems with the profiles go to
  // `problems`; null is returned then. `registry` and `clock` must outlive the explainer.
  static std::unique_ptr<Explainer> Create(const KubeSchedulerConfiguration& configuration,
                                           const Registry& registry, const Clock& clock,
                                           std::vector<Object> objects, Problems& problems,
                                           const ExtenderList& extenders = {});

  // The pods without a node, in the order of the objects.
  const std::vector<std::shared_ptr<const PodInfo>>& pending() const { return pending_; }

  PodExplanation Explain(const std::shared_ptr<const PodInfo>& pod);
  // The pod's group with all its pending pods; absent for a pod on its own, and for one that is not
  // scheduled with its group: it has no profile, is gated, or is being deleted.
  std::optional<GroupExplanation> ExplainGroup(const PodInfo& pod);

  // What went wrong with plugins so far.
  std::vector<PluginTrouble> troubles() const { return profiles_->troubles(); }

 private:
  Explainer() = default;
  bool IsTried(const Framework& framework, const PodInfo& pod) const;
  void ExplainNodes(const Framework& framework, CycleState& state,
                    const std::shared_ptr<const PodInfo>& pod, const PreFilterOutcome& pre_filter,
                    PodExplanation& explanation);
  void ExplainEachNode(const Framework& framework, CycleState& state, const PodInfo& pod,
                       const PreFilterOutcome& pre_filter, PodExplanation& explanation);
  void ExplainScores(const Framework& framework, PodExplanation& explanation) const;
  void ExplainPostFilter(const Framework& framework, CycleState& state, const PodInfo& pod,
                         const NodeStatuses& statuses, PodExplanation& explanation);

  std::unique_ptr<RandomSequence> random_;
  std::unique_ptr<ClusterState> cluster_;
  std::unique_ptr<FrameworkSet> profiles_;
  std::unique_ptr<EntryScheduler> entry_scheduler_;
  std::unique_ptr<GroupReservations> reservations_;
  const Clock* clock_ = nullptr;
  std::vector<std::shared_ptr<const PodInfo>> pending_;
  FullEvaluator evaluator_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_EXPLAINER_H_
