// SPDX-License-Identifier: Apache-2.0
// Implementation of lined_entries.h.
#include "queue/lined_entries.h"

#include <algorithm>

#include "absl/algorithm/container.h"

namespace berth {

LinedEntries::LinedEntries(const QueueSortPlugin& sort, QueueOrder& order)
    : sort_(sort), order_(order) {
  Restart();
}

void LinedEntries::Restart() {
  version_ = order_.LinesVersion();
  lines_.clear();
  active_size_ = 0;
  contest_ = order_.NewContest();
}

LinedEntries::Line& LinedEntries::LineAt(int line) {
  if (line >= static_cast<int>(lines_.size())) lines_.resize(line + 1);
  std::unique_ptr<Line>& at = lines_[line];
  if (at == nullptr) {
    const bool is_strict = order_.IsStrict(line);
    at = std::make_unique<Line>(
        LineLess{&sort_, &order_, line, is_strict && sort_.IsByPriorityAndTime()});
    at->is_strict = is_strict;
  }
  return *at;
}

void LinedEntries::Add(QueueEntry& entry) {
  entry.line = entry.lead.pod == nullptr ? 0 : std::max(0, order_.LineOf(*entry.lead.pod));
  Line& line = LineAt(entry.line);
  if (entry.state == QueueState::kActive) {
    line.active.Push(entry);
    ++active_size_;
  } else {
    if (entry.state == QueueState::kBackoff) line.in_backoff.Push(entry);
    if (line.is_strict) {
      line.failed.insert(&entry);
      const bool is_first = line.first_failed == nullptr || line.less(entry, *line.first_failed);
      if (is_first) line.first_failed = &entry;
    }
  }
  UpdateHead(line, &entry);
}

void LinedEntries::Remove(QueueEntry& entry) {
  if (entry.line < 0) return;
  Line& line = LineAt(entry.line);
  if (entry.state == QueueState::kActive) {
    line.active.Remove(entry);
    --active_size_;
  } else {
    if (entry.state == QueueState::kBackoff) line.in_backoff.Remove(entry);
    line.failed.erase(&entry);
    if (line.first_failed == &entry) line.first_failed = FirstFailed(line);
  }
  UpdateHead(line, &entry);
  entry.line = -1;
}

const QueueEntry* LinedEntries::FirstFailed(const Line& line) {
  const auto first = absl::c_min_element(
      line.failed, [&](const QueueEntry* a, const QueueEntry* b) { return line.less(*a, *b); });
  return first == line.failed.end() ? nullptr : *first;
}

bool LinedEntries::IsBlocked(const Line& line, const QueueEntry& entry) {
  return line.first_failed != nullptr && line.first_failed != &entry &&
         line.less(*line.first_failed, entry);
}

const QueueEntry* LinedEntries::BlockerOf(const QueueEntry& entry) const {
  if (entry.line < 0) return nullptr;
  const Line& line = *lines_[entry.line];
  return IsBlocked(line, entry) ? line.first_failed : nullptr;
}

QueueEntry* LinedEntries::HeadOf(const Line& line) const {
  const auto first = [&](const auto& entries) -> QueueEntry* {
    if (entries.empty() || IsBlocked(line, entries.top())) return nullptr;
    return &entries.top();
  };
  QueueEntry* const active = first(line.active);
  return active != nullptr || active_alone_ ? active : first(line.in_backoff);
}

void LinedEntries::UpdateHead(Line& line, const QueueEntry* changed) {
  const QueueEntry* const head = HeadOf(line);
  if (head == line.head && (head == nullptr || head != changed)) return;
  line.head = head;
  contest_->SetHead(line.less.line, head == nullptr ? nullptr : &head->lead);
}

void LinedEntries::SetActiveAlone(bool active_alone) {
  if (active_alone == active_alone_) return;
  active_alone_ = active_alone;
  for (const auto& line : lines_) {
    if (line != nullptr && !line->in_backoff.empty()) UpdateHead(*line, nullptr);
  }
}

QueueEntry* LinedEntries::Next() {
  int line = contest_->Next();
  if (line < 0 && active_alone_) {
    SetActiveAlone(false);
    line = contest_->Next();
  }
  return line < 0 ? nullptr : HeadOf(*lines_[line]);
}

bool LinedEntries::IsConsistent() const {
  int active = 0;
  for (const auto& line : lines_) {
    if (line == nullptr) continue;
    active += line->active.size();
    if (!line->active.IsConsistent() || !line->in_backoff.IsConsistent()) return false;
    if (line->first_failed != FirstFailed(*line)) return false;
    if (line->head != HeadOf(*line)) return false;
  }
  return active == active_size_;
}

}  // namespace berth
