// SPDX-License-Identifier: Apache-2.0
// A tree of quotas and what is used of it: exact, and at the cost of its depth.
#ifndef BERTH_QUOTA_QUOTA_TREE_H_
#define BERTH_QUOTA_QUOTA_TREE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/quota/quota_spec.h"

namespace berth {

// A quota's number in a tree: kCluster, and then as they are in the specs, from 1.
using QuotaId = int;

// The arithmetic of docs/quota.md. Sums are exact: what was added and taken away again is gone,
// however large it was. Threads: none of its own.
class QuotaTree {
 public:
  static constexpr QuotaId kCluster = 0;
  // A bound that is not set.
  static constexpr __int128 kUnlimited = __int128{1} << 100;

  // A tree of the cluster alone.
  QuotaTree() : QuotaTree(std::vector<QuotaSpec>()) {}
  // As of ReadQuotas(). One whose parent does not exist, or that is above itself, is right below
  // the cluster.
  explicit QuotaTree(std::vector<QuotaSpec> specs);

  // --- Shape ---

  int size() const { return static_cast<int>(specs_.size()); }  // the cluster included
  const QuotaSpec& spec(QuotaId quota) const { return specs_[quota]; }
  QuotaId parent(QuotaId quota) const { return parents_[quota]; }  // -1: of the cluster
  int depth(QuotaId quota) const { return depths_[quota]; }        // of the cluster 0
  absl::Span<const QuotaId> children(QuotaId quota) const { return children_[quota]; }
  // The quota of that name; absent if there is none.
  std::optional<QuotaId> Find(absl::string_view name) const;
  // Every line that some quota names, in order of the quotas and in each by name.
  absl::Span<const QuotaLine> lines() const { return lines_; }
  // The quotas right below the lowest common ancestor of the two; a quota stands for itself if it
  // is above the other. Both the same: they are in one quota.
  struct Branches {
    QuotaId a, b, ancestor;
  };
  Branches BranchesOf(QuotaId a, QuotaId b) const;
  // Whether the quota or one above it, below the cluster, names the line in min or max, or a
  // quota below it names it in min: then what its pods hold of it counts for a quota.
  bool Concerns(QuotaId quota, int line) const { return concerns_[At(quota, line)]; }

  // --- What is given ---

  // What the nodes have; before it is set, no limit.
  void SetCapacity(int line, int64_t amount);
  std::optional<int64_t> capacity(int line) const;
  // min if the quota names the line, else its children's together. For the cluster: its capacity.
  __int128 guarantee(QuotaId quota, int line) const { return guarantee_[At(quota, line)]; }
  // Of its children together: that may be more than its own.
  __int128 guaranteed_below(QuotaId quota, int line) const {
    return guaranteed_below_[At(quota, line)];
  }
  // The lesser of max, and guarantee and borrowing limit; kUnlimited or more if there are none.
  __int128 most(QuotaId quota, int line) const { return most_[At(quota, line)]; }

  // --- What is used ---

  // What a pod with these amounts is charged on a node with those labels; without labels, as if it
  // ran on a node that no line is limited to.
  LineAmounts ChargeOf(const PodAmounts& amounts, const LabelSet* node) const;
  // Of that, what its claims may do without.
  LineAmounts PossibleOf(const PodAmounts& amounts, const LabelSet* node) const;
  // Charges the quota and those above it, or takes back. The same amounts come and go together.
  void Charge(QuotaId quota, const LineAmounts& amounts) { Move(quota, amounts, 1); }
  void Release(QuotaId quota, const LineAmounts& amounts) { Move(quota, amounts, -1); }
  // At and below the quota.
  __int128 used(QuotaId quota, int line) const { return used_[At(quota, line)]; }
  // By the quota's own pods.
  __int128 own(QuotaId quota, int line) const { return own_[At(quota, line)]; }
  __int128 borrowed(QuotaId quota, int line) const {
    const __int128 more = used(quota, line) - guarantee(quota, line);
    return more > 0 ? more : 0;
  }
  // What the quota keeps from those beside it once `by`, which is the quota or below it, uses so
  // much more: what is used at and below it, and what of it is never lent, used or not.
  __int128 HeldWith(QuotaId quota, int line, QuotaId by, int64_t more) const;
  __int128 Held(QuotaId quota, int line) const { return HeldWith(quota, line, quota, 0); }
  // What the quota may still use: no quota above it gets more than its most() by it, beside what
  // those below keep for themselves. Negative after a cut.
  __int128 Available(QuotaId quota, int line) const;

  // How much more the quota may use by its own bounds and those above it, whatever the cluster has.
  __int128 WithinBounds(QuotaId quota, int line) const;

