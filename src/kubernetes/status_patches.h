// SPDX-License-Identifier: Apache-2.0
// Changes of pods' statuses, as kube-scheduler v1.35 framework/api_calls/pod_status_patch.go makes
// them: nothing that is so already, and what is newer instead of what is older.
#ifndef BERTH_SRC_KUBERNETES_STATUS_PATCHES_H_
#define BERTH_SRC_KUBERNETES_STATUS_PATCHES_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "berth/api/identity.h"
#include "berth/mutex.h"

namespace berth {

namespace api {
class Pod;
class PodExtendedResourceClaimStatus;
}  // namespace api

// What is to become of a pod's status.
struct PodStatusChange {
  struct Condition {
    bool is_true = false;
    std::string reason, message;
  };
  std::map<std::string, Condition> conditions;     // by type
  std::optional<std::string> nominated_node_name;  // absent: unchanged, "": cleared
  // Null: unchanged.
  std::shared_ptr<const api::PodExtendedResourceClaimStatus> extended_resource_claim = nullptr;
};

// The strategic merge patch that makes the change to `pod`, of which metadata and status are looked
// at. Its precondition is the uid. Empty if nothing would change: as podutil.UpdatePodCondition
// says, a condition has its time of transition from its last change between true and false.
std::string StatusPatch(const api::Pod& pod, const PodStatusChange& change, absl::Time now);

// Lets one change of a pod be under way at a time. Threads: any.
class StatusPatches {
 public:
  // Writes a change. Runs on the threads of Apply()'s callers, for different pods at once.
  using Write = std::function<absl::Status(const Identity& pod, const PodStatusChange& change)>;
  explicit StatusPatches(Write write) : write_(std::move(write)) {}

  // Returns when `change` is written. If one of the pod is under way, waits for it; if another
  // comes meanwhile, that one takes over what it does not set itself of this one, and this returns
  // Ok at once: what becomes of what is outdated need not be waited for, or known.
  absl::Status Apply(const Identity& pod, PodStatusChange change);

  // The pod is given a node: what was to be said of it without one would undo what the API server
  // says then. Returns when no change is under way; those that wait, and those that come, are
  // dropped. It is forgotten for pods that were closed very long ago.
  void Close(const Identity& pod);
  // It was not given one after all.
  void Open(const Identity& pod);

 private:
  struct Waiting {
    PodStatusChange change;
    enum { kNothing, kWriter, kTakenOver } becomes = kNothing;
  };
  void PassOn(const Identity& pod) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Write write_;
  Mutex mutex_;
  CondVar changed_;
  // By uid, of the pods of which one is under way: the patch that waits behind it, or null.
  std::map<std::string, Waiting*, std::less<>> turns_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> closed_ ABSL_GUARDED_BY(mutex_);  // uids
  std::deque<std::string> closed_order_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_STATUS_PATCHES_H_
