// SPDX-License-Identifier: Apache-2.0
// Implementation of event_log.h.
#include "serve/event_log.h"

#include <algorithm>
#include <utility>

#include "berth/check.h"

namespace berth {

void EventLog::Append(v1::Events events) {
  BERTH_CHECK(events.events_size() > 0);
  for (v1::SchedulerEvent& event : *events.mutable_events()) event.set_revision(++last_);
  auto message = std::make_shared<v1::FromScheduler>();
  *message->mutable_events() = std::move(events);
  const size_t bytes = message->ByteSizeLong();
  bytes_ += bytes;
  unreleased_bytes_ += bytes;
  blocks_.push_back({std::move(message), last_, bytes});
  Drop();
}

void EventLog::Release(uint64_t revision) {
  revision = std::min(revision, last_);
  if (revision <= released_) return;
  for (auto it = Behind(released_); it != blocks_.end() && it->last <= revision; ++it) {
    unreleased_bytes_ -= it->bytes;
  }
  released_ = revision;
  Drop();
}

void EventLog::Rewind(uint64_t revision) {
  BERTH_CHECK(Reaches(revision));
  released_ = revision;
  unreleased_bytes_ = 0;
  for (auto it = Behind(revision); it != blocks_.end(); ++it) unreleased_bytes_ += it->bytes;
  Drop();
}

void EventLog::Clear() {
  blocks_.clear();
  released_ = dropped_ = last_;
  bytes_ = unreleased_bytes_ = 0;
}

// The first block with an event behind `revision`.
std::deque<EventLog::Sealed>::const_iterator EventLog::Behind(uint64_t revision) const {
  return std::partition_point(blocks_.begin(), blocks_.end(),
                              [revision](const Sealed& sealed) { return sealed.last <= revision; });
}

// Whole blocks only.
void EventLog::Drop() {
  while (!blocks_.empty() && blocks_.front().last <= released_ &&
         (size() > limits_.events || bytes_ > limits_.bytes)) {
    dropped_ = blocks_.front().last;
    bytes_ -= blocks_.front().bytes;
    blocks_.pop_front();
  }
}

EventLog::Block EventLog::After(uint64_t revision) const {
  BERTH_CHECK(Reaches(revision));
  const auto found = Behind(revision);
  if (found == blocks_.end()) return nullptr;
  const auto& events = found->block->events().events();
  if (events.begin()->revision() == revision + 1) return found->block;
  auto rest = std::make_shared<v1::FromScheduler>();
  for (const v1::SchedulerEvent& event : events) {
    if (event.revision() > revision) *rest->mutable_events()->add_events() = event;
  }
  return rest;
}

bool EventLog::is_full() const {
  return last_ - released_ >= limits_.events || unreleased_bytes_ >= limits_.bytes;
}

}  // namespace berth
