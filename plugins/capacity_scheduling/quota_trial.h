// SPDX-License-Identifier: Apache-2.0
// Whom pods may evict by a tree of quotas, as one plan comes about.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_TRIAL_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_TRIAL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/framework/handle.h"
#include "berth/preemption/victim_rules.h"
#include "berth/quota/taking.h"
#include "plugins/capacity_scheduling/quota_book.h"

namespace berth {

// The tree as it will be when pods that are being deleted are gone and nominated ones run, without
// what the plan evicts. The books are as before when this goes.
class QuotaTrial final : public VictimTrial {
 public:
  // `quota` is that of the first preemptor, for which room is made; the others start together with
  // it, so the rules count what they ask for as well. `book` and `handle` outlive this.
  QuotaTrial(QuotaBook& book, Handle& handle, QuotaId quota,
             absl::Span<const PodInfo* const> preemptors);
  ~QuotaTrial() override;
  QuotaTrial(const QuotaTrial&) = delete;
  QuotaTrial& operator=(const QuotaTrial&) = delete;

  // Nearer quotas first; of them, who borrowed most of the lines that are asked for; lower
  // priority; less work lost; later ones.
  std::vector<VictimUnit> Units() const override;
  // From now on no pod of the first preemptor's group may be evicted: all of it starts, or nobody.
  void KeepOwnGroup() { kept_group_ = handle_.groups().GroupOfPod(first_.uid()).value_or(""); }
  // From now on they are also of quotas to which claims of others may pass.
  void CountClaimsThatPass() { counts_claims_that_pass_ = true; }
  // The quotas that they are of, in that order; some of these give once nearer ones gave.
  std::vector<QuotaId> VictimQuotas() const;
  // Whose nominations the preemptors may take, though nobody of them runs: pods that would borrow
  // what these are guaranteed, and less important ones of their own quota. In units, as they may go
  // one after the other; none is gone. The same wherever the first was placed last.
  std::vector<VictimUnit> PlacesToTake();
  // Whether the pod is gone in the plan.
  bool IsGone(const PodInfo& pod) const { return uids_gone_.contains(pod.uid()); }
  // What the preemptors ask for on nodes of each kind that the first may run on; none twice.
  std::vector<LineAmounts> RequestsByNode() const;
  // Whether they may take from any other quota, by a rule of the tree as it is now.
  bool MayReclaim(const TakingRule& rule) const;
  Verdict MayEvict(const VictimUnit& unit) const override;
  Status WhyNobody() const override;
  void Evict(const VictimUnit& unit) override { Move(unit, true); }
  void Spare(const VictimUnit& unit) override { Move(unit, false); }
  Status HasRoom() const override;

  bool PlaceOn(const LabelSet& node) override;

 private:
  struct Moved {
    QuotaId quota;
    LineAmounts amounts;
    int sign;
  };
  // What the preemptors ask for on a node with these labels; null: on one that no line is limited
  // to.
  LineAmounts AskedOn(const LabelSet* node) const;
  // The preemptors on nodes of each kind, if the first may run on one of them; none twice.
  std::vector<QuotaTaker> TakersByNode() const;
  Status WhyNobodyGives(const QuotaTaker& taker) const;
  // Nearer ones first, then who borrows most.
  using RankedQuota = std::tuple<int, int64_t, QuotaId>;
  void AddThoseClaimsPassTo(absl::Span<const QuotaTaker> takers,
                            std::vector<RankedQuota>& ranked) const;
  // `may_reclaim`: of each taker TakingRule::MayReclaim(), once it was asked for.
  bool MayGive(absl::Span<const QuotaTaker> takers, QuotaId quota,
               std::vector<std::optional<bool>>& may_reclaim) const;
  int64_t Borrowed(absl::Span<const QuotaTaker> takers, QuotaId quota) const;
  // What its own pods are charged.
  LineAmounts OwnOf(QuotaId quota) const;
  // Whether the claim is to be charged for the preemptor that is asked about.
  bool AsksFor(const std::string& claim);
  // After a user of the claim went or came back; `before`: StayingUser() before that.
  void MoveClaim(const std::string& claim, const ClaimUser* before);
  // The first user of the claim that neither leaves nor is gone in the plan; null if there is none.
  const ClaimUser* StayingUser(absl::string_view claim) const;
  // What the pods of a unit hold; absent if one of them is not charged.
  std::optional<QuotaHolder> HolderOf(const VictimUnit& unit) const;
  // Whether they may go, without the places that are promised to others of their gang.
  TakingVerdict WithoutPlacesOfGang(const VictimUnit& unit, const QuotaHolder& holder) const;
  // Whether its own quota lets it take what a pod of that priority is promised. Not of an equal
  // one: gangs whose members are of several ages would take turns.
  bool MayTakePlacesOfOwn(int32_t priority) const;
  // Of nominated pods that may give, those that go first in front; the same in units.
  std::vector<const QuotaPromise*> PromisesThatMayGive() const;
  std::vector<VictimUnit> NominatedUnits() const;
  VictimRank RankOf(const VictimUnit& unit, absl::Time now) const;
  void Move(const VictimUnit& unit, bool gone);
  void Change(QuotaId quota, const LineAmounts& amounts, int sign);

  // Preemptors in a row that ask for the same, as members of a gang mostly do.
  struct Asked {
    PodAmounts each;
    int pods = 0;
  };

  QuotaBook& book_;
  const QuotaBook::WhatIf what_if_;
  Handle& handle_;
  const PodInfo& first_;
  QuotaTaker taker_;      // all of them, where the first was placed last
  LineAmounts request_;   // of the first
  LineAmounts possible_;  // of that, what its claims may do without
  bool counts_claims_that_pass_ = false;
  std::string kept_group_;    // empty: none
  PodAmounts open_claims_;    // of the first pod, without devices
  LineAmounts avoidable_;     // of these, as QuotaTree::FindShortage() has it
  std::vector<Asked> asked_;  // the first preemptor first
  TakingRule rule_;
  std::vector<Moved> moved_;                    // to be undone, in reverse order
  absl::flat_hash_set<std::string> uids_gone_;  // nominated, or with claims
  // Claims of the preemptors: those that they ask for, and those that others have as well.
  absl::flat_hash_set<std::string> asked_claims_, joined_claims_;
  // The last refusal, in words.
  struct Refused {
    TakingVerdict verdict;
    Status status;
  };
  mutable Refused refused_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_TRIAL_H_
