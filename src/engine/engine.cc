// SPDX-License-Identifier: Apache-2.0
// Implementation of engine.h: the loop, and one attempt with its consequences.
#include "engine/engine.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/api/time.h"
#include "berth/check.h"
#include "berth/framework/pods_to_activate.h"
#include "engine/scheduler_options.h"

namespace berth {
namespace {

// How long a cluster may take to deliver what there is before people are told.
constexpr absl::Duration kLongestSync = absl::Seconds(30);

}  // namespace

absl::StatusOr<std::unique_ptr<Scheduler>> Scheduler::Create(SchedulerOptions options) {
  return Engine::Create(std::move(options));
}

Engine::Engine(SchedulerOptions options)
    : options_(std::move(options)),
      prefetching_cluster_(dynamic_cast<PrefetchingCluster*>(options_.cluster)),
      random_(options_.seed),
      binder_(
          *options_.executor, [this](std::function<void()> work) { inbox_.Post(std::move(work)); },
          [this](const Placement& placement) { return StillFits(placement); }),
      evictions_(
          *options_.executor, [this](std::function<void()> work) { inbox_.Post(std::move(work)); },
          *this),
      attempts_(cluster_, options_.incremental, options_.filter_block_size) {}

Engine::~Engine() {
  ending_ = true;
  // Bindings and evictions that are under way use this engine: see them through.
  while (!binder_.idle() || !evictions_.idle()) {
    TakeInbox();
    binder_.Abandon();
    HandleBindingOutcomes(options_.clock->Now());
    if (!binder_.idle() || !evictions_.idle()) {
      inbox_.WaitUntil(absl::Now() + absl::Milliseconds(10));
    }
  }
  if (watching_) options_.cluster->StopWatching();
  // While the plugins are there still.
  arrived_.clear();
  inbox_.Close();
  timers_.Clear();
}

absl::StatusOr<std::unique_ptr<Engine>> Engine::Create(SchedulerOptions options) {
  absl::Status checked = CheckOptions(options);
  if (!checked.ok()) return checked;
  std::unique_ptr<Engine> engine(new Engine(std::move(options)));
  Problems problems;
  engine->profiles_ =
      Profiles::Create(engine->options_.configuration, *engine->options_.registry, engine->cluster_,
                       *engine->options_.clock, engine->random_, engine.get(), problems);
  if (engine->profiles_ == nullptr) return problems.ToStatus();
  engine->cluster_.SetProfiles(engine->profiles_.get());
  for (const Framework* framework : engine->profiles_->all()) {
    framework->fault_log().set_slow_call(engine->options_.slow_plugin_call);
  }
  engine->MakeQueue();
  absl::Status watching = engine->options_.cluster->Watch(engine->inbox_);
  if (!watching.ok()) return watching;
  engine->watching_ = true;
  engine->sync_deadline_ = engine->options_.clock->Now() + kLongestSync;
  return engine;
}

void Engine::MakeQueue() {
  std::vector<QueueProfile> profiles;
  for (const Framework* framework : profiles_->all()) {
    QueueProfile& profile = profiles.emplace_back();
    profile.name = Symbol::Intern(framework->profile().scheduler_name);
    profile.plugins.assign(framework->events().begin(), framework->events().end());
    if (!framework->pre_enqueue().empty()) {
      profile.pre_enqueue = [framework](const PodInfo& pod, Symbol first) {
        return framework->RunPreEnqueue(pod, first);
      };
    }
    profile.group_plugin = framework->group_plugin();
    if (profile.group_plugin != nullptr) profile.group_plugin_name = framework->group_plugin_name();
  }
  const KubeSchedulerConfiguration& configuration = options_.configuration;
  queue_ = std::make_unique<SchedulingQueue>(
      profiles_->all().front()->queue_sort(), std::move(profiles), &cluster_.groups(),
      *options_.clock,
      QueueOptions{.initial_backoff = absl::Seconds(configuration.pod_initial_backoff_seconds),
                   .max_backoff = absl::Seconds(configuration.pod_max_backoff_seconds),
                   .fault_log = &profiles_->all().front()->fault_log(),
                   .queue_sort_name = profiles_->all().front()->queue_sort_name()});
}

// --- The loop -----------------------------------------------------------------------------------

absl::Status Engine::Run() {
  while (!inbox_.stopped()) {
    if (!Step()) inbox_.WaitUntil(NextDue());
  }
  return absl::OkStatus();
}

void Engine::TakeEvents() {
  while (TakeInbox()) {
  }
}

void Engine::RunUntilIdle() {
  while (!inbox_.stopped() && Step()) {
  }
}

bool Engine::RunSteps(int64_t most) {
  for (int64_t done = 0; !inbox_.stopped() && done < most; ++done) {
    if (!Step()) return false;
  }
  return !inbox_.stopped();
}

// Does one thing that is due: takes in what has arrived, settles bindings, or runs timers and tries
// one group. Returns false if nothing was.
bool Engine::Step() {
  attempts_.PrefetchAhead();
  const absl::Time now = options_.clock->Now();
  if (ConsecutiveEvents() < kMaxConsecutiveEvents && TakeInbox(kMaxConsecutiveEvents)) return true;
  WarnIfNotSynced(now);
  binder_.Expire(now);
  if (HandleBindingOutcomes(now)) return true;
  // One portion of asking an attempt: the event that came may have taken it.
  const bool has_just_asked = queue_->has_pending_events() && queue_->steps() > ticked_steps_;
  consecutive_events_ = 0;
  queue_steps_ = queue_->steps();
  const int timers = timers_.RunDue(now);
  counters_.deferred_calls += timers;
  const bool more_is_due = has_just_asked || queue_->Tick(now) || timers > 0;
  ticked_steps_ = queue_->steps();
  const QueuedGroup* const entry = synced_ ? NextEntry() : nullptr;
  if (synced_) UpdateTables(entry != nullptr);
  if (entry == nullptr) {  // an inline executor may have answered already
    return more_is_due || !arrived_.empty() || !inbox_.empty();
  }
  TryEntry(*entry);
  return true;
}

void Engine::WarnIfNotSynced(absl::Time now) {
  if (now < sync_deadline_) return;
  sync_deadline_ = absl::InfiniteFuture();
  const std::string sentence = absl::StrCat(
      "the cluster backend has not sent kSynced for ", DurationToString(kLongestSync), ", after ",
      events_, events_ == 1 ? " event" : " events", "; nothing is scheduled until it does");
  if (options_.warn != nullptr) return options_.warn(sentence);
  std::fprintf(stderr, "berth: %s\n", sentence.c_str());
}

absl::Time Engine::NextDue() const {
  return std::min({queue_->NextDue(), binder_.NextDue(), timers_.NextDue(), sync_deadline_});
}

absl::Time Engine::NextRetry() const { return std::min(queue_->NextRetry(), binder_.NextDue()); }

// --- One attempt --------------------------------------------------------------------------------

AttemptRequest Engine::MakeRequest(const QueuedGroup& entry) const {
  AttemptRequest request;
  request.framework = profiles_->Find(entry.profile);
  request.history = entry.history;
  request.group = entry.name;
  for (const PendingPod& member : entry.members) request.pods.push_back(member.pod);
  if (entry.is_group && request.framework->group_plugin() != nullptr) {
    request.minimum =
        MissingMembers(*request.framework->group_plugin(), cluster_.groups(), entry.name);
    SortByImportance(request.pods);
    request.now = options_.clock->Now();
  }
  request.percentage_of_nodes_to_score =
      request.framework->profile().percentage_of_nodes_to_score.value_or(
          options_.configuration.percentage_of_nodes_to_score.value_or(0));
  if (request.pods.size() == 1 && options_.incremental) {
    request.work_budget_steps = options_.work_budget_steps;
  }
  return request;
}

// Lets the processor fetch what this attempt and the next will look up.
void Engine::PrefetchAhead(const QueuedGroup& entry) const {
  const auto fetch = [this](const Identity& pod, Fetch what) {
    cluster_.cache().Prefetch(pod, what);
    if (prefetching_cluster_ != nullptr) prefetching_cluster_->Prefetch(pod, what);
  };
  if (!entry.is_group) fetch(*entry.pod, Fetch::kValue);
  const Identity* const next = queue_->PrefetchNext(entry);
  if (next != nullptr) fetch(*next, Fetch::kPlace);
}

// What was begun goes first, unless its pod is gone.
const QueuedGroup* Engine::NextEntry() {
  if (unfinished_.entry != nullptr) {
    if (queue_->Resume(unfinished_.entry)) return unfinished_.entry;
    queue_->Done(std::exchange(unfinished_, {}).entry);
  }
  return queue_->Pop();
}

void Engine::TryEntry(const QueuedGroup& entry) {
  PrefetchAhead(entry);
  const AttemptRequest request = MakeRequest(entry);
  const Symbol requeued_by = entry.requeued_by;
  const auto now = [this] {  // for who observes
    return observe_ == nullptr ? SteadyTime() : std::chrono::steady_clock::now();
  };
  const SteadyTime begun = now();
  AttemptResult result = attempts_.Run(request);
  const SteadyTime ended = now();
  unfinished_.cycles += result.cycles;
  if (observe_ != nullptr) {
    unfinished_.spent += absl::FromChrono(ended - begun);
    Observe(request, result, requeued_by, ended);
  }
  if (result.yielded) {
    unfinished_.entry = &entry;
    return;
  }
  ++counters_.attempts;
  counters_.cycles += unfinished_.cycles;
  unfinished_ = {};

  if (result.reached && request.minimum > 0 && !request.group.empty()) {
    cluster_.NoteGroupStart(request.group, result.order, static_cast<int>(result.placed.size()));
  }
  StartBinding(entry, request, result);
  if (result.failed.empty()) {
    queue_->Done(&entry);
    return;
  }
  if (!result.reached) ReportGroupFailure(request, result);
  // Before the entry goes back: the evictions are what its gate asks for.
  for (const AttemptResult::Plan& plan : result.plans) Preempt(plan.pod, plan.result);
  queue_->AddUnschedulable(&entry, Describe(request, result));
  for (PodFailure& failure : result.failed) {
    NoteNomination(failure);
    ReportFailure(failure);
  }
}

void Engine::Observe(const AttemptRequest& request, const AttemptResult& result, Symbol requeued_by,
                     SteadyTime ended) const {
  absl::InlinedVector<PodOutcome, 4> outcomes;
  outcomes.reserve(result.placed.size() + result.failed.size());
  std::vector<PermitHold> holds;
  for (const Binder::Member& member : result.placed) {
    for (const PermitOutcome::Wait& wait : member.waits) {
      holds.push_back({wait.plugin.view(), wait.timeout, wait.asked});
    }
  }
  absl::Span<const PermitHold> holds_left = holds;
  for (const Binder::Member& member : result.placed) {
    outcomes.push_back({.pod = member.placement.pod.get(),
                        .node = member.placement.node_name,
                        .holds = holds_left.first(member.waits.size())});
    holds_left.remove_prefix(member.waits.size());
  }
  bool error = false;
  for (const PodFailure& failure : result.failed) {
    error |= failure.status.IsError();
    outcomes.push_back({.pod = failure.pod.get(),
                        .plugin = failure.status.plugin(),
                        .message = failure.message,
                        .nominated_node = failure.nominated_node.has_value()
                                              ? absl::string_view(*failure.nominated_node)
                                              : absl::string_view()});
  }
  observe_({.profile = request.framework->profile().scheduler_name,
            .pods = static_cast<int>(request.pods.size()),
            .cycles = unfinished_.cycles,
            .placed = static_cast<int>(result.placed.size()),
            .duration = unfinished_.spent,
            .ended = ended,
            .error = error,
            .group = request.group,
            .requeued_by = requeued_by.view(),
            .yielded = result.yielded,
            .outcomes = outcomes});
}

void Engine::StartBinding(const QueuedGroup& entry, const AttemptRequest& request,
                          AttemptResult& result) {
  if (result.placed.empty()) return;
  for (Binder::Member& member : result.placed) {
    const PodInfo& pod = *member.placement.pod;
    queue_->Placed(&entry, *pod.identity());
    // kube-scheduler v1.35 schedule_one.go bindingCycle: what may take long is announced.
    if (member.takes_time || !member.waits.empty()) {
      member.placement.announced = true;
      PatchNomination(pod, member.placement.node_name);
    }
    cluster_.nominations().Remove(*pod.identity());
  }
  for (Binder::Member& member : result.placed) ActivateRequestedPods(member.placement.state);
  binder_.Start(std::move(result.placed), request.minimum, options_.clock->Now());
  result.placed.clear();
}

// A group missed its minimum: each of its pods is told so, those too that would have fitted.
void Engine::ReportGroupFailure(const AttemptRequest& request, AttemptResult& result) {
  const GroupMembers* group =
      request.group.empty() ? nullptr : cluster_.groups().Find(request.group);
  if (group == nullptr) return;
  const Status why = WhyGroupFailed(request, *group, result);
  const WaitingPtr waiting = WhyGroup(request, result);
  for (const auto& pod : request.pods) {
    const auto failed = std::find_if(result.failed.begin(), result.failed.end(),
                                     [&](const PodFailure& f) { return f.pod == pod; });
    PodFailure& told =
        failed != result.failed.end() ? *failed : result.failed.emplace_back(PodFailure{pod});
    told.status = why;
    told.message = why.message();
    told.waiting = waiting;
  }
}

WaitingPtr Engine::WhyGroup(const AttemptRequest& request, const AttemptResult& result) const {
  const PodFailure& cause = result.failed.front();
  if (cause.waiting->reason == WaitingReason::kWaitingForMembers) return cause.waiting;
  std::vector<int64_t> requests;
  for (const auto& pod : request.pods) {
    const absl::string_view resource = cause.waiting->resource;
    requests.push_back(resource.empty() || resource == kPodsResource
                           ? 1
                           : pod->requests().Get(ResourceIdOf(resource)));
  }
  std::sort(requests.begin(), requests.end());
  requests.resize(std::min<size_t>(requests.size(), request.minimum));
  return WhyGroupWaits(*cause.waiting, request.minimum, result.most_placed, cause.pod->key(),
                       std::accumulate(requests.begin(), requests.end(), int64_t{0}));
}

// What the queue waits for: any change that may help any of the pods that were rejected, and for a
// group also a change of the group itself.
Rejection Engine::Describe(const AttemptRequest& request, const AttemptResult& result) const {
  Rejection rejection;
  const auto add = [](std::vector<Symbol>& to, Symbol plugin) {
    if (std::find(to.begin(), to.end(), plugin) == to.end()) to.push_back(plugin);
  };
  for (const PodFailure& failure : result.failed) {
    for (const Symbol plugin : failure.rejecting_plugins) {
      add(failure.status.code() == Code::kPending ? rejection.pending_plugins
                                                  : rejection.unschedulable_plugins,
          plugin);
    }
    rejection.pods.push_back({failure.pod->uid(),
                              Status::Make(failure.status.code(), {failure.message})
                                  .WithPlugin(failure.status.plugin_symbol()),
                              !failure.rejecting_plugins.empty(), failure.waiting});
    if (failure.waiting->reason == WaitingReason::kMinRuntime) {
      rejection.retry_at = std::min(rejection.retry_at, failure.waiting->until);
    }
  }
  if (!request.group.empty() && !rejection.IsError()) {
    add(rejection.unschedulable_plugins, request.framework->group_plugin_name());
  }
  return rejection;
}

// What plugins put into the pod's state to be tried next.
void Engine::ActivateRequestedPods(CycleState& state) {
  PodsToActivate* wanted = state.FindMutable(kPodsToActivate);
  if (wanted == nullptr || wanted->pods.empty()) return;
  const auto pods = std::exchange(wanted->pods, {});
  queue_->Activate(pods);
}

bool Engine::HandleBindingOutcomes(absl::Time now) {
  std::vector<BindingOutcome> outcomes = std::exchange(settled_, {});
  binder_.TakeOutcomes(now, outcomes);
  // What succeeded first: whether a group runs in part decides what is done about a failure.
  for (BindingOutcome& outcome : outcomes) {
    if (outcome.status.IsError() && SeenBound(outcome.placement)) {
      outcome.status = Status::Success();
    }
    if (!outcome.status.ok()) continue;
    const PodInfo& pod = *outcome.placement.pod;
    cluster_.cache().FinishBinding(*pod.identity());
    reported_.Erase(*pod.identity());
    ++counters_.bound;
    ReportBound(outcome.placement);
    ActivateRequestedPods(outcome.placement.state);
  }
  for (BindingOutcome& outcome : outcomes) {
    if (outcome.status.ok()) continue;
    if (outcome.status.IsError()) ++counters_.bind_failures;
    if (!BindAgain(outcome)) UndoPlacement(std::move(outcome));
  }
  const bool any = !outcomes.empty();
  outcomes.clear();
  settled_ = std::move(outcomes);
  return any;
}

}  // namespace berth
