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
  active_contest_ = order_.NewContest();
  backoff_contest_ = order_.NewContest();
}

LinedEntries::Line& LinedEntries::LineAt(int line) {
  if (line >= static_cast<int>(lines_.size())) lines_.resize(line + 1);
  std::unique_ptr<Line>& at = lines_[line];
  if (at == nullptr) {
    at = std::make_unique<Line>(LineLess{&sort_, &order_, line});
    at->is_strict = order_.IsStrict(line);
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
    if (line.is_strict) line.failed.insert(&entry);
  }
  UpdateHeads(line, &entry);
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
  }
  UpdateHeads(line, &entry);
  entry.line = -1;
}

bool LinedEntries::IsBlocked(const Line& line, const QueueEntry& head) const {
  return absl::c_any_of(line.failed, [&](const QueueEntry* failed) {
    return failed != &head && line.less(*failed, head);
  });
}

void LinedEntries::UpdateHeads(Line& line, const QueueEntry* changed) {
  const auto update = [&](const auto& entries, const QueueEntry*& known, QueueContest& contest) {
    const QueueEntry* head = entries.empty() ? nullptr : &entries.top();
    if (head != nullptr && !line.failed.empty() && IsBlocked(line, *head)) head = nullptr;
    if (head == known && (head == nullptr || head != changed)) return;
    known = head;
    contest.SetHead(line.less.line, head == nullptr ? nullptr : &head->lead);
  };
  update(line.active, line.active_head, *active_contest_);
  update(line.in_backoff, line.backoff_head, *backoff_contest_);
}

QueueEntry* LinedEntries::Next() {
  if (const int line = active_contest_->Next(); line >= 0) return &lines_[line]->active.top();
  if (const int line = backoff_contest_->Next(); line >= 0) return &lines_[line]->in_backoff.top();
  return nullptr;
}

bool LinedEntries::IsConsistent() const {
  int active = 0;
  for (const auto& line : lines_) {
    if (line == nullptr) continue;
    active += line->active.size();
    const auto knows_head = [&](const auto& entries, const QueueEntry* known) {
      const QueueEntry* head = entries.empty() ? nullptr : &entries.top();
      if (head != nullptr && IsBlocked(*line, *head)) head = nullptr;
      return known == head;
    };
    if (!line->active.IsConsistent() || !line->in_backoff.IsConsistent()) return false;
    if (!knows_head(line->active, line->active_head)) return false;
    if (!knows_head(line->in_backoff, line->backoff_head)) return false;
  }
  return active == active_size_;
}

}  // namespace berth
