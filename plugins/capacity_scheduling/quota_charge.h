// SPDX-License-Identifier: Apache-2.0
// What one pod is charged, and the order in which charged pods would go.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_CHARGE_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_CHARGE_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "absl/time/time.h"
#include "berth/api/identity.h"
#include "berth/api/symbol.h"
#include "berth/framework/pod_info.h"
#include "berth/preemption/lost_work.h"
#include "berth/quota/quota_tree.h"
#include "plugins/capacity_scheduling/claim_charges.h"

namespace berth {

// By what the charged pods of a quota are kept. Of one priority and weight, who loses the least
// work comes first at any time, then who was charged later: whatever VictimRank() says as time
// passes.
struct VictimKey {
  int32_t priority = 0;
  int64_t weight = 1;     // WorkWeight()
  absl::Time saved_at;    // WorkSavedAt()
  uint64_t sequence = 0;  // of all charges: later ones are higher

  friend bool operator<(const VictimKey& a, const VictimKey& b) {
    return std::tie(a.priority, a.weight, b.saved_at, b.sequence) <
           std::tie(b.priority, b.weight, a.saved_at, a.sequence);
  }
};

// The order in which units of a quota go: lower priority first, then who loses the least work, then
// who was charged later. Of pods that go together the highest priority counts, all their work, and
// the first charge.
struct VictimRank {
  int32_t priority = 0;
  LostWork lost = 0;
  uint64_t sequence = 0;

  VictimRank(const VictimKey& key, absl::Time now)
      : priority(key.priority),
        lost(LostSince(key.saved_at, key.weight, now)),
        sequence(key.sequence) {}
  void Add(const VictimRank& other) {
    priority = std::max(priority, other.priority);
    lost += other.lost;
    sequence = std::min(sequence, other.sequence);
  }
  friend bool operator<(const VictimRank& a, const VictimRank& b) {
    return std::tie(a.priority, a.lost, b.sequence) < std::tie(b.priority, b.lost, a.sequence);
  }
};

// What a pod that runs was charged when it came: that is released when it goes, whatever it or its
// node says by then.
struct QuotaCharge {
  IdentityPtr pod;
  Symbol node;
  QuotaId quota = QuotaTree::kCluster;
  LineAmounts amounts;              // without claims
  std::vector<ClaimCharge> claims;  // which it may share with others: see ClaimCharges
  VictimKey key;
  bool leaving = false;     // it is being deleted
  bool preemptible = true;  // as far as its label says
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_CHARGE_H_
