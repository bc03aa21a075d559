// SPDX-License-Identifier: Apache-2.0
// The front door: a scheduler over a cluster backend, to run for good or to drive step by step.
#ifndef BERTH_SCHEDULER_H_
#define BERTH_SCHEDULER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/clock.h"
#include "berth/cluster.h"
#include "berth/configuration.h"
#include "berth/executor.h"
#include "berth/extensions/extender.h"
#include "berth/extensions/usage.h"
#include "berth/extensions/waiting.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/registry.h"
#include "berth/framework/status.h"

namespace berth {

class SchedulerMetrics;

// Wrong options are refused by Scheduler::Create(), with a sentence.
struct SchedulerOptions {
  KubeSchedulerConfiguration configuration;  // with at least one profile
  const Registry* registry = nullptr;        // must outlive the scheduler, as the next three
  Cluster* cluster = nullptr;
  const Clock* clock = nullptr;
  Executor* executor = nullptr;
  // Those that `configuration` names, in the order in which they are asked: NewHttpExtenders() of
  // berth/http_extender.h makes them. A configuration with extenders and none here is refused.
  ExtenderList extenders;
  uint64_t seed = 0;
  // Whether verdicts and scores of a node are cached for the next pod of the same class, until the
  // node changes, and preemption skips nodes that cannot be chosen. The decisions are the same (of
  // preemption, as long as no more nodes have candidates than minCandidateNodesPercentage and
  // minCandidateNodesAbsolute want). Without it every cycle evaluates every node.
  bool incremental = true;
  // Whether pods that wait for room on a node take turns: when a pod ends, of those that waited
  // long the first is tried, and after it only the ones that may fit. Placements are the same.
  // Without it each is tried.
  bool turns_for_room = true;
  // How many nodes one call of FilterNodes() gets at most; 0 is all of them. The decisions are the
  // same; for tests that look for a batch form for which they are not.
  int filter_block_size = 0;
  // How much an attempt for a single pod does before it yields, in steps of some 0.2 us: a search
  // for victims, or an evaluation of many changed nodes, that takes longer lets the scheduler take
  // in events and continues. 0, or without `incremental`: it never yields.
  int64_t work_budget_steps = 8192;
  // How much the search for a place for a group does when its members, tried one after another in
  // several orders, miss the minimum: in steps, one for each pod that is placed to see what
  // follows, and one for each thousand nodes that are evaluated for it. Then the group waits, and
  // its condition says that it is undecided after so many possibilities. 0: no search. A number,
  // not a time: the same input has the same outcome.
  int64_t group_search_steps = 2000;
  // A call of a plugin that takes at least this long counts as slow. Measured to a few ms.
  absl::Duration slow_plugin_call = absl::Milliseconds(100);
  // What `berth run` shows as /metrics; outlives the scheduler. Null: nothing is measured, and no
  // time is spent on it.
  SchedulerMetrics* metrics = nullptr;
  // Called with a sentence when something keeps the scheduler from working: a cluster that does not
  // deliver kSynced. Called on the scheduling thread. Absent: written to standard error.
  std::function<void(absl::string_view sentence)> warn;
};

// Why a pod is not running yet.
struct UnboundPod {
  std::string pod;    // "namespace/name"
  std::string group;  // "namespace/name", or empty
  enum class State { kActive, kBackoff, kUnschedulable, kGated, kWaiting, kBinding };
  State state = State::kActive;
  std::string plugin;   // what rejected it, or gates it; empty if it was not tried yet
  std::string message;  // as in the pod's FailedScheduling event; empty if it was not tried yet
  // The reason for programs, as of now. Pods of one group that missed its minimum share it.
  WaitingFor waiting;
};

// A pod group as it stands.
struct PodGroupState {
  std::string group;  // "namespace/name"
  int min_member = 1;
  // Each member is one of these: it has a node by its spec; has a place, and is held by Permit or
  // being bound; has none.
  int bound = 0, waiting_pods = 0, pending = 0;
  std::optional<WaitingFor> waiting;  // of those that are not bound yet; absent if all are
};

// A Permit plugin holds a placed pod back.
struct PermitHold {
  absl::string_view plugin;
  absl::Duration timeout;  // what it is held for at most
  absl::Duration asked;    // what the plugin asked for: more, if that was cut to kMaxPermitTimeout
};

// The outcome of one attempt for one of its pods. Everything in it lives as long as the call.
struct PodOutcome {
  const PodInfo* pod;
  absl::string_view node;     // where it was placed; empty: it was not
  absl::string_view plugin;   // that rejected it first
  absl::string_view message;  // of its FailedScheduling event
  absl::string_view nominated_node;
  absl::Span<const PermitHold> holds;  // of a pod that was placed
};

// The outcome of one attempt; for figures, progress and timelines.
struct AttemptRecord {
  absl::string_view profile;
  int pods = 0;             // pods tried
  int cycles = 0;           // scheduling cycles; more than pods when several orders were tried
  int placed = 0;           // of the pods, how many were placed
  absl::Duration duration;  // wall time of the scheduling cycles
  std::chrono::steady_clock::time_point ended;
  bool error = false;
  absl::string_view group;  // "namespace/name"; empty for a single pod
  // The event that requeued it, as kube-scheduler names it ("NodeAdd"); empty: its backoff ended,
  // or it is new.
  absl::string_view requeued_by;
  // The attempt is not over: its work budget was spent, and it yields. There will be another
  // record, the last one for the whole attempt, unless its pod is deleted. Records of an attempt
  // that yields have no outcomes and need not be counted.
  bool yielded = false;
  // Pods that were placed, then pods that were rejected. For a group that failed, the pods that
  // were not tried are missing.
  absl::Span<const PodOutcome> outcomes;
};

// What went wrong with a plugin at one extension point.
struct PluginTrouble {
  std::string plugin;
  std::string point;   // "Filter", "Less", "QueueingHint"
  int64_t faults = 0;  // it threw, returned what the point does not allow, or scored out of range
  int64_t slow_calls = 0;  // SchedulerOptions::slow_plugin_call; of Less: slow insertions
  absl::Duration slowest;
  std::string first_fault;  // "threw: boom"
};

// Adds `trouble` to that of its plugin and point in `troubles`, which is sorted by these.
void AddTrouble(const PluginTrouble& trouble, std::vector<PluginTrouble>& troubles);

struct SchedulerCounters {
  int64_t attempts = 0;            // of groups, single pods being groups of one
  int64_t cycles = 0;              // scheduling cycles of pods; another one after each yield
  int64_t incremental_cycles = 0;  // of these, cycles that did not evaluate every node
  int64_t bound = 0;
  int64_t bind_failures = 0;      // bindings that ended in an error
  int64_t evictions = 0;          // started
  int64_t eviction_failures = 0;  // refused by the cluster
  int64_t plugin_faults = 0;      // plugins threw, or broke the contract of a point
  int64_t unconfirmed = 0;        // FilterNodes() accepted a node that Filter() rejected
  int64_t unusable_objects = 0;   // objects that could not be parsed
  int64_t deferred_calls = 0;     // calls of Handle::RunAt() and Post() that have run
  // Plugins with faults or slow calls, by name and point; the faults are those in plugin_faults.
  std::vector<PluginTrouble> troubles;
};

// Queue, cache and plugins belong to one thread at a time: the one in Run() or RunUntilIdle().
// Only Stop() and PluginCounters() may be called from other threads.
class Scheduler {
 public:
  // Builds the profiles and starts watching the cluster. Errors name the profile and the plugin.
  static absl::StatusOr<std::unique_ptr<Scheduler>> Create(SchedulerOptions options);
  virtual ~Scheduler() = default;

