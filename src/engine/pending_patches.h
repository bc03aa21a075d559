// SPDX-License-Identifier: Apache-2.0
// The changes of pods' statuses that are still to be written.
#ifndef BERTH_SRC_ENGINE_PENDING_PATCHES_H_
#define BERTH_SRC_ENGINE_PENDING_PATCHES_H_

#include <atomic>
#include <deque>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "berth/api/identity_map.h"
#include "berth/cluster.h"
#include "berth/executor.h"
#include "berth/mutex.h"

namespace berth {

// Writes them on the executor, a few at a time: each may wait for long where the cluster limits
// requests, and however many pods fail, bindings must find threads. What waits is coalesced by pod.
//
// Threads: any.
class PendingPatches {
 public:
  // Both outlive this, and what is on the executor.
  PendingPatches(Cluster& cluster, Executor& executor);
  // What still waits is not written.
  ~PendingPatches();

  // If one of that pod waits, it is changed by this one and keeps its place.
  void Add(PodStatusPatch patch);
  // There is nothing to say of the pod any more, unless it is being said.
  void Drop(const Identity& pod);

 private:
  // What is on the executor holds on to it.
  struct State {
    State(Cluster& cluster, Executor& executor) : cluster(cluster), executor(executor) {}

    Cluster& cluster;
    Executor& executor;
    Mutex mutex;
    IdentityMap<PodStatusPatch, ByUid> waiting ABSL_GUARDED_BY(mutex);
    std::atomic<bool> any_waits = false;                   // of `waiting`, read without the mutex
    std::deque<IdentityPtr> order ABSL_GUARDED_BY(mutex);  // some may wait no more
    int writers ABSL_GUARDED_BY(mutex) = 0;
  };
  static void WriteOne(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_PENDING_PATCHES_H_
