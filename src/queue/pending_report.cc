// SPDX-License-Identifier: Apache-2.0
// Implementation of pending_report.h.
#include "queue/pending_report.h"

#include <algorithm>
#include <utility>

#include "queue/backoff.h"

namespace berth {
namespace {

PendingReport ReportOf(const QueueEntry& entry, const SubQueues& places, const PendingPod& member,
                       bool gated) {
  PendingReport report{.pod = member.pod, .group = entry.name, .state = entry.state};
  report.attempts = entry.history.attempts;
  if (gated) report.state = QueueState::kGated;
  // A member that may be tried can still be held back with its whole entry.
  report.status = report.state == QueueState::kGated && !gated ? entry.gate : member.status;
  if (report.state != QueueState::kGated) report.waiting = member.waiting;
  if (report.state == QueueState::kBackoff || report.state == QueueState::kErrorBackoff) {
    report.backoff_end = Backoff::End(entry.backoff_expiration);
  }
  if (report.state == QueueState::kActive) {
    const QueueEntry* const blocker = places.BlockerOf(entry);
    if (blocker != nullptr) {
      report.behind = blocker->is_group ? blocker->name : blocker->AnyMember().pod->key();
    }
  }
  return report;
}

}  // namespace

std::vector<PendingReport> ReportPending(const EntryIndex& entries, const SubQueues& places) {
  std::vector<std::pair<uint64_t, PendingReport>> reports;
  reports.reserve(entries.size());
  entries.ForEach([&](const QueueEntry& entry) {
    for (const PendingPod& member : entry.members) {
      reports.emplace_back(member.arrival, ReportOf(entry, places, member, false));
    }
    for (const PendingPod& member : entry.gated_members) {
      reports.emplace_back(member.arrival, ReportOf(entry, places, member, true));
    }
  });
  std::sort(reports.begin(), reports.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<PendingReport> result;
  result.reserve(reports.size());
  for (auto& [arrival, report] : reports) result.push_back(std::move(report));
  return result;
}

std::optional<PendingReport> ReportOne(const EntryIndex& entries, const SubQueues& places,
                                       absl::string_view uid) {
  const QueueEntry* const entry = entries.FindByPod(uid);
  if (entry == nullptr) return std::nullopt;
  for (const PendingPod& member : entry->members) {
    if (member.pod->uid() == uid) return ReportOf(*entry, places, member, false);
  }
  for (const PendingPod& member : entry->gated_members) {
    if (member.pod->uid() == uid) return ReportOf(*entry, places, member, true);
  }
  return std::nullopt;
}

}  // namespace berth
