// SPDX-License-Identifier: Apache-2.0
// Pods that could not take back enough as quotas are now: tried again when there is more to take.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_REFUSED_TAKERS_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_REFUSED_TAKERS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/api/identity_map.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_info.h"
#include "berth/quota/quota_shares.h"
#include "berth/quota/quota_tree.h"
#include "berth/quota/taking.h"
#include "plugins/capacity_scheduling/quota_book.h"

namespace berth {

// What a pod may take back also changes where no event requeues it. Others come to have more than
// they are guaranteed when a pod of theirs is assigned, or nominated. By fair shares, these depend
// on what waiting pods of all quotas ask for, and what was promised to a nominated pod can be taken
// back once it runs. So as long as pods are refused this looks at the figures, at most once in
// kPause and only after such a change, and activates pods that may take more than when they were
// refused: of each quota no more than it may take. Where usage counts with a half-life, shares
// change with time alone: then it also looks when that lets a pod in. In a tree, for pods within
// what their quota is guaranteed, and for all of quotas with the strategy FairShare. Scheduling
// thread.
class RefusedTakers {
 public:
  static constexpr absl::Duration kPause = absl::Seconds(1);
  // What a pod, with those that start together with it, asks for on nodes of each kind.
  using Requests = std::vector<LineAmounts>;

  // All outlive this; `plugin` is the name that timers are counted under.
  RefusedTakers(Handle& handle, QuotaBook& book, absl::string_view plugin)
      : handle_(handle), book_(book), plugin_(plugin) {}

  // The rule of what pods may take, in a trial that evicts nobody. It looks up shares once for all
  // pods that are refused until something changes. Valid until the next call.
  const TakingRule& RuleInTrial();
  // PostFilter rejected the pod. `may_reclaim`: it may take from other quotas, but not enough. One
  // that may not, also once less important pods of its quota have gone for it, is remembered with
  // FairShare alone: a guarantee has room again by an event.
  void Add(const PodInfo& pod, QuotaId quota, Requests requests, bool may_reclaim);
  // It is tried again, or gone.
  void Remove(UidRef pod) { refused_.Erase(pod); }
  // Waiting pods ask for something else than before, or a pod was given what it asked for.
  void FiguresChanged() {
    if (refused_.empty()) return;
    figures_changed_ = true;
    LookAt(absl::InfinitePast());
  }

 private:
  // What others have beyond a bound and might be taken from them: beyond what they are guaranteed,
  // and, with FairShare, beyond their shares.
  struct Takeable {
    __int128 beyond_guarantees = 0, beyond_shares = 0;
    // Beyond guarantees, with what nominated pods are promised: they give way before they run.
    __int128 with_places = 0;

    bool empty() const { return beyond_guarantees == 0 && beyond_shares == 0 && with_places == 0; }
    bool IsMoreThan(const Takeable& other) const {
      return beyond_guarantees > other.beyond_guarantees || beyond_shares > other.beyond_shares ||
             with_places > other.with_places;
    }
  };
  struct Refused {
    std::shared_ptr<const PackedPod> pod;
    QuotaId quota = QuotaTree::kCluster;
    int32_t priority = 0;
    absl::Time creation_time;
    uint64_t sequence = 0;
    uint64_t tree_version = 0;
    Requests requests;
    Takeable takeable;     // when it was refused, or the least at a look since
    bool is_known = true;  // else it was refused in the attempt of a group, which is not over
  };
  // Pods of one quota that ask for the same, with the same priority.
  struct Alike {
    QuotaId quota;
    int32_t priority;
    Requests requests;
    friend bool operator==(const Alike&, const Alike&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Alike& alike) {
      return H::combine(std::move(h), alike.quota, alike.priority, alike.requests);
    }
  };
  static Alike AlikeOf(const Refused& refused) {
    return {refused.quota, refused.priority, refused.requests};
  }
  // What is found for them.
  struct Found {
    Takeable takeable;
    bool is_full = false;  // those that are activated take it all
  };
  // Of the tree at one moment.
  class Figures {
   public:
    explicit Figures(const QuotaBook& book);
    // Of what pods of the quota ask for with the requests and so much more; nothing by a bound that
    // its side would not stay within, once less important pods of the quota itself have gone for
    // it. TakingRule says it of a pod and a holder; this is generous, and does not ask who of them
    // holds what.
    Takeable TakeableFor(const Alike& alike, const LineAmounts& and_more = {});
    // Whether some side would stay within its guarantee.
    bool MayReclaim(const Alike& alike);