  // The first line, in their order, that has no room for the amounts, and the quota whose bound it
  // is. kBorrowed: others have what would be left.
  struct Shortage {
    enum class Kind : uint8_t { kMax, kBorrowingLimit, kBorrowed };
    Kind kind = Kind::kBorrowed;
    QuotaId quota = kCluster;
    int line = 0;
    int64_t needed = 0;
    __int128 used = 0, limit = 0;  // of that quota
    __int128 kept = 0;             // of the limit, unused, by quotas below that do not lend it
    __int128 nominated = 0;        // of `used`, by pods that do not run yet: for ToString()
  };
  // Claims may do without what is `possible`: as much of it as the nodes have left and no more is
  // asked of the cluster. The bounds of quotas hold for all of it but what is `avoidable`: whoever
  // chooses the devices keeps to what is left.
  std::optional<Shortage> FindShortage(QuotaId quota, const LineAmounts& amounts,
                                       const LineAmounts& possible = {},
                                       const LineAmounts& avoidable = {}) const;
  // "team-a may have at most 8 gpu and uses 8".
  std::string ToString(const Shortage& shortage) const;

  // --- What is wanted, and shares ---

  // What waiting pods ask for, as Charge() and Release().
  void Want(QuotaId quota, const LineAmounts& amounts) { MoveWanted(quota, amounts, 1); }
  void Unwant(QuotaId quota, const LineAmounts& amounts) { MoveWanted(quota, amounts, -1); }
  __int128 wanted(QuotaId quota, int line) const { return wanted_[At(quota, line)]; }
  // What the quota has if the cluster is shared fairly: see DivideFairly(). The cluster's is its
  // capacity. Costs the depth times the number of siblings.
  __int128 ShareOf(QuotaId quota, int line) const;
  // The shares of all quotas at once, by quota.
  std::vector<__int128> SharesOf(int line) const;
  // Those of the children of a quota that has `total`.
  std::vector<__int128> SharesBelow(QuotaId above, int line, __int128 total) const;
  // The largest of what it borrows with `more` of any line, in millionths of what its parent has,
  // by weight: smaller comes first. Compare with LessShare(), those of siblings.
  struct DominantShare {
    int64_t millionths = 0;
    int64_t weight = 1;   // with history what counts as its weight, as in fair shares
    int64_t history = 0;  // decayed usage in millionths of its siblings'; 0 without history
  };
  DominantShare DominantShareOf(QuotaId quota, const LineAmounts& more) const;
  // The dominant share of the quota's own pods, beside its children; their weight is 1.
  DominantShare OwnDominantShareOf(QuotaId quota, const LineAmounts& more) const;
  static bool LessShare(const DominantShare& a, const DominantShare& b);

  // Grows with every charge at or below the quota; and with every change of the capacity.
  uint64_t charges(QuotaId quota) const { return charges_[quota]; }
  uint64_t capacity_version() const { return capacity_version_; }

  // Brings decayed usage up to `now`; before a charge, if it is to count for the time so far.
  void Advance(absl::Time now);
  bool has_history() const { return has_history_; }
  // Whether what the quota used lately counts: the one above has a half-life.
  bool HasHistory(QuotaId quota) const {
    return has_history_ && quota != kCluster && specs_[parents_[quota]].half_life.has_value();
  }
  // The mean of what a quota with history used, as of the last Advance().
  double UsedLately(QuotaId quota, int line) const { return DecayedOf(quota, line); }
  // Whether something is known of that; so before the first charge only by ContinueHistory().
  bool KnowsHistory(QuotaId quota) const { return decayed_at_[quota] != absl::InfinitePast(); }
  // The mean was this at that time, and what is used now was used since then.
  void RestoreHistory(QuotaId quota, int line, double mean, absl::Time at);
  // Continues with the decayed usage of `before`, a tree of earlier quotas as of the same time:
  // line by line, of quotas of the same name and uid. Before anything is charged.
  void ContinueHistory(const QuotaTree& before);
  // As long as one lives, decayed usage and shares are as they will be at that time if nothing
  // changes until then. Nothing is charged meanwhile.
  class Later {
   public:
    Later(QuotaTree& tree, absl::Time time) : tree_(tree), now_(tree.now_) { tree.Advance(time); }
    ~Later() { tree_.now_ = now_; }
    Later(const Later&) = delete;
    Later& operator=(const Later&) = delete;

   private:
    QuotaTree& tree_;
    const absl::Time now_;
  };

  // For tests: what used() and bubbled usage are, worked out from the charges of each quota alone.
  bool IsConsistent() const;

