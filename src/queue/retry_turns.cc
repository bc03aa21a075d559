// SPDX-License-Identifier: Apache-2.0
// Implementation of retry_turns.h.
#include "queue/retry_turns.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/check.h"

namespace berth {
namespace {

// A line may have so many gaps and one for each that waits.
constexpr size_t kMostGaps = 64;

}  // namespace

// --- Who waits ---

// It is tried again when a pod leaves a node only because plugins ask for it that need room there.
bool RetryTurns::Qualifies(const QueueEntry& entry) const {
  if (free_resources_ == nullptr || !entry.only_room || entry.is_group ||
      !entry.gated_members.empty() || !entry.pending_plugins.empty() || entry.requires_backoff ||
      entry.retry_at < absl::InfiniteFuture() || !backoff_.IsLongest(entry.history)) {
    return false;
  }
  bool needs_room = false;
  for (const Symbol plugin : entry.unschedulable_plugins) {
    switch (table_.AfterPodLeft(table_.FindSlot(entry.profile, plugin))) {
      case EventTable::Interest::kNone:
        break;
      case EventTable::Interest::kRoom:
        needs_room = true;
        break;
      case EventTable::Interest::kAny:
        return false;
    }
  }
  return needs_room && free_resources_->OnlyFreeResourcesHelp(*entry.members.front().pod);
}

bool RetryTurns::Join(QueueEntry& entry) {
  if (entry.retry_line != nullptr) return true;
  if (!Qualifies(entry)) return false;
  const PodInfo& pod = *entry.members.front().pod;
  RetryLine& line = lines_.try_emplace(pod.priority(), RetryLine{pod.priority()}).first->second;
  // Its last attempt may be long ago.
  if (!line.empty() && (entry.timestamp < line.waiting.back().timestamp ||
                        entry.sequence < line.waiting.back().sequence)) {
    return false;
  }
  line.waiting.push_back({.entry = &entry,
                          .sequence = entry.sequence,
                          .timestamp = entry.timestamp,
                          .backoff_expiration = entry.backoff_expiration,
                          .needed = {pod.requests().Get(kCpu), pod.requests().Get(kMemory)},
                          .profile = entry.profile});
  ++line.size;
  entry.retry_line = &line;
  return true;
}

RetryLine::Waiting& RetryTurns::Find(const QueueEntry& entry) const {
  RetryLine& line = *entry.retry_line;
  const auto found = std::find_if(
      line.waiting.begin() + static_cast<std::ptrdiff_t>(line.first), line.waiting.end(),
      [&](const RetryLine::Waiting& waiting) { return waiting.entry == &entry; });
  BERTH_CHECK(found != line.waiting.end()) << entry.key;
  return *found;
}

void RetryTurns::CloseGaps(RetryLine& line) {
  while (!line.empty() && line.waiting[line.first].entry == nullptr) ++line.first;
  if (line.waiting.size() <= 2 * line.size + kMostGaps) return;
  const auto is_gap = [](const RetryLine::Waiting& waiting) { return waiting.entry == nullptr; };
  const auto begin = line.waiting.begin();
  const auto gaps = std::count_if(begin, begin + static_cast<std::ptrdiff_t>(line.asleep), is_gap);
  line.asleep -= static_cast<size_t>(gaps);
  std::erase_if(line.waiting, is_gap);
  line.first = 0;
}

void RetryTurns::Leave(QueueEntry& entry) {
  if (entry.retry_line == nullptr || entry.has_turn) return;
  RetryLine::Waiting& waiting = Find(entry);
  places_.Remove(entry);
  entry.timestamp = waiting.timestamp;
  entry.backoff_expiration = waiting.backoff_expiration;
  entry.sequence = waiting.sequence;
  places_.Add(entry);
  waiting.entry = nullptr;
  --entry.retry_line->size;
  CloseGaps(*std::exchange(entry.retry_line, nullptr));
}

void RetryTurns::Release(QueueEntry& entry) {
  if (entry.retry_line == nullptr || entry.has_turn) return;
  const RetryLine& line = *entry.retry_line;
  const bool is_awake = &Find(entry) < line.waiting.data() + line.asleep;
  Leave(entry);
  if (is_awake) wake_(entry, line.event);
}

// Of all in its line at once, as the others are about as old.
bool RetryTurns::BringTimeUpToDate(QueueEntry& entry) {
  if (entry.retry_line == nullptr || entry.has_turn) return false;
  bool is_later = false;
  for (const RetryLine::Waiting& waiting : entry.retry_line->waiting) {
    if (waiting.entry == nullptr || waiting.entry->timestamp == waiting.timestamp) continue;
    is_later |= waiting.entry == &entry;
    places_.Remove(*waiting.entry);
    waiting.entry->timestamp = waiting.timestamp;
    places_.Add(*waiting.entry);
  }
  return is_later;
}

// --- Turns ---

void RetryTurns::PodLeft(Symbol node, Symbol event) {
  for (auto it = lines_.begin(); it != lines_.end();) {
    RetryLine& line = it->second;
    if (line.empty()) {
      it = line.turn == nullptr ? lines_.erase(it) : std::next(it);
      continue;
    }
    line.asleep = line.waiting.size();
    line.event = event;
    if (std::exchange(line.nodes_changed, false)) {
      WakeAll(line);
      continue;
    }
    if (!absl::c_linear_search(line.nodes, node)) line.nodes.push_back(node);
    if (line.turn == nullptr) GiveTurn(line);
    ++it;
  }
}

void RetryTurns::NodeChanged() {
  for (auto& [priority, line] : lines_) {
    line.nodes_changed = true;
    if (line.awake()) WakeAll(line);
  }
}

void RetryTurns::WakeAll(RetryLine& line) {
  while (line.awake()) {
    QueueEntry& entry = *line.waiting[line.first].entry;
    Leave(entry);
    wake_(entry, line.event);
  }
  line.nodes.clear();
}

// To the first one.
void RetryTurns::GiveTurn(RetryLine& line) {
  QueueEntry& entry = *line.waiting[line.first].entry;
  Leave(entry);
  entry.retry_line = &line;
  entry.has_turn = true;
  line.turn = &entry;
  wake_(entry, line.event);
}

void RetryTurns::EndTurn(QueueEntry& entry) {
  if (!entry.has_turn) return;
  RetryLine& line = *std::exchange(entry.retry_line, nullptr);
  entry.has_turn = false;
  line.turn = nullptr;
  due_.push_back(line.priority);
}

void RetryTurns::Continue() {
  while (!due_.empty()) {
    const auto line = lines_.find(due_.back());
    due_.pop_back();
    if (line != lines_.end() && line->second.turn == nullptr) GiveTurnToNext(line->second);
  }
}

// To the first of those awake that may fit. One that would be tried now and is certain to fail
// goes behind the others.
void RetryTurns::GiveTurnToNext(RetryLine& line) {
  std::vector<FreeResources> rooms;
  if (line.awake()) {
    for (const Symbol node : line.nodes) rooms.push_back(free_resources_->FreeOn(node));
  }
  const absl::Time now = clock_.Now();
  const absl::Time window = Backoff::WindowOf(now), longest = backoff_.LongestExpiration(now);
  Symbol asked;  // the profile whose pods only room helps
  const auto is_certain_to_fail = [&](const RetryLine::Waiting& waiting) {
    if (!places_.GoesBeforeAll(waiting.backoff_expiration, line.priority, waiting.timestamp,
                               waiting.sequence, window) ||
        absl::c_any_of(rooms,
                       [&](const FreeResources& room) { return room.Has(waiting.needed); })) {
      return false;
    }
    if (waiting.profile == asked) return true;
    if (!free_resources_->OnlyFreeResourcesHelp(*waiting.entry->members.front().pod)) return false;
    asked = waiting.profile;
    return true;
  };
  size_t next = line.first;  // in front of it they fail
  for (; next < line.asleep; ++next) {
    RetryLine::Waiting& waiting = line.waiting[next];
    if (waiting.entry != nullptr && !is_certain_to_fail(waiting)) break;
    waiting.sequence = next_sequence_++;
    waiting.timestamp = now;
    waiting.backoff_expiration = longest;
  }
  const auto begin = line.waiting.begin();
  const auto failed = begin + static_cast<std::ptrdiff_t>(line.first);
  std::rotate(failed, begin + static_cast<std::ptrdiff_t>(next), line.waiting.end());
  line.asleep -= next - line.first;
  CloseGaps(line);
  if (line.awake()) return GiveTurn(line);
  line.nodes.clear();
}

absl::Status RetryTurns::CheckInvariants() const {
  const auto broken = [](const auto&... what) {
    return absl::InvalidArgumentError(absl::StrCat("waiting for room: ", what...));
  };
  for (const auto& [priority, line] : lines_) {
    if (line.priority != priority) return broken("a line has another priority");
    uint64_t last = 0;
    size_t counted = 0;
    for (size_t i = line.first; i < line.waiting.size(); ++i) {
      const RetryLine::Waiting& waiting = line.waiting[i];
      if (waiting.sequence < last) return broken("a line is out of order");
      last = waiting.sequence;
      if (waiting.entry == nullptr) continue;
      ++counted;
      const QueueEntry& entry = *waiting.entry;
      if (entry.state != QueueState::kUnschedulable || entry.retry_line != &line || entry.has_turn)
        return broken(entry.key, " is in a line and ", QueueStateName(entry.state));
    }
    if (counted != line.size) return broken(counted, " wait, ", line.size, " recorded");
    if (!line.empty() && line.waiting[line.first].entry == nullptr)
      return broken("a line begins with nobody");
    if (line.turn == nullptr) {
      if (line.awake() && !absl::c_linear_search(due_, priority))
        return broken("nobody has a turn");
      continue;
    }
    const QueueEntry& entry = *line.turn;
    const bool is_tried = entry.state == QueueState::kActive ||
                          entry.state == QueueState::kBackoff ||
                          entry.state == QueueState::kInFlight;
    if (!entry.has_turn || entry.retry_line != &line || !is_tried)
      return broken(entry.key, " has its turn and is ", QueueStateName(entry.state));
  }
  return absl::OkStatus();
}

}  // namespace berth
