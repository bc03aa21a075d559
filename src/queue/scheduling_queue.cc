// SPDX-License-Identifier: Apache-2.0
// Pods that come, change and go, and the entries they are members of.
#include "queue/scheduling_queue.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "berth/check.h"
#include "queue/pod_update_events.h"

namespace berth {
namespace {

// The prefixes keep a pod's uid from being taken for a group's name.
constexpr absl::string_view kPodPrefix = "pod/";

std::string KeyOf(const PodInfo& pod, const std::optional<std::string>& group) {
  if (!group.has_value()) return absl::StrCat(kPodPrefix, pod.uid());
  return absl::StrCat("group/", pod.scheduler_name().view(), "/", *group);
}

std::vector<PendingPod>::iterator FindMember(std::vector<PendingPod>& members, UidRef pod) {
  return std::find_if(members.begin(), members.end(),
                      [&](const PendingPod& member) { return pod.Means(*member.pod->identity()); });
}

EventTable TableOf(absl::Span<const QueueProfile> profiles) {
  EventTable table;
  for (const QueueProfile& profile : profiles) table.Add(profile.name, profile.plugins);
  return table;
}

PendingPod* FindMember(QueuedGroup& entry, UidRef pod) {
  for (std::vector<PendingPod>* members : {&entry.members, &entry.gated_members}) {
    const auto it = FindMember(*members, pod);
    if (it != members->end()) return &*it;
  }
  return nullptr;
}

}  // namespace

SchedulingQueue::SchedulingQueue(const QueueSortPlugin& sort, std::vector<QueueProfile> profiles,
                                 const Groups* groups, const Clock& clock, QueueOptions options)
    : profiles_(std::move(profiles)),
      groups_(groups),
      clock_(clock),
      options_(options),
      backoff_policy_(options.initial_backoff, options.max_backoff),
      table_(TableOf(profiles_)),
      active_(ActiveLess{&sort}),
      backoff_(BackoffLess{ActiveLess{&sort}}),
      error_backoff_(ErrorBackoffLess{}),
      unschedulable_(UnschedulableLess{}),
      hint_classes_(table_.size() + 1) {  // the unregistered ones too
  BERTH_CHECK(options_.max_moves_per_tick > 0) << "nothing would ever move";
  BERTH_CHECK(options_.max_hints_per_tick > 0) << "nobody would ever be asked";
  BERTH_CHECK(options_.max_hints_per_tick < std::numeric_limits<size_t>::max())
      << "one more is read";
}

SchedulingQueue::~SchedulingQueue() = default;

// --- Entries ---

const QueueProfile* SchedulingQueue::ProfileOf(Symbol name) const {
  for (const QueueProfile& profile : profiles_) {
    if (profile.name == name) return &profile;
  }
  return nullptr;
}

std::optional<GroupSpec> SchedulingQueue::SpecOf(const Entry& entry) const {
  if (!entry.is_group) return std::nullopt;
  const QueueProfile* profile = ProfileOf(entry.profile);
  if (profile == nullptr || profile->group_plugin == nullptr) return std::nullopt;
  return profile->group_plugin->Spec(entry.name);
}

const QueuedGroup* SchedulingQueue::FindEntry(absl::string_view key) const {
  const absl::string_view uid = absl::StripPrefix(key, kPodPrefix);
  if (uid.size() < key.size()) return single_pods_.Find(uid);
  const auto it = groups_of_pods_.find(key);
  return it == groups_of_pods_.end() ? nullptr : it->second.get();
}

QueuedGroup* SchedulingQueue::InFlight(const QueuedGroup* entry) const {
  const auto it = std::find(in_flight_.begin(), in_flight_.end(), entry);
  return it == in_flight_.end() ? nullptr : *it;
}

const QueuedGroup* SchedulingQueue::Find(absl::string_view key) const { return FindEntry(key); }

std::pair<QueuedGroup*, bool> SchedulingQueue::FindOrCreate(
    const PodInfo& pod, const std::optional<std::string>& group) {
  std::string key = KeyOf(pod, group);
  Entry* entry = nullptr;
  if (group.has_value()) {
    std::unique_ptr<Entry>& kept = groups_of_pods_[key];
    if (kept != nullptr) return {kept.get(), false};
    kept = std::make_unique<Entry>();
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
  entry->timestamp = clock_.Now();
  entry->backoff_expiration = absl::InfinitePast();
  return {entry, true};
}

void SchedulingQueue::Erase(Entry& entry) {
  Detach(entry);
  entry.state = QueueState::kInFlight;
  Reindex(entry);
  // A copy: the entry goes while it is looked up.
  if (entry.is_group) {
    groups_of_pods_.erase(std::string(entry.key));
  } else {
    const IdentityPtr pod = entry.pod;
    single_pods_.Erase(*pod);
  }
}

// --- Pods ---

void SchedulingQueue::Add(std::shared_ptr<const PodInfo> pod, std::optional<std::string> group) {
  if (Contains(*pod->identity())) return Update(std::move(pod), std::move(group));
  Enter(PendingPod{.pod = std::move(pod), .arrival = next_arrival_++}, std::move(group));
}

void SchedulingQueue::Enter(PendingPod member, std::optional<std::string> group) {
  const auto [entry, is_new] = FindOrCreate(*member.pod, group);
  member.group = std::move(group);
  const size_t had = entry->members.size();
  Insert(*entry, std::move(member));
  if (is_new) {
    Requeue(*entry, Strategy::kImmediately, Gates::kGroupOnly);
  } else if (entry->members.size() > had) {
    MembersGrew(*entry);
  } else {
    Reindex(*entry);
  }
}

// Puts the pod among the members or the gated ones, whichever it belongs to.
void SchedulingQueue::Insert(Entry& entry, PendingPod member) {
  if (entry.is_group) {
    *group_of_.FindOrAdd(member.pod->identity()).first = &entry;
  } else {
    entry.is_taken = true;
  }
  Status gate = PodGate(entry, member);
  member.gated_by = gate.plugin_symbol();
  std::vector<PendingPod>& members = gate.ok() ? entry.members : entry.gated_members;
  if (!gate.ok()) member.status = std::move(gate);
  const auto place = std::upper_bound(
      members.begin(), members.end(), member.arrival,
      [](uint64_t arrival, const PendingPod& other) { return arrival < other.arrival; });
  members.insert(place, std::move(member));
}

// A group that waits is looked at again: with one member more it may reach its minimum.
void SchedulingQueue::MembersGrew(Entry& entry) {
  switch (entry.state) {
    case QueueState::kInFlight:
      entry.changed_in_flight = true;
      return;
    case QueueState::kUnschedulable:
      return Requeue(entry, Strategy::kAfterBackoff, Gates::kAll);
    case QueueState::kGated:
      return Requeue(entry, Strategy::kAfterBackoff, Gates::kGroupOnly);
    case QueueState::kActive:
    case QueueState::kBackoff:
    case QueueState::kErrorBackoff:
      Reindex(entry);  // a gated member may have become an ordinary one
  }
}

void SchedulingQueue::Update(std::shared_ptr<const PodInfo> pod, std::optional<std::string> group) {
  Entry* const entry = FindEntryOf(*pod->identity());
  if (entry == nullptr) return Add(std::move(pod), std::move(group));
  ApplyPendingEvents(*entry);
  PendingPod& member = *FindMember(*entry, *pod->identity());
  const ObjectChange change{.old_pod = member.pod, .new_pod = pod};
  const bool stays = KeyOf(*pod, group) == entry->key;
  if (entry->state != QueueState::kInFlight && !stays) {
    Delete(*pod->identity());
    return Add(std::move(pod), std::move(group));
  }

  member.pod = pod;
  member.group = std::move(group);
  if (entry->lead.pod == change.old_pod) entry->lead.pod = pod;
  switch (entry->state) {
    case QueueState::kInFlight:
      for (const ClusterEvent& event : PodChangeEvents(*change.old_pod, *pod)) {
        Record(event, change);
      }
      return;
    case QueueState::kActive:
      Sort([&] { active_.Fix(*entry); });
      break;
    case QueueState::kBackoff:
      Sort([&] { backoff_.Fix(*entry); });
      break;
    default:
      break;
  }
  Reindex(*entry);
  AskAboutOwnUpdate(*entry, change);
  if (entry->is_group) RecheckGroup(*entry);
}

// kube-scheduler v1.35 PriorityQueue.Update: the plugins that rejected the pod, or the one that
// gates it, say whether the update helps.
void SchedulingQueue::AskAboutOwnUpdate(Entry& entry, const ObjectChange& change) {
  const QueueState before = entry.state;
  for (const ClusterEvent& event : PodChangeEvents(*change.old_pod, *change.new_pod)) {
    OnEvent(entry, event, change);
    if (entry.state != before) return;
  }
}

void SchedulingQueue::Delete(UidRef pod) {
  Entry* const entry = FindEntryOf(pod);
  if (entry == nullptr) return;
  if (entry->is_group) ApplyPendingEvents(*entry);  // the pod was there when it happened
  const bool was_lead = entry->lead.pod != nullptr && pod.Means(*entry->lead.pod->identity());
  RemoveMember(*entry, pod);
  if (entry->state == QueueState::kInFlight) return;
  if (entry->members.empty() && entry->gated_members.empty()) return Erase(*entry);
  if (entry->members.empty()) {
    Requeue(*entry, Strategy::kAfterBackoff, Gates::kGroupOnly);
  } else if (was_lead &&
             (entry->state == QueueState::kActive || entry->state == QueueState::kBackoff)) {
    Attach(*entry, entry->state);
  } else {
    Reindex(*entry);
  }
  RecheckGroup(*entry);
}

void SchedulingQueue::Placed(const QueuedGroup* in_flight, UidRef pod) {
  if (Entry* const entry = InFlight(in_flight); entry != nullptr) RemoveMember(*entry, pod);
}

void SchedulingQueue::Unlist(Entry& entry, UidRef pod) {
  if (entry.is_group) {
    group_of_.Erase(pod);
  } else {
    entry.is_taken = false;
  }
}

void SchedulingQueue::RemoveMember(Entry& entry, UidRef pod) {
  for (std::vector<PendingPod>* members : {&entry.members, &entry.gated_members}) {
    const auto it = FindMember(*members, pod);
    if (it == members->end()) continue;
    Unlist(entry, pod);
    members->erase(it);
    return;
  }
}

bool SchedulingQueue::Resume(const QueuedGroup* in_flight) {
  Entry* const entry = InFlight(in_flight);
  if (entry == nullptr) return false;
  log_.ForEachSince(entry->first_event, [&](const ClusterEvent& event, const ObjectChange& change) {
    entry->changed_in_flight |= IsWildcard(event) && IsAbout(change, *entry);
    return true;
  });
  entry->first_event = log_.end();
  log_.PruneBefore(in_flight_.front()->first_event);
  return !entry->members.empty() && absl::c_all_of(entry->members, [&](const PendingPod& member) {
    return KeyOf(*member.pod, member.group) == entry->key;
  });
}

// Takes out the members that an update in flight made members of another entry.
std::vector<PendingPod> SchedulingQueue::TakeStrayMembers(Entry& entry) {
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

// The first member in order of creation leads, and the entry is sorted by it.
void SchedulingQueue::SetLead(Entry& entry) {
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
  const std::optional<GroupSpec> spec = SpecOf(entry);
  if (spec.has_value()) entry.lead.group_timestamp = spec->creation_time;
}

}  // namespace berth
