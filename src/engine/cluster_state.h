// SPDX-License-Identifier: Apache-2.0
// Everything the scheduler knows of the cluster, kept in step with the stream of watch events.
#ifndef BERTH_SRC_ENGINE_CLUSTER_STATE_H_
#define BERTH_SRC_ENGINE_CLUSTER_STATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "berth/api/identity_map.h"
#include "berth/api/segmented_map.h"
#include "berth/cluster.h"
#include "berth/framework/enqueue.h"
#include "berth/handle/gone_in_plan.h"
#include "cache/cache.h"
#include "cache/nominations.h"
#include "cache/objects.h"
#include "disruption/budget_tracker.h"
#include "group/group_index.h"
#include "queue/pod_update_events.h"

namespace berth {

class FrameworkSet;

// What one watch event changed.
struct ClusterChange {
  enum class Type {
    kNothing,
    kPodPending,   // a pod without a node is new or changed
    kPodAssigned,  // a pending or unknown pod has a node now
    kPodChanged,   // a pod with a node changed, or one that is assumed on one
    kPodLeaving,   // a pod that is assumed, not bound yet, is being deleted
    kPodGone,      // deleted or finished; change.old_pod is its last state
    kNode,
    kObject,
    kSynced,
  };
  Type type = Type::kNothing;
  ObjectChange change;
  // What it means to plugins; several when several properties changed at once.
  ClusterEvents events;
  // Further changes, of a pod that is bound in another state than it was assumed in. Reported
  // before the others.
  ObjectChange meanwhile;
  ClusterEvents changed_since_assumed;
  // A pending pod as it was when it was nominated to a node that it is nominated to no more.
  std::shared_ptr<const PodInfo> unnominated;
  // The pod was assigned or assumed before it went.
  bool was_assigned = false;
  // The pod was assumed where it is assigned now.
  bool confirmed = false;
  // Why the object could not be used; then nothing has changed.
  absl::Status problem;
  std::string subject;
  SourceLocation where;
  // Groups whose members changed.
  std::vector<std::string> groups;
  // Groups of which an object said something: they may be ready now, or ready no more.
  std::vector<std::string> redefined;
  // Pods that an object moved to another group.
  std::vector<std::shared_ptr<const PodInfo>> regrouped;
  // Kept so that `change` can point to them.
  std::shared_ptr<const Object> old_object, new_object;
};

// Belongs to the scheduling thread.
class ClusterState {
 public:
  ClusterState();
  ~ClusterState();

  // The profiles whose plugins define groups and observe assignments. Before the first Apply().
  void SetProfiles(const FrameworkSet* profiles);

  ClusterChange Apply(WatchEvent event);
  // Brings the node table up to date with what was applied and assumed. Cheap if nothing changed.
  void Refresh() { cache_.Refresh(); }

  // The group of a pod under its profile's rules.
  std::optional<std::string> GroupOf(const PodInfo& pod) const;

  // What the plugin of the pod's profile says of that group.
  std::optional<GroupSpec> SpecOf(const PodInfo& pod, absl::string_view group) const;
  void AppendDeclaration(const PodInfo& pod, std::string& text) const;

  // A placement of an attempt: counted as if the pod ran there.
  void Assume(const std::shared_ptr<const PodInfo>& pod, Symbol node_name);
  // Takes it back. Nothing if the pod is not assumed (it may have gone in the meantime).
  void Forget(const std::shared_ptr<const PodInfo>& pod);

  // Takes a pod off its node as if it had gone, and puts it back as it was. What is taken off is
  // put back before the next event. TakeOff: without a pod if it is on no node.
  CachedPod TakeOff(UidRef pod);
  void PutBack(CachedPod pod);
  // Those that are off now, as they were, in the order in which they were taken off.
  const std::shared_ptr<GoneInPlan>& gone_in_plan() const { return gone_in_plan_; }

  // The PodDisruptionBudgets as of now, less what a plan in the making spends.
  const DisruptionBudgets& budgets() {
    budgets_->Refresh(objects_, nodes());
    return budgets_->all();
  }
  // A plan evicts the pod, or does not after all. Returns whether a budget counts it now that did
  // not before; then it is given back before the next event.
  bool SpendDisruption(const PodInfo& pod) {
    return !budgets().empty() && budgets_->Spend(pod, nodes());
  }
  void GiveBackDisruption(const PodInfo& pod) { budgets_->GiveBack(pod, nodes()); }
  // For plugins.
  const std::shared_ptr<BudgetTracker>& budget_tracker() const { return budgets_; }

  // The cluster has been asked to evict the pod. Until the watch shows that it goes, it is taken
  // for one that is being deleted: no plan picks it as a victim again, or makes more room than
  // needed. `message` is that of its DisruptionTarget condition.
  void AssumeTerminating(UidRef pod, const std::string& message, absl::Time now);
  // The cluster refused.
  void ForgetTerminating(UidRef pod);
  // The rows with pods that are being deleted or taken for such, ascending, and perhaps others.
  std::vector<NodeRow> RowsWithLeavingPods() const;

