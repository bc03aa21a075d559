// SPDX-License-Identifier: Apache-2.0
// The queue as others see it, and whether it is sound.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "queue/scheduling_queue.h"

namespace berth {

PendingReport SchedulingQueue::ReportOf(const Entry& entry, const PendingPod& member,
                                        bool gated) const {
  PendingReport report{.pod = member.pod, .group = entry.name, .state = entry.state};
  report.attempts = entry.history.attempts;
  if (gated) report.state = QueueState::kGated;
  // A member that may be tried can still be held back with its whole entry.
  report.status = report.state == QueueState::kGated && !gated ? entry.gate : member.status;
  if (report.state != QueueState::kGated) report.waiting = member.waiting;
  if (report.state == QueueState::kBackoff || report.state == QueueState::kErrorBackoff) {
    report.backoff_end = Backoff::End(entry.backoff_expiration);
  }
  return report;
}

int SchedulingQueue::size() const {
  int taken = 0;
  single_pods_.ForEach(
      [&](const Identity&, const Entry& entry) { taken += entry.is_taken ? 1 : 0; });
  return taken + static_cast<int>(group_of_.size());
}

std::vector<PendingReport> SchedulingQueue::Pending() const {
  std::vector<std::pair<uint64_t, PendingReport>> reports;
  reports.reserve(size());
  ForEachEntry([&](const Entry& entry) {
    for (const PendingPod& member : entry.members) {
      reports.emplace_back(member.arrival, ReportOf(entry, member, false));
    }
    for (const PendingPod& member : entry.gated_members) {
      reports.emplace_back(member.arrival, ReportOf(entry, member, true));
    }
  });
  std::sort(reports.begin(), reports.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<PendingReport> result;
  result.reserve(reports.size());
  for (auto& [arrival, report] : reports) result.push_back(std::move(report));
  return result;
}

std::optional<PendingReport> SchedulingQueue::Report(absl::string_view uid) const {
  const Entry* const entry = FindEntryOf(uid);
  if (entry == nullptr) return std::nullopt;
  for (const PendingPod& member : entry->members) {
    if (member.pod->uid() == uid) return ReportOf(*entry, member, false);
  }
  for (const PendingPod& member : entry->gated_members) {
    if (member.pod->uid() == uid) return ReportOf(*entry, member, true);
  }
  return std::nullopt;
}

absl::Status SchedulingQueue::CheckInvariants() const {
  const auto broken = [](const auto&... what) {
    return absl::InvalidArgumentError(absl::StrCat(what...));
  };
  if (!active_.IsConsistent() || !backoff_.IsConsistent() || !error_backoff_.IsConsistent() ||
      !unschedulable_.IsConsistent()) {
    return broken("a place is out of order");
  }
  size_t pods = 0, placed = 0, indexed = 0, retries = 0;
  int gated = 0, flying = 0;
  std::vector<const Entry*> entries;
  ForEachEntry([&](const Entry& entry) { entries.push_back(&entry); });
  for (const Entry* const entry : entries) {
    const std::string& key = entry->key;
    if (FindEntry(key) != entry) return broken(key, " is kept under another key");
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
      const auto it = retries_.find({entry->retry_at, entry->sequence});
      if (it == retries_.end() || it->second != entry) return broken(key, " is not tried again");
    }
    if (in_flight && std::find(in_flight_.begin(), in_flight_.end(), entry) == in_flight_.end()) {
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
        if (FindEntryOf((*members)[i].pod->uid()) != entry) {
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
  for (const Requeuing& waking : requeuing_) indexed -= waking.kind->entries.size();
  if (!hint_classes_.IsConsistent(indexed, next_event_)) {
    return broken("who waits for events is out of step");
  }
  for (size_t i = 0; i < pending_events_.size(); ++i) {
    const Question& question = pending_events_[i].question;
    if (question.number + pending_events_.size() - i != next_event_)
      return broken("an event is missing");
    if (i > 0 && question.next_class > 0) return broken("an event is asked about out of turn");
  }
  if (static_cast<int>(pods) != size()) return broken(pods, " members, ", size(), " recorded");
  if (retries != retries_.size()) return broken(retries_.size(), " are tried again of ", retries);
  if (gated != gated_size_) return broken(gated, " gated, ", gated_size_, " recorded");
  if (flying != in_flight_size())
    return broken(flying, " in flight, ", in_flight_size(), " recorded");
  const int places = active_size() + backoff_size() + unschedulable_size();
  if (static_cast<int>(placed) != places) return broken(placed, " have a place of ", places);
  if (in_flight_.empty() && log_.size() > 0) return broken(log_.size(), " events for nobody");
  return absl::OkStatus();
}

}  // namespace berth
