// SPDX-License-Identifier: Apache-2.0
// What holds entries of the queue back: PreEnqueue plugins, and groups that are not ready.
#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "queue/scheduling_queue.h"

namespace berth {

// The plugin that held the pod back the last time is the likeliest to do so again: it is asked
// first.
Status SchedulingQueue::PodGate(const Entry& entry, const PendingPod& member) const {
  const QueueProfile* profile = ProfileOf(entry.profile);
  if (profile == nullptr || !profile->pre_enqueue) return Status::Success();
  return profile->pre_enqueue(*member.pod, member.gated_by);
}

Status SchedulingQueue::GroupGate(const Entry& entry) const {
  if (!entry.is_group || groups_ == nullptr) return Status::Success();
  const QueueProfile* profile = ProfileOf(entry.profile);
  const GroupMembers* members = groups_->Find(entry.name);
  if (profile == nullptr || profile->group_plugin == nullptr || members == nullptr) {
    return Status::Success();
  }
  Status status = profile->group_plugin->ReadyToSchedule(*members);
  if (status.ok() || !status.plugin().empty()) return status;
  return std::move(status).WithPlugin(profile->group_plugin_name);
}

// Asks again about the gated members for which `asked` is true. Returns whether any may go on.
bool SchedulingQueue::OpenGates(Entry& entry, const std::function<bool(const PendingPod&)>& asked) {
  bool opened = false;
  std::vector<PendingPod> gated = std::exchange(entry.gated_members, {});
  for (PendingPod& member : gated) {
    if (!asked(member)) {
      entry.gated_members.push_back(std::move(member));
      continue;
    }
    const size_t before = entry.members.size();
    member.status = Status::Success();
    Insert(entry, std::move(member));
    opened |= entry.members.size() > before;
  }
  return opened;
}

// Asks about all members. Mostly all of them may go on, and stay where they are.
void SchedulingQueue::AskPodGates(Entry& entry) {
  std::vector<PendingPod> gated = std::exchange(entry.gated_members, {});
  const auto held =
      std::stable_partition(entry.members.begin(), entry.members.end(), [&](PendingPod& member) {
        Status gate = PodGate(entry, member);
        member.gated_by = gate.plugin_symbol();
        const bool may_go_on = gate.ok();
        if (!may_go_on) member.status = std::move(gate);
        return may_go_on;
      });
  std::move(held, entry.members.end(), std::back_inserter(entry.gated_members));
  entry.members.erase(held, entry.members.end());
  for (PendingPod& member : gated) {
    member.status = Status::Success();
    Insert(entry, std::move(member));
  }
}

// Whether the entry may be tried. If not, its gate says why.
bool SchedulingQueue::PassesGates(Entry& entry, Gates gates) {
  if (gates == Gates::kSkip) return true;
  if (gates == Gates::kAll) AskPodGates(entry);
  entry.gate = entry.members.empty() ? entry.gated_members.front().status : GroupGate(entry);
  entry.gating_plugin = entry.gate.plugin_symbol();
  return entry.gate.ok();
}

// The group's members changed: it may have become ready, or no longer be.
void SchedulingQueue::RecheckGroup(Entry& entry) {
  if (!entry.is_group || entry.members.empty()) return;
  switch (entry.state) {
    case QueueState::kGated:
      return Requeue(entry, Strategy::kAfterBackoff, Gates::kGroupOnly);
    case QueueState::kActive:
    case QueueState::kBackoff:
    case QueueState::kErrorBackoff:
      if (!PassesGates(entry, Gates::kGroupOnly)) Attach(entry, QueueState::kGated);
      return;
    case QueueState::kUnschedulable:  // waits for an event
    case QueueState::kInFlight:       // the attempt sees the members as they are
      return;
  }
}

void SchedulingQueue::RecheckGates(absl::string_view uid) {
  Entry* const entry = FindEntryOf(uid);
  if (entry == nullptr || entry->state == QueueState::kInFlight) return;
  const bool opened = OpenGates(*entry, [](const PendingPod&) { return true; });
  if (!opened) return Reindex(*entry);
  MembersGrew(*entry);
}

void SchedulingQueue::Retry(absl::string_view uid, RetryBackoff rest) {
  Entry* const entry = FindEntryOf(uid);
  if (entry == nullptr) return;
  if (rest == RetryBackoff::kAlways) entry->requires_backoff = true;
  if (entry->state == QueueState::kInFlight) {
    entry->changed_in_flight = true;
  } else if (entry->state == QueueState::kUnschedulable || entry->state == QueueState::kGated) {
    Requeue(*entry, Strategy::kAfterBackoff, Gates::kAll);
  }
}

void SchedulingQueue::GroupChanged(absl::string_view group) {
  for (const QueueProfile& profile : profiles_) {
    Entry* const entry = FindEntry(absl::StrCat("group/", profile.name.view(), "/", group));
    if (entry != nullptr) RecheckGroup(*entry);
  }
}

}  // namespace berth
