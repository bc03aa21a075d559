// Which waiting entries an event of the cluster concerns, and where it sends them.
#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "queue/change_events.h"
#include "queue/scheduling_queue.h"

namespace berth {
namespace {

constexpr int64_t kStepsOfMove = 4;

}  // namespace

void SchedulingQueue::MoveAllOnEvent(const ClusterEvent& event, const ObjectChange& change,
                                     const EventScope& scope) {
  const absl::Span<const PluginSlot> interested = table_.Interested(event);
  if (interested.empty() && !IsWildcard(event)) return;
  if (!waiting_kinds_.empty() || IsWildcard(event)) WakeOnEvent(interested, event, change, scope);
  Record(event, change);
}

void SchedulingQueue::WakeOnEvent(absl::Span<const PluginSlot> interested,
                                  const ClusterEvent& event, const ObjectChange& change,
                                  const EventScope& scope) {
  std::vector<Concerned> waiting;
  std::vector<WaitingKind*> whole_kinds;
  size_t of_whole_kinds = 0;
  Entry* const own = OwnEntry(change);
  const auto is_meant = [&](const Entry& entry) {
    const auto is_one = [&](const PendingPod& member) {
      return member.pod->priority() <= scope.highest_priority &&
             (scope.own || &entry != own || !IsOwn(change, *member.pod));
    };
    return absl::c_any_of(entry.members, is_one) || absl::c_any_of(entry.gated_members, is_one);
  };
  for (WaitingKind* const kind : waiting_kinds_.WaitingFor(interested)) {
    ++steps_;
    // What the change is of may be another matter to its own pod.
    const bool own_is_first = kind->entries.front().entry == own;
    const Entry& asked = *kind->entries[own_is_first && kind->entries.size() > 1 ? 1 : 0].entry;
    const bool has_own = own != nullptr && own->kind == kind;
    if (has_own && is_meant(*own)) waiting.push_back({own, std::nullopt});
    if (&asked == own || !is_meant(asked)) continue;
    std::optional<Strategy> strategy;
    if (asked.state == QueueState::kUnschedulable && asked.gated_members.empty()) {
      strategy = WorthRequeuing(asked, event, change);
    }
    if (strategy.has_value() ? *strategy == Strategy::kSkip : !MayConcern(asked, event, change)) {
      continue;
    }
    if (strategy == Strategy::kAfterBackoff && asked.pending_plugins.empty() && !has_own) {
      whole_kinds.push_back(kind);
      of_whole_kinds += kind->entries.size();
      continue;
    }
    for (const WaitingKind::Waiting& of_kind : kind->entries) {
      if (of_kind.entry != own) waiting.push_back({of_kind.entry, strategy});
    }
  }
  if (of_whole_kinds > options_.most_moves_at_once) {
    BeginToWake(whole_kinds, Symbol::Intern(event.label));
    MoveSome();
  } else {
    for (const WaitingKind* const kind : whole_kinds) {
      for (const WaitingKind::Waiting& of_kind : kind->entries) {
        waiting.push_back({of_kind.entry, Strategy::kAfterBackoff});
      }
    }
  }
  if (IsWildcard(event)) {
    unschedulable_.ForEach([&](Entry& entry) {
      if (is_meant(entry)) waiting.push_back({&entry, std::nullopt});
    });
  }
  if (!waiting.empty()) Move(std::move(waiting), event, change);
}

void SchedulingQueue::Move(std::vector<Concerned> waiting, const ClusterEvent& event,
                           const ObjectChange& change) {
  // In the order in which they began to wait.
  absl::c_sort(waiting, [](const Concerned& a, const Concerned& b) {
    return a.entry->sequence < b.entry->sequence;
  });
  const auto same = [](const Concerned& a, const Concerned& b) { return a.entry == b.entry; };
  waiting.erase(std::unique(waiting.begin(), waiting.end(), same), waiting.end());
  const Symbol label = Symbol::Intern(event.label);
  steps_ += kStepsOfMove * static_cast<int64_t>(waiting.size());
  for (const auto& [entry, strategy] : waiting) {
    if (strategy.has_value()) {
      Wake(*entry, label, *strategy);
    } else {
      OnEvent(*entry, event, change);
    }
  }
}

// They are very many, and are woken bit by bit: those of the highest priority first, as they are
// tried first wherever priorities count.
void SchedulingQueue::BeginToWake(absl::Span<WaitingKind* const> kinds, Symbol event) {
  const auto begun = static_cast<std::ptrdiff_t>(waking_.size());
  for (WaitingKind* const kind : kinds) {
    // The last one is woken first.
    absl::c_sort(kind->entries, [](const WaitingKind::Waiting& a, const WaitingKind::Waiting& b) {
      return a.sequence > b.sequence;
    });
    for (size_t i = 0; i < kind->entries.size(); ++i) kind->entries[i].entry->place_in_kind = i;
    waking_.push_back({waiting_kinds_.TakeOut(*kind), event});
  }
  const auto matters_more = [](const Waking& a, const Waking& b) {
    return a.kind->priority > b.kind->priority;
  };
  std::stable_sort(waking_.begin() + begun, waking_.end(), matters_more);
  std::inplace_merge(waking_.begin(), waking_.begin() + begun, waking_.end(), matters_more);
}

// Returns whether some are left.
bool SchedulingQueue::MoveSome() {
  for (size_t left = options_.most_moves_at_once; !waking_.empty();) {
    const Waking& next = waking_.front();
    if (next.kind->entries.empty()) {
      waking_.pop_front();
      continue;
    }
    if (left-- == 0) return true;
    steps_ += kStepsOfMove;
    Wake(*next.kind->entries.back().entry, next.event, Strategy::kAfterBackoff);
  }
  return false;
}

void SchedulingQueue::Activate(absl::Span<const std::shared_ptr<const PodInfo>> pods) {
  for (const std::shared_ptr<const PodInfo>& pod : pods) {
    Entry* const entry = FindEntryOf(*pod->identity());
    if (entry == nullptr) continue;
    switch (entry->state) {
      case QueueState::kActive:
        break;
      case QueueState::kInFlight:
        Record(ForceActivate(), {.new_pod = pod});
        break;
      case QueueState::kBackoff:
      case QueueState::kErrorBackoff:
        MoveToActive(*entry, Gates::kSkip);
        break;
      case QueueState::kUnschedulable:
      case QueueState::kGated:
        MoveToActive(*entry, Gates::kAll);
        break;
    }
  }
}

void SchedulingQueue::Record(const ClusterEvent& event, const ObjectChange& change) {
  if (!in_flight_.empty()) log_.Append(event, change);
}

// kube-scheduler v1.35 PriorityQueue.isPodWorthRequeuing. Hints of a group are asked about the
// members that plugins rejected; an update of a member about that one alone.
SchedulingQueue::Strategy SchedulingQueue::WorthRequeuing(const Entry& entry,
                                                          const ClusterEvent& event,
                                                          const ObjectChange& change) const {
  if (entry.unschedulable_plugins.empty() && entry.pending_plugins.empty()) {
    return Strategy::kAfterBackoff;
  }
  const bool about_member = IsAbout(change, entry);
  if (IsWildcard(event)) {
    const bool about_one =
        change.new_pod != nullptr || change.new_node != nullptr || change.new_object != nullptr;
    return about_one && !about_member ? Strategy::kSkip : Strategy::kAfterBackoff;
  }
  const bool any_marked = std::any_of(entry.members.begin(), entry.members.end(),
                                      [](const PendingPod& member) { return member.rejected; });
  const auto wants = [&](Symbol plugin) {
    const PluginSlot slot = table_.FindSlot(entry.profile, plugin);
    if (!table_.IsInterested(slot, event)) return false;
    return std::any_of(entry.members.begin(), entry.members.end(), [&](const PendingPod& member) {
      const bool asked = about_member ? member.pod->uid() == change.new_pod->uid()
                                      : member.rejected || !any_marked;
      return asked && table_.Hint(slot, event, change, *member.pod);
    });
  };
  if (std::any_of(entry.pending_plugins.begin(), entry.pending_plugins.end(), wants)) {
    return Strategy::kImmediately;
  }
  return std::any_of(entry.unschedulable_plugins.begin(), entry.unschedulable_plugins.end(), wants)
             ? Strategy::kAfterBackoff
             : Strategy::kSkip;
}

// The same for everything that happened since Pop().
SchedulingQueue::Strategy SchedulingQueue::WorthAfterFlight(const Entry& entry) const {
  if (entry.unschedulable_plugins.empty() && entry.pending_plugins.empty()) {
    return Strategy::kAfterBackoff;
  }
  Strategy best = entry.changed_in_flight ? Strategy::kAfterBackoff : Strategy::kSkip;
  log_.ForEachSince(entry.first_event, [&](const ClusterEvent& event, const ObjectChange& change) {
    best = std::max(best, WorthRequeuing(entry, event, change));
    return best != Strategy::kImmediately &&
           (best == Strategy::kSkip || !entry.pending_plugins.empty());
  });
  return best;
}

// A pod that was tried and then gated waits for the plugins that rejected it too. kube-scheduler
// v1.35 counts the gating plugin among them; its registration alone decides which events are looked
// at.
bool SchedulingQueue::AnyRejectorWants(const Entry& entry, const ClusterEvent& event,
                                       const ObjectChange& change, const PodInfo& pod) const {
  const auto wants = [&](Symbol plugin) {
    return table_.Hint(table_.FindSlot(entry.profile, plugin), event, change, pod);
  };
  return std::any_of(entry.unschedulable_plugins.begin(), entry.unschedulable_plugins.end(),
                     wants) ||
         std::any_of(entry.pending_plugins.begin(), entry.pending_plugins.end(), wants);
}

// Whether the change is that of the pod.
bool SchedulingQueue::IsOwn(const ObjectChange& change, const PodInfo& pod) {
  const PodInfo* const changed =
      change.new_pod != nullptr ? change.new_pod.get() : change.old_pod.get();
  return changed != nullptr && changed->uid() == pod.uid();
}

bool SchedulingQueue::IsAbout(const ObjectChange& change, const Entry& entry) const {
  return change.new_pod != nullptr && FindEntryOf(*change.new_pod->identity()) == &entry;
}

// The entry of the pod that changed; null if there is none.
QueuedGroup* SchedulingQueue::OwnEntry(const ObjectChange& change) {
  const std::shared_ptr<const PodInfo>& pod =
      change.new_pod != nullptr ? change.new_pod : change.old_pod;
  return pod == nullptr ? nullptr : FindEntryOf(*pod->identity());
}

// Whether its gate is to be asked about a gated member.
bool SchedulingQueue::MayOpenGate(const Entry& entry, const PendingPod& member,
                                  const ClusterEvent& event, const ObjectChange& change) const {
  const PluginSlot slot = table_.FindSlot(entry.profile, member.status.plugin_symbol());
  if (IsAbout(change, entry)) {
    if (member.pod->uid() != change.new_pod->uid()) return false;
    if (slot < 0) return true;  // nothing else would ever ask again
  }
  if (!table_.IsInterested(slot, event)) return false;
  return table_.Hint(slot, event, change, *member.pod) ||
         AnyRejectorWants(entry, event, change, *member.pod);
}

bool SchedulingQueue::GatingPluginWants(const Entry& entry, const ClusterEvent& event,
                                        const ObjectChange& change) const {
  const PluginSlot slot = table_.FindSlot(entry.profile, entry.gating_plugin);
  return !entry.members.empty() && table_.Hint(slot, event, change, *entry.members.front().pod);
}

// It is unschedulable, and worth to be tried again.
void SchedulingQueue::Wake(Entry& entry, Symbol event, Strategy strategy) {
  entry.woken_by = event;
  Requeue(entry, strategy, Gates::kAll);
}

// Whether OnEvent() might do anything for an entry that waits.
bool SchedulingQueue::MayConcern(const Entry& entry, const ClusterEvent& event,
                                 const ObjectChange& change) const {
  if (std::any_of(
          entry.gated_members.begin(), entry.gated_members.end(),
          [&](const PendingPod& member) { return MayOpenGate(entry, member, event, change); })) {
    return true;
  }
  if (entry.state == QueueState::kGated) return GatingPluginWants(entry, event, change);
  return entry.state == QueueState::kUnschedulable &&
         WorthRequeuing(entry, event, change) != Strategy::kSkip;
}

// An event that some plugin registered that the entry waits for.
void SchedulingQueue::OnEvent(Entry& entry, const ClusterEvent& event, const ObjectChange& change) {
  const bool opened = OpenGates(
      entry, [&](const PendingPod& member) { return MayOpenGate(entry, member, event, change); });
  switch (entry.state) {
    case QueueState::kUnschedulable: {
      Strategy strategy = WorthRequeuing(entry, event, change);
      if (opened) strategy = std::max(strategy, Strategy::kAfterBackoff);
      if (strategy == Strategy::kSkip) return Reindex(entry);
      return Wake(entry, Symbol::Intern(event.label), strategy);
    }
    case QueueState::kGated:
      if (opened || GatingPluginWants(entry, event, change)) {
        entry.woken_by = Symbol::Intern(event.label);
        Requeue(entry, Strategy::kAfterBackoff, Gates::kGroupOnly);
      } else {
        Reindex(entry);  // another plugin may gate a member now
      }
      return;
    case QueueState::kActive:
    case QueueState::kBackoff:
    case QueueState::kErrorBackoff:
    case QueueState::kInFlight:
      Reindex(entry);
  }
}

// Keeps the index of who waits for whose events in step with what the entry waits for.
void SchedulingQueue::Reindex(Entry& entry) {
  // It was woken, whatever becomes of it until it moves.
  const bool is_waking = entry.kind != nullptr && !entry.kind->is_indexed;
  if (is_waking && entry.state == QueueState::kUnschedulable) return;
  const bool waits = entry.state == QueueState::kUnschedulable || entry.state == QueueState::kGated;
  if (!waits && entry.gated_members.empty()) return waiting_kinds_.Remove(entry);
  absl::InlinedVector<PluginSlot, 8> slots;
  WaitingKind::Key key;
  bool think_alike = true;  // all that may be asked about it
  const auto note = [&](Symbol plugin, bool waits_for_it) {
    const PluginSlot slot = table_.FindSlot(entry.profile, plugin);
    think_alike &= table_.ThinksAlike(slot);
    key.role.push_back(plugin.id());
    if (waits_for_it && slot >= 0 && !absl::c_linear_search(slots, slot)) slots.push_back(slot);
  };
  const bool in_flight = entry.state == QueueState::kInFlight;
  const bool unschedulable = entry.state == QueueState::kUnschedulable;
  key.role = {entry.profile.id(), static_cast<uint32_t>(entry.state),
              static_cast<uint32_t>(entry.gated_members.size()),
              static_cast<uint32_t>(entry.unschedulable_plugins.size())};
  for (const PendingPod& member : entry.gated_members) {
    note(member.status.plugin_symbol(), !in_flight);
  }
  if (entry.state == QueueState::kGated) note(entry.gating_plugin, true);
  for (const Symbol plugin : entry.unschedulable_plugins) note(plugin, unschedulable);
  for (const Symbol plugin : entry.pending_plugins) note(plugin, unschedulable);
  if (slots.empty()) return waiting_kinds_.Remove(entry);
  if (think_alike && !entry.is_group) {
    key.who = entry.AnyMember().pod->shared_spec().get();
  } else {
    key.who = &entry;
  }
  waiting_kinds_.Set(entry, std::move(key), slots);
}

}  // namespace berth
