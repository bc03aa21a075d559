// SPDX-License-Identifier: Apache-2.0
// What the scheduling queue holds: groups of pending pods. A pod on its own is a group of one.
#ifndef BERTH_SRC_QUEUE_QUEUE_ENTRY_H_
#define BERTH_SRC_QUEUE_QUEUE_ENTRY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/extensions/waiting.h"
#include "berth/framework/queue_sort.h"
#include "berth/framework/status.h"

namespace berth {

struct HintClass;
struct RetryLine;

enum class QueueState : uint8_t {
  kActive,   // to be tried as soon as its turn comes
  kBackoff,  // rejected before; may be tried when its backoff is over or nothing else is active
  kErrorBackoff,   // may be tried only when its backoff is over (requires_backoff)
  kUnschedulable,  // waits for an event that could help
  kGated,          // may not be tried: PreEnqueue or the group plugin holds it back
  kInFlight,       // popped, being tried or bound
};
absl::string_view QueueStateName(QueueState state);  // "Active", "InFlight" ...
std::ostream& operator<<(std::ostream& out, QueueState state);

// The record of earlier attempts; decides the length of the next backoff.
struct AttemptHistory {
  int attempts = 0;
  int unschedulable_count = 0;  // attempts that plugins rejected
  int consecutive_errors = 0;   // attempts that ended in an error since the last verdict
  absl::Time initial_attempt_timestamp = absl::InfiniteFuture();
};

// A pending pod in its entry.
struct PendingPod {
  std::shared_ptr<const PodInfo> pod;
  uint64_t arrival = 0;  // the queue's order of arrival
  // Why it is not scheduled: the gate that holds it, or what its last attempt said. Success before
  // the first attempt.
  Status status;
  // The same for programs; null before the first attempt.
  std::shared_ptr<const WaitingFor> waiting;
  Symbol gated_by;  // the PreEnqueue plugin that held it back when the gates were asked last
  // A plugin rejected this very pod in the last attempt (not only its group): queueing hints are
  // asked about it. If no pod of the entry is marked, they are asked about all.
  bool rejected = false;
  // The group it belongs to now, which an update in flight may have changed: it moves there when
  // its entry is put back.
  std::optional<std::string> group;
};

// An entry of the queue. The queue changes it; others read. What every attempt touches comes first,
// close together.
struct QueueEntry {
  // --- Its place, for the queue alone but for the state ---
  QueueState state = QueueState::kGated;
  bool changed_in_flight = false;  // a member joined while it was in flight
  bool backs_off_after = false;    // in flight: a retry was asked for that requires a backoff
  bool has_pending_pod = false;    // of a single pod's: that pod is pending
  bool has_turn = false;           // it is tried for its `retry_line`, and does not wait in it
  static constexpr int64_t kNotInList = -1;
  int64_t place = kNotInList;          // in OrderedEntries
  int64_t place_in_line = kNotInList;  // the same, in a line of those in backoff (LinedEntries)
  int line = -1;                       // of LinedEntries; -1 if it is in none
  uint64_t sequence = 0;               // of when it was queued, tried, or put back; breaks ties
  uint64_t arrival = 0;                // of the pod that leads it (PendingPod::arrival); as `lead`
  uint64_t first_event = 0;            // in flight: the first event in the log after Pop
  IdentityPtr pod;                     // of a single pod's
  HintClass* hint_class = nullptr;     // with which it waits for events; null if it does not
  uint64_t sequence_in_class = 0;
  RetryLine* retry_line = nullptr;  // in which it waits for room; null if it does not

  // --- What it is ---
  bool is_group = false;
  Symbol profile;  // the schedulerName of its pods
  // The event that ended its last wait; empty if none did: its backoff, or nothing yet.
  Symbol requeued_by;
  // Not tried before its backoff is over, not even when nothing else is active: after an error,
  // after a wait for Permit that came to nothing, because its group plugin asks for it, or because
  // an eviction for it was refused.
  bool requires_backoff = false;
  uint32_t group_changes = 0;             // of a group: so often it changed (GroupChanged())
  bool only_room = false;                 // Rejection::only_room of the last attempt
  std::vector<PendingPod> members;        // may be tried, by order of arrival
  std::vector<PendingPod> gated_members;  // held back by PreEnqueue, by order of arrival
  // One of these; there is at least one.
  const PendingPod& AnyMember() const {
    return members.empty() ? gated_members.front() : members.front();
  }
  AttemptHistory history;
  // The plugins that rejected it last. Both empty: an error did. No duplicates.
  std::vector<Symbol> unschedulable_plugins;
  std::vector<Symbol> pending_plugins;
  // If it is unschedulable then: tried again, whatever happens. InfiniteFuture: never.
  absl::Time retry_at = absl::InfiniteFuture();
  // What QueueSort compares. Fixed while the entry is in the active or backoff queue, except that
  // an update of its pod replaces the pod.
  QueuedPodInfo lead;
  absl::Time timestamp;           // when it was last put back after an attempt, or first queued
  absl::Time backoff_expiration;  // start of the one-second window; InfinitePast: no backoff
  std::string name;               // "namespace/name" of a group, empty for a single pod
  std::string key;                // stable while the entry lives
  // kGated: the plugin that holds the whole entry back, and what it says.
  Symbol gating_plugin;
  Status gate;
};

// The outcome of an attempt that leaves pods pending: the plugins that rejected them. No plugin at
// all: an error.
struct Rejection {
  std::vector<Symbol> unschedulable_plugins;
  std::vector<Symbol> pending_plugins;           // those that said Pending
  absl::Time retry_at = absl::InfiniteFuture();  // when time alone may have helped
  // It will be rejected by the same plugins as long as no Node object changes and no node has room
  // for it.
  bool only_room = false;
  bool requires_backoff =
      false;  // see QueueEntry::requires_backoff; an error means it without that
  // What to record of single pods; pods not named keep what they had.
  struct Pod {
    std::string uid;
    Status status;          // for reports
    bool rejected = false;  // see PendingPod::rejected
    std::shared_ptr<const WaitingFor> waiting = nullptr;
  };
  std::vector<Pod> pods;

  bool IsError() const { return unschedulable_plugins.empty() && pending_plugins.empty(); }
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_QUEUE_ENTRY_H_
