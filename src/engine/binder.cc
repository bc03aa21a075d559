// SPDX-License-Identifier: Apache-2.0
// Implementation of binder.h.
#include "engine/binder.h"

#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"
#include "berth/api/time.h"

namespace berth {

// One member of a batch while it waits for Permit; afterwards just its placement.
class Binder::Waiting final : public WaitingPod {
 public:
  Waiting(Member member, absl::Time now)
      : placement_(std::move(member.placement)), since_(now), not_before_(member.not_before) {
    for (const PermitOutcome::Wait& wait : member.waits) {
      pending_.push_back({wait.plugin, now + wait.timeout});
    }
  }

  const PodInfo& pod() const override { return *placement_.pod; }
  absl::string_view node_name() const override { return placement_.node_name; }
  std::vector<absl::string_view> pending_plugins() const override {
    std::vector<absl::string_view> names;
    for (const Pending& pending : pending_) names.push_back(pending.plugin.view());
    return names;
  }
  void Allow(absl::string_view plugin) override {
    std::erase_if(pending_, [&](const Pending& p) { return p.plugin.view() == plugin; });
  }
  void Reject(absl::string_view plugin, absl::string_view message) override {
    if (!waits()) return;  // allowed or rejected before: too late
    status_ = Status::Unschedulable(std::string(message)).WithPlugin(Symbol::Intern(plugin));
    refused_ = true;
    waited_in_vain_ = true;
  }
  void Refuse(Status status) {
    status_ = std::move(status);
    refused_ = status_.IsRejected();
  }
  bool refused() const { return refused_; }
  bool permit_wait_failed() const { return waited_in_vain_; }

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

  Placement& placement() { return placement_; }
  const Status& status() const { return status_; }
  void set_status(Status status) { status_ = std::move(status); }

 private:
  struct Pending {
    Symbol plugin;
    absl::Time deadline;
  };

  Placement placement_;
  absl::Time since_;
  absl::Time not_before_;
  std::vector<Pending> pending_;
  bool refused_ = false;
  bool waited_in_vain_ = false;
  Status status_;
};

struct Binder::Batch {
  absl::InlinedVector<Waiting, 1> members;  // where they are: plugins hold pointers to them
  int minimum = 1;
  bool running = false;            // on the executor: hands off
  std::atomic<bool> done = false;  // it has run there; Finish() is due

  int alive() const {
    return static_cast<int>(std::count_if(members.begin(), members.end(),
                                          [](const Waiting& member) { return member.alive(); }));
  }
  bool waits(absl::Time now) const {
    return std::any_of(members.begin(), members.end(), [now](const Waiting& member) {
      return member.waits() || member.delayed(now);
    });
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
               std::function<Status(const Placement&)> still_fits)
    : executor_(executor), post_(std::move(post)), still_fits_(std::move(still_fits)) {}

Binder::~Binder() = default;

void Binder::Start(Members members, int minimum, absl::Time now) {
  auto batch = std::make_unique<Batch>();
  batch->minimum = minimum;
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

void Binder::Drop(absl::string_view uid) {
  for (const auto& batch : batches_) {
    if (batch->running) continue;
    for (Waiting& member : batch->members) {
      if (!member.alive() || member.pod().uid() != uid) continue;
      member.Refuse(Status::Unschedulable("removed"));
    }
  }
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
  for (const auto& batch : batches_) {
    if (batch->running) continue;
    for (Waiting& member : batch->members) {
      if (member.alive()) member.set_status(Status::Unschedulable("the scheduler stops"));
    }
  }
}

absl::Time Binder::NextDue() const {
  absl::Time due = absl::InfiniteFuture();
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

void Binder::TakeOutcomes(absl::Time now, std::vector<BindingOutcome>& outcomes) {
  for (const auto& batch : batches_) {
    if (batch->running) continue;
    batch->FailIfTooFew();
    if (batch->waits(now)) continue;
    for (Waiting& member : batch->members) {
      if (!member.alive()) continue;
      Status fits = still_fits_(member.placement());
      if (!fits.ok()) member.Refuse(std::move(fits));
    }
    batch->FailIfTooFew();
    batch->running = true;
    if (batch->alive() == 0) {
      Finish(*batch);
    } else {
      Batch* const running = batch.get();
      executor_.Run([this, running] {
        Run(*running);
        running->done.store(true, std::memory_order_release);
        post_([this, running] { Finish(*running); });
      });
    }
  }
  std::erase_if(batches_, [](const auto& batch) { return batch->members.empty(); });
  outcomes.swap(outcomes_);
}

// On the executor.
void Binder::Run(Batch& batch) {
  const auto run = [](Waiting& member, auto point) {
    Placement& placement = member.placement();
    Status status =
        (placement.framework->*point)(placement.state, *placement.pod, placement.node_name);
    if (!status.ok()) member.set_status(std::move(status));
  };
  for (Waiting& member : batch.members) {
    if (!member.alive() || member.placement().pre_bound) continue;
    run(member, &Framework::RunPreBind);
    member.placement().pre_bound = true;
  }
  batch.FailIfTooFew();
  for (Waiting& member : batch.members) {
    if (!member.alive()) continue;
    run(member, &Framework::RunBind);
    Placement& placement = member.placement();
    if (member.alive()) {
      placement.framework->RunPostBind(placement.state, *placement.pod, placement.node_name);
    }
  }
}

// Back on the scheduling thread: the batch's outcomes are known. It is dropped in Settle().
void Binder::Finish(Batch& batch) {
  for (Waiting& member : batch.members) {
    outcomes_.push_back({std::move(member.placement()), member.status(), member.refused(),
                         member.permit_wait_failed()});
  }
  batch.members.clear();
}

std::vector<Binder::Unbound> Binder::unbound() const {
  std::vector<Unbound> pods;
  for (const auto& batch : batches_) {
    const bool done = batch->done.load(std::memory_order_acquire);
    for (const Waiting& member : batch->members) {
      if (done && member.alive()) continue;
      Unbound unbound{&member.pod(), member.node_name(), {}};
      if (!batch->running && member.waits()) {
        unbound.waiting_for = member.pending_plugins();
        unbound.until = member.deadline();
      }
      pods.push_back(std::move(unbound));
    }
  }
  return pods;
}

}  // namespace berth
