// SPDX-License-Identifier: Apache-2.0
// Implementation of gates.h.
#include "queue/gates.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace berth {

// The plugin that held the pod back the last time is the likeliest to do so again: it is asked
// first.
Status Gates::PodGate(const QueueEntry& entry, const PendingPod& member) const {
  const QueueProfile* profile = FindProfile(profiles_, entry.profile);
  if (profile == nullptr || !profile->pre_enqueue) return Status::Success();
  return profile->pre_enqueue(*member.pod, member.gated_by);
}

Status Gates::GroupGate(const QueueEntry& entry) const {
  if (!entry.is_group || groups_ == nullptr) return Status::Success();
  const QueueProfile* profile = FindProfile(profiles_, entry.profile);
  const GroupMembers* members = groups_->Find(entry.name);
  if (profile == nullptr || profile->group_plugin == nullptr || members == nullptr) {
    return Status::Success();
  }
  Status status = profile->group_plugin->ReadyToSchedule(*members);
  if (status.ok() || !status.plugin().empty()) return status;
  return std::move(status).WithPlugin(profile->group_plugin_name);
}

bool Gates::RunsInPart(const QueueEntry& entry, const GroupSpec& spec) const {
  const GroupMembers* const members = groups_ == nullptr ? nullptr : groups_->Find(entry.name);
  if (members == nullptr) return false;
  const int running = members->counts().running;
  return running > 0 && running < spec.min_member;
}

bool Gates::Open(QueueEntry& entry, const std::function<bool(const PendingPod&)>& asked) {
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

// Mostly all of them may go on, and stay where they are.
void Gates::AskPodGates(QueueEntry& entry) {
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

bool Gates::Passes(QueueEntry& entry, GateCheck check) {
  if (check == GateCheck::kNone) return true;
  if (check == GateCheck::kAll) AskPodGates(entry);
  entry.gate = entry.members.empty() ? entry.gated_members.front().status : GroupGate(entry);
  entry.gating_plugin = entry.gate.plugin_symbol();
  return entry.gate.ok();
}

void Gates::Insert(QueueEntry& entry, PendingPod member) {
  entries_.List(entry, member.pod->identity(), member.arrival);
  Status gate = PodGate(entry, member);
  member.gated_by = gate.plugin_symbol();
  std::vector<PendingPod>& members = gate.ok() ? entry.members : entry.gated_members;
  if (!gate.ok()) member.status = std::move(gate);
  const auto place = std::upper_bound(
      members.begin(), members.end(), member.arrival,
      [](uint64_t arrival, const PendingPod& other) { return arrival < other.arrival; });
  members.insert(place, std::move(member));
}

}  // namespace berth
