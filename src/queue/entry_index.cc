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

void EntryIndex::List(QueueEntry& entry, const IdentityPtr& pod, uint64_t arrival) {
  if (entry.is_group) {
    *places_in_groups_.FindOrAdd(pod).first = {.entry = &entry, .arrival = arrival};
  } else {
    entry.has_pending_pod = true;
  }
}

void EntryIndex::Unlist(QueueEntry& entry, UidRef pod) {
  if (entry.is_group) {
    places_in_groups_.Erase(pod);
  } else {
    entry.has_pending_pod = false;
  }
}

EntryIndex::MemberPlace EntryIndex::PlaceOf(QueueEntry& entry, UidRef pod) const {
  const auto is_it = [&](const PendingPod& member) { return pod.Means(*member.pod->identity()); };
  // Removing many members one by one begins at the end, so that none moves.
  for (std::vector<PendingPod>* const list : {&entry.members, &entry.gated_members}) {
    if (!list->empty() && is_it(list->back())) return {list, std::prev(list->end())};
  }
  const GroupPlace* const place = entry.is_group ? places_in_groups_.Find(pod) : nullptr;
  if (place == nullptr || place->entry != &entry) return {};
  for (std::vector<PendingPod>* const list : {&entry.members, &entry.gated_members}) {
    const auto at = std::lower_bound(
        list->begin(), list->end(), place->arrival,
        [](const PendingPod& member, uint64_t arrival) { return member.arrival < arrival; });
    if (at != list->end() && is_it(*at)) return {list, at};
  }
  return {};
}

PendingPod* EntryIndex::FindMember(QueueEntry& entry, UidRef pod) const {
  const MemberPlace place = PlaceOf(entry, pod);
  return place.list == nullptr ? nullptr : &*place.at;
}

const PendingPod* EntryIndex::FindTriable(const QueueEntry& entry, UidRef pod) const {
  const MemberPlace place = PlaceOf(const_cast<QueueEntry&>(entry), pod);
  return place.list == &entry.members ? &*place.at : nullptr;
}

void EntryIndex::RemoveMember(QueueEntry& entry, UidRef pod) {
  const MemberPlace place = PlaceOf(entry, pod);
  if (place.list == nullptr) return;
  Unlist(entry, pod);
  place.list->erase(place.at);
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
  return taken + static_cast<int>(places_in_groups_.size());
}

}  // namespace berth
