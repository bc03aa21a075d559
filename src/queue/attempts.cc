// SPDX-License-Identifier: Apache-2.0
// Entries on their way: into flight and back, and from place to place.
#include <algorithm>
#include <utility>

#include "berth/check.h"
#include "berth/prefetch.h"
#include "queue/scheduling_queue.h"

namespace berth {
namespace {

std::vector<Symbol> WithoutDuplicates(const std::vector<Symbol>& plugins) {
  std::vector<Symbol> result = plugins;
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace

// --- Flight ---

const QueuedGroup* SchedulingQueue::Pop() {
  if (!CanPop()) return nullptr;
  Entry& entry = active_.empty() ? backoff_.top() : active_.top();
  Detach(entry);
  entry.state = QueueState::kInFlight;
  entry.sequence = next_sequence_++;
  entry.first_event = log_.end();
  entry.changed_in_flight = false;
  in_flight_.push_back(&entry);
  AttemptHistory& history = entry.history;
  ++history.attempts;
  history.initial_attempt_timestamp = std::min(history.initial_attempt_timestamp, clock_.Now());
  entry.lead.attempts = history.attempts;
  entry.unschedulable_plugins.clear();
  entry.pending_plugins.clear();
  entry.retry_at = absl::InfiniteFuture();
  for (PendingPod& member : entry.members) member.rejected = false;
  Reindex(entry);
  return &entry;
}

// Step by step, since each step needs what the one before has fetched.
const Identity* SchedulingQueue::PrefetchNext(const QueuedGroup& in_flight) const {
  if (!in_flight.is_group) {
    single_pods_.Prefetch(*in_flight.pod, Fetch::kValue);
    in_flight.lead.pod->packed()->PrefetchOwn();
  }
  Prefetch(active_.Upcoming(2));
  if (const Entry* const second = active_.Upcoming(1); second != nullptr) {
    Prefetch(second->pod);
    Prefetch(second->members.data());
    Prefetch(second->key.data());
    Prefetch(second->lead.pod);
  }
  const Entry* const next = active_.Upcoming(0);
  if (next == nullptr || next->is_group) return nullptr;
  Prefetch(next->lead.pod->packed());
  single_pods_.Prefetch(*next->pod, Fetch::kPlace);
  return next->pod.get();
}

void SchedulingQueue::EndFlight(Entry& entry) {
  in_flight_.erase(std::find(in_flight_.begin(), in_flight_.end(), &entry));
  log_.PruneBefore(in_flight_.empty() ? log_.end() : in_flight_.front()->first_event);
}

void SchedulingQueue::Done(const QueuedGroup* in_flight) {
  Entry* const entry = InFlight(in_flight);
  if (entry == nullptr) return;
  std::vector<PendingPod> strays = TakeStrayMembers(*entry);
  EndFlight(*entry);
  if (entry->members.empty() && entry->gated_members.empty()) {
    Erase(*entry);
  } else {
    entry->history = AttemptHistory();
    entry->timestamp = clock_.Now();
    entry->backoff_expiration = absl::InfinitePast();
    Requeue(*entry, Strategy::kImmediately, Gates::kAll);
  }
  for (PendingPod& stray : strays) {
    std::optional<std::string> group = stray.group;
    Enter(std::move(stray), std::move(group));
  }
}

void SchedulingQueue::AddUnschedulable(const QueuedGroup* in_flight, const Rejection& rejection) {
  Entry* const entry = InFlight(in_flight);
  if (entry == nullptr) return;
  std::vector<PendingPod> strays = TakeStrayMembers(*entry);
  if (entry->members.empty() && entry->gated_members.empty()) {
    EndFlight(*entry);
    Erase(*entry);
  } else {
    CountFailure(*entry, rejection);
    // An event that opens a gate may have come while nobody asked.
    const bool opened = OpenGates(*entry, [](const PendingPod&) { return true; });
    entry->changed_in_flight |= opened;
    const Strategy strategy = WorthAfterFlight(*entry);
    EndFlight(*entry);
    Requeue(*entry, strategy, Gates::kAll);
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
  Insert(*entry, PendingPod{.pod = pod, .arrival = next_arrival_++, .group = std::move(group)});
  if (is_new) {
    entry->history = history;
    CountFailure(*entry, rejection);
    Requeue(*entry, Strategy::kAfterBackoff, Gates::kGroupOnly);
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
  Reindex(*entry);
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
  if (was_to_be_tried) Requeue(entry, Strategy::kAfterBackoff, Gates::kAll);
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

void SchedulingQueue::Detach(Entry& entry) {
  switch (entry.state) {
    case QueueState::kActive:
      return Remove(active_, entry);
    case QueueState::kBackoff:
      return Remove(backoff_, entry);
    case QueueState::kErrorBackoff:
      return error_backoff_.Remove(entry);
    case QueueState::kUnschedulable:
      if (entry.retry_at < absl::InfiniteFuture()) retries_.erase({entry.retry_at, entry.sequence});
      return unschedulable_.Remove(entry);
    case QueueState::kGated:
      --gated_size_;
      return;
    case QueueState::kInFlight:
      return;
  }
}

// Takes the entry from where it is and puts it there, with its lead chosen anew.
void SchedulingQueue::Attach(Entry& entry, QueueState state) {
  if (state == QueueState::kGated && entry.state == state) return Reindex(entry);
  Detach(entry);
  if (entry.state != state) entry.sequence = next_sequence_++;
  entry.state = state;
  if (!entry.members.empty()) SetLead(entry);
  switch (state) {
    case QueueState::kActive:
      Sort([&] { active_.Push(entry); });
      break;
    case QueueState::kBackoff:
      Sort([&] { backoff_.Push(entry); });
      break;
    case QueueState::kErrorBackoff:
      error_backoff_.Push(entry);
      break;
    case QueueState::kUnschedulable:
      unschedulable_.Push(entry);
      if (entry.retry_at < absl::InfiniteFuture()) {
        retries_[{entry.retry_at, entry.sequence}] = &entry;
      }
      break;
    case QueueState::kGated:
      ++gated_size_;
      break;
    case QueueState::kInFlight:
      BERTH_CHECK(false) << "only Pop() starts a flight: " << entry.key;
  }
  Reindex(entry);
}

void SchedulingQueue::MoveToActive(Entry& entry, Gates gates) {
  if (!PassesGates(entry, gates)) return Attach(entry, QueueState::kGated);
  absl::Time& initial = entry.history.initial_attempt_timestamp;
  initial = std::min(initial, clock_.Now());
  Attach(entry, QueueState::kActive);
}

void SchedulingQueue::MoveToBackoff(Entry& entry, Gates gates) {
  if (!PassesGates(entry, gates)) return Attach(entry, QueueState::kGated);
  Attach(entry, entry.requires_backoff ? QueueState::kErrorBackoff : QueueState::kBackoff);
}

void SchedulingQueue::Requeue(Entry& entry, Strategy strategy, Gates gates) {
  // Without a member that may be tried it is the gates that matter, not the last attempt.
  if (strategy == Strategy::kSkip && !entry.members.empty()) {
    return Attach(entry, QueueState::kUnschedulable);
  }
  if (strategy != Strategy::kImmediately &&
      Backoff::IsBackingOff(entry.backoff_expiration, clock_.Now())) {
    return MoveToBackoff(entry, gates);
  }
  MoveToActive(entry, gates);
}

// --- Time ---

bool SchedulingQueue::Tick(absl::Time now) {
  const bool any_woken = !requeuing_.empty();
  if (RequeueSome()) return true;
  if (has_pending_events() && !any_woken) HandlePendingEvents();
  if (!requeuing_.empty()) return true;
  // There may be something to ask all the time: what time makes due does not wait for that.
  size_t left = options_.max_moves_per_tick;
  const auto flush = [&](auto& heap) {
    for (; !heap.empty() && !Backoff::IsBackingOff(heap.top().backoff_expiration, now); --left) {
      if (left == 0) return false;
      MoveToActive(heap.top(), Gates::kSkip);  // they were asked when the backoff began
    }
    return true;
  };
  if (!flush(backoff_) || !flush(error_backoff_)) return true;
  for (; !retries_.empty() && retries_.begin()->first.first <= now; --left) {
    if (left == 0) return true;
    Entry& entry = *retries_.begin()->second;
    entry.requeued_by = Symbol::Intern("MinRuntimeOver");
    Requeue(entry, Strategy::kAfterBackoff, Gates::kAll);
  }
  // A safety net: no plugin should need it.
  for (; !unschedulable_.empty() &&
         now - unschedulable_.top().timestamp >= options_.max_in_unschedulable;
       --left) {
    if (left == 0) return true;
    // kube-scheduler v1.35 framework/events.go EventUnschedulableTimeout.
    unschedulable_.top().requeued_by = Symbol::Intern("UnschedulableTimeout");
    Requeue(unschedulable_.top(), Strategy::kAfterBackoff, Gates::kAll);
  }
  return has_pending_events();
}

absl::Time SchedulingQueue::NextRetry() const {
  if (!requeuing_.empty() || has_pending_events()) return absl::InfinitePast();
  absl::Time due = retries_.empty() ? absl::InfiniteFuture() : retries_.begin()->first.first;
  if (!backoff_.empty()) due = std::min(due, Backoff::End(backoff_.top().backoff_expiration));
  if (!error_backoff_.empty()) {
    due = std::min(due, Backoff::End(error_backoff_.top().backoff_expiration));
  }
  return due;
}

absl::Time SchedulingQueue::NextDue() const {
  if (unschedulable_.empty()) return NextRetry();
  return std::min(NextRetry(), unschedulable_.top().timestamp + options_.max_in_unschedulable);
}

}  // namespace berth
