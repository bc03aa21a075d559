// SPDX-License-Identifier: Apache-2.0
// Implementation of inbox.h.
#include "engine/inbox.h"

#include <utility>

#include "berth/clock.h"

namespace berth {

void Inbox::Deliver(std::vector<WatchEvent> events) {
  Add({.event = std::nullopt, .events = std::move(events), .work = nullptr});
}

void Inbox::DeliverOne(WatchEvent event) {
  Add({.event = std::move(event), .events = {}, .work = nullptr});
}

void Inbox::Post(std::function<void()> work) {
  Add({.event = std::nullopt, .events = {}, .work = std::move(work)});
}

void Inbox::Add(Item&& item) {
  MutexLock lock(mutex_);
  if (closed_) return;
  const bool is_full = (more_.empty() ? items_ : more_.back()).size() >= kBlock;
  if (is_full) more_.emplace_back();
  (more_.empty() ? items_ : more_.back()).push_back(std::move(item));
  any_.store(true, std::memory_order_relaxed);
  arrived_.SignalAll();
}

// Items are destroyed outside the lock: a destructor may post.
void Inbox::Close() {
  std::vector<Item> items;
  std::deque<std::vector<Item>> more;
  MutexLock lock(mutex_);
  closed_ = true;
  items.swap(items_);
  more.swap(more_);
  any_.store(false, std::memory_order_relaxed);
}

void Inbox::Take(std::vector<Item>& items) {
  if (empty()) return;
  MutexLock lock(mutex_);
  items.swap(items_);
  if (more_.empty()) {
    any_.store(false, std::memory_order_relaxed);
    return;
  }
  items_ = std::move(more_.front());
  more_.pop_front();
}

bool Inbox::empty() const { return !any_.load(std::memory_order_relaxed); }

void Inbox::WaitFor(absl::Duration longest) {
  const RealClock clock;
  const absl::Time deadline = clock.Now() + longest;
  MutexLock lock(mutex_);
  while (!stopped_ && items_.empty()) {
    if (deadline == absl::InfiniteFuture()) {
      arrived_.Wait(mutex_);
    } else if (const absl::Duration left = deadline - clock.Now();
               left <= absl::ZeroDuration() || !arrived_.WaitFor(mutex_, left)) {
      return;
    }
  }
}

void Inbox::Stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  arrived_.SignalAll();
}

// A thread that sees that it is stopped may destroy it: Stop() has to be through by then.
bool Inbox::stopped() const {
  if (!stopped_) return false;
  MutexLock lock(mutex_);
  return true;
}

}  // namespace berth
