// SPDX-License-Identifier: Apache-2.0
// What arrives at the engine: watch events, and what they mean to the queue.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/api/core_v1.pb.h"
#include "engine/engine.h"

namespace berth {
namespace {

// Between questions about a binding whose answer is lost.
constexpr absl::Duration kFirstPause = absl::Seconds(1);
constexpr absl::Duration kLongestPause = absl::Seconds(8);

bool MayHaveHappened(const absl::Status& answer) {
  return absl::IsDeadlineExceeded(answer) || absl::IsCancelled(answer) || absl::IsUnknown(answer);
}

}  // namespace

void Inbox::Deliver(std::vector<WatchEvent> events) {
  Add({.event = std::nullopt, .events = std::move(events), .work = nullptr});
}

void Inbox::DeliverOne(WatchEvent event) {
  Add({.event = std::move(event), .events = {}, .work = nullptr});
}

void Inbox::Post(std::function<void()> work) {
  Add({.event = std::nullopt, .events = {}, .work = std::move(work)});
}

void Inbox::Add(Item item) {
  MutexLock lock(mutex_);
  if (closed_) return;
  const bool is_full = (more_.empty() ? items_ : more_.back()).size() >= kBlock;
  if (is_full) more_.emplace_back();
  (more_.empty() ? items_ : more_.back()).push_back(std::move(item));
  any_.store(true, std::memory_order_relaxed);
  arrived_.SignalAll();
}

// Outside the lock: what goes may post.
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

void Inbox::WaitUntil(absl::Time deadline) {
  MutexLock lock(mutex_);
  while (!stopped_ && items_.empty()) {
    if (deadline == absl::InfiniteFuture()) {
      arrived_.Wait(mutex_);
    } else if (const absl::Time now = absl::Now();
               now >= deadline || !arrived_.WaitFor(mutex_, deadline - now)) {
      return;
    }
  }
}

void Inbox::Stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  arrived_.SignalAll();
}

// Whoever sees that it is stopped may destroy it: Stop() has to be through by then.
bool Inbox::stopped() const {
  if (!stopped_) return false;
  MutexLock lock(mutex_);
  return true;
}

// What very many pods wait for counts more than once: few of such events in a row, and none while
// the queue still has to ask about some.
int64_t Engine::ConsecutiveEvents() const {
  constexpr int64_t kStepsOfEvent = 32;
  if (queue_->has_many_pending_events()) return kMaxConsecutiveEvents;
  return consecutive_events_ + (queue_->steps() - queue_steps_) / kStepsOfEvent;
}

bool Engine::TakeInbox(int64_t limit) {
  if (arrived_.empty()) inbox_.Take(arrived_);
  const bool any = !arrived_.empty();
  for (; next_item_ < arrived_.size(); ++next_item_, next_event_ = 0) {
    Inbox::Item& item = arrived_[next_item_];
    if (item.event.has_value()) {
      if (ConsecutiveEvents() >= limit) return true;
      ++consecutive_events_;
      OnEvent(*std::move(item.event));
      item.event.reset();
    }
    while (next_event_ < item.events.size()) {
      if (ConsecutiveEvents() >= limit) return true;
      ++consecutive_events_;
      OnEvent(std::move(item.events[next_event_++]));
    }
    std::vector<WatchEvent>().swap(item.events);
    if (item.work == nullptr) continue;
    if (ConsecutiveEvents() >= limit) return true;
    ++consecutive_events_;
    item.work();
    item.work = nullptr;
  }
  next_item_ = 0;
  arrived_.clear();
  return any;
}

void Engine::OnEvent(WatchEvent event) {
  ++events_;
  if (event.type == WatchEvent::Type::kSet && event.object->kind() == Kind::kPod) {
    // A pod was created anew under its name, and nobody told of the end of the old one.
    const auto predecessor = cluster_.FindPredecessor(*event.object);
    if (predecessor != nullptr) {
      OnEvent({WatchEvent::Type::kDeleted, Object(predecessor->packed())});
    }
  }
  const ClusterChange change = cluster_.Apply(std::move(event));
  if (!change.problem.ok()) {
    ++counters_.unusable_objects;
    return;
  }
  if (change.type == ClusterChange::Type::kSynced) {
    synced_ = true;
    sync_deadline_ = absl::InfiniteFuture();
    PrimeTables();
    return;
  }
  if (change.type == ClusterChange::Type::kNode && change.change.new_node == nullptr) {
    EndNominations(change.change.old_node->name());
  }
  UpdateQueue(change);
  for (const std::string& group : change.groups) queue_->GroupChanged(group);
  if (change.unnominated != nullptr) RequeuePodsBlockedByNomination(change.unnominated);
  for (const ClusterEvent& moved : change.changed_since_assumed) {
    queue_->MoveAllOnEvent(moved, change.meanwhile);
  }
  for (const ClusterEvent& moved : change.events) queue_->MoveAllOnEvent(moved, change.change);
}

