// SPDX-License-Identifier: Apache-2.0
// The statuses of PodGroups and ElasticQuotas, kept as the controllers of scheduler-plugins do, so
// that a cluster need not run them; and those of other PodGroups (group_conditions.h).
#ifndef BERTH_SRC_KUBERNETES_GROUP_STATUSES_H_
#define BERTH_SRC_KUBERNETES_GROUP_STATUSES_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "berth/api/identity_map.h"
#include "berth/api/object.h"
#include "berth/api/packed_pod.h"
#include "berth/api/quantity.h"
#include "berth/cluster.h"
#include "berth/mutex.h"
#include "kubernetes/group_conditions.h"

namespace berth {

namespace api {
class PodGroup;
class PodGroupStatus;
class PodSpec;
}  // namespace api

// On pods: the name of their group.
inline constexpr char kGroupLabel[] = "scheduling.x-k8s.io/pod-group";

// The pods of a group, as its status tells of them.
struct GroupPods {
  int all = 0, running = 0, succeeded = 0, failed = 0;
  std::string occupied_by;  // the owners of the first by name: "namespace/owner,…"
};

// What the status of `group` is to be. scheduler-plugins v0.35 podgroup_controller.go Reconcile,
// again and again until nothing changes.
api::PodGroupStatus NextStatus(const api::PodGroup& group, const GroupPods& pods);

// What a running pod counts in status.used: elasticquota_controller.go computePodResourceRequest,
// which leaves the overhead out.
std::map<std::string, Quantity> UsedByPod(const api::PodSpec& spec);

// Stands between the watch and its sink, sees pods, groups and quotas go by, and writes statuses on
// a thread of its own. A status is written at most once in `pause`; what changes meanwhile is in
// the next one. Threads: any.
class GroupStatuses final : public WatchSink {
 public:
  // What it asks of the server; called on its thread, which Stop() waits for.
  struct Server {
    std::function<absl::Status(const ObjectUpdate& update)> update;
    std::function<absl::StatusOr<Object>(const Identity& pod)> read_pod;
    // The pods that have ended, which the watch of a scheduler leaves out, of one group or of all.
    // Not older than `version`, which may be "0".
    std::function<absl::StatusOr<std::vector<Object>>(const Identity* group,
                                                      const std::string& version)>
        list_ended;
    std::function<bool()> may_write;  // false: later
  };
  explicit GroupStatuses(Server server, absl::Duration pause = absl::Milliseconds(500))
      : server_(std::move(server)), pause_(pause) {}
  ~GroupStatuses() override { Stop(); }

  // What comes from now on goes to `sink`. Writes statuses if `kinds` has groups, of any API, or
  // quotas.
  void Start(WatchSink& sink, const std::vector<Kind>& kinds);
  // Ends the thread, not the deliveries.
  void Stop();

  void Deliver(std::vector<WatchEvent> events) override;
  void DeliverOne(WatchEvent event) override;

 private:
  struct Member {
    std::string name, phase, occupied_by;
    bool ended = false;  // the watch does not show it
  };
  struct Group {
    std::optional<Object> object;           // absent: only pods name it
    std::map<std::string, Member> members;  // by uid
    // What the server is still to be asked: which pods ended before they were watched; what became
    // of those that are gone from the watch.
    bool has_unknown_past = true;
    std::vector<IdentityPtr> gone;
    std::string version = "0";  // of the last one that is gone
  };
  // What runs in a namespace, by resource: how much, and how many pods say so.
  struct Usage {
    struct Sum {
      Quantity amount;
      int pods = 0;
    };
    std::map<std::string, Sum> sums;
  };
  // What is known of a pod of a group, or of one that runs.
  struct KnownPod {
    std::string group;                              // its key; empty: none
    std::shared_ptr<const PodShape> running_shape;  // null: it does not run
  };
  using Dirty = std::pair<Kind, std::string>;  // a group by its key, or the quota of a namespace

  void See(const WatchEvent& event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SeePod(const Object& pod, bool deleted) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void ForgetEnded(Group& group);
  void Count(const std::string& namespace_name, const PodShape& shape, bool more)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Mark(Kind kind, const std::string& key, absl::Duration delay)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void Work();
  std::optional<Dirty> Next();  // absent: this stops
  absl::Status Write(const Dirty& dirty);
  absl::Status AskForPast();
  absl::Status AskForEnded(const std::string& key);
  static void Take(Group& group, const Object& ended);
  std::optional<ObjectUpdate> GroupUpdate(const std::string& key);
  std::optional<ObjectUpdate> QuotaUpdate(const std::string& namespace_name);

  const Server server_;
  const absl::Duration pause_;
  WatchSink* sink_ = nullptr;
  Mutex mutex_;
  CondVar changed_;
  GroupConditions conditions_ ABSL_GUARDED_BY(mutex_);
  bool wants_groups_ ABSL_GUARDED_BY(mutex_) = false;
  bool wants_conditions_ ABSL_GUARDED_BY(mutex_) = false;
  bool wants_quotas_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_asked_for_past_ = false;  // of its thread
  IdentityMap<KnownPod, ByUid> pods_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Group> groups_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::map<std::string, Object>> quotas_
      ABSL_GUARDED_BY(mutex_);                                   // by namespace and name
  std::map<std::string, Usage> usages_ ABSL_GUARDED_BY(mutex_);  // by namespace
  std::map<Dirty, absl::Time> due_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_GROUP_STATUSES_H_
