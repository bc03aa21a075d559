// SPDX-License-Identifier: Apache-2.0
// What lets a plugin keep something of the whole cluster: AssignmentObserver, for sums over running
// pods without walking them, and SyncObserver, for what is there at the start.
#ifndef BERTH_EXTENSIONS_OBSERVER_H_
#define BERTH_EXTENSIONS_OBSERVER_H_

#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"

namespace berth {

// Called for every pod of the cluster, whatever its profile, by the cache on the scheduling thread:
// when a pod is seen running or is assumed, and when it is gone, finished, or its placement is
// taken back. The calls pair up exactly, in order; a pod that changes is removed (as it was) and
// added (as it is). Pods that are there when the profile is built are announced then. What a
// plugin sums up this way is right through every failure and roll-back.
class AssignmentObserver {
 public:
  virtual ~AssignmentObserver() = default;

  // `node` already counts `pod`.
  virtual void OnPodAssigned(const PodInfo& pod, const NodeInfo& node) = 0;
  // `node` no longer counts `pod`.
  virtual void OnPodUnassigned(const PodInfo& pod, const NodeInfo& node) = 0;

  // The engine's, for sums over waiting pods: a pod without a node is new or changed; a pod, with
  // or without one, was deleted or has ended. For a pod that is assumed in between only the calls
  // above are made; it waits again if it is unassigned and not gone.
  virtual void OnPodPending(const PodInfo& pod) { (void)pod; }
  virtual void OnPodGone(const PodInfo& pod) { (void)pod; }
};

class SyncObserver {
 public:
  virtual ~SyncObserver() = default;

  // Called once, on the scheduling thread, when the scheduler has heard of everything that existed
  // when it started, before the first attempt: Handle::nodes() and objects() have all of it. What
  // covers the whole cluster is best read here; in a cycle, pods would wait for it.
  virtual void OnSynced() = 0;

  // Called between attempts, after OnSynced(), mostly before NodeTable::ChangesSince() and
  // ObjectStore::ChangesSince() forget what changed since the last of these calls. A plugin that
  // reads them here rarely has to read everything again in a cycle.
  virtual void BeforeJournalOverflow() {}
};

}  // namespace berth

#endif  // BERTH_EXTENSIONS_OBSERVER_H_
