// SPDX-License-Identifier: Apache-2.0
// Implementation of engine.h.
#include "engine/engine.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "berth/api/time.h"
#include "engine/group_answers.h"
#include "engine/rejection_reasons.h"
#include "engine/scheduler_options.h"
#include "engine/still_fits.h"

namespace berth {
namespace {

// How long a cluster may take to deliver what there is before that is reported.
constexpr absl::Duration kLongestSync = absl::Seconds(30);
// An attempt on a group that events made void so often is made without taking in any.
constexpr int kMostGivenUp = 3;

SchedulingQueue MakeQueue(const ProfileSetup& setup, FreeResourcesView& room) {
  const std::vector<const Framework*>& frameworks = setup.profiles->all();
  std::vector<QueueProfile> profiles;
  for (const Framework* framework : frameworks) {
    QueueProfile& profile = profiles.emplace_back();
    profile.name = Symbol::Intern(framework->profile().scheduler_name);
    profile.plugins.assign(framework->plugins().events.begin(), framework->plugins().events.end());
    if (!framework->plugins().pre_enqueue.empty()) {
      profile.pre_enqueue = [framework](const PodInfo& pod, Symbol first) {
        return framework->point_metrics().Measure(
            PointMetrics::Point::kPreEnqueue, [&] { return framework->RunPreEnqueue(pod, first); });
      };
    }
    profile.group_plugin = framework->plugins().group;
    if (profile.group_plugin != nullptr)
      profile.group_plugin_name = framework->plugins().group_name;
  }
  QueueOrder* order = nullptr;
  for (const Framework* framework : frameworks) {
    if (order == nullptr) order = framework->plugins().queue_order;
  }
  const KubeSchedulerConfiguration& configuration = setup.options.configuration;
  return SchedulingQueue(
      *frameworks.front()->plugins().queue_sort.front().plugin, std::move(profiles),
      &setup.cluster.groups(), *setup.options.clock,
      QueueOptions{.initial_backoff = absl::Seconds(configuration.pod_initial_backoff_seconds),
                   .max_backoff = absl::Seconds(configuration.pod_max_backoff_seconds),
                   .fault_log = &frameworks.front()->fault_log(),
                   .queue_sort_name = frameworks.front()->plugins().queue_sort_name(),
                   .metrics = setup.options.metrics,
                   .order = order,
                   .room = setup.options.turns_for_room ? &room : nullptr});
}

}  // namespace

absl::StatusOr<std::unique_ptr<Scheduler>> Scheduler::Create(SchedulerOptions options) {
  return Engine::Create(std::move(options));
}

Engine::Engine(std::unique_ptr<ProfileSetup> setup)
    : setup_(std::move(setup)),
      options_(setup_->options),
      inbox_(setup_->inbox),
      timers_(setup_->timers),
      cluster_(setup_->cluster),
      profiles_(*setup_->profiles),
      attempt_observer_(dynamic_cast<AttemptObserver*>(options_.cluster)),
      metrics_(options_.metrics, *options_.clock),
      room_(cluster_, profiles_, reservations_),
      queue_(MakeQueue(*setup_, room_)),
      binder_(
          *options_.executor, [this](std::function<void()> work) { inbox_.Post(std::move(work)); },
          [this](const AssumedPod& placement) { return StillFits(cluster_, placement); }),
      failure_handler_(cluster_, queue_, setup_->recorder),
      preemption_executor_(
          options_, [this](std::function<void()> work) { inbox_.Post(std::move(work)); },
          {cluster_, profiles_, queue_, binder_, setup_->recorder, failure_handler_, metrics_}),
      stale_groups_(*options_.clock, {cluster_, profiles_, preemption_executor_, timers_}),
      moved_pods_(*options_.clock, cluster_, failure_handler_, timers_),
      binding_cycle_(*options_.clock, {cluster_, queue_, binder_, setup_->recorder,
                                       failure_handler_, metrics_, stale_groups_}),
      table_updater_(cluster_, profiles_),
      entry_scheduler_(cluster_, options_.incremental, options_.filter_block_size),
      reservations_(cluster_, profiles_, entry_scheduler_, *options_.clock,
                    [this](absl::string_view uid) {
                      queue_.Retry(uid, SchedulingQueue::RetryBackoff::kUnlessIdle);
                    }),
      event_handlers_({cluster_, profiles_, queue_, binder_, setup_->recorder, failure_handler_,
                       table_updater_, metrics_, stale_groups_, moved_pods_, reservations_,
                       preemption_executor_}),
      unbound_report_(cluster_, profiles_, queue_, binder_) {
  setup_->services.Connect({.queue = &queue_,
                            .binder = &binder_,
                            .preemption_executor = &preemption_executor_,
                            .unbound_report = &unbound_report_});
}

Engine::~Engine() {
  setup_->services.End();
  // Bindings and evictions that are under way use this engine: see them through.
  const auto idle = [this] { return binder_.idle() && preemption_executor_.idle(); };
  while (!idle()) {
    TakeInbox();
    binder_.Abandon();
    binding_cycle_.HandleOutcomes(options_.clock->Now());
    if (!idle()) inbox_.WaitFor(absl::Milliseconds(10));
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
  auto setup = std::make_unique<ProfileSetup>(std::move(options));
  Problems problems;
  setup->profiles = FrameworkSet::Create(setup->options.configuration, *setup->options.registry,
                                         setup->cluster, *setup->options.clock, setup->random,
                                         &setup->services, problems, setup->options.extenders);
  if (setup->profiles == nullptr) return problems.ToStatus();
  setup->cluster.SetProfiles(setup->profiles.get());
  for (const Framework* framework : setup->profiles->all()) {
    framework->fault_log().set_slow_call(setup->options.slow_plugin_call);
    if (setup->options.metrics != nullptr) {
      framework->point_metrics().Connect(*setup->options.metrics,
                                         framework->profile().scheduler_name);
    }
  }
  std::unique_ptr<Engine> engine(new Engine(std::move(setup)));
  absl::Status watching = engine->Watch();
  if (!watching.ok()) return watching;
  return engine;
}

absl::Status Engine::Watch() {
  absl::Status watching = options_.cluster->Watch(inbox_, setup_->profiles->watched_kinds());
  if (!watching.ok()) return watching;
  watching_ = true;
  sync_deadline_ = options_.clock->Now() + kLongestSync;
  return absl::OkStatus();
}

// --- The loop -----------------------------------------------------------------------------------

absl::Status Engine::Run() {
  while (!inbox_.stopped()) {
    if (!Step()) Wait(absl::InfiniteFuture());
  }
  return absl::OkStatus();
}

void Engine::Wait(absl::Time until) {
  inbox_.WaitFor(std::min({NextDue(), metrics_.next_publication(), until}) - options_.clock->Now());
}

void Engine::TakeEvents() {
  while (TakeInbox()) {
  }
}

void Engine::RunUntilIdle() {
  while (!inbox_.stopped() && Step()) {
  }
  PublishMetrics();
}

bool Engine::RunSteps(int64_t most) {
  for (int64_t done = 0; !inbox_.stopped() && done < most; ++done) {
    if (!Step()) return false;
  }
  return !inbox_.stopped();
}

// Does one thing that is due: takes in what has arrived, settles bindings, or runs timers and tries
// one entry. Returns false if nothing was.
bool Engine::Step() {
  const absl::Time now = options_.clock->Now();
  if (metrics_.IsDue(now)) PublishMetrics();
  if (ConsecutiveEvents() < kMaxConsecutiveEvents && TakeInbox(kMaxConsecutiveEvents)) return true;
  WarnIfNotSynced(now);
  binder_.Expire(now);
  if (binding_cycle_.HandleOutcomes(now)) return true;
  // At most one round of hints between two attempts: queue_.steps() counts them, and the event that
  // was just taken in may have used it.
  const bool has_just_asked = queue_.has_pending_events() && queue_.steps() > ticked_steps_;
  consecutive_events_ = 0;
  queue_steps_ = queue_.steps();
  const int timers = timers_.RunDue(now);
  timer_calls_ += timers;
  const bool more_is_due = has_just_asked || queue_.Tick(now) || timers > 0;
  ticked_steps_ = queue_.steps();
  const bool synced = event_handlers_.synced();
  const QueueEntry* const entry = synced ? NextEntry() : nullptr;
  if (synced) table_updater_.Update(event_handlers_.events(), entry != nullptr);
  if (entry == nullptr) {  // an inline executor may have answered already
    return more_is_due || !arrived_.empty() || !inbox_.empty();
  }
  TryEntry(*entry);
  return true;
}

// An event that very many pods wait for counts as several, so that few of them are taken in a row.
// None is taken while the queue still has hints to ask about earlier ones.
int64_t Engine::ConsecutiveEvents() const {
  constexpr int64_t kStepsOfEvent = 32;
  if (queue_.has_many_pending_events()) return kMaxConsecutiveEvents;
  return consecutive_events_ + (queue_.steps() - queue_steps_) / kStepsOfEvent;
}

bool Engine::TakeInbox(int64_t limit) {
  if (arrived_.empty()) inbox_.Take(arrived_);
  const bool any = !arrived_.empty();
  for (; next_item_ < arrived_.size(); ++next_item_, next_event_ = 0) {
    Inbox::Item& item = arrived_[next_item_];
    if (item.event.has_value()) {
      if (ConsecutiveEvents() >= limit) return true;
      ++consecutive_events_;
      event_handlers_.Handle(*std::move(item.event));
      item.event.reset();
    }
    while (next_event_ < item.events.size()) {
      if (ConsecutiveEvents() >= limit) return true;
      ++consecutive_events_;
      event_handlers_.Handle(std::move(item.events[next_event_++]));
    }
    std::vector<WatchEvent>().swap(item.events);
    if (item.work == nullptr) continue;
    if (ConsecutiveEvents() >= limit) return true;
    ++consecutive_events_;
    item.work();
    item.work = nullptr;
  }
  next_item_ = 0;
  arrived_.clear();
  return any;
}

void Engine::PublishMetrics() {
  if (!metrics_.enabled()) return;
  GroupCensus groups;
  for (const GroupMembers* group : cluster_.groups().All()) {
    const Framework* framework = profiles_.Find(group->members().front().pod->scheduler_name());
    const std::optional<GroupSpec> spec = framework->plugins().group->Spec(group->name());
    if (!spec.has_value()) continue;
    const int assigned = group->assigned_count();
    groups.assigned += assigned;
    groups.pending += static_cast<int>(group->members().size()) - assigned;
    ++(assigned >= spec->min_member ? groups.running
       : assigned > 0               ? groups.partial
                                    : groups.waiting);
  }
  metrics_.Publish(queue_.Count(), cluster_.cache(), groups, Quotas(), binder_.size(), counters(),
                   PluginCounters());
}

// The figures of all profiles, whose plugins follow the same quotas.
std::vector<QuotaFigure> Engine::Quotas() {
  std::vector<QuotaFigure> all;
  for (const Framework* framework : profiles_.all()) {
    if (!framework->reports().HasQuotas()) continue;
    cluster_.Refresh();
    for (QuotaFigure& figure : framework->reports().RunReportQuotas()) {
      all.push_back(std::move(figure));
    }
  }
  return all;
}

absl::Time Engine::SyncDeadline() const {
  return event_handlers_.synced() ? absl::InfiniteFuture() : sync_deadline_;
}

void Engine::WarnIfNotSynced(absl::Time now) {
  if (now < SyncDeadline()) return;
  sync_deadline_ = absl::InfiniteFuture();
  const uint64_t events = event_handlers_.events();
  const std::string sentence = absl::StrCat(
      "the cluster backend has not sent kSynced for ", DurationToString(kLongestSync), ", after ",
      events, events == 1 ? " event" : " events", "; nothing is scheduled until it does");
  if (options_.warn != nullptr) return options_.warn(sentence);
  std::fprintf(stderr, "berth: %s\n", sentence.c_str());
}

absl::Time Engine::NextDue() const {
  return std::min({queue_.NextDue(), binder_.NextDue(), timers_.NextDue(), SyncDeadline()});
}

absl::Time Engine::NextRetry() const { return std::min(queue_.NextRetry(), binder_.NextDue()); }

bool Engine::AwaitsOutside() const {
  return absl::c_any_of(profiles_.all(), [this](const Framework* framework) {
    const std::vector<Symbol>& plugins = framework->plugins().answered_outside;
    return !plugins.empty() && binder_.AnyWaitsFor(plugins);
  });
}

// --- One attempt --------------------------------------------------------------------------------

AttemptRequest Engine::MakeRequest(const QueueEntry& entry) const {
  AttemptRequest request;
  request.framework = profiles_.Find(entry.profile);
  request.history = entry.history;
  request.group = entry.name;
  if (entry.is_group) request.pods.reserve(entry.members.size());
  for (const PendingPod& member : entry.members) request.pods.push_back(member.pod);
  if (entry.is_group && request.framework->plugins().group != nullptr) {
    DescribeGroup(*request.framework->plugins().group, cluster_.groups(), request);
    request.group_search_steps = options_.group_search_steps;
    request.now = options_.clock->Now();
  }
  request.percentage_of_nodes_to_score =
      request.framework->profile().percentage_of_nodes_to_score.value_or(
          options_.configuration.percentage_of_nodes_to_score.value_or(0));
  if (request.pods.size() == 1 && options_.incremental) {
    request.work_budget = WorkBudget(options_.work_budget_steps);
  }
  return request;
}

// Prefetches what this attempt and the next will look up.
void Engine::PrefetchAhead(const QueueEntry& entry) const {
  const Identity* const pod = entry.is_group ? nullptr : entry.pod.get();
  const Identity* const next = queue_.PrefetchNext(entry);
  if (pod != nullptr) cluster_.cache().Prefetch(*pod, Fetch::kValue);
  if (next != nullptr) cluster_.cache().Prefetch(*next, Fetch::kPlace);
  if (attempt_observer_ != nullptr) attempt_observer_->OnAttempt(pod, next);
}

// What was begun goes first, unless its pod is gone.
const QueueEntry* Engine::NextEntry() {
  if (unfinished_.entry != nullptr) {
    if (queue_.Resume(unfinished_.entry)) return unfinished_.entry;
    queue_.Done(std::exchange(unfinished_, {}).entry);
  }
  return queue_.Pop();
}

// Of an attempt on a group.
class Engine::AttemptIntake final : public EventIntake {
 public:
  // All outlive this.
  AttemptIntake(Engine& engine, const QueueEntry& entry, const AttemptRequest& request)
      : EventIntake(engine.options_.work_budget_steps),
        engine_(engine),
        entry_(entry),
        request_(request),
        group_changes_(entry.group_changes) {}

  bool TakeIn(const Binder::Members& placed) override {
    const SteadyTime begun = std::chrono::steady_clock::now();
    if (engine_.observe_ != nullptr) {
      AttemptResult undecided;
      undecided.yielded = true;
      engine_.Observe(request_, undecided, entry_.requeued_by, begun);
    }
    engine_.queue_.Tick(engine_.options_.clock->Now());
    engine_.consecutive_events_ = 0;
    engine_.queue_steps_ = engine_.queue_.steps();
    const bool any = engine_.TakeInbox(kMaxConsecutiveEvents);
    gave_up_ = any && !IsUpToDate(placed);
    if (!gave_up_) engine_.metrics_.Yielded();
    spent_ += absl::FromChrono(std::chrono::steady_clock::now() - begun);
    return !gave_up_;
  }

  bool gave_up() const { return gave_up_; }
  // What was not spent on the attempt itself.
  absl::Duration spent() const { return spent_; }

 private:
  // Whether the group, and so what it needs to start, is the same, and so are its pods: the queue
  // does not hear of changes of those that are placed.
  bool IsUpToDate(const Binder::Members& placed) const {
    return entry_.group_changes == group_changes_ &&
           entry_.members.size() == request_.pods.size() &&
           absl::c_all_of(placed, [&](const Binder::Member& member) {
             const std::shared_ptr<const PodInfo>& pod = member.placement.pod;
             return engine_.cluster_.FindPod(*pod->identity()) == pod;
           });
  }

  Engine& engine_;
  const QueueEntry& entry_;
  const AttemptRequest& request_;
  const uint32_t group_changes_;
  bool gave_up_ = false;
  absl::Duration spent_;
};

// The attempt was given up. Events changed pods while they counted as placed, so that the queue did
// not hear of it.
void Engine::UpdateMembers(const AttemptRequest& request) {
  for (const auto& pod : request.pods) {
    const std::shared_ptr<const PodInfo> latest = cluster_.FindPod(*pod->identity());
    if (latest == nullptr || latest == pod || !latest->node_name().empty()) continue;
    if (latest->deletion_time().has_value()) {
      queue_.Delete(*latest->identity());
    } else {
      queue_.Update(latest, cluster_.GroupOf(*latest));
    }
  }
}

void Engine::TryEntry(const QueueEntry& entry) {
  PrefetchAhead(entry);
  const AttemptRequest request = MakeRequest(entry);
  const Symbol requeued_by = entry.requeued_by;
  const bool timed = observe_ != nullptr || metrics_.enabled();
  const auto now = [timed] { return timed ? std::chrono::steady_clock::now() : SteadyTime(); };
  const SteadyTime begun = now();
  if (!request.group.empty()) preemption_executor_.GroupTried(request.group);
  std::optional<AttemptIntake> intake;
  if (entry.is_group && options_.incremental && options_.work_budget_steps > 0 &&
      unfinished_.given_up < kMostGivenUp) {
    intake.emplace(*this, entry, request);
  }
  AttemptResult result = reservations_.Run(request, intake.has_value() ? &*intake : nullptr);
  const SteadyTime ended = now();
  unfinished_.cycles += result.cycles;
  if (timed) unfinished_.spent += absl::FromChrono(ended - begun);
  if (timed && intake.has_value()) unfinished_.spent -= intake->spent();
  if (observe_ != nullptr) Observe(request, result, requeued_by, ended);
  if (result.yielded) {
    unfinished_.entry = &entry;
    metrics_.Yielded();
    if (intake.has_value() && intake->gave_up()) {
      ++unfinished_.given_up;
      UpdateMembers(request);
    }
    return;
  }
  ++attempts_;
  CountGroupAnswer(request, result, profiles_.counters());
  cycles_ += unfinished_.cycles;
  const absl::Duration took = unfinished_.spent;
  unfinished_ = {};
  if (timed) {
    for (Binder::Member& member : result.placed) {
      member.placement.attempt_begun = ended - absl::ToChronoNanoseconds(took);
    }
  }

  if (result.minimum_reached && request.minimum > 0 && !request.group.empty()) {
    cluster_.NoteGroupStart(request.group, result.order, static_cast<int>(result.placed.size()));
    stale_groups_.Started(request.group);
  }
  binding_cycle_.Start(entry, request, result);
  if (result.failed.empty()) {
    metrics_.AttemptEnded(request, result, took);
    queue_.Done(&entry);
    return;
  }
  if (!result.minimum_reached && !request.group.empty()) {
    const GroupMembers* group = cluster_.groups().Find(request.group);
    if (group != nullptr) FailEveryMember(request, *group, result);
  }
  metrics_.AttemptEnded(request, result, took);
  // Before the entry goes back: its PreEnqueue gate asks whether evictions are under way.
  for (const AttemptResult::Plan& plan : result.plans) {
    const bool starts_whole = result.answer == GroupAnswer::kPlan;
    preemption_executor_.Execute(plan, starts_whole ? request.group : "");
    moved_pods_.Expect(plan);
  }
  Rejection rejection = DescribeRejection(request, result);
  rejection.only_room = request.group.empty() && result.failed.size() == 1 &&
                        result.plans.empty() && room_.WasAllThatLacked(result.failed.front());
  queue_.AddUnschedulable(&entry, rejection);
  for (PodFailure& failure : result.failed) {
    if (failure.nominated_node == "" && moved_pods_.KeepsPlace(*failure.pod)) {
      failure.nominated_node.reset();
    }
    failure_handler_.Handle(failure);
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

std::string Engine::WhyAlone(const PodInfo& pod) const {
  const Framework* framework = profiles_.Find(pod.scheduler_name());
  return framework == nullptr ? "" : berth::WhyAlone(*framework, pod);
}

// Profiles share the nodes, and their plugins give away the same parts of them.
std::vector<ResourceUsage> Engine::Usage() {
  cluster_.Refresh();
  std::vector<ResourceUsage> all;
  for (const Framework* framework : profiles_.all()) {
    for (ResourceUsage& usage : framework->reports().RunUsage(cluster_.nodes())) {
      const bool is_known = absl::c_any_of(
          all, [&](const ResourceUsage& known) { return known.resource == usage.resource; });
      if (!is_known) all.push_back(std::move(usage));
    }
  }
  return all;
}

SchedulerCounters Engine::counters() const {
  SchedulerCounters counters;
  counters.attempts = attempts_;
  counters.cycles = cycles_;
  counters.bound = binding_cycle_.bound();
  counters.bind_failures = binding_cycle_.bind_failures();
  counters.evictions = preemption_executor_.evictions();
  counters.eviction_failures = preemption_executor_.eviction_failures();
  counters.unusable_objects = event_handlers_.unusable_objects();
  counters.deferred_calls = timer_calls_ + setup_->services.posted_calls();
  for (const Framework* framework : profiles_.all()) {
    counters.plugin_faults += framework->fault_log().faults();
  }
  counters.troubles = profiles_.troubles();
  const NodeEvaluator::Counters evaluations = entry_scheduler_.cycle().counters();
  counters.unconfirmed = evaluations.unconfirmed;
  counters.incremental_cycles = evaluations.recalled;
  return counters;
}

}  // namespace berth
