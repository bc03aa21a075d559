// SPDX-License-Identifier: Apache-2.0
// From "placed" to "bound": Permit's waiting pods, then PreBind and Bind on the executor.
#ifndef BERTH_SRC_ENGINE_BINDER_H_
#define BERTH_SRC_ENGINE_BINDER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/api/symbol.h"
#include "berth/executor.h"
#include "berth/framework/permit.h"
#include "framework/framework.h"
#include "queue/queue_entry.h"

namespace berth {

// A pod that is assumed on a node and reserved there, with everything its plugins stored.
struct AssumedPod {
  std::shared_ptr<const PodInfo> pod;
  Symbol node;
  absl::string_view node_name;  // its name
  const Framework* framework = nullptr;
  CycleState state;
  AttemptHistory history = {};  // of the queue's entry that it came from
  // Its PreBind plugins are done; they do not run again when only the binding is repeated.
  bool pre_bound = false;
  // The node was written to the cluster in advance, as the pod's nominated node.
  bool announced = false;
  uint64_t assumed_at = 0;  // ClusterState::outside_changes() then
  int bind_failures = 0;
  // For metrics, if they are wanted: when its attempt began, and how long it waited for Permit.
  std::chrono::steady_clock::time_point attempt_begun = {};
  absl::Duration permit_wait = absl::ZeroDuration();
};

// What became of a placement.
struct BindingOutcome {
  AssumedPod placement;
  Status status;  // Success: bound. A rejection or an Error: to be undone by the engine
  // A plugin refused it, or its time was over, before anything was bound.
  bool refused = false;
  // It waited for Permit, and that ended it: rejected, or its time was over.
  bool permit_wait_failed = false;
};

// Binds placements in batches, a group's together: all members are permitted, then all PreBinds
// run, then all Binds, at once. If so many members fail before the first Bind that fewer than the
// batch's minimum are left, all fail; once a Bind has succeeded, the others are bound all the same.
// While a PreBind plugin waits for others, its batch is off the executor, and the plugin is polled.
//
// Belongs to the scheduling thread; only the plugins' PreBind, Bind and PostBind run elsewhere.
class Binder {
 public:
  // `post` brings work back to the scheduling thread: it may be called from any thread and must
  // run what it is given there, later. `still_fits` is asked about each placement before it is
  // bound: the world may have changed since. Its rejection refuses the placement.
  Binder(Executor& executor, std::function<void(std::function<void()>)> post,
         std::function<Status(const AssumedPod&)> still_fits);
  ~Binder();

  struct Member {
    AssumedPod placement;
    std::vector<PermitOutcome::Wait> waits = {};
    absl::Time not_before = absl::InfinitePast();  // when to bind at the earliest
    bool takes_time = false;                       // PreBind has something to do
  };
  using Members = absl::InlinedVector<Member, 1>;  // mostly a pod on its own
  // Takes over placements that Permit let through or made wait. `minimum`: how many of them must
  // get through for any to be bound.
  void Start(Members&& members, int minimum, absl::Time now);

  // --- Waiting pods ---

  void ForEachWaitingPod(const std::function<void(WaitingPod&)>& visit);
  WaitingPod* FindWaitingPod(absl::string_view uid);
  // Whether a pod waits for one of these plugins.
  bool AnyWaitsFor(absl::Span<const Symbol> plugins) const;
  // The pod has ended, is leaving, or was bound by another scheduler: its placement is given back,
  // unless it is being bound at this moment.
  void Drop(absl::string_view uid);
  // Ends waits whose time is over.
  void Expire(absl::Time now);
  // Gives up on everything that is not on the executor yet: the scheduler is going away.
  void Abandon();
  // When the next wait or delay is over, or a plugin is polled; InfiniteFuture if there is none.
  absl::Time NextDue() const;
  // Plugins that wait for it in PreBind are polled in the next Advance().
  void ObjectChanged(const Object& object);

  // Sends batches that wait no longer to the executor, and puts what is decided since the last call
  // into `outcomes`, which was empty: bound, refused while waiting, or failed. Allow() and Reject()
  // take effect here, so that plugins may call them from anywhere.
  void Advance(absl::Time now, std::vector<BindingOutcome>& outcomes);

  bool idle() const { return batches_.empty() && parked_.empty() && outcomes_.empty(); }
  // Pods between placed and bound, in order of start.
  struct Unbound {
    const PodInfo* pod;
    absl::string_view node_name;
    std::vector<absl::string_view> waiting_for;  // Permit plugins
    absl::Time until = absl::InfiniteFuture();   // when the first of these waits is over
    Status pre_bind;                             // Wait, with its plugin, while it waits in PreBind
  };
  std::vector<Unbound> unbound() const;
  // Batches, bindings that are under way included.
  int size() const { return static_cast<int>(batches_.size()); }

 private:
  class Waiting;
  struct Batch;

  void Finish(Batch& batch);
  void PreBindAll(Batch& batch);
  void RunMembers(Batch& batch);
  void RunMember(Batch& batch, Waiting& member);
  static void PreBind(Waiting& member);
  static void Bind(Waiting& member);
  // Takes a batch from the executor whose PreBind plugins wait, and polls it when it is time.
  void Park(Batch& batch);
  std::unique_ptr<Batch> Unpark(Batch& batch);
  void PollAt(absl::Time time, std::unique_ptr<Batch> batch);
  void PollSoon(Batch& batch);
  void PollDue(absl::Time now);
  // Returns whether no PreBind plugin of the batch waits any more.
  static bool Poll(Batch& batch);

  Executor& executor_;
  const std::function<void(std::function<void()>)> post_;
  const std::function<Status(const AssumedPod&)> still_fits_;
  std::vector<std::unique_ptr<Batch>> batches_;  // in order of start, but for what was parked
  // Those that are polled: by when that is due, then by their number.
  std::map<std::pair<absl::Time, uint64_t>, std::unique_ptr<Batch>> parked_;
  absl::flat_hash_map<std::pair<Kind, std::string>, std::vector<Batch*>> parked_for_;  // objects
  uint64_t last_number_ = 0;
  std::vector<BindingOutcome> outcomes_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_BINDER_H_