 private:
  std::optional<Shortage> FindShortageOf(QuotaId quota, int line, int64_t amount) const;
  // Of the amount, of which so much is possible, what is not, and what the nodes have left.
  int64_t LeastOf(int line, int64_t amount, int64_t possible) const;
  size_t At(QuotaId quota, int line) const {
    return static_cast<size_t>(quota) * lines_.size() + static_cast<size_t>(line);
  }
  void FindLines();
  void LinkParents();
  void Reckon(int line);
  int64_t WeightOf(QuotaId quota, int line) const;
  void Move(QuotaId quota, const LineAmounts& amounts, int sign);
  void MoveWanted(QuotaId quota, const LineAmounts& amounts, int sign);
  // What the quotas below it have and never lend.
  __int128 reserved(QuotaId quota, int line) const {
    return guarantee_[At(quota, line)] - pool_[At(quota, line)];
  }
  // What the quota takes of what its parent has, if it is given it: what is used or wanted at and
  // below it, of no quota more than it may have, and what it never lends in any case.
  __int128 Takes(QuotaId quota, int line) const;
  void MoveNeeds(QuotaId quota, int line, __int128 more);
  __int128 WholeAbove(QuotaId quota, int line) const;
  // usage_lately.cc. Of those right below a quota that use or want some of the line.
  struct Contest {
    absl::Time at = absl::InfinitePast();
    uint64_t moves = 0;
    __int128 weights = 0;
    double decayed = 0;
  };
  bool Contends(QuotaId quota, int line) const {
    return used_[At(quota, line)] > 0 || wanted_[At(quota, line)] > 0;
  }
  const Contest& ContestBelow(QuotaId above, int line) const;
  double DecayedOf(QuotaId quota, int line) const;
  // If it was `mean` then, and what is used now was used since.
  double DecayedSince(QuotaId quota, int line, double mean, absl::Time at) const;
  void CatchUp(QuotaId quota);
  // In millionths of what those used lately that contend, and it.
  int64_t PartLately(QuotaId quota, int line) const;
  // Of what these weigh; with it, if it is not counted.
  int64_t PartByWeight(QuotaId above, int line, int64_t weight, bool is_counted) const;
  // What counts as its weight, with history; in millionths of a thousandth.
  int64_t WeightLately(QuotaId quota, int line) const;
  // Of its own pods, beside its children.
  int64_t OwnWeight(QuotaId quota, int line) const;

  std::vector<QuotaSpec> specs_;  // [0] is the cluster's, empty
  std::vector<QuotaId> parents_;
  std::vector<int> depths_;
  std::vector<std::vector<QuotaId>> children_;
  std::vector<QuotaId> top_down_;  // all of them, parents first
  absl::flat_hash_map<std::string, QuotaId> ids_;
  std::vector<QuotaLine> lines_;
  // By At(): what is given.
  std::vector<bool> concerns_;
  std::vector<__int128> guarantee_, guaranteed_below_, most_, pool_, local_, max_, borrowing_limit_;
  std::vector<std::optional<int64_t>> capacity_;  // by line
  // What is used: at and below; the same without what children have of their own; by the quota's
  // own pods.
  std::vector<__int128> used_, bubbled_, own_;
  std::vector<__int128> wanted_;
  std::vector<__int128> needs_;    // by its own pods, used and wanted, and what children take
  std::vector<uint64_t> charges_;  // how often, by quota
  uint64_t capacity_version_ = 0;
  bool has_history_ = false;
  absl::Time now_ = absl::InfinitePast();
  // The mean usage of children of quotas with a half-life, by At(), as of these times.
  std::vector<double> decayed_;
  std::vector<absl::Time> decayed_at_;
  uint64_t moves_ = 0;                     // of what is used and wanted, of all quotas
  mutable std::vector<Contest> contests_;  // by At(); as of now_ and moves_, or an earlier time
};

// One of those that share an amount.
struct ShareClaim {
  __int128 guarantee = 0;  // gets this first, if it wants it
  __int128 wanted = 0;     // and no more than this
  int64_t weight = 1;      // of what is left, beside the others'
  int32_t priority = 0;    // higher ones first
  // What counts as its weight with what it used lately; of all claims, or of none.
  std::optional<int64_t> weight_lately;
};

// Divides `total` among claims in the order in which they are to be preferred where nothing else
// tells them apart. Each gets the lesser of guarantee and wanted (if that is more than there is,
// these are divided by guarantee); then, priority by priority, what is left by weight, as whole
// units with the largest remainder first: by `weight_lately`, and what those do not want that have
// one by `weight`. Gives away all that is wanted, or all there is.
std::vector<__int128> DivideFairly(__int128 total, absl::Span<const ShareClaim> claims);

}  // namespace berth

#endif  // BERTH_QUOTA_QUOTA_TREE_H_
