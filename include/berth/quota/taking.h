// SPDX-License-Identifier: Apache-2.0
// May a pod take what a running pod holds? Decided by their quotas, at the two just below the
// lowest one that both are under.
#ifndef BERTH_QUOTA_TAKING_H_
#define BERTH_QUOTA_TAKING_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/quota/quota_shares.h"
#include "berth/quota/quota_tree.h"

namespace berth {

// The pod, or pods together, that wait for room. Not charged in the tree.
struct QuotaTaker {
  QuotaId quota = QuotaTree::kCluster;
  LineAmounts request;
  int32_t priority = 0;
  absl::Time creation_time;
};

// The pod, or pods that go together, that run. Charged.
struct QuotaHolder {
  QuotaId quota = QuotaTree::kCluster;
  LineAmounts amounts;
  int32_t priority = 0;  // the highest
  absl::Time creation_time;
  absl::Time start_time;  // the latest
  bool preemptible = true;
};

// What decides; kYes, or the first reason why not.
enum class Taking : uint8_t {
  kYes,
  kNotPreemptible,  // the holder's label says so
  kNever,           // reclaim.strategy, or preemption, of the taker's quota
  kFenced,          // a fence stands between them
  kNotLower,        // its priority is not lower where it has to be
  kTakerAbove,      // the taker's side would have more than its min, or its share
  kHolderWithin,    // the holder's side has no more than its min, or its share
  kMinRuntime,      // not before TakingVerdict::until
};
absl::string_view TakingName(Taking taking);

struct TakingVerdict {
  Taking taking = Taking::kYes;
  absl::Time until = absl::InfiniteFuture();
  // The quota that decides, if one does: the cluster for none.
  QuotaId quota = QuotaTree::kCluster;
  // For kTakerAbove and kHolderWithin: the line that decides, -1 for none, what the quota uses of
  // it, with what is asked for of the former, and its bound.
  int line = -1;
  __int128 used = 0, bound = 0;
  bool by_share = false;  // the bound is its fair share, not its guarantee

  bool ok() const { return taking == Taking::kYes; }
  // For people: "ClusterQuota a would use 5 gpu, and its min is 4".
  std::string ToString(const QuotaTree& tree) const;
  friend bool operator==(const TakingVerdict&, const TakingVerdict&) = default;
};

// The rule, over a tree that may be charged and released meanwhile, as long as what a taker wants
// and what victims give back still counts as wanted or used: shares are looked up once.
class TakingRule {
 public:
  // `tree` outlives this.
  TakingRule(const QuotaTree& tree, absl::Time now) : tree_(tree), now_(now), shares_(tree) {}

  TakingVerdict MayTake(const QuotaTaker& taker, const QuotaHolder& holder) const;

  // Why the taker is due nothing of other quotas, whichever pods hold it; kYes if it is. Of quotas
  // above its own only the nearest is named.
  TakingVerdict WhyNotReclaim(const QuotaTaker& taker) const;

  // Quick tests that hold if MayTake() says yes: whether the taker may take from any other quota,
  // and whether from pods of this one.
  bool MayReclaim(const QuotaTaker& taker) const;
  bool MayGive(const QuotaTaker& taker, QuotaId holder) const;

 private:
  enum class Bound : uint8_t { kGuarantee, kShare };
  // What a side may have by that bound, and what it has; of the ancestor itself, its own pods'.
  struct Side {
    __int128 bound, used;
  };
  Side SideOf(QuotaId quota, QuotaId ancestor, int line, Bound bound) const;
  __int128 Share(QuotaId quota, int line) const { return shares_.Of(quota, line); }
  // These say in `why`, unless it is null, what decides if the answer is no.
  bool StaysWithin(const QuotaTaker& taker, const QuotaTree::Branches& branches, Bound bound,
                   TakingVerdict* why) const;
  // Whether a side that the taker is on passes.
  template <class Test>
  bool OnSomeSide(const QuotaTaker& taker, const Test& test) const;
  // What the taker's side has less than its share is no whole pod. Whether it may be the taker, if
  // others have even more beyond theirs; and whether they do, and keep their share without the
  // holder, unless that is null.
  bool EndsBeyondShare(const QuotaTaker& taker, const QuotaTree::Branches& branches) const;
  bool EvensOut(const QuotaTaker& taker, const QuotaHolder* holder,
                const QuotaTree::Branches& branches) const;
  __int128 UsedWith(const QuotaTaker& taker, const QuotaTree::Branches& branches, int line,
                    int64_t amount, const Side& side) const {
    return branches.a == branches.ancestor ? side.used + amount
                                           : tree_.HeldWith(branches.a, line, taker.quota, amount);
  }
  bool IsAbove(const QuotaTaker& taker, const QuotaHolder& holder,
               const QuotaTree::Branches& branches, Bound bound, TakingVerdict& why) const;
  bool IsAboveOn(int line, QuotaId holder, const QuotaTree::Branches& branches, Bound bound,
                 TakingVerdict* why) const;
  // The quota whose fence stands between them; the cluster if none does.
  int64_t PriorityBelow(QuotaId ancestor, QuotaId quota, int32_t of_pod) const;
  QuotaId FenceBetween(QuotaId taker, QuotaId holder, const QuotaTree::Branches& branches) const;
  TakingVerdict UnlessTooSoon(const QuotaHolder& holder, QuotaId from,
                              std::optional<absl::Duration> QuotaSpec::*field) const;

  // What the children may have by that bound, together.
  __int128 OfChildren(QuotaId quota, int line, Bound bound) const;

  const QuotaTree& tree_;
  const absl::Time now_;
  mutable QuotaShares shares_;
};

}  // namespace berth

#endif  // BERTH_QUOTA_TAKING_H_
