// SPDX-License-Identifier: Apache-2.0
// What the scheduler offers to its plugins.
#ifndef BERTH_FRAMEWORK_HANDLE_H_
#define BERTH_FRAMEWORK_HANDLE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <typeinfo>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/api/kinds.h"
#include "berth/api/object.h"
#include "berth/api/symbol.h"
#include "berth/clock.h"
#include "berth/extensions/group.h"
#include "berth/extensions/waiting.h"
#include "berth/framework/permit.h"
#include "berth/framework/pod_info.h"
#include "berth/handle/counter.h"
#include "berth/handle/nominator.h"
#include "berth/handle/object_store.h"
#include "berth/handle/plugins_runner.h"

namespace berth {

struct BindMetadata;
struct ObjectEdit;
struct ObjectUpdate;
struct PodStatusPatch;
class ResourceNeedSource;
class NodeTable;
class SchedulerExtender;

// A call that Handle::RunAt() has put off.
enum class TimerId : uint64_t { kNone = 0 };

// One a profile, given to every factory and living as long as the profile's plugins. Except where
// said otherwise, call it from the scheduling thread only: in every extension point but PreBind,
// Bind and PostBind, and in what RunAt() and Post() run. A plugin that has threads of its own joins
// them in its destructor; until then they may call what any thread may.
class Handle : public PluginsRunner {
 public:
  ~Handle() override = default;

  // The schedulerName of the profile this plugin instance belongs to.
  virtual absl::string_view profile_name() const = 0;

  // The nodes as of the current attempt, its own placements included.
  virtual const NodeTable& nodes() const = 0;
  // Has objects of the kinds that some plugin watches: see Watch().
  virtual const ObjectStore& objects() const = 0;
  virtual const Groups& groups() const = 0;
  virtual const Nominator& nominator() const = 0;
  virtual const Clock& clock() const = 0;
  // The next number of the scheduler's seeded random sequence.
  virtual uint64_t Random() = 0;

  // Those of the configuration, in the order in which they are asked (berth/extensions/extender.h).
  virtual absl::Span<const std::shared_ptr<SchedulerExtender>> extenders() const { return {}; }

  // Whether plugins of the profile say where groups may be (berth/framework/placement.h): else
  // GroupSpec::topology has no effect.
  virtual bool generates_placements() const { return false; }

  // What a node must have left for a pod, for preemption; null if nothing is known of it.
  virtual ResourceNeedSource* resource_needs() { return nullptr; }

  // Asks for objects of a kind to be in objects(), as a Go plugin asks for an informer. From the
  // plugin's factory only. Pods and nodes are always watched, and so are the kinds that a plugin
  // registers events for.
  virtual void Watch(Kind kind) = 0;

  // --- Pods that wait ---

  // Moves pods that wait in backoff or as unschedulable to the active queue at once.
  virtual void Activate(absl::Span<const std::shared_ptr<const PodInfo>> pods) = 0;
  // Valid until the extension point returns.
  virtual void ForEachWaitingPod(const std::function<void(WaitingPod&)>& visit) = 0;
  virtual WaitingPod* FindWaitingPod(absl::string_view uid) = 0;
  // Returns whether there was such a waiting pod.
  virtual bool RejectWaitingPod(absl::string_view uid) = 0;
  // Whether evictions for this pod are under way: the cluster has not answered all requests.
  virtual bool IsPreempting(absl::string_view uid) const = 0;
  // Why the pod of that uid has no node yet; absent if it has one or is not known.
  virtual std::optional<WaitingFor> ExplainWaiting(absl::string_view uid) const = 0;

  // --- Later, and from other threads ---

  // Runs `work` once on the scheduling thread when `time` of clock() has come, or as soon after it
  // as that thread is free; never before RunAt() has returned. What it throws is `plugin`'s fault.
  // When the scheduler ends, what has not run yet is dropped without being run, before the plugins
  // go. An explanation (`berth explain`) runs none of it.
  virtual TimerId RunAt(absl::string_view plugin, absl::Time time, std::function<void()> work) = 0;
  // Returns false if there is nothing to cancel: it has run, or is running, or was cancelled.
  virtual bool CancelTimer(TimerId timer) = 0;
  // Any thread. Runs `work` once on the scheduling thread, soon; what one thread posts, in order.
  // Wakes the scheduler if it sleeps. Otherwise as RunAt().
  virtual void Post(absl::string_view plugin, std::function<void()> work) = 0;

