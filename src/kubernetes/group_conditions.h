// SPDX-License-Identifier: Apache-2.0
// The statuses of Volcano's and Kubernetes' own PodGroups and CompositePodGroups, as their
// schedulers write them.
#ifndef BERTH_SRC_KUBERNETES_GROUP_CONDITIONS_H_
#define BERTH_SRC_KUBERNETES_GROUP_CONDITIONS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "berth/api/object.h"
#include "berth/cluster.h"

namespace berth {

namespace api {
class CompositePodGroup;
class KubernetesPodGroup;
class KubernetesPodGroupStatus;
class VolcanoPodGroup;
class VolcanoPodGroupStatus;
}  // namespace api

// The pods of a group that the watch of a scheduler shows: those that have not ended.
struct LivingPods {
  int assigned = 0, running = 0;
  // What is said of the first by name that could not be scheduled; empty: none says so.
  std::string reason, message;
};

// Volcano's jobs wait for the phase Inqueue before they make their pods: a group gets it at once,
// as there is no admission here. Running when its minimum has nodes, and from then on unless it
// falls below. As Volcano v1.12 framework/job_updater.go and session.go jobStatus.
api::VolcanoPodGroupStatus NextVolcanoStatus(const api::VolcanoPodGroup& group,
                                             const LivingPods& pods);
// PodGroupInitiallyScheduled: True once the minimum has nodes, and for good; False with the reason
// of a pod until then. As kube-scheduler v1.37.
api::KubernetesPodGroupStatus NextConditions(const api::KubernetesPodGroup& group,
                                             const LivingPods& pods, absl::Time now);
// CompositePodGroupInitiallyScheduled, as above: True once as many of its children are as it takes,
// or, if it is basic, one of them. `scheduled`: how many are; `pods`: those of the tree below it.
api::KubernetesPodGroupStatus NextConditions(const api::CompositePodGroup& group, int scheduled,
                                             const LivingPods& pods, absl::Time now);

// Sees pods and groups go by. Not safe to call from several threads at once.
class GroupConditions {
 public:
  using Key = std::pair<Kind, std::string>;  // a group: "namespace/name"

  // The groups whose statuses may change by it: with those of a group also those above it.
  std::vector<Key> See(const WatchEvent& event);
  // The group with the status that it is to have; absent if it has that, or is gone.
  std::optional<Object> Update(const Key& key, absl::Time now) const;

 private:
  struct Pod {
    std::string name;
    bool assigned = false, running = false;
    std::string reason, message;
  };
  std::optional<Key> SeePod(const Object& pod, bool deleted);
  // The group of that name, and those above it.
  std::vector<Key> WithThoseAbove(const Key& key) const;
  void SetParent(const Key& key, const Object* group);
  // Adds the pods of the group, or of all groups below it, to `living`; `first` is the first by
  // name that could not be scheduled.
  void AddLiving(const Key& key, int level, LivingPods& living, const Pod*& first) const;
  bool IsScheduled(const Key& key, int level) const;
  int ScheduledChildren(const Key& key, int level) const;

  std::map<std::string, Key> group_of_;  // by the pod's uid
  std::map<Key, std::map<std::string, Pod>> pods_;
  std::map<Key, Object> groups_;
  // CompositePodGroups that groups name as their parents, whether they are known or not.
  std::map<Key, Key> parents_;
  std::map<Key, std::set<Key>> children_;
};

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_GROUP_CONDITIONS_H_
