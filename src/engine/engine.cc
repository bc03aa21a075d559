// Implementation of engine.h: the loop, and one attempt with its consequences.
#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/check.h"

namespace berth {

absl::StatusOr<std::unique_ptr<Scheduler>> Scheduler::Create(SchedulerOptions options) {
  return Engine::Create(std::move(options));
}

Engine::Engine(SchedulerOptions options)
    : options_(std::move(options)),
      random_(options_.seed),
      binder_(*options_.executor,
              [this](std::function<void()> work) { inbox_.Post(std::move(work)); }),
      attempts_(cluster_, options_.remember_verdicts) {}

Engine::~Engine() {
  // Bindings that are under way use this engine's plugins: see them through.
  while (!binder_.idle()) {
    TakeInbox();
    binder_.Abandon();
    SettleBindings();
    if (!binder_.idle()) {
      inbox_.WaitUntil(absl::Now() + absl::Milliseconds(10));
    }
  }
  if (watching_) options_.cluster->StopWatching();
}

absl::StatusOr<std::unique_ptr<Engine>> Engine::Create(SchedulerOptions options) {
  BERTH_CHECK(options.registry != nullptr && options.cluster != nullptr &&
              options.clock != nullptr && options.executor != nullptr);
  std::unique_ptr<Engine> engine(new Engine(std::move(options)));
  Problems problems;
  engine->profiles_ =
      Profiles::Create(engine->options_.configuration, *engine->options_.registry, engine->cluster_,
                       *engine->options_.clock, engine->random_, engine.get(), problems);
  if (engine->profiles_ == nullptr) return problems.ToStatus();
  engine->cluster_.SetProfiles(engine->profiles_.get());
  engine->MakeQueue();
  absl::Status watching = engine->options_.cluster->Watch(engine->inbox_);
  if (!watching.ok()) return watching;
  engine->watching_ = true;
  return engine;
}

void Engine::MakeQueue() {
  std::vector<QueueProfile> profiles;
  for (const Framework* framework : profiles_->all()) {
    QueueProfile& profile = profiles.emplace_back();
    profile.name = Symbol::Intern(framework->profile().scheduler_name);
    profile.plugins.assign(framework->events().begin(), framework->events().end());
    if (!framework->pre_enqueue().empty()) {
      profile.pre_enqueue = [framework](const PodInfo& pod) {
        return framework->RunPreEnqueue(pod);
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
                   .max_backoff = absl::Seconds(configuration.pod_max_backoff_seconds)});
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

// Does one thing that is due: takes in what has arrived, settles bindings, or tries one group.
// Returns false if nothing was.
bool Engine::Step() {
  const absl::Time now = options_.clock->Now();
  if (TakeInbox()) return true;
  binder_.Expire(now);
  if (SettleBindings()) return true;
  queue_->Tick(now);
  const QueuedGroup* entry = synced_ ? queue_->Pop() : nullptr;
  if (entry == nullptr) return !inbox_.empty();  // an inline executor has answered already
  TryEntry(*entry);
  return true;
}

absl::Time Engine::NextDue() const { return std::min(queue_->NextDue(), binder_.NextDue()); }

absl::Time Engine::NextRetry() const { return std::min(queue_->NextRetry(), binder_.NextDue()); }

// --- One attempt --------------------------------------------------------------------------------

AttemptRequest Engine::MakeRequest(const QueuedGroup& entry) const {
  AttemptRequest request;
  request.framework = profiles_->Find(entry.profile);
  request.entry_key = entry.key;
  request.group = entry.name;
  for (const PendingPod& member : entry.members) request.pods.push_back(member.pod);
  if (entry.is_group && request.framework->group_plugin() != nullptr) {
    const std::optional<GroupSpec> spec = request.framework->group_plugin()->Spec(entry.name);
    const GroupMembers* members = cluster_.groups().Find(entry.name);
    const int assigned = members == nullptr ? 0 : members->assigned_count();
    request.minimum = spec.has_value() ? std::max(0, spec->min_member - assigned) : 1;
  }
  request.percentage_of_nodes_to_score =
      request.framework->profile().percentage_of_nodes_to_score.value_or(
          options_.configuration.percentage_of_nodes_to_score.value_or(0));
  return request;
}

void Engine::TryEntry(const QueuedGroup& entry) {
  const AttemptRequest request = MakeRequest(entry);
  const std::string key = entry.key;
  const AttemptHistory history = entry.history;
  const absl::Time start = absl::Now();
  AttemptResult result = attempts_.Run(request);
  const absl::Duration took = absl::Now() - start;
  ++counters_.attempts;
  counters_.cycles += result.cycles;
  if (observe_ != nullptr) {
    const bool error = std::any_of(result.failed.begin(), result.failed.end(),
                                   [](const PodFailure& f) { return f.status.IsError(); });
    observe_({.profile = request.framework->profile().scheduler_name,
              .pods = static_cast<int>(request.pods.size()),
              .cycles = result.cycles,
              .placed = static_cast<int>(result.placed.size()),
              .duration = took,
              .error = error});
  }

  StartBinding(request, history, result);
  if (result.failed.empty()) {
    queue_->Done(key);
    return;
  }
  if (!result.reached) TellGroup(request, result);
  queue_->AddUnschedulable(key, Describe(request, result));
  for (const PodFailure& failure : result.failed) {
    if (failure.nominated_node.has_value()) {
      cluster_.nominations().Nominate(failure.pod, *failure.nominated_node);
    }
    ReportFailure(failure, failure.nominated_node);
  }
  if (result.plan.has_value()) Preempt(*result.plan->pod, result.plan->result);
}

void Engine::StartBinding(const AttemptRequest& request, const AttemptHistory& history,
                          AttemptResult& result) {
  if (result.placed.empty()) return;
  for (const Binder::Member& member : result.placed) {
    const PodInfo& pod = *member.placement.pod;
    queue_->Placed(pod.uid());
    cluster_.nominations().Remove(pod.uid());
    history_of_[pod.uid()] = history;
  }
  binder_.Start(std::move(result.placed), request.minimum, options_.clock->Now());
  result.placed.clear();
}

// A group missed its minimum: each of its pods is told so, those too that would have fitted.
void Engine::TellGroup(const AttemptRequest& request, AttemptResult& result) {
  const GroupMembers* group =
      request.group.empty() ? nullptr : cluster_.groups().Find(request.group);
  if (group == nullptr) return;
  const GroupPlugin& plugin = *request.framework->group_plugin();
  const PodFailure cause = result.failed.front();
  Status why = plugin.GroupUnschedulable(*group, group->assigned_count() + result.most_placed,
                                         Status::Make(cause.status.code(), {cause.message}));
  why.SetPlugin(cause.status.plugin_symbol());
  for (const auto& pod : request.pods) {
    const auto failed = std::find_if(result.failed.begin(), result.failed.end(),
                                     [&](const PodFailure& f) { return f.pod == pod; });
    PodFailure& told =
        failed != result.failed.end() ? *failed : result.failed.emplace_back(PodFailure{pod});
    told.status = why;
    told.message = why.message();
  }
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
                              !failure.rejecting_plugins.empty()});
  }
  if (!request.group.empty() && !rejection.IsError()) {
    add(rejection.unschedulable_plugins, request.framework->group_plugin_name());
  }
  return rejection;
}

