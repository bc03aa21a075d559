// SPDX-License-Identifier: Apache-2.0
// Implementation of evictions.h.
#include "engine/evictions.h"

#include <utility>

#include "absl/status/status.h"

namespace berth {

void Evictions::Start(Cluster& cluster, std::shared_ptr<const PodInfo> preemptor,
                      std::vector<Victim> victims) {
  const std::string uid = preemptor->uid();
  Preemption& preemption = under_way_[uid];
  // A second plan while the first is under way: its victims join.
  preemption.preemptor = std::move(preemptor);
  Victim last = std::move(victims.back());
  victims.pop_back();
  if (victims.empty()) return Ask(cluster, preemption, std::move(last));
  preemption.last.push_back(std::move(last));
  for (Victim& victim : victims) Ask(cluster, preemption, std::move(victim));
}

void Evictions::Ask(Cluster& cluster, Preemption& preemption, Victim victim) {
  ++preemption.unanswered;
  executor_.Run([this, &cluster, victim = std::move(victim), uid = preemption.preemptor->uid()] {
    const absl::Status status = cluster.Evict(*victim.event.regarding, victim.message);
    if (status.ok()) cluster.Record(victim.event);
    // NotFound: it went by itself, which serves as well.
    const bool goes = status.ok() || absl::IsNotFound(status);
    post_([this, &cluster, uid, victim_uid = victim.event.regarding->uid(), goes] {
      Answered(cluster, uid, victim_uid, goes);
    });
  });
}

void Evictions::Answered(Cluster& cluster, const std::string& preemptor_uid,
                         const std::string& victim_uid, bool goes) {
  const auto it = under_way_.find(preemptor_uid);
  Preemption& preemption = it->second;
  if (!goes) {
    preemption.all_go = false;
    listener_.OnEvictionRefused(victim_uid);
  }
  if (--preemption.unanswered > 0) return;
  if (!preemption.last.empty()) {
    std::vector<Victim> last = std::exchange(preemption.last, {});
    for (Victim& victim : last) Ask(cluster, preemption, std::move(victim));
    return;
  }
  const Preemption answered = std::move(preemption);
  under_way_.erase(it);
  listener_.OnEvictionsAnswered(answered.preemptor, answered.all_go);
}

}  // namespace berth