// What covers the whole cluster is not for the first cycle to make.
void Engine::PrimeTables() {
  cluster_.Refresh();
  tables_updated_at_ = ChangesSoFar();
  tables_order_ = cluster_.nodes().order_version();
  for (const Framework* framework : profiles_->all()) {
    const Aspects aspects = framework->DependenciesOf(~PluginMask{0});
    if ((aspects & Aspect::kOtherNodes) != 0) cluster_.nodes().pods();
    framework->RunOnSynced();
  }
}

uint64_t Engine::ChangesSoFar() const { return cluster_.nodes().version() + events_; }

// Nor is it for a cycle to make again, because more happened than is kept. Of nodes that come and
// go not many are kept.
void Engine::UpdateTables(bool before_attempt) {
  constexpr uint64_t kMany = 512;  // half of what NodeTable keeps at least
  const bool many = ChangesSoFar() - tables_updated_at_ >= kMany;
  if (!before_attempt && !many) return;
  cluster_.Refresh();
  const bool moved = tables_order_ != cluster_.nodes().order_version();
  if (!moved && !many) return;
  tables_updated_at_ = ChangesSoFar();
  tables_order_ = cluster_.nodes().order_version();
  for (const Framework* framework : profiles_->all()) framework->RunBeforeJournalOverflow();
}

void Engine::UpdateQueue(const ClusterChange& change) {
  switch (change.type) {
    case ClusterChange::Type::kPodPending: {
      const std::shared_ptr<const PodInfo>& pod = change.change.new_pod;
      // Somebody else's, or not worth a node any more.
      if (profiles_->Find(pod->scheduler_name()) == nullptr || pod->deletion_time().has_value()) {
        queue_->Delete(*pod->identity());
        return;
      }
      if (queue_->Contains(*pod->identity())) {
        queue_->Update(pod, cluster_.GroupOf(*pod));
      } else {
        queue_->Add(pod, cluster_.GroupOf(*pod));
      }
      return;
    }
    case ClusterChange::Type::kPodAssigned:
      queue_->Delete(*change.change.new_pod->identity());
      reported_.Erase(*change.change.new_pod->identity());
      // Somebody else was faster.
      if (!change.confirmed) binder_.Drop(change.change.new_pod->uid());
      return;
    case ClusterChange::Type::kPodLeaving:
      binder_.Drop(change.change.new_pod->uid());
      return;
    case ClusterChange::Type::kPodGone: {
      const std::string& uid = change.change.old_pod->uid();
      queue_->Delete(*change.change.old_pod->identity());
      reported_.Erase(*change.change.old_pod->identity());
      binder_.Drop(uid);
      return;
    }
    case ClusterChange::Type::kNothing:
    case ClusterChange::Type::kPodChanged:
    case ClusterChange::Type::kNode:
    case ClusterChange::Type::kObject:
    case ClusterChange::Type::kSynced:
      return;
  }
}

// --- What plugins ask of the engine -------------------------------------------------------------

void Engine::Activate(absl::Span<const std::shared_ptr<const PodInfo>> pods) {
  queue_->Activate(pods);
}

void Engine::ForEachWaitingPod(const std::function<void(WaitingPod&)>& visit) {
  binder_.ForEachWaitingPod(visit);
}

WaitingPod* Engine::FindWaitingPod(absl::string_view uid) { return binder_.FindWaitingPod(uid); }

TimerId Engine::RunAt(absl::Time time, std::function<void()> work) {
  if (ending_) return TimerId::kNone;
  return timers_.Add(time, options_.clock->Now(), std::move(work));
}

void Engine::Post(std::function<void()> work) {
  inbox_.Post([this, work = std::move(work)] {
    if (ending_) return;
    ++counters_.deferred_calls;
    work();
  });
}

absl::Status Engine::Bind(const PodInfo& pod, absl::string_view node_name,
                          const BindMetadata& metadata) {
  const PodBinding binding{pod.identity(), std::string(node_name), metadata.annotations,
                           metadata.labels};
  absl::Status bound = options_.cluster->Bind(binding);
  return MayHaveHappened(bound) ? ResolveLostBinding(binding, std::move(bound)) : bound;
}

// The pod stays assumed meanwhile. Were its place given back, and the pod bound after all, somebody
// else would get it before the watch shows that it is taken.
absl::Status Engine::ResolveLostBinding(const PodBinding& binding, absl::Status lost) const {
  absl::Duration pause = kFirstPause;  // the binding may still be on its way
  while (!ending_ && !inbox_.stopped()) {
    options_.clock->SleepUntil(options_.clock->Now() + pause);
    pause = std::min(2 * pause, kLongestPause);
    const absl::StatusOr<std::string> node = options_.cluster->AssignedNode(*binding.pod);
    if (absl::IsNotFound(node.status())) return node.status();
    if (!node.ok()) continue;
    if (*node == binding.node_name) return absl::OkStatus();
    if (node->empty()) return lost;
    return absl::FailedPreconditionError(absl::StrCat("the pod is assigned to node ", *node));
  }
  return lost;
}

}  // namespace berth
