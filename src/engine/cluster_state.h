// Everything the scheduler knows of the cluster, kept in step with the stream of watch events.
#ifndef BERTH_SRC_ENGINE_CLUSTER_STATE_H_
#define BERTH_SRC_ENGINE_CLUSTER_STATE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "berth/cluster.h"
#include "berth/framework/enqueue.h"
#include "cache/cache.h"
#include "cache/nominations.h"
#include "cache/objects.h"
#include "group/group_index.h"

namespace berth {

class Profiles;

// What one watch event changed.
struct ClusterChange {
  enum class Type {
    kNothing,
    kPodPending,   // a pod without a node is new or changed
    kPodAssigned,  // a pending or unknown pod has a node now
    kPodChanged,   // a pod with a node changed
    kPodGone,      // deleted or finished; change.old_pod is its last state
    kNode,
    kObject,
    kSynced,
  };
  Type type = Type::kNothing;
  ObjectChange change;
  // What it means to plugins; several when several properties changed at once.
  std::vector<ClusterEvent> events;
  // The pod was assigned or assumed before it went.
  bool was_assigned = false;
  // Why the object could not be used; then nothing has changed.
  absl::Status problem;
  std::string subject;
  SourceLocation where;
  // Groups whose members changed.
  std::vector<std::string> groups;
  // Kept so that `change` can point to them.
  std::shared_ptr<const Object> old_object, new_object;
};

// Belongs to the scheduling thread.
class ClusterState {
 public:
  ClusterState();
  ~ClusterState();

  // Tells which profiles' plugins define groups and observe assignments. Before the first Apply().
  void SetProfiles(const Profiles* profiles);

  ClusterChange Apply(WatchEvent event);
  // Brings the node table up to date with what was applied and assumed. Cheap if nothing changed.
  void Refresh() { cache_.Refresh(); }

  // The group of a pod under its profile's rules.
  std::optional<std::string> GroupOf(const PodInfo& pod) const;

  // A placement of an attempt: counted as if the pod ran there.
  void Assume(const std::shared_ptr<const PodInfo>& pod, const std::string& node_name);
  // Takes it back. Nothing if the pod is not assumed (it may have gone in the meantime).
  void Forget(const std::shared_ptr<const PodInfo>& pod);

  // The latest state of a live pod, or null.
  std::shared_ptr<const PodInfo> FindPod(absl::string_view uid) const;

  const NodeTable& nodes() const { return cache_.table(); }
  const Objects& objects() const { return objects_; }
  const GroupIndex& groups() const { return groups_; }
  const Nominations& nominations() const { return nominations_; }
  Nominations& nominations() { return nominations_; }
  Cache& cache() { return cache_; }

 private:
  void ApplyPod(const Object& object, ClusterChange& result);
  void PodGone(const std::string& uid, ClusterChange& result);
  void ApplyNode(const Object& object, ClusterChange& result);
  void NodeGone(const Object& object, ClusterChange& result);
  void ApplyObject(std::shared_ptr<const Object> object, ClusterChange& result);
  void ObjectGone(const Object& object, ClusterChange& result);

  const Profiles* profiles_ = nullptr;
  Cache cache_;
  Objects objects_;
  Nominations nominations_;
  GroupIndex groups_;
  absl::flat_hash_map<std::string, std::shared_ptr<const PodInfo>> pods_;  // live ones, by uid
  absl::flat_hash_map<Symbol, std::shared_ptr<const NodeInfo>> nodes_;     // without their pods
};

// Which properties of a node differ, as events; empty if none that scheduling looks at does.
// kube-scheduler v1.35 framework/events.go.
std::vector<ClusterEvent> NodeUpdateEvents(const NodeSpec& old_node, const NodeSpec& new_node);

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_CLUSTER_STATE_H_
