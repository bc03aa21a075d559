// SPDX-License-Identifier: Apache-2.0
// What the ResourceClaims of pods are charged in a tree of quotas: each claim once.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_CLAIM_CHARGES_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_CLAIM_CHARGES_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "berth/api/identity.h"
#include "berth/framework/pod_info.h"
#include "berth/quota/quota_tree.h"

namespace berth {

// A claim of a pod, "namespace/name", and what it is charged where that pod runs.
struct ClaimCharge {
  std::string claim;
  LineAmounts amounts;
  friend bool operator==(const ClaimCharge&, const ClaimCharge&) = default;
};

// A pod that uses a claim, or is to.
struct ClaimUser {
  enum class Use : uint8_t { kRuns, kNominated, kWaits };
  IdentityPtr pod;
  Use use = Use::kRuns;
  absl::Time created;
  QuotaId quota = QuotaTree::kCluster;
  bool leaving = false;  // it is being deleted
  LineAmounts amounts;
};

// Charges a claim to the quota of its first user: of those that run the oldest, then of those that
// are nominated. When that one goes, the claim is charged to the next one, and released with the
// last. Who that is follows from the pods there are, not from the order in which they came: it is
// the same after a restart. As long as no user runs, the claim is wanted once, by the quota of the
// oldest pod that waits. Scheduling thread.
class ClaimCharges {
 public:
  // Amounts by quota and line. Exact.
  using Sums = std::map<std::pair<QuotaId, int>, __int128>;

  // `tree` outlives this.
  explicit ClaimCharges(QuotaTree& tree) : tree_(tree) {}

  // The tree is a new one: nothing is charged.
  void Clear();
  void Join(const std::string& claim, ClaimUser user);
  // Nothing if the pod does not use it so.
  void Leave(const std::string& claim, UidRef pod, ClaimUser::Use use);
  // All that a pod of the quota uses.
  void Join(const PodInfo& pod, QuotaId quota, const std::vector<ClaimCharge>& claims,
            ClaimUser::Use use);
  void Leave(UidRef pod, const std::vector<ClaimCharge>& claims, ClaimUser::Use use);

  // The first of the users that run or are nominated, and that count: whose quota the claim would
  // be charged to without the others. Null if there is none. Valid until the next change.
  const ClaimUser* FirstUser(absl::string_view claim,
                             absl::FunctionRef<bool(const ClaimUser&)> counts) const;
  // Claims that pods of several quotas run with, or are nominated with: the first user, to whose
  // quota each is charged, and one of another quota, to which it may pass.
  void ForEachThatMayPass(
      absl::FunctionRef<void(const ClaimUser& first, const ClaimUser& other)> visit) const;
  bool any_may_pass() const { return !of_several_quotas_.empty(); }
  // How these amounts change when pods that are being deleted are gone; what is charged to another
  // quota then is negative there.
  const Sums& leaving() const { return leaving_; }

 private:
  using Users = std::vector<ClaimUser>;  // the first one first
  // Charges the claim for its users, or takes that back.
  void Move(const Users& users, int sign);

  QuotaTree& tree_;
  void NoteQuotas(const std::string& claim, const Users& users);

  absl::flat_hash_map<std::string, Users> claims_;
  std::set<std::string> of_several_quotas_;
  Sums leaving_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_CLAIM_CHARGES_H_
