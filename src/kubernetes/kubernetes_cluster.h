// SPDX-License-Identifier: Apache-2.0
// The cluster port over an API server.
#ifndef BERTH_SRC_KUBERNETES_KUBERNETES_CLUSTER_H_
#define BERTH_SRC_KUBERNETES_KUBERNETES_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "berth/api/object.h"
#include "berth/api/packed_pod.h"
#include "berth/cluster.h"
#include "berth/kubernetes_cluster.h"
#include "kubernetes/api_client.h"
#include "kubernetes/connection.h"
#include "kubernetes/denials.h"
#include "kubernetes/event_recorder.h"
#include "kubernetes/group_statuses.h"
#include "kubernetes/status_patches.h"
#include "kubernetes/watch_set.h"
#include "kubernetes/watched_pods.h"

namespace berth {

namespace kubernetes_wire {
class Binding;
}  // namespace kubernetes_wire

// Every call has a deadline of half a minute, within which the client tries again where that is
// safe. Threads: as the port says.
class KubernetesCluster final : public Cluster {
 public:
  // `options.kubeconfig` and `context` do not count: `connection` is what they came to. `observe`
  // is called for every call to the server.
  using ObserveCall = std::function<void(const ApiCallRecord& call)>;
  KubernetesCluster(
      const Connection& connection, const KubernetesClusterOptions& options,
      EventRecorderOptions events = {}, const ObserveCall& observe = [](const ApiCallRecord&) {});
  // Waits up to two seconds for the events that are still to be written.
  ~KubernetesCluster() override;

  absl::Status Watch(WatchSink& sink, const std::vector<Kind>& kinds) override;
  void StopWatching() override;
  absl::Status Bind(const PodBinding& binding) override;
  absl::StatusOr<std::string> AssignedNode(const Identity& pod) override;
  // As kube-scheduler v1.35 framework/preemption PreemptPod, but never another pod of that name.
  absl::Status Evict(const Identity& pod, const std::string& message) override;
  absl::Status PatchPodStatus(const PodStatusPatch& patch) override;
  // By a merge patch of what is different from what the server has: what Berth does not read of an
  // object stays as it is.
  absl::Status Update(const ObjectUpdate& update) override;
  // Reads it first, five times at most if others are faster.
  absl::Status Edit(const ObjectEdit& edit) override;
  absl::StatusOr<Object> Create(const Object& object) override;
  absl::Status Delete(const Identity& object) override;
  void Record(RecordedEvent event) override;

  // For a process that ends: bindings that wait for their turn are sent as fast as the server takes
  // them, and so are events.
  void LiftRateLimits();

  int64_t dropped_events() const { return events_.dropped(); }

 private:
  // As CallAndWait(); sees denials.
  absl::StatusOr<ApiResponse> Call(ApiClient& client, ApiRequest request);
  absl::StatusOr<ApiResponse> Call(ApiRequest request) { return Call(client_, std::move(request)); }
  // The object as the server has it now. NotFound if it is gone, or another has its name.
  absl::StatusOr<Object> ReadBy(ApiClient& client, const Identity& object);
  absl::StatusOr<Object> Read(const Identity& object) { return ReadBy(client_, object); }
  // The pod as the watch has shown it; if it has not, as the server has it now.
  absl::StatusOr<std::shared_ptr<const PackedPod>> KnownPod(const Identity& pod);
  // Whether that is what became of it: NotFound. Otherwise `otherwise`.
  absl::Status GoneOr(const Identity& pod, const absl::Status& otherwise);
  absl::Status WriteStatus(const Identity& pod, const PackedPod& known,
                           const PodStatusChange& change, Priority priority);
  absl::Status SendBinding(const PodBinding& binding, const kubernetes_wire::Binding& body);
  absl::Status ResolveConflict(const PodBinding& binding, const absl::Status& conflict);
  absl::Status UpdateBy(ApiClient& client, const ObjectUpdate& update);
  absl::Status EditOnce(const ObjectEdit& edit);
  absl::Status PatchEdited(const ObjectEdit& edit);
  // The whole object goes back as it was read. Absent if the server does not speak protobuf: then
  // fields that are not known here would be lost.
  std::optional<absl::Status> PutEdited(const ObjectEdit& edit);
  GroupStatuses::Server StatusServer(const KubernetesClusterOptions& options);
  absl::StatusOr<std::vector<Object>> ListEnded(const Identity* group, const std::string& version);
  EventSubject SubjectOf(const IdentityPtr& who) const;

  const std::string content_type_, accept_;  // of what is sent, of what comes
  Denials denials_;
  WatchedPods pods_;
  StatusPatches status_patches_;
  EventRecorder events_;
  ApiClient client_;
  // For statuses of groups, which must not take the rate of bindings; as a controller has its own.
  ApiClient status_client_;
  GroupStatuses group_statuses_;
  const bool keep_group_statuses_;
  WatchSet watch_;
};

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_KUBERNETES_CLUSTER_H_