   private:
    // What less important pods of the quota itself have, that would go for one of them.
    const LineAmounts& Given(QuotaId quota, int32_t priority);
    enum class Bound : uint8_t { kGuarantee, kGuaranteeWithPlaces, kShare };
    __int128 BoundOf(QuotaId quota, int line, Bound bound);
    // What is left of it for pods of the quota itself.
    __int128 OwnBound(QuotaId quota, int line, Bound bound);
    __int128 BeyondBeside(QuotaId side, QuotaId quota, const LineAmounts& request,
                          const LineAmounts& given, Bound bound);
    // Of its children, by pods of the quota itself.
    __int128 BeyondBelow(QuotaId quota, const LineAmounts& request, const LineAmounts& given,
                         Bound bound);
    // How much more than the bound its side would have with what is asked for; absent if nobody
    // gives it that.
    static std::optional<__int128> Excess(__int128 has, __int128 with, __int128 of, Bound bound);
    // RunningBeyond() of the children of a quota together, of which it is more than `excess`.
    __int128 RunningBeyondBelow(QuotaId above, int line, Bound bound, __int128 excess);
    __int128 RunningBeyond(QuotaId quota, int line, Bound bound);

    const QuotaBook& book_;
    const QuotaTree& tree_;
    QuotaShares shares_;
    absl::flat_hash_map<std::pair<QuotaId, int32_t>, LineAmounts> given_;
    struct Beyond {
      __int128 of_one = 0, with_those_before = 0;
    };
    // Of the children of a quota, by line and bound, those with the most first.
    absl::flat_hash_map<std::tuple<QuotaId, int, Bound>, std::vector<Beyond>> beyond_below_;
    // At and below the quota, by line: of pods that leave, and of those and nominated ones.
    absl::flat_hash_map<std::pair<QuotaId, int>, __int128> leaving_, not_running_;
  };

  // Figures::TakeableFor() as of now.
  Takeable TakeableNow(const Refused& refused) {
    return FiguresNow().TakeableFor(AlikeOf(refused));
  }
  Figures& FiguresNow();
  // While a group is tried, its plans are in the figures. So they are looked at when it is over.
  void LookAfterAttempt();
  // Looks then, or as soon after it as kPause allows, unless it looks before.
  void LookAt(absl::Time time);
  void Look();
  bool MayTakeMore(const Refused& refused, const Takeable& takeable) const;
  // The least beyond shares that MayTakeMore() for time alone: not each unit that others borrow
  // more while usage decays has the pod tried.
  static __int128 Enough(const Refused& refused);
  // When decay alone gives one of those that are left enough; InfiniteFuture if it never will.
  absl::Time WhenDecayLetsIn(const std::vector<Refused*>& left);
  std::vector<Refused*> InOrder();

  Handle& handle_;
  QuotaBook& book_;
  const std::string plugin_;
  IdentityMap<Refused, ByUid> refused_;
  // As long as QuotaBook::version() is that; absent if what-if changes were in it.
  std::optional<TakingRule> rule_;
  std::optional<Figures> figures_;
  std::optional<uint64_t> rule_version_, figures_version_;
  uint64_t next_sequence_ = 0;
  bool figures_changed_ = false;  // since the last look
  TimerId timer_ = TimerId::kNone, after_attempt_ = TimerId::kNone;
  absl::Time due_;  // if there is a timer
  absl::Time last_ = absl::InfinitePast();
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_REFUSED_TAKERS_H_
