// SPDX-License-Identifier: Apache-2.0
// Implementation of transaction.h.
#include "engine/transaction.h"

#include <utility>

#include "berth/check.h"

namespace berth {

void Transaction::Undo(ClusterState& cluster, AssumedPod& placement) {
  placement.framework->binding_points().RunUnreserve(placement.state, *placement.pod,
                                                     placement.node_name);
  cluster.Forget(placement.pod);
  cluster.Refresh();
}

void Transaction::RollBackTo(const Savepoint& savepoint) {
  while (placed_.size() > savepoint.placed) {
    Undo(cluster_, placed_.back().placement);
    placed_.pop_back();
  }
  RollBackChanges(savepoint.changes);
}

void Transaction::RollBackChanges(size_t savepoint) {
  if (changes_.size() <= savepoint) return;
  for (; changes_.size() > savepoint; changes_.pop_back()) {
    Change& change = changes_.back();
    if (change.pod == nullptr) continue;
    if (change.spends_budgets) cluster_.GiveBackDisruption(*change.pod);
    switch (change.kind) {
      case Change::Kind::kNominated:
        cluster_.nominations().PutBack(change.pod, change.nomination);
        break;
      case Change::Kind::kTerminating:
        cluster_.ForgetTerminating(*change.pod->identity());
        break;
      case Change::Kind::kEvicted:
        evicted_at_.erase(change.pod->uid());
        cluster_.PutBack(std::move(change.evicted));
        break;
    }
  }
  cluster_.Refresh();
}

void Transaction::TakeBack(size_t position) {
  Undo(cluster_, placed_[position].placement);
  placed_.erase(placed_.begin() + static_cast<std::ptrdiff_t>(position));
}

void Transaction::Nominate(const std::shared_ptr<const PodInfo>& pod, absl::string_view node_name) {
  const Nominations::Place before = cluster_.nominations().PlaceOf(*pod);
  if (before.node.view() == node_name) return;
  cluster_.nominations().Nominate(pod, node_name);
  changes_.push_back({Change::Kind::kNominated, pod, before});
}

void Transaction::Preempt(const std::shared_ptr<const PodInfo>& preemptor,
                          const PostFilterResult& plan, absl::Time now) {
  if (plan.nominated_node.has_value() && !plan.nominated_node->empty()) {
    const Symbol node_name = Symbol::Intern(*plan.nominated_node);
    for (const auto& pod : cluster_.NominationsEndedBy(*preemptor, node_name)) Nominate(pod, "");
  }
  for (const auto& victim : plan.victims) {
    if (cluster_.IsOnlyNominated(*victim)) {
      Nominate(victim, "");
      continue;
    }
    const std::shared_ptr<const PodInfo> pod = cluster_.FindPod(*victim->identity());
    if (pod == nullptr || pod->deletion_time().has_value()) continue;  // expected to leave already
    const bool spends = cluster_.SpendDisruption(*pod);
    cluster_.AssumeTerminating(*pod->identity(), "", now);
    changes_.push_back({Change::Kind::kTerminating, pod, {}, {}, spends});
  }
  if (plan.nominated_node.has_value()) Nominate(preemptor, *plan.nominated_node);
  cluster_.Refresh();
}

// The disruption controller has counted one that is being deleted.
void Transaction::TakeOff(absl::Span<const std::shared_ptr<const PodInfo>> pods, Reason reason) {
  for (const auto& leaving : pods) {
    CachedPod evicted = cluster_.TakeOff(*leaving->identity());
    if (evicted.pod == nullptr) continue;  // it has gone already
    std::shared_ptr<const PodInfo> pod = evicted.pod;
    const bool spends = reason == Reason::kEvicted && !pod->deletion_time().has_value() &&
                        cluster_.SpendDisruption(*pod);
    evicted_at_[pod->uid()] = changes_.size();
    changes_.push_back({Change::Kind::kEvicted, std::move(pod), {}, std::move(evicted), spends});
  }
  cluster_.Refresh();
}

void Transaction::Spare(const PodInfo& victim) {
  const auto at = evicted_at_.find(victim.uid());
  BERTH_CHECK(at != evicted_at_.end());
  Change& change = changes_[at->second];
  evicted_at_.erase(at);
  if (change.spends_budgets) cluster_.GiveBackDisruption(*change.pod);
  cluster_.PutBack(std::move(change.evicted));
  change.pod = nullptr;
  cluster_.Refresh();
}

}  // namespace berth
