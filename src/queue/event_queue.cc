// SPDX-License-Identifier: Apache-2.0
// Implementation of event_queue.h.
#include "queue/event_queue.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "berth/api/resource_v1.pb.h"

namespace berth {
namespace {

constexpr int64_t kStepsOfMove = 4;
// In the role of a class (HintClass::Key); no plugin has it as its id.
constexpr uint32_t kTakesTurns = std::numeric_limits<uint32_t>::max();
// At most this many events are unfinished, even if Tick() is not called.
constexpr size_t kMostEvents = 64;

// Whether the answer of the class to the event of that number holds for this entry, too. `own`, if
// any, is the entry of the pod that changed.
bool IsPutTo(const HintClass::Waiting& waiting, uint64_t number, const QueueEntry* own) {
  return waiting.entry != own && waiting.since <= number;
}

}  // namespace

bool EventQueue::Put(const ClusterEvent& event, const ObjectChange& change,
                     const EventScope& scope) {
  if (event.resource.type == EventResource::kNode) turns_.NodeChanged();
  const absl::Span<const PluginSlot> interested = table_.Interested(event);
  if (interested.empty() || !table_.PassesFilter(interested, event, change)) return false;
  if (hint_classes_.empty()) return true;
  Question question{event, change, scope, interested};
  question.pod_left = scope.IsAll() && IsPodLeaving(event, change);
  Put(question);
  return true;
}

bool EventQueue::Continue() {
  const bool any_requeued = !requeuing_.empty();
  if (RequeueSome()) return true;
  if (has_pending() && !any_requeued) HandlePendingEvents();
  return !requeuing_.empty();
}

// As much of it as one step may do, if no other event is unfinished.
void EventQueue::Put(Question question) {
  while (pending_events_.size() >= kMostEvents) HandlePendingEvents();
  question.number = next_event_++;
  if (has_pending() || !Ask(question, limits_.hints)) pending_events_.emplace_back(question);
}

// Asks the hints for the next classes, `most` at most, and requeues. Returns whether all classes
// have been asked.
bool EventQueue::Ask(Question& question, size_t most) {
  if (question.pod_left && !std::exchange(question.has_begun, true)) {
    ++steps_;
    turns_.PodLeft(Symbol::Intern(question.change.old_pod->node_name()),
                   Symbol::Intern(question.event.label));
  }
  QueueEntry* const own = OwnEntry(question.change);
  const std::vector<HintClass*> classes = ClassesToAsk(question, own, most + 1);
  if (classes.empty()) return true;
  Answers answers;
  size_t asked = 0;
  for (const size_t end = std::min(classes.size(), most);
       asked < end && answers.entries.size() < limits_.moves; ++asked) {
    AskClass(*classes[asked], question, own, answers);
  }
  question.next_class = classes[asked - 1]->number + 1;
  const bool all_asked = asked == classes.size();
  Act(std::move(answers), question, own);
  return all_asked;
}

// Where a plugin has an index, only the classes that are found under a value of the change. The pod
// that changed is asked in any case: its class is looked for in all.
std::vector<HintClass*> EventQueue::ClassesToAsk(const Question& question, const QueueEntry* own,
                                                 size_t most) {
  const bool any_takes_turns = !question.pod_left && !turns_.empty();
  const bool uses_indexes = own == nullptr || own->hint_class == nullptr;
  absl::InlinedVector<PluginSlot, 16> slots;
  absl::InlinedVector<IndexKey, 16> index_keys;
  const auto add = [&](PluginSlot slot, bool is_indexed) {
    if (!hint_classes_.AnyWaitsFor(slot)) return;
    if (!is_indexed) return slots.push_back(slot);
    index_keys.push_back({slot});
    for (const uint64_t value : values_) index_keys.push_back({slot, value});
  };
  for (const PluginSlot slot : question.interested) {
    const PluginSlot of_turns = slot + SlotsOfAll();
    if (!hint_classes_.AnyWaitsFor(slot) && !hint_classes_.AnyWaitsFor(of_turns)) continue;
    values_.clear();
    const IndexedHints* const index = uses_indexes ? table_.IndexOf(slot) : nullptr;
    const bool is_indexed = index != nullptr && !IsWildcard(question.event) &&
                            index->IndexChange(question.change, values_);
    add(slot, is_indexed);
    if (any_takes_turns) add(of_turns, is_indexed);
  }
  return hint_classes_.WaitingFor(slots, index_keys, question.next_class, most);
}

// By the entry's pod, if that is all that is asked about; otherwise it is asked about every change.
std::vector<IndexKey> EventQueue::FindIndexKeys(const QueueEntry& entry,
                                                absl::Span<const PluginSlot> slots) const {
  std::vector<IndexKey> index_keys;
  const bool is_one_pod =
      entry.state == QueueState::kUnschedulable && !entry.is_group && entry.gated_members.empty();
  for (const PluginSlot slot : slots) {
    const IndexedHints* const index = table_.IndexOf(slot % SlotsOfAll());
    if (index == nullptr) continue;
    std::vector<uint64_t> values;
    if (!is_one_pod || !index->IndexPod(*entry.AnyMember().pod, values)) {
      index_keys.push_back({slot});
      continue;
    }
    absl::c_sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    for (const uint64_t value : values) index_keys.push_back({slot, value});
  }
  return index_keys;
}

// The entry of the pod that changed, or whose own claim did; null if there is none.
QueueEntry* EventQueue::OwnEntry(const ObjectChange& change) {
  const std::shared_ptr<const PodInfo>& pod =
      change.new_pod != nullptr ? change.new_pod : change.old_pod;
  if (pod != nullptr) return entries_.FindByPod(*pod->identity());
  const Object* const object = change.new_object != nullptr ? change.new_object : change.old_object;
  if (object == nullptr || object->kind() != Kind::kResourceClaim) return nullptr;
  for (const api::OwnerReference& owner :
       object->As<api::ResourceClaim>().metadata().owner_references()) {
    if (owner.controller()) return entries_.FindByPod(owner.uid());
  }
  return nullptr;
}

// Asks for one entry of the class, unless all of them began to wait after the event.
void EventQueue::AskClass(HintClass& hint_class, const Question& question, QueueEntry* own,
                          Answers& answers) {
  ++steps_;
  // Hints may answer differently for the pod that changed.
  const bool has_own = own != nullptr && own->hint_class == &hint_class &&
                       hint_class.entries.Find(own->sequence_in_class).since <= question.number;
  if (has_own && IsMeant(*own, question, own)) answers.entries.push_back({own, std::nullopt});
  const auto* const another = hint_class.entries.FindIf(
      [&](const HintClass::Waiting& waiting) { return IsPutTo(waiting, question.number, own); });
  if (another == nullptr || !IsMeant(*another->entry, question, own)) return;
  const QueueEntry& asked = *another->entry;
  std::optional<RequeueStrategy> strategy;
  if (asked.state == QueueState::kUnschedulable && asked.gated_members.empty()) {
    strategy = hints_.WorthRequeuing(asked, question.event, question.change);
  }
  if (strategy.has_value() ? *strategy == RequeueStrategy::kSkip
                           : !hints_.MayConcern(asked, question.event, question.change)) {
    return;
  }
  if (asked.is_group && !strategy.has_value()) {
    answers.entries.push_back({another->entry, strategy});
  } else {
    answers.classes.push_back({&hint_class, strategy});
    answers.of_classes += hint_class.entries.size();
  }
}

bool EventQueue::IsMeant(const QueueEntry& entry, const Question& question,
                         const QueueEntry* own) const {
  const EventScope& scope = question.scope;
  if (!scope.except_group.empty() && entry.is_group && entry.name == scope.except_group) {
    return false;
  }
  if (scope.IsAll()) return true;
  const auto is_one = [&](const PendingPod& member) {
    return member.pod->priority() <= scope.highest_priority &&
           (scope.own || &entry != own || !QueueingHints::IsOwn(question.change, *member.pod));
  };
  return absl::c_any_of(entry.members, is_one) || absl::c_any_of(entry.gated_members, is_one);
}

// Continues with unfinished events. Returns whether there still are any.
bool EventQueue::HandlePendingEvents() {
  const int64_t enough = steps_ + static_cast<int64_t>(limits_.hints);
  while (!pending_events_.empty() && steps_ < enough) {
    if (Ask(pending_events_.front().question, static_cast<size_t>(enough - steps_)))
      pending_events_.pop_front();
  }
  return !pending_events_.empty();
}

// The number of the first event that has not been put to the entry; the next event's, if there is
// none.
uint64_t EventQueue::FirstPendingEvent(const QueueEntry& entry) const {
  const HintClass* const hint_class = entry.hint_class;
  if (pending_events_.empty() || hint_class == nullptr || !hint_class->is_indexed)
    return next_event_;
  const Question& first = pending_events_.front().question;
  return std::max(hint_class->entries.Find(entry.sequence_in_class).since,
                  hint_class->number < first.next_class ? first.number + 1 : first.number);
}

// The entry is about to change: puts earlier events to it first.
void EventQueue::ApplyPendingEvents(QueueEntry& entry) {
  const uint64_t unasked = FirstPendingEvent(entry);
  if (unasked == next_event_) return;
  const QueueState before = entry.state;
  for (const PendingEvent& asking : pending_events_) {
    const Question& question = asking.question;
    if (question.number < unasked || !IsMeant(entry, question, OwnEntry(question.change))) continue;
    listener_.OnEvent(entry, question.event, question.change);
    if (entry.state != before || entry.hint_class == nullptr) return;
  }
  hint_classes_.SetSince(entry, next_event_);
}

// --- Moving ---

void EventQueue::Act(Answers answers, const Question& question, const QueueEntry* own) {
  std::vector<Concerned>& entries = answers.entries;
  if (entries.size() + answers.of_classes > limits_.moves) {
    BeginToRequeue(answers, question, own);
    RequeueSome();
  } else {
    for (const auto& [hint_class, strategy] : answers.classes) {
      hint_class->entries.ForEach([&, strategy = strategy](const HintClass::Waiting& waiting) {
        if (IsPutTo(waiting, question.number, own)) entries.push_back({waiting.entry, strategy});
      });
    }
  }
  if (!entries.empty()) Move(std::move(entries), question);
}

void EventQueue::Move(std::vector<Concerned> entries, const Question& question) {
  // In the order in which they began to wait.
  absl::c_sort(entries, [](const Concerned& a, const Concerned& b) {
    return a.entry->sequence < b.entry->sequence;
  });
  const Symbol label = Symbol::Intern(question.event.label);
  steps_ += kStepsOfMove * static_cast<int64_t>(entries.size());
  for (const auto& [entry, strategy] : entries) {
    if (strategy.has_value()) {
      listener_.RequeueOne(*entry, label, strategy);
    } else {
      listener_.OnEvent(*entry, question.event, question.change);
    }
  }
}

// They are very many, and are requeued in steps: those of the highest priority first, as they are
// tried first wherever priorities count.
void EventQueue::BeginToRequeue(const Answers& answers, const Question& question,
                                const QueueEntry* own) {
  const Symbol label = Symbol::Intern(question.event.label);
  const auto begun = static_cast<std::ptrdiff_t>(requeuing_.size());
  const auto stays = [&](const HintClass::Waiting& waiting) {
    return !IsPutTo(waiting, question.number, own);
  };
  for (const auto& [hint_class, strategy] : answers.classes) {
    requeuing_.push_back({hint_classes_.TakeOut(*hint_class, stays), label, strategy});
  }
  const auto matters_more = [](const Requeuing& a, const Requeuing& b) {
    return a.hint_class->priority > b.hint_class->priority;
  };
  std::stable_sort(requeuing_.begin() + begun, requeuing_.end(), matters_more);
  std::inplace_merge(requeuing_.begin(), requeuing_.begin() + begun, requeuing_.end(),
                     matters_more);
}

// Returns whether some are left.
bool EventQueue::RequeueSome() {
  for (size_t left = limits_.moves; !requeuing_.empty();) {
    const Requeuing& next = requeuing_.front();
    if (next.hint_class->entries.empty()) {
      requeuing_.pop_front();
      continue;
    }
    if (left-- == 0) return true;
    steps_ += kStepsOfMove;
    QueueEntry& entry = *next.hint_class->entries.front().entry;
    hint_classes_.Remove(entry);
    listener_.RequeueOne(entry, next.event, next.strategy);
  }
  return false;
}

// --- The index ---

void EventQueue::Reindex(QueueEntry& entry) {
  const bool waits = entry.state == QueueState::kUnschedulable || entry.state == QueueState::kGated;
  if (waits) turns_.EndTurn(entry);
  // It is to be requeued, whatever becomes of it until it moves.
  const bool is_waking = entry.hint_class != nullptr && !entry.hint_class->is_indexed;
  if (is_waking && waits) return;
  if (!waits && entry.gated_members.empty()) return hint_classes_.Remove(entry);
  absl::InlinedVector<PluginSlot, 8> slots;
  HintClass::Key key;
  bool hints_read_spec_only = true;  // all that may be asked about it
  const auto note = [&](Symbol plugin, bool waits_for_it) {
    const PluginSlot slot = table_.FindSlot(entry.profile, plugin);
    hints_read_spec_only &= table_.HintsReadSpecOnly(slot);
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
  if (slots.empty()) {
    if (!unschedulable) return hint_classes_.Remove(entry);
    slots.push_back(table_.unregistered());
  }
  const bool takes_turns = unschedulable && turns_.Join(entry);
  if (takes_turns) {
    key.role.push_back(kTakesTurns);
    for (PluginSlot& slot : slots) slot += SlotsOfAll();
  }
  // Entries that waiting events concern may be of a class that was asked about them already: it
  // becomes one of its own, which is asked when all others have been.
  const uint64_t since = FirstPendingEvent(entry);
  key.who = entry.AnyMember().pod->shared_spec().get();
  const bool is_unasked = since < next_event_ && !(entry.hint_class->key == key);
  if (!hints_read_spec_only || entry.is_group || is_unasked) {
    // Where it is found goes by its spec (FindIndexKeys).
    const auto spec = reinterpret_cast<uintptr_t>(std::exchange(key.who, &entry));
    key.role.push_back(static_cast<uint32_t>(spec));
    key.role.push_back(static_cast<uint32_t>(uint64_t{spec} >> 32));
  }
  hint_classes_.Set(
      entry, std::move(key), slots, [&] { return FindIndexKeys(entry, slots); }, since);
}

absl::Status EventQueue::CheckInvariants(size_t waiting) const {
  for (const Requeuing& waking : requeuing_) waiting -= waking.hint_class->entries.size();
  if (!hint_classes_.IsConsistent(waiting, next_event_)) {
    return absl::InvalidArgumentError("the entries that wait for events are out of step");
  }
  for (size_t i = 0; i < pending_events_.size(); ++i) {
    const Question& question = pending_events_[i].question;
    if (question.number + pending_events_.size() - i != next_event_) {
      return absl::InvalidArgumentError("an event is missing");
    }
    if (i > 0 && question.next_class > 0) {
      return absl::InvalidArgumentError("an event is asked about out of turn");
    }
  }
  return absl::OkStatus();
}

}  // namespace berth
