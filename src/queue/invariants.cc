// SPDX-License-Identifier: Apache-2.0
// Implementation of invariants.h.
#include "queue/invariants.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace berth {

namespace {

template <class... What>
absl::Status Broken(const What&... what) {
  return absl::InvalidArgumentError(absl::StrCat(what...));
}

// How many entries or pods there are of each kind, to be compared with what the parts have counted.
struct Counts {
  size_t pods = 0, placed = 0, in_hint_classes = 0, retries = 0;
  int gated = 0, in_flight = 0;

  void Add(const QueueEntry& entry) {
    pods += entry.members.size() + entry.gated_members.size();
    placed += entry.place != QueueEntry::kNotInList;
    in_hint_classes += entry.hint_class != nullptr;
    retries += HasRetry(entry);
    gated += entry.state == QueueState::kGated;
    in_flight += entry.state == QueueState::kInFlight;
  }
  static bool HasRetry(const QueueEntry& entry) {
    return entry.state == QueueState::kUnschedulable && entry.retry_at < absl::InfiniteFuture();
  }
};

absl::Status CheckMembers(const QueueParts& queue, const QueueEntry& entry) {
  const std::string& key = entry.key;
  const bool has_member = !entry.members.empty() || !entry.gated_members.empty();
  if (!entry.is_group && entry.has_pending_pod != has_member) {
    return Broken(key, has_member ? " has a pod" : " has no pod", " and does not know it");
  }
  if (entry.members.empty() && entry.state != QueueState::kInFlight &&
      (entry.state != QueueState::kGated || entry.gated_members.empty())) {
    return Broken(key, " has no member and is ", QueueStateName(entry.state));
  }
  if (!entry.is_group && entry.members.size() + entry.gated_members.size() > 1) {
    return Broken(key, " is a single pod with several");
  }
  for (const auto* members : {&entry.members, &entry.gated_members}) {
    for (size_t i = 0; i < members->size(); ++i) {
      if (queue.entries.FindByPod((*members)[i].pod->uid()) != &entry) {
        return Broken((*members)[i].pod->uid(), " is in ", key, " and not recorded so");
      }
      if (i > 0 && (*members)[i - 1].arrival >= (*members)[i].arrival) {
        return Broken(key, " has its members out of order");
      }
    }
  }
  if ((entry.state == QueueState::kActive || entry.state == QueueState::kBackoff) &&
      std::none_of(entry.members.begin(), entry.members.end(),
                   [&](const PendingPod& member) { return member.pod == entry.lead.pod; })) {
    return Broken(key, " is led by a pod that is not its member");
  }
  return absl::OkStatus();
}

// Whether the entry is where its state says.
absl::Status CheckPlace(const QueueParts& queue, const QueueEntry& entry) {
  const std::string& key = entry.key;
  const bool in_flight = entry.state == QueueState::kInFlight;
  const bool has_place = entry.place != QueueEntry::kNotInList;
  if (has_place != (!in_flight && entry.state != QueueState::kGated)) {
    return Broken(key, " is ", QueueStateName(entry.state), " and at ", entry.place);
  }
  if (Counts::HasRetry(entry) && !queue.places.HasRetry(entry)) {
    return Broken(key, " is not tried again");
  }
  if (in_flight && queue.in_flight.Find(&entry) == nullptr) {
    return Broken(key, " is in flight and not recorded so");
  }
  return absl::OkStatus();
}

absl::Status CheckHintClass(const QueueEntry& entry) {
  if (entry.hint_class == nullptr || !entry.hint_class->is_indexed) return absl::OkStatus();
  const void* const who = entry.hint_class->key.who;
  const bool has_member = !entry.members.empty() || !entry.gated_members.empty();
  if (who != &entry &&
      (entry.is_group || !has_member || who != entry.AnyMember().pod->shared_spec().get())) {
    return Broken(entry.key, " waits with others that are not like it");
  }
  return absl::OkStatus();
}

absl::Status CheckCounts(const QueueParts& queue, const Counts& counts) {
  if (static_cast<int>(counts.pods) != queue.entries.size())
    return Broken(counts.pods, " members, ", queue.entries.size(), " recorded");
  if (counts.retries != queue.places.retries())
    return Broken(queue.places.retries(), " are tried again of ", counts.retries);
  if (counts.gated != queue.places.gated_size())
    return Broken(counts.gated, " gated, ", queue.places.gated_size(), " recorded");
  if (counts.in_flight != queue.in_flight.size())
    return Broken(counts.in_flight, " in flight, ", queue.in_flight.size(), " recorded");
  const int places =
      queue.places.active_size() + queue.places.backoff_size() + queue.places.unschedulable_size();
  if (static_cast<int>(counts.placed) != places)
    return Broken(counts.placed, " have a place of ", places);
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckQueueInvariants(const QueueParts& queue) {
  if (!queue.places.IsConsistent()) return Broken("a place is out of order");
  std::vector<const QueueEntry*> entries;
  queue.entries.ForEach([&](const QueueEntry& entry) { entries.push_back(&entry); });
  Counts counts;
  for (const QueueEntry* const entry : entries) {
    if (queue.entries.Find(entry->key) != entry) {
      return Broken(entry->key, " is kept under another key");
    }
    absl::Status status = CheckMembers(queue, *entry);
    if (status.ok()) status = CheckPlace(queue, *entry);
    if (status.ok()) status = CheckHintClass(*entry);
    if (!status.ok()) return status;
    counts.Add(*entry);
  }
  absl::Status status = queue.events.CheckInvariants(counts.in_hint_classes);
  if (status.ok()) status = CheckCounts(queue, counts);
  if (!status.ok()) return status;
  if (queue.in_flight.size() == 0 && queue.in_flight.events().size() > 0)
    return Broken(queue.in_flight.events().size(), " events for nobody");
  return absl::OkStatus();
}

}  // namespace berth
