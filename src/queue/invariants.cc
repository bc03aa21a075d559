// SPDX-License-Identifier: Apache-2.0
// Implementation of invariants.h.
#include "queue/invariants.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace berth {

absl::Status CheckQueueInvariants(const QueueParts& queue) {
  const auto broken = [](const auto&... what) {
    return absl::InvalidArgumentError(absl::StrCat(what...));
  };
  if (!queue.places.IsConsistent()) {
    return broken("a place is out of order");
  }
  size_t pods = 0, placed = 0, indexed = 0, retries = 0;
  int gated = 0, flying = 0;
  std::vector<const QueueEntry*> entries;
  queue.entries.ForEach([&](const QueueEntry& entry) { entries.push_back(&entry); });
  for (const QueueEntry* const entry : entries) {
    const std::string& key = entry->key;
    if (queue.entries.Find(key) != entry) return broken(key, " is kept under another key");
    const bool has_member = !entry->members.empty() || !entry->gated_members.empty();
    if (!entry->is_group && entry->is_taken != has_member) {
      return broken(key, has_member ? " has a pod" : " has no pod", " and does not know it");
    }
    const bool in_flight = entry->state == QueueState::kInFlight;
    pods += entry->members.size() + entry->gated_members.size();
    if (entry->hint_class != nullptr) {
      ++indexed;
      const void* const who = entry->hint_class->key.who;
      if (entry->hint_class->is_indexed && who != entry &&
          (entry->is_group || !has_member || who != entry->AnyMember().pod->shared_spec().get())) {
        return broken(key, " waits with others that are not like it");
      }
    }
    if (entry->state == QueueState::kGated) ++gated;
    if (in_flight) ++flying;
    const bool has_place = entry->place != QueueEntry::kNotInList;
    if (has_place) ++placed;
    if (has_place != (!in_flight && entry->state != QueueState::kGated)) {
      return broken(key, " is ", QueueStateName(entry->state), " and at ", entry->place);
    }
    if (entry->state == QueueState::kUnschedulable && entry->retry_at < absl::InfiniteFuture()) {
      ++retries;
      if (!queue.places.HasRetry(*entry)) return broken(key, " is not tried again");
    }
    if (in_flight && queue.in_flight.Find(entry) == nullptr) {
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
        if (queue.entries.FindByPod((*members)[i].pod->uid()) != entry) {
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
  if (absl::Status events = queue.events.CheckInvariants(indexed); !events.ok()) return events;
  if (static_cast<int>(pods) != queue.entries.size())
    return broken(pods, " members, ", queue.entries.size(), " recorded");
  if (retries != queue.places.retries())
    return broken(queue.places.retries(), " are tried again of ", retries);
  if (gated != queue.places.gated_size())
    return broken(gated, " gated, ", queue.places.gated_size(), " recorded");
  if (flying != queue.in_flight.size())
    return broken(flying, " in flight, ", queue.in_flight.size(), " recorded");
  const int places =
      queue.places.active_size() + queue.places.backoff_size() + queue.places.unschedulable_size();
  if (static_cast<int>(placed) != places) return broken(placed, " have a place of ", places);
  if (queue.in_flight.size() == 0 && queue.in_flight.log().size() > 0)
    return broken(queue.in_flight.log().size(), " events for nobody");
  return absl::OkStatus();
}

}  // namespace berth
