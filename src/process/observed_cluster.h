// SPDX-License-Identifier: Apache-2.0
// The cluster of a scheduler, as its process sees it.
#ifndef BERTH_SRC_PROCESS_OBSERVED_CLUSTER_H_
#define BERTH_SRC_PROCESS_OBSERVED_CLUSTER_H_

#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "berth/cluster.h"
#include "process/log.h"

namespace berth {

// Passes everything on, but of a replica that stands by no write. Knows when the watch has
// delivered what there was, and logs what the cluster refuses.
class ObservedCluster final : public Cluster, private WatchSink {
 public:
  struct Callbacks {
    std::function<void()> on_events;  // behind each delivery, on its thread
    std::function<bool()> may_write;  // any thread
  };
  // Both outlive it.
  ObservedCluster(Cluster& cluster, Log& log, Callbacks callbacks)
      : cluster_(cluster), log_(log), callbacks_(std::move(callbacks)) {}

  // Threads: any.
  bool synced() const { return synced_; }

  absl::Status Watch(WatchSink& sink, const std::vector<Kind>& kinds) override;
  void StopWatching() override { cluster_.StopWatching(); }
  absl::Status Bind(const PodBinding& binding) override;
  absl::StatusOr<std::string> AssignedNode(const Identity& pod) override {
    return cluster_.AssignedNode(pod);
  }
  absl::Status Evict(const Identity& pod, const std::string& message) override;
  absl::Status PatchPodStatus(const PodStatusPatch& patch) override;
  absl::Status Update(const ObjectUpdate& update) override;
  absl::Status Edit(const ObjectEdit& edit) override;
  absl::StatusOr<Object> Create(const Object& object) override;
  absl::Status Delete(const Identity& object) override;
  void Record(RecordedEvent event) override;

 private:
  // Unavailable if this replica may not write; otherwise what `write` comes to, logged as `failed`
  // for `subject` if that is an error that is not to be expected.
  template <class Write>
  absl::Status Try(const Write& write, absl::string_view failed, LogField subject,
                   bool (*is_expected)(const absl::Status&));
  void Deliver(std::vector<WatchEvent> events) override;
  void DeliverOne(WatchEvent event) override;

  Cluster& cluster_;
  Log& log_;
  const Callbacks callbacks_;
  WatchSink* sink_ = nullptr;
  std::atomic<bool> synced_ = false;
};

}  // namespace berth

#endif  // BERTH_SRC_PROCESS_OBSERVED_CLUSTER_H_