  // Schedules until Stop(); waits for events and timers in between.
  virtual absl::Status Run() = 0;
  virtual void Stop() = 0;

  // Takes in what the cluster has delivered, without scheduling anything.
  virtual void TakeEvents() = 0;
  // Does everything that is due at the clock's time, bindings on an inline executor included, and
  // returns. For simulated time: advance the clock to NextDue() and call again.
  virtual void RunUntilIdle() = 0;
  // The same, but returns after `most` steps: attempts, portions of events, finished bindings,
  // deferred calls of plugins. Returns whether more is due. A plugin may cause that something is
  // always due.
  virtual bool RunSteps(int64_t most) = 0;
  // Waits until something arrives from another thread (what the cluster delivers, the end of a
  // binding, what a plugin posts), or until NextDue() or `until`. Run() is this and RunSteps() in
  // turn: for a caller that does something else in between.
  virtual void Wait(absl::Time until) = 0;
  // When a timer, backoff or flush is due next; InfiniteFuture if nothing is waiting for time.
  virtual absl::Time NextDue() const = 0;
  // When a backoff or a Permit wait ends next: NextDue() without the timers of plugins, and without
  // the retry of all that was unschedulable for five minutes, which never ends.
  virtual absl::Time NextRetry() const = 0;
  // Whether a pod that is placed waits for an answer from outside (AnsweredOutside), which takes
  // real time.
  virtual bool AwaitsOutside() const = 0;
  // When the next timer of a plugin (Handle::RunAt) is due, of those set no later than `set_until`.
  virtual absl::Time NextTimer(absl::Time set_until = absl::InfiniteFuture()) const = 0;

  // Every pod that is not bound, in queue order.
  virtual std::vector<UnboundPod> Unbound() const = 0;
  // Every group that has members and a definition, by name. Empty without a group plugin.
  virtual std::vector<PodGroupState> PodGroups() const = 0;
  // Why the pod of that uid has no node yet, unknown profiles included; absent if it has one or is
  // not known.
  virtual std::optional<WaitingFor> ExplainWaiting(absl::string_view uid) const = 0;
  // WaitingFor::alone of a pod, whether it waits or has a node.
  virtual std::string WhyAlone(const PodInfo& pod) const = 0;
  // What plugins report of resources that they give away in parts, each resource once.
  virtual std::vector<ResourceUsage> Usage() = 0;
  virtual SchedulerCounters counters() const = 0;
  // Those of the plugins (Handle::CounterOf), by name. Any thread.
  virtual std::map<std::string, int64_t> PluginCounters() const = 0;
  // Calls `observe` after each attempt.
  virtual void ObserveAttempts(std::function<void(const AttemptRecord&)> observe) = 0;
};

}  // namespace berth

#endif  // BERTH_SCHEDULER_H_
