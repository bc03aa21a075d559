// SPDX-License-Identifier: Apache-2.0
// Implementation of binder.h.
#include "engine/binder.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/api/time.h"

namespace berth {
namespace {

// As kube-scheduler v1.35 volumebinding binder.go BindPodVolumes.
constexpr absl::Duration kPollInterval = absl::Seconds(1);

Status Dropped() { return Status::Unschedulable("removed"); }

Status Measured(AssumedPod& placement, PointMetrics::Point name,
                Status (BindingRunner::*point)(CycleState&, const PodInfo&, absl::string_view)
                    const) {
  return placement.framework->point_metrics().Measure(name, [&] {
    return (placement.framework->binding_points().*point)(placement.state, *placement.pod,
                                                          placement.node_name);
  });
}

}  // namespace

// One member of a batch while it waits for Permit; afterwards just its placement.
class Binder::Waiting final : public WaitingPod {
 public:
  Waiting(Member member, absl::Time now)
      : placement_(std::move(member.placement)), since_(now), not_before_(member.not_before) {
    for (const PermitOutcome::Wait& wait : member.waits) {
      pending_.push_back({wait.plugin, now + wait.timeout});
    }
    has_waited_ = !pending_.empty();
  }

  const PodInfo& pod() const override { return *placement_.pod; }
  absl::string_view node_name() const override { return placement_.node_name; }
  std::vector<absl::string_view> pending_plugins() const override {
    std::vector<absl::string_view> names;
    for (const Pending& pending : pending_) names.push_back(pending.plugin.view());
    return names;
  }
  bool waits_for(absl::Span<const Symbol> plugins) const {
    return absl::c_any_of(pending_, [&](const Pending& pending) {
      return absl::c_linear_search(plugins, pending.plugin);
    });
  }
  void Allow(absl::string_view plugin) override {
    std::erase_if(pending_, [&](const Pending& p) { return p.plugin.view() == plugin; });
  }
  void Reject(absl::string_view plugin, absl::string_view message) override {
    if (!waits()) return;  // allowed or rejected before: too late
    status_ = Status::Unschedulable(std::string(message)).WithPlugin(Symbol::Intern(plugin));
    refused_ = true;
    permit_wait_failed_ = true;
  }
  void Refuse(Status status) {
    status_ = std::move(status);
    refused_ = status_.IsRejected();
  }
  bool refused() const { return refused_; }
  bool permit_wait_failed() const { return permit_wait_failed_; }

  bool waits() const { return status_.ok() && !pending_.empty(); }
  bool alive() const { return status_.ok(); }
  bool delayed(absl::Time now) const { return alive() && now < not_before_; }
  absl::Time not_before() const { return not_before_; }
  absl::Time deadline() const {
    absl::Time first = absl::InfiniteFuture();
    for (const Pending& pending : pending_) first = std::min(first, pending.deadline);
    return waits() ? first : absl::InfiniteFuture();
  }
  // The shortest wait ends it.
  void Expire(absl::Time now) {
    const auto first = std::min_element(
        pending_.begin(), pending_.end(),
        [](const Pending& a, const Pending& b) { return a.deadline < b.deadline; });
    if (first == pending_.end() || now < first->deadline) return;
    const std::string message = absl::StrCat("rejected due to timeout after waiting ",
                                             DurationToString(first->deadline - since_),
                                             " at plugin ", first->plugin.view());
    Reject(first->plugin.view(), message);
  }

  // Drop() was called while it was on the executor.
  bool dropped() const { return dropped_; }
  void set_dropped() { dropped_ = true; }
  // A PreBind plugin has said Wait.
  bool polled() const { return alive() && polled_; }
  void set_polled(bool polled) { polled_ = polled; }
  // What PreBind said of the pod that is polled.
  const Status& awaited() const { return awaited_; }
  void set_awaited(Status awaited) { awaited_ = std::move(awaited); }
  // It waits no longer.
  void NoteWaitEnd(absl::Time now) {
    if (!std::exchange(has_waited_, false)) return;
    placement_.permit_wait = std::max(now - since_, absl::Nanoseconds(1));
  }

  AssumedPod& placement() { return placement_; }
  const AssumedPod& placement() const { return placement_; }
  const Status& status() const { return status_; }
  void set_status(Status status) { status_ = std::move(status); }

