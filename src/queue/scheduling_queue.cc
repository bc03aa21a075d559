// SPDX-License-Identifier: Apache-2.0
// Implementation of scheduling_queue.h.
#include "queue/scheduling_queue.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "api/prefetch.h"
#include "berth/check.h"
#include "queue/invariants.h"
#include "queue/pod_update_events.h"

namespace berth {
namespace {

EventTable TableOf(absl::Span<const QueueProfile> profiles) {
  EventTable table;
  for (const QueueProfile& profile : profiles) table.Add(profile.name, profile.plugins);
  return table;
}

}  // namespace

SchedulingQueue::SchedulingQueue(const QueueSortPlugin& sort, std::vector<QueueProfile> profiles,
                                 const Groups* groups, const Clock& clock, QueueOptions options)
    : profiles_(std::move(profiles)),
      clock_(clock),
      options_(options),
      table_(TableOf(profiles_)),
      backoff_(options.initial_backoff, options.max_backoff),
      metrics_(options.metrics),
      places_(sort, options.fault_log, options.queue_sort_name, options.order),
      gates_(profiles_, groups, entries_),
      hints_(table_, entries_),
      turns_(options.order == nullptr && sort.IsByPriorityAndTime() ? options.room : nullptr,
             table_, clock_, backoff_, places_, next_sequence_,
             [this](QueueEntry& entry, Symbol event) {
               RequeueOne(entry, event, RequeueStrategy::kAfterBackoff);
             }),
      events_(table_, hints_, entries_, turns_,
              {.moves = options.max_moves_per_tick, .hints = options.max_hints_per_tick}, *this),
      requeuer_(profiles_, clock_, backoff_, places_, gates_, turns_, events_, metrics_,
                next_sequence_) {
  BERTH_CHECK(options_.max_moves_per_tick > 0) << "nothing would ever move";
  BERTH_CHECK(options_.max_hints_per_tick > 0) << "nobody would ever be asked";
  BERTH_CHECK(options_.max_hints_per_tick < std::numeric_limits<size_t>::max())
      << "one more is read";
}

SchedulingQueue::~SchedulingQueue() = default;

// --- Entries ---

std::pair<QueueEntry*, bool> SchedulingQueue::FindOrCreate(
    const PodInfo& pod, const std::optional<std::string>& group) {
  const auto found = entries_.FindOrCreate(pod, group);
  if (found.second) found.first->timestamp = clock_.Now();
  return found;
}

void SchedulingQueue::Erase(Entry& entry) {
  turns_.EndTurn(entry);
  requeuer_.Detach(entry);
  events_.Reindex(entry);
  entries_.Erase(entry);
}

// --- Pods ---

void SchedulingQueue::Add(std::shared_ptr<const PodInfo> pod, std::optional<std::string> group) {
  if (Contains(*pod->identity())) return Update(std::move(pod), std::move(group));
  Enter(PendingPod{.pod = std::move(pod), .arrival = next_arrival_++}, std::move(group));
}

void SchedulingQueue::Enter(PendingPod member, std::optional<std::string> group) {
  const auto [entry, is_new] = FindOrCreate(*member.pod, group);
  member.group = std::move(group);
  const size_t had = entry->members.size();
  const int32_t priority = member.pod->priority();
  gates_.Insert(*entry, std::move(member));
  const bool lowers_priority =
      entry->lead.group_priority.has_value() && priority < *entry->lead.group_priority;
  if (lowers_priority &&
      (entry->state == QueueState::kActive || entry->state == QueueState::kBackoff)) {
    requeuer_.Attach(*entry, entry->state);
  }
  metrics_.SetCause("UnschedulablePodAdd");
  if (is_new) {
    requeuer_.Requeue(*entry, RequeueStrategy::kImmediately, GateCheck::kGroupOnly);
  } else if (entry->members.size() > had) {
    MembersGrew(*entry);
  } else {
    events_.Reindex(*entry);
  }
}

// A group that waits is looked at again: with one member more it may reach its minimum.
void SchedulingQueue::MembersGrew(Entry& entry) {
  switch (entry.state) {
    case QueueState::kInFlight:
      entry.changed_in_flight = true;
      return;
    case QueueState::kUnschedulable:
      return requeuer_.Requeue(entry, RequeueStrategy::kAfterBackoff, GateCheck::kAll);
    case QueueState::kGated:
      return requeuer_.Requeue(entry, RequeueStrategy::kAfterBackoff, GateCheck::kGroupOnly);
    case QueueState::kActive:
    case QueueState::kBackoff:
    case QueueState::kErrorBackoff:
      events_.Reindex(entry);  // a gated member may have become an ordinary one
  }
}

void SchedulingQueue::Update(std::shared_ptr<const PodInfo> pod, std::optional<std::string> group) {
  Entry* const entry = entries_.FindByPod(*pod->identity());
  if (entry == nullptr) return Add(std::move(pod), std::move(group));
  events_.ApplyPendingEvents(*entry);
  turns_.Release(*entry);
  PendingPod& member = *entries_.FindMember(*entry, *pod->identity());
  const ObjectChange change{.old_pod = member.pod, .new_pod = pod};
  const bool stays = EntryIndex::KeyOf(*pod, group) == entry->key;
  if (entry->state != QueueState::kInFlight && !stays) {
    Delete(*pod->identity());
    return Add(std::move(pod), std::move(group));
  }

  member.pod = pod;
  member.group = std::move(group);
  if (entry->lead.pod == change.old_pod) entry->lead.pod = pod;
  if (entry->state == QueueState::kInFlight) {
    for (const ClusterEvent& event : PodChangeEvents(*change.old_pod, *pod))
      in_flight_.Record(event, change);
    return;
  }
  places_.Fix(*entry);
  events_.Reindex(*entry);
  metrics_.SetCause("UnschedulablePodUpdate");
  AskAboutOwnUpdate(*entry, change);
  if (entry->is_group) requeuer_.RecheckGroup(*entry);
}

// kube-scheduler v1.35 PriorityQueue.Update: the plugins that rejected the pod, or the one that
// gates it, say whether the update helps.
void SchedulingQueue::AskAboutOwnUpdate(Entry& entry, const ObjectChange& change) {
  const QueueState before = entry.state;
  for (const ClusterEvent& event : PodChangeEvents(*change.old_pod, *change.new_pod)) {
    OnEvent(entry, event, change);
    if (entry.state != before) return;
  }
}

void SchedulingQueue::Delete(UidRef pod) {
  Entry* const entry = entries_.FindByPod(pod);
  if (entry == nullptr) return;
  if (entry->is_group) events_.ApplyPendingEvents(*entry);  // the pod was there when it happened
  const bool was_lead = entry->lead.pod != nullptr && pod.Means(*entry->lead.pod->identity());
  entries_.RemoveMember(*entry, pod);
  if (entry->state == QueueState::kInFlight) return;
  if (entry->members.empty() && entry->gated_members.empty()) return Erase(*entry);
  if (entry->members.empty()) {
    requeuer_.Requeue(*entry, RequeueStrategy::kAfterBackoff, GateCheck::kGroupOnly);
  } else if (was_lead &&
             (entry->state == QueueState::kActive || entry->state == QueueState::kBackoff)) {
    requeuer_.Attach(*entry, entry->state);
  } else {
    events_.Reindex(*entry);
  }
  requeuer_.RecheckGroup(*entry);
}

void SchedulingQueue::Placed(const QueueEntry* in_flight, UidRef pod) {
  if (Entry* const entry = in_flight_.Find(in_flight); entry != nullptr)
    entries_.RemoveMember(*entry, pod);
}

bool SchedulingQueue::Resume(const QueueEntry* in_flight) {
  Entry* const entry = in_flight_.Find(in_flight);
  if (entry == nullptr) return false;
  in_flight_.events().ForEachSince(
      entry->first_event, [&](const ClusterEvent& event, const ObjectChange& change) {
        entry->changed_in_flight |= IsWildcard(event) && hints_.IsAbout(change, *entry);
        return true;
      });
  in_flight_.Renew(*entry);
  return !entry->members.empty() && absl::c_all_of(entry->members, [&](const PendingPod& member) {
    return EntryIndex::KeyOf(*member.pod, member.group) == entry->key;
  });
}

// --- Flight ---

const QueueEntry* SchedulingQueue::Pop() {
  const absl::Time now = clock_.Now();
  if (places_.active_size() == 0) early_.Reset();
  places_.SetActiveAlone(!early_.MayBegin(now));
  if (!CanPop()) return nullptr;
  Entry& entry = places_.Next();
  if (entry.state == QueueState::kBackoff) {
    if (places_.active_size() > 0) early_.Begin(entry, now);
    metrics_.SetCause("PopFromBackoffQ");
    metrics_.CountIncoming(QueueState::kActive, entry.members.size());
  }
  requeuer_.Detach(entry);
  in_flight_.Begin(entry);
  AttemptHistory& history = entry.history;
  ++history.attempts;
  history.initial_attempt_timestamp = std::min(history.initial_attempt_timestamp, now);
  entry.lead.attempts = history.attempts;
  entry.unschedulable_plugins.clear();
  entry.pending_plugins.clear();
  entry.retry_at = absl::InfiniteFuture();
  for (PendingPod& member : entry.members) member.rejected = false;
  events_.Reindex(entry);
  return &entry;
}

// Step by step, since each step needs what the one before has fetched.
const Identity* SchedulingQueue::PrefetchNext(const QueueEntry& in_flight) const {
  if (!in_flight.is_group) {
    entries_.Prefetch(*in_flight.pod, Fetch::kValue);
    in_flight.lead.pod->packed()->PrefetchOwn();
  }
  Prefetch(places_.Upcoming(2));
  if (const Entry* const second = places_.Upcoming(1); second != nullptr) {
    Prefetch(second->pod);
    Prefetch(second->members.data());
    Prefetch(second->key.data());
    Prefetch(second->lead.pod);
  }
  const Entry* const next = places_.Upcoming(0);
  if (next == nullptr || next->is_group) return nullptr;
  Prefetch(next->lead.pod->packed());
  entries_.Prefetch(*next->pod, Fetch::kPlace);
  return next->pod.get();
}

void SchedulingQueue::Done(const QueueEntry* in_flight) {
  Entry* const entry = in_flight_.Find(in_flight);
  if (entry == nullptr) return;
  early_.Succeed(*entry);
  turns_.EndTurn(*entry);
  std::vector<PendingPod> strays = entries_.TakeStrayMembers(*entry);
  in_flight_.End(*entry);
  if (entry->members.empty() && entry->gated_members.empty()) {
    Erase(*entry);
  } else {
    entry->history = AttemptHistory();
    entry->timestamp = clock_.Now();
    entry->backoff_expiration = absl::InfinitePast();
    requeuer_.Requeue(*entry, RequeueStrategy::kImmediately, GateCheck::kAll);
  }
  for (PendingPod& stray : strays) {
    std::optional<std::string> group = stray.group;
    Enter(std::move(stray), std::move(group));
  }
  turns_.Continue();
}

void SchedulingQueue::AddUnschedulable(const QueueEntry* in_flight, const Rejection& rejection) {
  Entry* const entry = in_flight_.Find(in_flight);
  if (entry == nullptr) return;
  early_.Fail(*entry, clock_);
  turns_.EndTurn(*entry);
  std::vector<PendingPod> strays = entries_.TakeStrayMembers(*entry);
  if (entry->members.empty() && entry->gated_members.empty()) {
    in_flight_.End(*entry);
    Erase(*entry);
  } else {
    requeuer_.CountFailure(*entry, rejection);
    metrics_.SetCause("ScheduleAttemptFailure");
    // An event that opens a gate may have come while no gate was asked.
    const bool opened = gates_.Open(*entry, [](const PendingPod&) { return true; });
    entry->changed_in_flight |= opened;
    const RequeueStrategy strategy = hints_.WorthAfterFlight(*entry, in_flight_.events());
    in_flight_.End(*entry);
    requeuer_.Requeue(*entry, strategy, GateCheck::kAll);
  }
  for (PendingPod& stray : strays) {
    std::optional<std::string> group = stray.group;
    Enter(std::move(stray), std::move(group));
  }
  turns_.Continue();
}

void SchedulingQueue::Return(std::shared_ptr<const PodInfo> pod, std::optional<std::string> group,
                             const AttemptHistory& history, const Rejection& rejection) {
  if (Contains(*pod->identity())) return Update(std::move(pod), std::move(group));
  const auto [entry, is_new] = FindOrCreate(*pod, group);
  const size_t had = entry->members.size();
  gates_.Insert(*entry,
                PendingPod{.pod = pod, .arrival = next_arrival_++, .group = std::move(group)});
  if (is_new) {
    entry->history = history;
    requeuer_.CountFailure(*entry, rejection);
    metrics_.SetCause("ScheduleAttemptFailure");
    requeuer_.Requeue(*entry, RequeueStrategy::kAfterBackoff, GateCheck::kGroupOnly);
    return;
  }
  // The entry has its own history; the pod brings only its message.
  for (PendingPod& member : entry->members) {
    if (member.pod != pod) continue;
    for (const Rejection::Pod& verdict : rejection.pods) {
      if (verdict.uid != pod->uid()) continue;
      member.status = verdict.status;
      member.waiting = verdict.waiting;
    }
  }
  // Its group rests with it: else both would be tried, and one refused, without end.
  if (rejection.requires_backoff || rejection.IsError()) {
    requeuer_.RequireBackoff(*entry, history);
  }
  if (entry->members.size() > had) MembersGrew(*entry);
  events_.Reindex(*entry);
}

// --- Time ---

bool SchedulingQueue::Tick(absl::Time now) {
  turns_.Continue();  // of those that were deleted or gated
  if (events_.Continue()) return true;
  // Events may be pending all the time: what time makes due does not wait for them.
  size_t left = options_.max_moves_per_tick;
  while (Entry* const entry = places_.EndedBackoff(now)) {
    if (left-- == 0) return true;
    metrics_.SetCause("BackoffComplete");
    requeuer_.MoveToActive(*entry, GateCheck::kNone);  // they were asked when the backoff began
  }
  while (Entry* const entry = places_.DueRetry(now)) {
    if (left-- == 0) return true;
    entry->requeued_by = Symbol::Intern("MinRuntimeOver");
    metrics_.SetCause(entry->requeued_by);
    requeuer_.Requeue(*entry, RequeueStrategy::kAfterBackoff, GateCheck::kAll);
  }
  // A safety net: no plugin should need it.
  while (Entry* const entry = places_.UnschedulableSince(now - options_.max_in_unschedulable)) {
    if (left-- == 0) return true;
    if (turns_.BringTimeUpToDate(*entry)) continue;
    // kube-scheduler v1.35 framework/events.go EventUnschedulableTimeout.
    entry->requeued_by = Symbol::Intern("UnschedulableTimeout");
    metrics_.SetCause(entry->requeued_by);
    requeuer_.Requeue(*entry, RequeueStrategy::kAfterBackoff, GateCheck::kAll);
  }
  return has_pending_events();
}

absl::Time SchedulingQueue::NextRetry() const {
  if (events_.has_requeued() || has_pending_events() || turns_.is_due()) {
    return absl::InfinitePast();
  }
  return places_.NextDue();
}

absl::Time SchedulingQueue::NextDue() const {
  return std::min(NextRetry(), places_.FirstUnschedulable() + options_.max_in_unschedulable);
}

// --- Events ---

void SchedulingQueue::MoveAllOnEvent(const ClusterEvent& event, const ObjectChange& change,
                                     const EventScope& scope) {
  if (events_.Put(event, change, scope)) in_flight_.Record(event, change);
}

void SchedulingQueue::Activate(absl::Span<const std::shared_ptr<const PodInfo>> pods) {
  metrics_.SetCause("ForceActivate");
  for (const std::shared_ptr<const PodInfo>& pod : pods) {
    Entry* const entry = entries_.FindByPod(*pod->identity());
    if (entry == nullptr) continue;
    switch (entry->state) {
      case QueueState::kActive:
        break;
      case QueueState::kInFlight:
        in_flight_.Record(ForceActivate(), {.new_pod = pod});
        break;
      case QueueState::kBackoff:
      case QueueState::kErrorBackoff:
        requeuer_.MoveToActive(*entry, GateCheck::kNone);
        break;
      case QueueState::kUnschedulable:
      case QueueState::kGated:
        requeuer_.MoveToActive(*entry, GateCheck::kAll);
        break;
    }
  }
}

// An event that some plugin registered that the entry waits for.
void SchedulingQueue::OnEvent(Entry& entry, const ClusterEvent& event, const ObjectChange& change) {
  const bool opened = gates_.Open(entry, [&](const PendingPod& member) {
    return hints_.MayOpenGate(entry, member, event, change);
  });
  switch (entry.state) {
    case QueueState::kUnschedulable: {
      RequeueStrategy strategy = hints_.WorthRequeuing(entry, event, change);
      if (opened) strategy = std::max(strategy, RequeueStrategy::kAfterBackoff);
      if (strategy == RequeueStrategy::kSkip) return events_.Reindex(entry);
      return RequeueOne(entry, Symbol::Intern(event.label), strategy);
    }
    case QueueState::kGated:
      if (opened || hints_.GatingPluginWants(entry, event, change)) {
        entry.requeued_by = Symbol::Intern(event.label);
        metrics_.SetCause(entry.requeued_by);
        requeuer_.Requeue(entry, RequeueStrategy::kAfterBackoff, GateCheck::kGroupOnly);
      } else {
        events_.Reindex(entry);  // another plugin may gate a member now
      }
      return;
    case QueueState::kActive:
    case QueueState::kBackoff:
    case QueueState::kErrorBackoff:
    case QueueState::kInFlight:
      events_.Reindex(entry);
  }
}

// It is unschedulable and worth to be tried again, or gated, and its gate may open: that is asked
// whatever the event, as others may have come since.
void SchedulingQueue::RequeueOne(Entry& entry, Symbol event,
                                 std::optional<RequeueStrategy> strategy) {
  if (!strategy.has_value() && !gates_.Open(entry, [](const PendingPod&) { return true; })) {
    return events_.Reindex(entry);
  }
  entry.requeued_by = event;
  metrics_.SetCause(event);
  requeuer_.Requeue(entry, strategy.value_or(RequeueStrategy::kAfterBackoff),
                    strategy.has_value() ? GateCheck::kAll : GateCheck::kGroupOnly);
}

void SchedulingQueue::RecheckGates(absl::string_view uid) {
  Entry* const entry = entries_.FindByPod(uid);
  if (entry == nullptr || entry->state == QueueState::kInFlight) return;
  const bool opened = gates_.Open(*entry, [](const PendingPod&) { return true; });
  if (!opened) return events_.Reindex(*entry);
  metrics_.SetCause("GateOpened");
  MembersGrew(*entry);
}

void SchedulingQueue::Retry(Entry& entry, RetryBackoff backoff) {
  metrics_.SetCause("Retry");
  const bool always = backoff == RetryBackoff::kAlways;
  if (entry.state == QueueState::kInFlight) {  // its failure says again what it requires
    entry.changed_in_flight = true;
    entry.backs_off_after |= always;
    return;
  }
  entry.requires_backoff |= always;
  if (entry.state == QueueState::kUnschedulable || entry.state == QueueState::kGated) {
    requeuer_.Requeue(entry, RequeueStrategy::kAfterBackoff, GateCheck::kAll);
  }
}

void SchedulingQueue::Retry(absl::string_view uid, RetryBackoff backoff) {
  if (Entry* const entry = entries_.FindByPod(uid); entry != nullptr) Retry(*entry, backoff);
}

void SchedulingQueue::RetryGroup(absl::string_view group, RetryBackoff backoff) {
  for (Entry* const entry : EntriesOfGroup(group)) Retry(*entry, backoff);
}

std::vector<QueueEntry*> SchedulingQueue::EntriesOfGroup(absl::string_view group) {
  std::vector<Entry*> entries;
  for (const QueueProfile& profile : profiles_) {
    Entry* const entry = entries_.Find(absl::StrCat("group/", profile.name.view(), "/", group));
    if (entry != nullptr) entries.push_back(entry);
  }
  return entries;
}

void SchedulingQueue::GroupChanged(absl::string_view group) {
  metrics_.SetCause("GroupChanged");
  for (Entry* const entry : EntriesOfGroup(group)) {
    ++entry->group_changes;
    requeuer_.RecheckGroup(*entry);
  }
}

absl::Status SchedulingQueue::CheckInvariants() const {
  absl::Status turns = turns_.CheckInvariants();
  return turns.ok() ? CheckQueueInvariants({entries_, places_, in_flight_, events_}) : turns;
}

}  // namespace berth
