// SPDX-License-Identifier: Apache-2.0
// Implementation of scheduling_queue.h.
#include "queue/scheduling_queue.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/check.h"
#include "berth/prefetch.h"
#include "queue/pod_update_events.h"

namespace berth {
namespace {

EventTable TableOf(absl::Span<const QueueProfile> profiles) {
  EventTable table;
  for (const QueueProfile& profile : profiles) table.Add(profile.name, profile.plugins);
  return table;
}

std::vector<Symbol> WithoutDuplicates(const std::vector<Symbol>& plugins) {
  std::vector<Symbol> result = plugins;
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace

SchedulingQueue::SchedulingQueue(const QueueSortPlugin& sort, std::vector<QueueProfile> profiles,
                                 const Groups* groups, const Clock& clock, QueueOptions options)
    : profiles_(std::move(profiles)),
      clock_(clock),
      options_(options),
      backoff_policy_(options.initial_backoff, options.max_backoff),
      table_(TableOf(profiles_)),
      places_(sort, options.fault_log, options.queue_sort_name),
      gates_(profiles_, groups, entries_),
      hints_(table_, entries_),
      events_(table_, hints_, entries_,
              {.moves = options.max_moves_per_tick, .hints = options.max_hints_per_tick}, *this) {
  BERTH_CHECK(options_.max_moves_per_tick > 0) << "nothing would ever move";
  BERTH_CHECK(options_.max_hints_per_tick > 0) << "nobody would ever be asked";
  BERTH_CHECK(options_.max_hints_per_tick < std::numeric_limits<size_t>::max())
      << "one more is read";
}

SchedulingQueue::~SchedulingQueue() = default;

// --- Entries ---

std::optional<GroupSpec> SchedulingQueue::SpecOf(const Entry& entry) const {
  if (!entry.is_group) return std::nullopt;
  const QueueProfile* profile = FindProfile(profiles_, entry.profile);
  if (profile == nullptr || profile->group_plugin == nullptr) return std::nullopt;
  return profile->group_plugin->Spec(entry.name);
}

std::pair<QueuedGroup*, bool> SchedulingQueue::FindOrCreate(
    const PodInfo& pod, const std::optional<std::string>& group) {
  const auto found = entries_.FindOrCreate(pod, group);
  if (found.second) found.first->timestamp = clock_.Now();
  return found;
}

void SchedulingQueue::Erase(Entry& entry) {
  places_.Remove(entry);
  entry.state = QueueState::kInFlight;
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
  gates_.Insert(*entry, std::move(member));
  if (is_new) {
    Requeue(*entry, RequeueStrategy::kImmediately, GateCheck::kGroupOnly);
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
      return Requeue(entry, RequeueStrategy::kAfterBackoff, GateCheck::kAll);
    case QueueState::kGated:
      return Requeue(entry, RequeueStrategy::kAfterBackoff, GateCheck::kGroupOnly);
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
  PendingPod& member = *EntryIndex::FindMember(*entry, *pod->identity());
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
  AskAboutOwnUpdate(*entry, change);
  if (entry->is_group) RecheckGroup(*entry);
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
    Requeue(*entry, RequeueStrategy::kAfterBackoff, GateCheck::kGroupOnly);
  } else if (was_lead &&
             (entry->state == QueueState::kActive || entry->state == QueueState::kBackoff)) {
    Attach(*entry, entry->state);
  } else {
    events_.Reindex(*entry);
  }
  RecheckGroup(*entry);
}

void SchedulingQueue::Placed(const QueuedGroup* in_flight, UidRef pod) {
  if (Entry* const entry = in_flight_.Find(in_flight); entry != nullptr)
    entries_.RemoveMember(*entry, pod);
}

bool SchedulingQueue::Resume(const QueuedGroup* in_flight) {
  Entry* const entry = in_flight_.Find(in_flight);
  if (entry == nullptr) return false;
  in_flight_.log().ForEachSince(
      entry->first_event, [&](const ClusterEvent& event, const ObjectChange& change) {
        entry->changed_in_flight |= IsWildcard(event) && hints_.IsAbout(change, *entry);
        return true;
      });
  in_flight_.Renew(*entry);
  return !entry->members.empty() && absl::c_all_of(entry->members, [&](const PendingPod& member) {
    return EntryIndex::KeyOf(*member.pod, member.group) == entry->key;
  });
}

// The first member in order of creation leads, and the entry is sorted by it.
void SchedulingQueue::SetLead(Entry& entry) {
  const PendingPod& first = *std::min_element(
      entry.members.begin(), entry.members.end(), [](const PendingPod& a, const PendingPod& b) {
        return std::make_tuple(a.pod->creation_time(), a.arrival) <
               std::make_tuple(b.pod->creation_time(), b.arrival);
      });
  const absl::Time initial = entry.history.initial_attempt_timestamp;
  entry.lead = QueuedPodInfo{
      .pod = first.pod,
      .timestamp = entry.timestamp,
      .initial_attempt_timestamp = initial,
      .attempts = entry.history.attempts,
      .group = entry.name,
      .group_timestamp = initial == absl::InfiniteFuture() ? entry.timestamp : initial};
  const std::optional<GroupSpec> spec = SpecOf(entry);
  if (spec.has_value()) entry.lead.group_timestamp = spec->creation_time;
}

// --- Flight ---

const QueuedGroup* SchedulingQueue::Pop() {
  if (!CanPop()) return nullptr;
  Entry& entry = places_.Next();
  places_.Remove(entry);
  entry.state = QueueState::kInFlight;
  entry.sequence = next_sequence_++;
  in_flight_.Begin(entry);
  AttemptHistory& history = entry.history;
  ++history.attempts;
  history.initial_attempt_timestamp = std::min(history.initial_attempt_timestamp, clock_.Now());
  entry.lead.attempts = history.attempts;
  entry.unschedulable_plugins.clear();
  entry.pending_plugins.clear();
  entry.retry_at = absl::InfiniteFuture();
  for (PendingPod& member : entry.members) member.rejected = false;
  events_.Reindex(entry);
  return &entry;
}

// Step by step, since each step needs what the one before has fetched.
const Identity* SchedulingQueue::PrefetchNext(const QueuedGroup& in_flight) const {
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

void SchedulingQueue::Done(const QueuedGroup* in_flight) {
  Entry* const entry = in_flight_.Find(in_flight);
  if (entry == nullptr) return;
  std::vector<PendingPod> strays = entries_.TakeStrayMembers(*entry);
  in_flight_.End(*entry);
  if (entry->members.empty() && entry->gated_members.empty()) {
    Erase(*entry);
  } else {
    entry->history = AttemptHistory();
    entry->timestamp = clock_.Now();
    entry->backoff_expiration = absl::InfinitePast();
    Requeue(*entry, RequeueStrategy::kImmediately, GateCheck::kAll);
  }
  for (PendingPod& stray : strays) {
    std::optional<std::string> group = stray.group;
    Enter(std::move(stray), std::move(group));
  }
}

void SchedulingQueue::AddUnschedulable(const QueuedGroup* in_flight, const Rejection& rejection) {
  Entry* const entry = in_flight_.Find(in_flight);
  if (entry == nullptr) return;
  std::vector<PendingPod> strays = entries_.TakeStrayMembers(*entry);
  if (entry->members.empty() && entry->gated_members.empty()) {
    in_flight_.End(*entry);
    Erase(*entry);
  } else {
    CountFailure(*entry, rejection);
    // An event that opens a gate may have come while nobody asked.
    const bool opened = gates_.Open(*entry, [](const PendingPod&) { return true; });
    entry->changed_in_flight |= opened;
    const RequeueStrategy strategy = hints_.WorthAfterFlight(*entry, in_flight_.log());
    in_flight_.End(*entry);
    Requeue(*entry, strategy, GateCheck::kAll);
  }
  for (PendingPod& stray : strays) {
    std::optional<std::string> group = stray.group;
    Enter(std::move(stray), std::move(group));
  }
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
    CountFailure(*entry, rejection);
    Requeue(*entry, RequeueStrategy::kAfterBackoff, GateCheck::kGroupOnly);
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
  if (rejection.requires_backoff) RequireBackoff(*entry);
  if (entry->members.size() > had) MembersGrew(*entry);
  events_.Reindex(*entry);
}

// Sees to it that an entry is not tried before a backoff that begins now is over.
void SchedulingQueue::RequireBackoff(Entry& entry) {
  if (entry.state == QueueState::kInFlight || entry.state == QueueState::kErrorBackoff) return;
  const bool was_to_be_tried =
      entry.state == QueueState::kActive || entry.state == QueueState::kBackoff;
  if (was_to_be_tried) Attach(entry, QueueState::kUnschedulable);  // its place goes by the backoff
  ++entry.history.unschedulable_count;
  entry.requires_backoff = true;
  entry.backoff_expiration =
      std::max(entry.backoff_expiration, backoff_policy_.Expiration(entry.history, clock_.Now()));
  if (was_to_be_tried) Requeue(entry, RequeueStrategy::kAfterBackoff, GateCheck::kAll);
}

// Takes note of a failed attempt: who rejected, when, and how long that makes the backoff.
void SchedulingQueue::CountFailure(Entry& entry, const Rejection& rejection) {
  entry.unschedulable_plugins = WithoutDuplicates(rejection.unschedulable_plugins);
  entry.pending_plugins = WithoutDuplicates(rejection.pending_plugins);
  if (rejection.IsError()) {
    ++entry.history.consecutive_errors;
  } else {
    ++entry.history.unschedulable_count;
    entry.history.consecutive_errors = 0;
  }
  entry.requeued_by = Symbol();
  entry.retry_at = rejection.retry_at;
  entry.timestamp = clock_.Now();
  entry.backoff_expiration = backoff_policy_.Expiration(entry.history, entry.timestamp);
  entry.requires_backoff = rejection.IsError() || rejection.requires_backoff;
  const std::optional<GroupSpec> spec = SpecOf(entry);
  if (spec.has_value() && spec->backoff > absl::ZeroDuration() && !rejection.IsError()) {
    entry.requires_backoff = true;
    entry.backoff_expiration =
        std::max(entry.backoff_expiration, Backoff::WindowOf(entry.timestamp + spec->backoff));
  }
  absl::flat_hash_map<absl::string_view, const Rejection::Pod*> verdicts;
  for (const Rejection::Pod& verdict : rejection.pods) verdicts[verdict.uid] = &verdict;
  for (PendingPod& member : entry.members) {
    const auto it = verdicts.find(member.pod->uid());
    if (it == verdicts.end()) continue;
    member.status = it->second->status;
    member.waiting = it->second->waiting;
    member.rejected = it->second->rejected;
  }
}

// --- Places ---

// Takes the entry from where it is and puts it there, with its lead chosen anew.
void SchedulingQueue::Attach(Entry& entry, QueueState state) {
  if (state == QueueState::kGated && entry.state == state) return events_.Reindex(entry);
  places_.Remove(entry);
  if (entry.state != state) entry.sequence = next_sequence_++;
  entry.state = state;
  if (!entry.members.empty()) SetLead(entry);
  places_.Add(entry);
  events_.Reindex(entry);
}

void SchedulingQueue::MoveToActive(Entry& entry, GateCheck check) {
  if (!gates_.Passes(entry, check)) return Attach(entry, QueueState::kGated);
  absl::Time& initial = entry.history.initial_attempt_timestamp;
  initial = std::min(initial, clock_.Now());
  Attach(entry, QueueState::kActive);
}

void SchedulingQueue::MoveToBackoff(Entry& entry, GateCheck check) {
  if (!gates_.Passes(entry, check)) return Attach(entry, QueueState::kGated);
  Attach(entry, entry.requires_backoff ? QueueState::kErrorBackoff : QueueState::kBackoff);
}

void SchedulingQueue::Requeue(Entry& entry, RequeueStrategy strategy, GateCheck check) {
  // Without a member that may be tried it is the gates that matter, not the last attempt.
  if (strategy == RequeueStrategy::kSkip && !entry.members.empty()) {
    return Attach(entry, QueueState::kUnschedulable);
  }
  if (strategy != RequeueStrategy::kImmediately &&
      Backoff::IsBackingOff(entry.backoff_expiration, clock_.Now())) {
    return MoveToBackoff(entry, check);
  }
  MoveToActive(entry, check);
}

// --- Time ---

bool SchedulingQueue::Tick(absl::Time now) {
  if (events_.Continue()) return true;
  // Events may be pending all the time: what time makes due does not wait for them.
  size_t left = options_.max_moves_per_tick;
  while (Entry* const entry = places_.EndedBackoff(now)) {
    if (left-- == 0) return true;
    MoveToActive(*entry, GateCheck::kNone);  // they were asked when the backoff began
  }
  while (Entry* const entry = places_.DueRetry(now)) {
    if (left-- == 0) return true;
    entry->requeued_by = Symbol::Intern("MinRuntimeOver");
    Requeue(*entry, RequeueStrategy::kAfterBackoff, GateCheck::kAll);
  }
  // A safety net: no plugin should need it.
  while (Entry* const entry = places_.UnschedulableSince(now - options_.max_in_unschedulable)) {
    if (left-- == 0) return true;
    // kube-scheduler v1.35 framework/events.go EventUnschedulableTimeout.
    entry->requeued_by = Symbol::Intern("UnschedulableTimeout");
    Requeue(*entry, RequeueStrategy::kAfterBackoff, GateCheck::kAll);
  }
  return has_pending_events();
}

absl::Time SchedulingQueue::NextRetry() const {
  if (events_.has_requeued() || has_pending_events()) return absl::InfinitePast();
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
        MoveToActive(*entry, GateCheck::kNone);
        break;
      case QueueState::kUnschedulable:
      case QueueState::kGated:
        MoveToActive(*entry, GateCheck::kAll);
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
        Requeue(entry, RequeueStrategy::kAfterBackoff, GateCheck::kGroupOnly);
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
  Requeue(entry, strategy.value_or(RequeueStrategy::kAfterBackoff),
          strategy.has_value() ? GateCheck::kAll : GateCheck::kGroupOnly);
}

// The group's members changed: it may have become ready, or no longer be.
void SchedulingQueue::RecheckGroup(Entry& entry) {
  if (!entry.is_group || entry.members.empty()) return;
  switch (entry.state) {
    case QueueState::kGated:
      return Requeue(entry, RequeueStrategy::kAfterBackoff, GateCheck::kGroupOnly);
    case QueueState::kActive:
    case QueueState::kBackoff:
    case QueueState::kErrorBackoff:
      if (!gates_.Passes(entry, GateCheck::kGroupOnly)) Attach(entry, QueueState::kGated);
      return;
    case QueueState::kUnschedulable:  // waits for an event
    case QueueState::kInFlight:       // the attempt sees the members as they are
      return;
  }
}

void SchedulingQueue::RecheckGates(absl::string_view uid) {
  Entry* const entry = entries_.FindByPod(uid);
  if (entry == nullptr || entry->state == QueueState::kInFlight) return;
  const bool opened = gates_.Open(*entry, [](const PendingPod&) { return true; });
  if (!opened) return events_.Reindex(*entry);
  MembersGrew(*entry);
}

void SchedulingQueue::Retry(absl::string_view uid, RetryBackoff rest) {
  Entry* const entry = entries_.FindByPod(uid);
  if (entry == nullptr) return;
  if (rest == RetryBackoff::kAlways) entry->requires_backoff = true;
  if (entry->state == QueueState::kInFlight) {
    entry->changed_in_flight = true;
  } else if (entry->state == QueueState::kUnschedulable || entry->state == QueueState::kGated) {
    Requeue(*entry, RequeueStrategy::kAfterBackoff, GateCheck::kAll);
  }
}

void SchedulingQueue::GroupChanged(absl::string_view group) {
  for (const QueueProfile& profile : profiles_) {
    Entry* const entry = entries_.Find(absl::StrCat("group/", profile.name.view(), "/", group));
    if (entry != nullptr) RecheckGroup(*entry);
  }
}

// --- For tests ---

absl::Status SchedulingQueue::CheckInvariants() const {
  const auto broken = [](const auto&... what) {
    return absl::InvalidArgumentError(absl::StrCat(what...));
  };
  if (!places_.IsConsistent()) {
    return broken("a place is out of order");
  }
  size_t pods = 0, placed = 0, indexed = 0, retries = 0;
  int gated = 0, flying = 0;
  std::vector<const Entry*> entries;
  entries_.ForEach([&](const Entry& entry) { entries.push_back(&entry); });
  for (const Entry* const entry : entries) {
    const std::string& key = entry->key;
    if (entries_.Find(key) != entry) return broken(key, " is kept under another key");
    const bool has_member = !entry->members.empty() || !entry->gated_members.empty();
    if (!entry->is_group && entry->is_taken != has_member) {
      return broken(key, has_member ? " has a pod" : " has no pod", " and does not know it");
    }
    const bool in_flight = entry->state == QueueState::kInFlight;
    pods += entry->members.size() + entry->gated_members.size();
    if (entry->kind != nullptr) {
      ++indexed;
      const void* const who = entry->kind->key.who;
      if (entry->kind->is_indexed && who != entry &&
          (entry->is_group || !has_member || who != entry->AnyMember().pod->shared_spec().get())) {
        return broken(key, " waits with others that are not like it");
      }
    }
    if (entry->state == QueueState::kGated) ++gated;
    if (in_flight) ++flying;
    const bool has_place = entry->place != Entry::kNotInList;
    if (has_place) ++placed;
    if (has_place != (!in_flight && entry->state != QueueState::kGated)) {
      return broken(key, " is ", QueueStateName(entry->state), " and at ", entry->place);
    }
    if (entry->state == QueueState::kUnschedulable && entry->retry_at < absl::InfiniteFuture()) {
      ++retries;
      if (!places_.HasRetry(*entry)) return broken(key, " is not tried again");
    }
    if (in_flight && in_flight_.Find(entry) == nullptr) {
      return broken(key, " is in flight and not recorded so");
    }
    if (entry->members.empty() && !in_flight &&
        (entry->state != QueueState::kGated || entry->gated_members.empty())) {
      return broken(key, " has no member and is ", QueueStateName(entry->state));
    }
    if (!entry->is_group && entry->members.size() + entry->gated_members.size() > 1) {
      return broken(key, " is a single pod with several");
    }
    for (const auto* members : {&entry->members, &entry->gated_members}) {
      for (size_t i = 0; i < members->size(); ++i) {
        if (entries_.FindByPod((*members)[i].pod->uid()) != entry) {
          return broken((*members)[i].pod->uid(), " is in ", key, " and not recorded so");
        }
        if (i > 0 && (*members)[i - 1].arrival >= (*members)[i].arrival) {
          return broken(key, " has its members out of order");
        }
      }
    }
    if ((entry->state == QueueState::kActive || entry->state == QueueState::kBackoff) &&
        std::none_of(entry->members.begin(), entry->members.end(),
                     [&](const PendingPod& member) { return member.pod == entry->lead.pod; })) {
      return broken(key, " is led by a pod that is not its member");
    }
  }
  if (absl::Status events = events_.CheckInvariants(indexed); !events.ok()) return events;
  if (static_cast<int>(pods) != size()) return broken(pods, " members, ", size(), " recorded");
  if (retries != places_.retries())
    return broken(places_.retries(), " are tried again of ", retries);
  if (gated != gated_size()) return broken(gated, " gated, ", gated_size(), " recorded");
  if (flying != in_flight_size())
    return broken(flying, " in flight, ", in_flight_size(), " recorded");
  const int places = active_size() + backoff_size() + unschedulable_size();
  if (static_cast<int>(placed) != places) return broken(placed, " have a place of ", places);
  if (in_flight_.size() == 0 && in_flight_.log().size() > 0)
    return broken(in_flight_.log().size(), " events for nobody");
  return absl::OkStatus();
}

}  // namespace berth
