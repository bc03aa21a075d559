// SPDX-License-Identifier: Apache-2.0
// Puts events to the plugins' queueing hints and requeues entries: in steps where they are many.
#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "queue/scheduling_queue.h"

namespace berth {
namespace {

constexpr int64_t kStepsOfMove = 4;
// At most this many events are unfinished, even if Tick() is not called.
constexpr size_t kMostEvents = 64;

// Whether the answer of the class to the event of that number holds for this entry, too. `own`, if
// any, is the entry of the pod that changed.
bool IsPutTo(const HintClass::Waiting& waiting, uint64_t number, const QueuedGroup* own) {
  return waiting.entry != own && waiting.since <= number;
}

}  // namespace

// --- Asking ---

void SchedulingQueue::MoveAllOnEvent(const ClusterEvent& event, const ObjectChange& change,
                                     const EventScope& scope) {
  const absl::Span<const PluginSlot> interested = table_.Interested(event);
  if (interested.empty()) return;
  if (!hint_classes_.empty()) Put({event, change, scope, interested});
  Record(event, change);
}

// As much of it as one step may do, if no other event is unfinished.
void SchedulingQueue::Put(Question question) {
  while (pending_events_.size() >= kMostEvents) HandlePendingEvents();
  question.number = next_event_++;
  if (has_pending_events() || !Ask(question, options_.max_hints_per_tick))
    pending_events_.emplace_back(question);
}

// Asks the hints for the next classes, `most` at most, and requeues. Returns whether all classes
// have been asked.
bool SchedulingQueue::Ask(Question& question, size_t most) {
  const std::vector<HintClass*> kinds =
      hint_classes_.WaitingFor(question.interested, question.next_class, most + 1);
  if (kinds.empty()) return true;
  Entry* const own = OwnEntry(question.change);
  Answers answers;
  size_t asked = 0;
  for (const size_t end = std::min(kinds.size(), most);
       asked < end && answers.entries.size() < options_.max_moves_per_tick; ++asked) {
    AskClass(*kinds[asked], question, own, answers);
  }
  question.next_class = kinds[asked - 1]->number + 1;
  const bool all_asked = asked == kinds.size();
  Act(std::move(answers), question, own);
  return all_asked;
}

// Asks for one entry of the class, unless all of them began to wait after the event.
void SchedulingQueue::AskClass(HintClass& kind, const Question& question, Entry* own,
                               Answers& answers) {
  ++steps_;
  // Hints may answer differently for the pod that changed.
  const bool has_own = own != nullptr && own->kind == &kind &&
                       kind.entries.Find(own->sequence_in_class).since <= question.number;
  if (has_own && IsMeant(*own, question, own)) answers.entries.push_back({own, std::nullopt});
  const auto* const another = kind.entries.FindIf(
      [&](const HintClass::Waiting& waiting) { return IsPutTo(waiting, question.number, own); });
  if (another == nullptr || !IsMeant(*another->entry, question, own)) return;
  const Entry& asked = *another->entry;
  std::optional<Strategy> strategy;
  if (asked.state == QueueState::kUnschedulable && asked.gated_members.empty()) {
    strategy = WorthRequeuing(asked, question.event, question.change);
  }
  if (strategy.has_value() ? *strategy == Strategy::kSkip
                           : !MayConcern(asked, question.event, question.change)) {
    return;
  }
  if (asked.is_group && !strategy.has_value()) {
    answers.entries.push_back({another->entry, strategy});
  } else {
    answers.kinds.push_back({&kind, strategy});
    answers.of_classes += kind.entries.size();
  }
}

bool SchedulingQueue::IsMeant(const Entry& entry, const Question& question,
                              const Entry* own) const {
  const EventScope& scope = question.scope;
  if (scope.IsAll()) return true;
  const auto is_one = [&](const PendingPod& member) {
    return member.pod->priority() <= scope.highest_priority &&
           (scope.own || &entry != own || !IsOwn(question.change, *member.pod));
  };
  return absl::c_any_of(entry.members, is_one) || absl::c_any_of(entry.gated_members, is_one);
}

// Continues with unfinished events. Returns whether there still are any.
bool SchedulingQueue::HandlePendingEvents() {
  const int64_t enough = steps_ + static_cast<int64_t>(options_.max_hints_per_tick);
  while (!pending_events_.empty() && steps_ < enough) {
    if (Ask(pending_events_.front().question, static_cast<size_t>(enough - steps_)))
      pending_events_.pop_front();
  }
  return !pending_events_.empty();
}

// The number of the first event that has not been put to the entry; the next event's, if there is
// none.
uint64_t SchedulingQueue::FirstPendingEvent(const Entry& entry) const {
  const HintClass* const kind = entry.kind;
  if (pending_events_.empty() || kind == nullptr || !kind->is_indexed) return next_event_;
  const Question& first = pending_events_.front().question;
  return std::max(kind->entries.Find(entry.sequence_in_class).since,
                  kind->number < first.next_class ? first.number + 1 : first.number);
}

// The entry is about to change: puts earlier events to it first.
void SchedulingQueue::ApplyPendingEvents(Entry& entry) {
  const uint64_t unasked = FirstPendingEvent(entry);
  if (unasked == next_event_) return;
  const QueueState before = entry.state;
  for (const PendingEvent& asking : pending_events_) {
    const Question& question = asking.question;
    if (question.number < unasked || !IsMeant(entry, question, OwnEntry(question.change))) continue;
    OnEvent(entry, question.event, question.change);
    if (entry.state != before || entry.kind == nullptr) return;
  }
  hint_classes_.SetSince(entry, next_event_);
}

// --- Moving ---

void SchedulingQueue::Act(Answers answers, const Question& question, const Entry* own) {
  std::vector<Concerned>& entries = answers.entries;
  if (entries.size() + answers.of_classes > options_.max_moves_per_tick) {
    BeginToRequeue(answers, question, own);
    RequeueSome();
  } else {
    for (const auto& [kind, strategy] : answers.kinds) {
      kind->entries.ForEach([&, strategy = strategy](const HintClass::Waiting& waiting) {
        if (IsPutTo(waiting, question.number, own)) entries.push_back({waiting.entry, strategy});
      });
    }
  }
  if (!entries.empty()) Move(std::move(entries), question);
}

void SchedulingQueue::Move(std::vector<Concerned> entries, const Question& question) {
  // In the order in which they began to wait.
  absl::c_sort(entries, [](const Concerned& a, const Concerned& b) {
    return a.entry->sequence < b.entry->sequence;
  });
  const Symbol label = Symbol::Intern(question.event.label);
  steps_ += kStepsOfMove * static_cast<int64_t>(entries.size());
  for (const auto& [entry, strategy] : entries) {
    if (strategy.has_value()) {
      RequeueOne(*entry, label, strategy);
    } else {
      OnEvent(*entry, question.event, question.change);
    }
  }
}

// They are very many, and are woken bit by bit: those of the highest priority first, as they are
// tried first wherever priorities count.
void SchedulingQueue::BeginToRequeue(const Answers& answers, const Question& question,
                                     const Entry* own) {
  const Symbol label = Symbol::Intern(question.event.label);
  const auto begun = static_cast<std::ptrdiff_t>(requeuing_.size());
  const auto stays = [&](const HintClass::Waiting& waiting) {
    return !IsPutTo(waiting, question.number, own);
  };
  for (const auto& [kind, strategy] : answers.kinds) {
    requeuing_.push_back({hint_classes_.TakeOut(*kind, stays), label, strategy});
  }
  const auto matters_more = [](const Requeuing& a, const Requeuing& b) {
    return a.kind->priority > b.kind->priority;
  };
  std::stable_sort(requeuing_.begin() + begun, requeuing_.end(), matters_more);
  std::inplace_merge(requeuing_.begin(), requeuing_.begin() + begun, requeuing_.end(),
                     matters_more);
}

// Returns whether some are left.
bool SchedulingQueue::RequeueSome() {
  for (size_t left = options_.max_moves_per_tick; !requeuing_.empty();) {
    const Requeuing& next = requeuing_.front();
    if (next.kind->entries.empty()) {
      requeuing_.pop_front();
      continue;
    }
    if (left-- == 0) return true;
    steps_ += kStepsOfMove;
    Entry& entry = *next.kind->entries.front().entry;
    hint_classes_.Remove(entry);
    RequeueOne(entry, next.event, next.strategy);
  }
  return false;
}

// It is unschedulable and worth to be tried again, or gated, and its gate may open: that is asked
// whatever the event, as others may have come since.
void SchedulingQueue::RequeueOne(Entry& entry, Symbol event, std::optional<Strategy> strategy) {
  if (!strategy.has_value() && !OpenGates(entry, [](const PendingPod&) { return true; })) {
    return Reindex(entry);
  }
  entry.requeued_by = event;
  Requeue(entry, strategy.value_or(Strategy::kAfterBackoff),
          strategy.has_value() ? Gates::kAll : Gates::kGroupOnly);
}

}  // namespace berth