  // Counts what others did to nodes: pods that they bound, nodes that changed or went.
  uint64_t outside_changes() const { return outside_changes_; }
  // Whether anything of that sort happened to the node after `since`.
  bool ChangedOutside(Symbol node_name, uint64_t since) const;

  // A live pod of another uid with the namespace and name of `pod`: it must have gone. Or null.
  std::shared_ptr<const PodInfo> FindPredecessor(const Object& pod) const;

  // The latest state of a live pod, or null.
  std::shared_ptr<const PodInfo> FindPod(UidRef pod) const { return cache_.LastSeen(pod); }

  // The node as of now, or null; also one that has only pods left.
  const NodeInfo* FindNode(Symbol name) const { return cache_.FindNode(name); }

  const NodeTable& nodes() const { return cache_.table(); }
  const Objects& objects() const { return objects_; }
  const GroupIndex& groups() const { return groups_; }
  // As GroupIndex::NoteStart().
  void NoteGroupStart(absl::string_view name, StartOrder order, int placed) {
    groups_.NoteStart(name, order, placed);
  }
  const Nominations& nominations() const { return nominations_; }
  Nominations& nominations() { return nominations_; }
  // Whose nominations to the node end when the pod preempts there: those of lower priority, unless
  // NominationRules of the pod's profile say that they count for it.
  std::vector<std::shared_ptr<const PodInfo>> NominationsEndedBy(const PodInfo& preemptor,
                                                                 Symbol node_name) const;
  // Whether a plugin of some profile has NominationRules: places of nominated pods may then hold
  // back pods of higher priority, too.
  bool HasNominationRules() const;
  // Whether a place is all that the pod has: it is nominated, and on no node.
  bool IsOnlyNominated(const PodInfo& pod) const {
    return cache_.FindPod(*pod.identity()) == nullptr && !nominations_.NominatedNode(pod).empty();
  }
  Cache& cache() { return cache_; }
  const Cache& cache() const { return cache_; }

 private:
  void ApplyPod(const Object& object, ClusterChange& result);
  void ApplyAssumedPod(const CachedPod& counted, const std::shared_ptr<const PodInfo>& pod,
                       ClusterChange& result);
  void AddChangesSinceAssumed(const CachedPod& counted, const std::shared_ptr<const PodInfo>& pod,
                              ClusterChange& result);
  void Replace(const std::shared_ptr<const PodInfo>& pod);
  // The groups of all profiles whose pods may move when the object changes.
  std::vector<std::string> GroupsOf(const Object& object) const;
  // Moves the members of these groups that are in another one now.
  void Regroup(std::vector<std::string> before, ClusterChange& result);
  // Where the pod is counted, or null.
  const CachedPod* TrackPod(const std::shared_ptr<const PodInfo>& pod);
  void NoteOutsideChange(Symbol node_name);
  void PodGone(const Identity& pod, ClusterChange& result);
  void ApplyNode(const Object& object, ClusterChange& result);
  void NodeGone(const Object& object, ClusterChange& result);
  void ApplyObject(std::shared_ptr<const Object> object, ClusterChange& result);
  void ObjectGone(const Object& object, ClusterChange& result);

  const FrameworkSet* profiles_ = nullptr;
  std::vector<AssignmentObserver*> observers_;  // of all profiles
  Cache cache_;
  Objects objects_;
  Nominations nominations_;
  GroupIndex groups_;
  // Live pods by namespace and name, where the uid does not say as much.
  IdentityMap<IdentityPtr, ByKey> pods_by_name_;
  uint64_t outside_changes_ = 0;
  SegmentedMap<Symbol, uint64_t> last_outside_change_;
  // Pods that are expected to leave: as the watch shows them, and why they go.
  struct Leaving {
    std::shared_ptr<const PodInfo> seen;
    std::string message;
    absl::Time since;
  };
  IdentityMap<Leaving, ByUid> terminating_;
  IdentityMap<bool, ByUid> leaving_;  // these, and pods that the watch shows to be deleted
  const std::shared_ptr<GoneInPlan> gone_in_plan_ = std::make_shared<GoneInPlan>();
  const std::shared_ptr<BudgetTracker> budgets_ = std::make_shared<BudgetTracker>();
  SegmentedMap<Symbol, std::shared_ptr<const NodeInfo>> nodes_;  // without their pods
};

// The pod as it would look on that node: hints look at where a pod was that goes.
std::shared_ptr<const PodInfo> AsAssigned(const PodInfo& pod, absl::string_view node_name);

// Which properties of a node differ, as events; empty if none that scheduling looks at does.
// kube-scheduler v1.35 framework/events.go.
ClusterEvents NodeUpdateEvents(const NodeSpec& old_node, const NodeSpec& new_node);

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_CLUSTER_STATE_H_
