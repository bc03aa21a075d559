// SPDX-License-Identifier: Apache-2.0
// Implementation of entry_index.h.
#include "queue/entry_index.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace berth {

namespace {

// The prefixes keep a pod's uid from being taken for a group's name.
constexpr absl::string_view kPodPrefix = "pod/";

std::vector<PendingPod>::iterator FindIn(std::vector<PendingPod>& members, UidRef pod) {
  return std::find_if(members.begin(), members.end(),
                      [&](const PendingPod& member) { return pod.Means(*member.pod->identity()); });
}

}  // namespace

std::string EntryIndex::KeyOf(const PodInfo& pod, const std::optional<std::string>& group) {
  if (!group.has_value()) return absl::StrCat(kPodPrefix, pod.uid());
  return absl::StrCat("group/", pod.scheduler_name().view(), "/", *group);
}

const QueueEntry* EntryIndex::Find(absl::string_view key) const {
  const absl::string_view uid = absl::StripPrefix(key, kPodPrefix);
  if (uid.size() < key.size()) return single_pods_.Find(uid);
  const auto it = groups_.find(key);
  return it == groups_.end() ? nullptr : it->second.get();
}

std::pair<QueueEntry*, bool> EntryIndex::FindOrCreate(const PodInfo& pod,
                                                      const std::optional<std::string>& group) {
  std::string key = KeyOf(pod, group);
  QueueEntry* entry = nullptr;
  if (group.has_value()) {
    std::unique_ptr<QueueEntry>& kept = groups_[key];
    if (kept != nullptr) return {kept.get(), false};
    kept = std::make_unique<QueueEntry>();
    entry = kept.get();
    entry->is_group = true;
    entry->name = *group;
  } else {
    bool is_new = false;
    std::tie(entry, is_new) = single_pods_.FindOrAdd(pod.identity());
    if (!is_new) return {entry, false};
    entry->pod = pod.identity();
  }
  entry->key = std::move(key);
  entry->profile = pod.scheduler_name();
  entry->state = QueueState::kInFlight;  // in none of the other places
  entry->backoff_expiration = absl::InfinitePast();
  return {entry, true};
}

void EntryIndex::Erase(QueueEntry& entry) {
  // A copy: the entry goes while it is looked up.
  if (entry.is_group) {
    groups_.erase(std::string(entry.key));
  } else {
    const IdentityPtr pod = entry.pod;
    single_pods_.Erase(*pod);
  }
}

void EntryIndex::List(QueueEntry& entry, const IdentityPtr& pod) {
  if (entry.is_group) {
    *group_of_.FindOrAdd(pod).first = &entry;
  } else {
    entry.has_pending_pod = true;
  }
}

void EntryIndex::Unlist(QueueEntry& entry, UidRef pod) {
  if (entry.is_group) {
    group_of_.Erase(pod);
  } else {
    entry.has_pending_pod = false;
  }
}

PendingPod* EntryIndex::FindMember(QueueEntry& entry, UidRef pod) {
  for (std::vector<PendingPod>* members : {&entry.members, &entry.gated_members}) {
    const auto it = FindIn(*members, pod);
    if (it != members->end()) return &*it;
  }
  return nullptr;
}

void EntryIndex::RemoveMember(QueueEntry& entry, UidRef pod) {
  for (std::vector<PendingPod>* members : {&entry.members, &entry.gated_members}) {
    // From the end: who removes many members one by one begins there, so that none moves.
    const auto it = std::find_if(members->rbegin(), members->rend(), [&](const PendingPod& member) {
      return pod.Means(*member.pod->identity());
    });
    if (it == members->rend()) continue;
    Unlist(entry, pod);
    members->erase(std::next(it).base());
    return;
  }
}

std::vector<PendingPod> EntryIndex::TakeStrayMembers(QueueEntry& entry) {
  std::vector<PendingPod> strays;
  for (std::vector<PendingPod>* members : {&entry.members, &entry.gated_members}) {
    const auto first = std::stable_partition(
        members->begin(), members->end(),
        [&](const PendingPod& member) { return KeyOf(*member.pod, member.group) == entry.key; });
    for (auto it = first; it != members->end(); ++it) {
      Unlist(entry, *it->pod->identity());
      strays.push_back(std::move(*it));
    }
    members->erase(first, members->end());
  }
  return strays;
}

int EntryIndex::size() const {
  int taken = 0;
  single_pods_.ForEach(
      [&](const Identity&, const QueueEntry& entry) { taken += entry.has_pending_pod ? 1 : 0; });
  return taken + static_cast<int>(group_of_.size());
}

}  // namespace berth
