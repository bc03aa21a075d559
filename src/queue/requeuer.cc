// SPDX-License-Identifier: Apache-2.0
// Implementation of requeuer.h.
#include "queue/requeuer.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace berth {
namespace {

std::vector<Symbol> WithoutDuplicates(const std::vector<Symbol>& plugins) {
  std::vector<Symbol> result = plugins;
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

// Among these an entry keeps its place before or behind others of the same time.
bool IsPending(QueueState state) {
  return state != QueueState::kInFlight && state != QueueState::kGated;
}

}  // namespace

void Requeuer::Requeue(QueueEntry& entry, RequeueStrategy strategy, GateCheck check) {
  turns_.Leave(entry);
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

void Requeuer::MoveToActive(QueueEntry& entry, GateCheck check) {
  if (!gates_.Passes(entry, check)) return Attach(entry, QueueState::kGated);
  absl::Time& initial = entry.history.initial_attempt_timestamp;
  initial = std::min(initial, clock_.Now());
  Attach(entry, QueueState::kActive);
}

void Requeuer::MoveToBackoff(QueueEntry& entry, GateCheck check) {
  if (!gates_.Passes(entry, check)) return Attach(entry, QueueState::kGated);
  Attach(entry, entry.requires_backoff ? QueueState::kErrorBackoff : QueueState::kBackoff);
}

void Requeuer::Attach(QueueEntry& entry, QueueState state) {
  if (state == QueueState::kGated && entry.state == state) return events_.Reindex(entry);
  turns_.Leave(entry);
  places_.Remove(entry);
  if (entry.state != state) {
    if (!IsPending(entry.state) || !IsPending(state)) entry.sequence = next_sequence_++;
    metrics_.CountIncoming(state, entry.members.size() + entry.gated_members.size());
  }
  entry.state = state;
  if (!entry.members.empty()) SetLead(entry);
  places_.Add(entry);
  events_.Reindex(entry);
}

void Requeuer::RecheckGroup(QueueEntry& entry) {
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

void Requeuer::RequireBackoff(QueueEntry& entry, const AttemptHistory& failed) {
  if (entry.state == QueueState::kInFlight || entry.state == QueueState::kErrorBackoff) return;
  const bool was_to_be_tried =
      entry.state == QueueState::kActive || entry.state == QueueState::kBackoff;
  if (was_to_be_tried)
    Attach(entry, QueueState::kUnschedulable);  // its place depends on the backoff
  // The entry may have counted that attempt already.
  entry.history.unschedulable_count =
      std::max(entry.history.unschedulable_count, failed.unschedulable_count + 1);
  entry.requires_backoff = true;
  entry.backoff_expiration =
      std::max(entry.backoff_expiration, backoff_.Expiration(entry.history, clock_.Now()));
  if (was_to_be_tried) Requeue(entry, RequeueStrategy::kAfterBackoff, GateCheck::kAll);
}

void Requeuer::CountFailure(QueueEntry& entry, const Rejection& rejection) {
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
  entry.only_room = rejection.only_room;
  entry.timestamp = clock_.Now();
  entry.backoff_expiration = backoff_.Expiration(entry.history, entry.timestamp);
  entry.requires_backoff =
      rejection.IsError() || rejection.requires_backoff || entry.backs_off_after;
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

// The first member in order of creation leads, and the entry is sorted by it.
void Requeuer::SetLead(QueueEntry& entry) {
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
  entry.arrival = first.arrival;
  const std::optional<GroupSpec> spec = SpecOf(entry);
  if (spec.has_value()) entry.lead.group_timestamp = spec->creation_time;
  if (!entry.is_group) return;
  if (spec.has_value() && gates_.RunsInPart(entry, *spec)) {
    entry.lead.group_timestamp = absl::InfinitePast();
  }
  const auto lowest = std::min_element(entry.members.begin(), entry.members.end(),
                                       [](const PendingPod& a, const PendingPod& b) {
                                         return a.pod->priority() < b.pod->priority();
                                       });
  entry.lead.group_priority =
      spec.has_value() && spec->priority.has_value() ? *spec->priority : lowest->pod->priority();
}

std::optional<GroupSpec> Requeuer::SpecOf(const QueueEntry& entry) const {
  if (!entry.is_group) return std::nullopt;
  const QueueProfile* profile = FindProfile(profiles_, entry.profile);
  if (profile == nullptr || profile->group_plugin == nullptr) return std::nullopt;
  return profile->group_plugin->Spec(entry.name);
}

void Requeuer::Detach(QueueEntry& entry) {
  turns_.Leave(entry);
  places_.Remove(entry);
  entry.state = QueueState::kInFlight;
  entry.sequence = next_sequence_++;
}

}  // namespace berth