  // Any thread: what the calls above do, soon. A pod that Permit holds back can be allowed or
  // rejected by uid as soon as Permit() has been called for it; one that does not wait (any more)
  // is ignored.
  void PostAllow(absl::string_view plugin, absl::string_view uid);
  void PostReject(absl::string_view plugin, absl::string_view uid, absl::string_view message);
  void PostActivate(absl::string_view plugin, std::vector<std::shared_ptr<const PodInfo>> pods);

  // Any thread. The counter of that name, which all profiles share and which begins at 0; begin it
  // with the plugin's name: "Licences/refused". Look it up once: that takes a lock, adding does
  // not. Lives as long as the handle. Scheduler::PluginCounters() and `berth simulate` show it.
  virtual Counter& CounterOf(absl::string_view name) = 0;
  // Any thread. Counts a fault of `plugin` at a point ("Filter"), as if it had thrown there: for a
  // plugin that stands for something outside that failed, whatever it makes of that. `what` says
  // what was wrong: `berth simulate` shows the first, and ends with status 3.
  virtual void AddFault(absl::string_view /*plugin*/, absl::string_view /*point*/,
                        absl::string_view /*what*/) {}

  // --- The cluster ---

  // Binds in the cluster and annotates and labels the pod in the same step. Blocks; any thread, and
  // meant for Bind plugins.
  virtual absl::Status Bind(const PodInfo& pod, absl::string_view node_name,
                            const BindMetadata& metadata) = 0;
  // Writes an object that is no pod (berth/api/object_update.h); see Cluster::Update(). Blocks; any
  // thread, and meant for PreBind plugins.
  virtual absl::Status Update(const ObjectUpdate& update) = 0;
  // The same, see Cluster::Edit().
  virtual absl::Status Edit(const ObjectEdit& edit) = 0;
  // Scheduling thread, which does not wait: the edit is written on the executor, and what comes of
  // it is seen by the watch. An explanation writes nothing.
  virtual void EditSoon(ObjectEdit edit) = 0;
  // Adds an object that is no pod; see Cluster::Create(). Blocks; any thread, and meant for PreBind
  // plugins.
  virtual absl::StatusOr<Object> Create(const Object& object);
  // Scheduling thread, which does not wait: edits the object, if there is an edit
  // (`last.edit`), and then deletes it; see Cluster::Delete(). What comes of it is seen by the
  // watch. If the edit is refused, nothing is deleted. An explanation deletes nothing.
  virtual void DeleteSoon(ObjectEdit last);
  // Writes something to the status of a pod; see Cluster::PatchPodStatus(). Blocks; any thread, and
  // meant for PreBind plugins.
  virtual absl::Status PatchPodStatus(const PodStatusPatch& patch);
  // Reports something wrong with a pod that is not rejected for it: a Warning event with
  // that reason ("UnreadableGpuRecord"), one of few that the plugin has, and text. Does not wait
  // for the cluster.
  virtual void Warn(const PodInfo& pod, absl::string_view reason, absl::string_view text) = 0;
  // The same of an object that is no pod: one of objects(). `berth run` logs it, too. Say it once,
  // not in every attempt.
  virtual void WarnAbout(const Object& /*object*/, absl::string_view /*reason*/,
                         absl::string_view /*text*/) {}

  // --- What the plugins of all profiles share ---

  // The one T of the scheduler, made by its default constructor for the first caller: what must
  // not be counted twice because two profiles place pods. It lives as long as it is referred to.
  // T is its own name, so it must not be in an anonymous namespace.
  template <class T>
  std::shared_ptr<T> Shared() {
    std::weak_ptr<void>& slot = SharedSlot(typeid(T).name());
    std::shared_ptr<T> shared = std::static_pointer_cast<T>(slot.lock());
    if (shared == nullptr) slot = shared = std::make_shared<T>();
    return shared;
  }

 protected:
  // Where Shared() keeps the object of that type.
  virtual std::weak_ptr<void>& SharedSlot(absl::string_view type) = 0;
};

}  // namespace berth

#endif  // BERTH_FRAMEWORK_HANDLE_H_
