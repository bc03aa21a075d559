// SPDX-License-Identifier: Apache-2.0
// Which quota's turn it is to start a pod: a tournament up the tree.
#ifndef BERTH_QUOTA_TOURNAMENT_H_
#define BERTH_QUOTA_TOURNAMENT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/quota/quota_tree.h"

namespace berth {

// What would go first of the pods of a quota itself.
struct TournamentHead {
  LineAmounts request;  // of all its pods, if it is a group
  int32_t priority = 0;
  absl::Time since;
};

// By quota: its head, or none. The cluster's is that of pods of no quota.
using TournamentHeads = std::vector<std::optional<TournamentHead>>;

// The quota whose head goes next; absent if there is no head. From the bottom up, at each quota the
// heads that won at its children, and its own, are compared by its `order`, with what the child
// uses and the head counted in. The default order is UnderGuarantee, Priority, Share, PodPriority,
// Age; where nothing tells them apart, the older quota goes first. What a quota has beside its
// children is guaranteed to its own head, whose share counts with weight 1. Pods of no quota are
// guaranteed nothing and have no share.
std::optional<QuotaId> ChooseNext(const QuotaTree& tree, const TournamentHeads& heads);

// The same, remembered from one call to the next: what is charged, or a head that changes, costs
// the siblings on the way up. Where shares move by themselves (UnderShare, history) all siblings
// are looked at each time.
class Tournament {
 public:
  // `tree` outlives this and keeps its shape.
  explicit Tournament(const QuotaTree& tree);
  ~Tournament();
  Tournament(const Tournament&) = delete;
  Tournament& operator=(const Tournament&) = delete;

  void SetHead(QuotaId quota, std::optional<TournamentHead> head);
  std::optional<QuotaId> Next();

 private:
  struct Standing;  // of one that takes part
  struct Round;     // of a quota with its children

  void Refresh(QuotaId quota);
  bool IsStale(QuotaId quota) const;

  const QuotaTree& tree_;
  TournamentHeads heads_;
  std::vector<uint64_t> head_changes_;  // by quota, at and below it
  std::vector<int> head_counts_;        // the same
  std::vector<bool> moves_;             // by quota: something at or below it moves by itself
  std::vector<Round> rounds_;
  uint64_t capacity_version_ = 0;
};

}  // namespace berth

#endif  // BERTH_QUOTA_TOURNAMENT_H_