bool Engine::SettleBindings() {
  std::vector<BindingOutcome> outcomes = binder_.Settle(options_.clock->Now());
  // What succeeded first: whether a group runs in part decides what is done about a failure.
  for (const BindingOutcome& outcome : outcomes) {
    if (!outcome.status.ok()) continue;
    const std::string& uid = outcome.placement.pod->uid();
    cluster_.cache().FinishBinding(uid);
    history_of_.erase(uid);
    reported_.erase(uid);
    ++counters_.bound;
    ReportBound(outcome.placement);
  }
  for (BindingOutcome& outcome : outcomes) {
    if (outcome.status.ok()) continue;
    if (outcome.status.IsError()) ++counters_.bind_failures;
    if (!BindAgain(outcome)) UndoPlacement(std::move(outcome));
  }
  return !outcomes.empty();
}

// --- Reports ------------------------------------------------------------------------------------

std::vector<UnboundPod> Engine::Unbound() const {
  std::vector<UnboundPod> list;
  for (const PendingReport& report : queue_->Pending()) {
    UnboundPod pod;
    pod.pod = report.pod->key();
    pod.group = report.group;
    switch (report.state) {
      case QueueState::kActive:
      case QueueState::kInFlight:
        pod.state = UnboundPod::State::kActive;
        break;
      case QueueState::kBackoff:
      case QueueState::kErrorBackoff:
        pod.state = UnboundPod::State::kBackoff;
        break;
      case QueueState::kUnschedulable:
        pod.state = UnboundPod::State::kUnschedulable;
        break;
      case QueueState::kGated:
        pod.state = UnboundPod::State::kGated;
        break;
    }
    pod.plugin = std::string(report.status.plugin());
    pod.message = report.status.message();
    list.push_back(std::move(pod));
  }
  for (const Binder::Unbound& unbound : binder_.unbound()) {
    UnboundPod pod;
    pod.pod = unbound.pod->key();
    pod.group = cluster_.GroupOf(*unbound.pod).value_or("");
    pod.state =
        unbound.waiting_for.empty() ? UnboundPod::State::kBinding : UnboundPod::State::kWaiting;
    if (!unbound.waiting_for.empty()) {
      pod.plugin = std::string(unbound.waiting_for.front());
      pod.message = absl::StrCat("waiting to be permitted by ", pod.plugin);
    }
    list.push_back(std::move(pod));
  }
  return list;
}

std::vector<PodGroupState> Engine::PodGroups() const {
  std::vector<PodGroupState> list;
  for (const GroupMembers* group : cluster_.groups().All()) {
    // All members' profiles must agree on what the group is; the first one's is as good as any.
    const Framework* framework = profiles_->Find(group->members().front().pod->scheduler_name());
    const std::optional<GroupSpec> spec = framework->group_plugin()->Spec(group->name());
    if (!spec.has_value()) continue;
    const int assigned = group->assigned_count();
    list.push_back({std::string(group->name()), spec->min_member, assigned,
                    static_cast<int>(group->members().size()) - assigned});
  }
  return list;
}

SchedulerCounters Engine::counters() const {
  SchedulerCounters counters = counters_;
  for (const Framework* framework : profiles_->all()) {
    counters.plugin_faults += framework->plugin_faults();
  }
  counters.unconfirmed = attempts_.cycle().unconfirmed();
  counters.remembered_cycles = attempts_.cycle().remembered();
  return counters;
}

}  // namespace berth