 private:
  struct Pending {
    Symbol plugin;
    absl::Time deadline;
  };

  AssumedPod placement_;
  absl::Time since_;
  absl::Time not_before_;
  std::vector<Pending> pending_;
  bool refused_ = false;
  bool permit_wait_failed_ = false;
  bool polled_ = false;
  Status awaited_;
  bool dropped_ = false;  // of the scheduling thread, always
  bool has_waited_ = false;
  Status status_;
};

struct Binder::Batch {
  Binder* binder = nullptr;
  absl::InlinedVector<Waiting, 1> members;  // where they are: plugins hold pointers to them
  int minimum = 1;
  bool running = false;            // on the executor: hands off
  std::atomic<int> under_way = 0;  // members that are there
  std::atomic<bool> done = false;  // it has run there; Finish() is due
  uint64_t number = 0;             // in order of start
  absl::Time poll_at;              // while it is parked

  int alive() const {
    return static_cast<int>(std::count_if(members.begin(), members.end(),
                                          [](const Waiting& member) { return member.alive(); }));
  }
  bool waits(absl::Time now) const {
    return std::any_of(members.begin(), members.end(), [now](const Waiting& member) {
      return member.waits() || member.delayed(now);
    });
  }
  // Whether a PreBind plugin has something to do before the first Bind.
  bool has_pre_bind() const {
    return std::any_of(members.begin(), members.end(), [](const Waiting& member) {
      const AssumedPod& placement = member.placement();
      return member.alive() && !placement.pre_bound &&
             placement.framework->binding_points().HasPreBind(placement.state);
    });
  }
  // Whether a PreBind plugin waits.
  bool polled() const {
    return std::any_of(members.begin(), members.end(),
                       [](const Waiting& member) { return member.polled(); });
  }
  // Returns whether the pod is a member, which is refused unless it is too late for that.
  bool Drop(absl::string_view uid) {
    bool found = false;
    for (Waiting& member : members) {
      if (member.pod().uid() != uid) continue;
      found = true;
      if (running) {
        member.set_dropped();
      } else if (member.alive()) {
        member.Refuse(Dropped());
      }
    }
    return found;
  }
  // Fails the members that are left when they are too few.
  void FailIfTooFew() {
    if (alive() >= minimum) return;
    for (Waiting& member : members) {
      if (!member.alive()) continue;
      member.set_status(Status::Unschedulable("the rest of the group could not be bound"));
    }
  }
};

Binder::Binder(Executor& executor, std::function<void(std::function<void()>)> post,
               std::function<Status(const AssumedPod&)> still_fits)
    : executor_(executor), post_(std::move(post)), still_fits_(std::move(still_fits)) {}

Binder::~Binder() = default;

void Binder::Start(Members&& members, int minimum, absl::Time now) {
  auto batch = std::make_unique<Batch>();
  batch->binder = this;
  batch->minimum = minimum;
  batch->number = ++last_number_;
  batch->members.reserve(members.size());
  for (Member& member : members) batch->members.emplace_back(std::move(member), now);
  batches_.push_back(std::move(batch));
}

void Binder::ForEachWaitingPod(const std::function<void(WaitingPod&)>& visit) {
  for (const auto& batch : batches_) {
    if (batch->running) continue;
    for (Waiting& member : batch->members) {
      if (member.waits()) visit(member);
    }
  }
}

WaitingPod* Binder::FindWaitingPod(absl::string_view uid) {
  WaitingPod* found = nullptr;
  ForEachWaitingPod([&](WaitingPod& waiting) {
    if (waiting.pod().uid() == uid) found = &waiting;
  });
  return found;
}

bool Binder::AnyWaitsFor(absl::Span<const Symbol> plugins) const {
  return absl::c_any_of(batches_, [&](const std::unique_ptr<Batch>& batch) {
    return !batch->running && absl::c_any_of(batch->members, [&](const Waiting& member) {
      return member.waits() && member.waits_for(plugins);
    });
  });
}

void Binder::Drop(absl::string_view uid) {
  for (const auto& batch : batches_) batch->Drop(uid);
  std::vector<Batch*> dropped;
  for (const auto& [due, batch] : parked_) {
    if (batch->Drop(uid)) dropped.push_back(batch.get());
  }
  for (Batch* const batch : dropped) PollSoon(*batch);
}

void Binder::Expire(absl::Time now) {
  for (const auto& batch : batches_) {
    if (batch->running) continue;
    for (Waiting& member : batch->members) {
      if (member.deadline() <= now) member.Expire(now);
    }
  }
}

void Binder::Abandon() {
  while (!parked_.empty()) batches_.push_back(Unpark(*parked_.begin()->second));
  for (const auto& batch : batches_) {
    if (batch->running) continue;
    for (Waiting& member : batch->members) {
      if (member.alive()) member.set_status(Status::Unschedulable("the scheduler stops"));
    }
  }
}

absl::Time Binder::NextDue() const {
  absl::Time due = parked_.empty() ? absl::InfiniteFuture() : parked_.begin()->first.first;
  for (const auto& batch : batches_) {
    if (batch->running) continue;
    for (const Waiting& member : batch->members) {
      due = std::min(due, member.deadline());
      if (member.alive() && member.not_before() != absl::InfinitePast()) {
        due = std::min(due, member.not_before());
      }
    }
  }
  return due;
}

void Binder::Advance(absl::Time now, std::vector<BindingOutcome>& outcomes) {
  PollDue(now);
  for (const auto& batch : batches_) {
    if (batch->running) continue;
    batch->FailIfTooFew();
    if (batch->waits(now)) continue;
    for (Waiting& member : batch->members) member.NoteWaitEnd(now);
    for (Waiting& member : batch->members) {
      if (!member.alive()) continue;
      Status fits = still_fits_(member.placement());
      if (!fits.ok()) member.Refuse(std::move(fits));
    }
    batch->FailIfTooFew();
    batch->running = true;
    if (batch->members.size() > 1 && batch->has_pre_bind()) {
      executor_.Run([this, running = batch.get()] { PreBindAll(*running); });
    } else {
      RunMembers(*batch);
    }
  }
  std::erase_if(batches_, [](const auto& batch) { return batch->members.empty(); });
  outcomes.swap(outcomes_);
}

// --- Parked batches ------------------------------------------------------------------------------

void Binder::Park(Batch& batch) {
  const auto found = std::find_if(batches_.begin(), batches_.end(),
                                  [&](const auto& other) { return other.get() == &batch; });
  std::unique_ptr<Batch> parked = std::move(*found);
  batches_.erase(found);
  parked->running = false;
  for (Waiting& member : parked->members) {
    if (member.alive() && member.dropped()) member.Refuse(Dropped());
    for (const auto& object : ObjectsToPollFor(member.placement().state)) {
      parked_for_[object].push_back(parked.get());
    }
  }
  PollAt(absl::InfinitePast(), std::move(parked));
}

std::unique_ptr<Binder::Batch> Binder::Unpark(Batch& batch) {
  std::unique_ptr<Batch> parked =
      std::move(parked_.extract({batch.poll_at, batch.number}).mapped());
  for (Waiting& member : batch.members) {
    for (const auto& object : ObjectsToPollFor(member.placement().state)) {
      const auto found = parked_for_.find(object);
      if (found == parked_for_.end()) continue;
      std::erase(found->second, &batch);
      if (found->second.empty()) parked_for_.erase(found);
    }
  }
  return parked;
}

void Binder::PollAt(absl::Time time, std::unique_ptr<Batch> batch) {
  batch->poll_at = time;
  const std::pair<absl::Time, uint64_t> place(time, batch->number);
  parked_.emplace(place, std::move(batch));
}

void Binder::PollSoon(Batch& batch) {
  auto node = parked_.extract({batch.poll_at, batch.number});
  PollAt(absl::InfinitePast(), std::move(node.mapped()));
}

void Binder::ObjectChanged(const Object& object) {
  if (parked_for_.empty()) return;
  const auto found = parked_for_.find({object.kind(), std::string(object.key())});
  if (found == parked_for_.end()) return;
  for (Batch* const batch : found->second) PollSoon(*batch);
}

void Binder::PollDue(absl::Time now) {
  while (!parked_.empty() && parked_.begin()->first.first <= now) {
    Batch& batch = *parked_.begin()->second;
    if (Poll(batch)) {
      batches_.push_back(Unpark(batch));
    } else {
      auto node = parked_.extract(parked_.begin());
      PollAt(now + kPollInterval, std::move(node.mapped()));
    }
  }
}

bool Binder::Poll(Batch& batch) {
  for (Waiting& member : batch.members) {
    if (!member.polled()) continue;
    AssumedPod& placement = member.placement();
    Status status = placement.framework->binding_points().RunPollPreBind(
        placement.state, *placement.pod, placement.node_name);
    if (status.IsWait()) continue;
    member.set_polled(false);
    if (!status.ok()) member.set_status(std::move(status));
  }
  batch.FailIfTooFew();
  return !batch.polled();
}

// On the executor, of a group: no Bind before the last PreBind.
void Binder::PreBindAll(Batch& batch) {
  for (Waiting& member : batch.members) PreBind(member);
  batch.FailIfTooFew();
  if (batch.polled()) {
    post_([this, &batch] { Park(batch); });
  } else {
    post_([this, &batch] { RunMembers(batch); });
  }
}

// Each on its own: none waits for the answer to another.
void Binder::RunMembers(Batch& batch) {
  const int alive = batch.alive();
  if (alive == 0) return Finish(batch);
  batch.under_way.store(alive, std::memory_order_relaxed);
  // The last one may end the batch.
  Waiting* last = nullptr;
  const auto run = [&batch, this](Waiting* member) {
    executor_.Run([of = &batch, member] { of->binder->RunMember(*of, *member); });
  };
  for (Waiting& member : batch.members) {
    if (!member.alive()) continue;
    if (last != nullptr) run(last);
    last = &member;
  }
  run(last);
}

// On the executor.
void Binder::RunMember(Batch& batch, Waiting& member) {
  PreBind(member);
  if (member.alive() && !member.polled()) Bind(member);
  if (batch.under_way.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  if (batch.polled()) {
    post_([this, &batch] { Park(batch); });
  } else {
    batch.done.store(true, std::memory_order_release);
    post_([this, &batch] { Finish(batch); });
  }
}

void Binder::PreBind(Waiting& member) {
  AssumedPod& placement = member.placement();
  if (!member.alive() || placement.pre_bound) return;
  Status status = Measured(placement, PointMetrics::Point::kPreBind, &BindingRunner::RunPreBind);
  placement.pre_bound = status.ok();
  if (status.IsWait()) {
    member.set_polled(true);
    member.set_awaited(std::move(status));
  } else if (!status.ok()) {
    member.set_status(std::move(status));
  }
}

void Binder::Bind(Waiting& member) {
  AssumedPod& placement = member.placement();
  Status status = Measured(placement, PointMetrics::Point::kBind, &BindingRunner::RunBind);
  if (!status.ok()) return member.set_status(std::move(status));
  (void)placement.framework->point_metrics().Measure(PointMetrics::Point::kPostBind, [&] {
    placement.framework->binding_points().RunPostBind(placement.state, *placement.pod,
                                                      placement.node_name);
    return Status::Success();  // it cannot fail
  });
}

// Back on the scheduling thread: the batch's outcomes are known. Advance() erases it.
void Binder::Finish(Batch& batch) {
  for (Waiting& member : batch.members) {
    outcomes_.push_back({std::move(member.placement()), member.status(), member.refused(),
                         member.permit_wait_failed()});
  }
  batch.members.clear();
}

std::vector<Binder::Unbound> Binder::unbound() const {
  std::vector<const Batch*> batches;
  for (const auto& batch : batches_) batches.push_back(batch.get());
  for (const auto& [due, batch] : parked_) batches.push_back(batch.get());
  std::sort(batches.begin(), batches.end(),
            [](const Batch* a, const Batch* b) { return a->number < b->number; });
  std::vector<Unbound> pods;
  for (const Batch* const batch : batches) {
    const bool done = batch->done.load(std::memory_order_acquire);
    for (const Waiting& member : batch->members) {
      if (done && member.alive()) continue;
      Unbound unbound{&member.pod(), member.node_name(), {}};
      if (!batch->running && member.waits()) {
        unbound.waiting_for = member.pending_plugins();
        unbound.until = member.deadline();
      }
      if (!batch->running && member.polled()) unbound.pre_bind = member.awaited();
      pods.push_back(std::move(unbound));
    }
  }
  return pods;
}

}  // namespace berth
