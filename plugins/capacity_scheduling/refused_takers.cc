// SPDX-License-Identifier: Apache-2.0
// Implementation of refused_takers.h.
#include "plugins/capacity_scheduling/refused_takers.h"

#include <algorithm>
#include <tuple>

#include "absl/algorithm/container.h"

namespace berth {
namespace {

// Up to which priority a pod's own quota may give it pods. Which of those with its own are newer is
// not looked at: it is tried again in vain then.
int32_t HighestOfOwn(const QuotaSpec& spec, int32_t priority) {
  const bool newer = spec.preemption == QuotaPreemption::kLowerOrNewerEqualPriority;
  return newer ? priority : priority - 1;
}

}  // namespace

void RefusedTakers::Add(const PodInfo& pod, QuotaId quota, Requests requests, bool may_reclaim) {
  const QuotaSpec& spec = book_.tree().spec(quota);
  const bool by_share = spec.reclaim == ReclaimStrategy::kFairShare;
  if (requests.empty()) return;
  const QuotaBook::Charges& own = book_.ChargesOf(quota);
  const bool may_give =
      !own.empty() && own.begin()->first.priority <= HighestOfOwn(spec, pod.priority());
  if (!may_reclaim && may_give && spec.reclaim != ReclaimStrategy::kNever) {
    may_reclaim = FiguresNow().MayReclaim({quota, pod.priority(), requests});
  }
  if (!may_reclaim && !by_share) return;
  Refused& refused = *refused_.FindOrAdd(pod.identity()).first;
  refused = {.pod = pod.packed(),
             .quota = quota,
             .priority = pod.priority(),
             .creation_time = pod.creation_time(),
             .sequence = next_sequence_++,
             .tree_version = book_.tree_version(),
             .requests = std::move(requests)};
  const bool by_time = by_share && book_.tree().has_history();
  if (handle_.groups().GroupOfPod(pod.uid()).has_value()) {
    refused.is_known = false;
    LookAfterAttempt();
  } else if (may_reclaim || by_time) {
    refused.takeable = TakeableNow(refused);
  }
  if (by_time) LookAt(absl::InfinitePast());
}

const TakingRule& RefusedTakers::RuleInTrial() {
  const bool may_keep = book_.what_ifs() == 1 && !book_.tree().has_history();
  if (!may_keep || rule_version_ != book_.version()) {
    rule_.emplace(book_.tree(), handle_.clock().Now());
    rule_version_ = may_keep ? std::optional<uint64_t>(book_.version()) : std::nullopt;
  }
  return *rule_;
}

RefusedTakers::Figures& RefusedTakers::FiguresNow() {
  const bool may_keep = book_.what_ifs() == 0 && !book_.tree().has_history();
  if (!may_keep || figures_version_ != book_.version()) {
    figures_.emplace(book_);
    figures_version_ = may_keep ? std::optional<uint64_t>(book_.version()) : std::nullopt;
  }
  return *figures_;
}

void RefusedTakers::LookAfterAttempt() {
  if (after_attempt_ != TimerId::kNone) return;
  after_attempt_ = handle_.RunAt(plugin_, handle_.clock().Now(), [this] {
    after_attempt_ = TimerId::kNone;
    book_.RefreshNominations();
    for (Refused* const refused : InOrder()) {
      if (refused->is_known || refused->tree_version != book_.tree_version()) continue;
      refused->takeable = TakeableNow(*refused);
      refused->is_known = true;
    }
  });
}

void RefusedTakers::LookAt(absl::Time time) {
  time = std::max(time, std::max(handle_.clock().Now(), last_) + kPause);
  if (timer_ != TimerId::kNone) {
    if (due_ <= time) return;
    handle_.CancelTimer(timer_);
  }
  due_ = time;
  timer_ = handle_.RunAt(plugin_, time, [this] { Look(); });
}

__int128 RefusedTakers::Enough(const Refused& refused) {
  constexpr int kSteps = 8;  // up to what it asks for, and from there up to twice as much
  __int128 asked = 0;
  for (const LineAmounts& request : refused.requests) {
    for (const auto& [line, amount] : request) asked = std::max<__int128>(asked, amount);
  }
  const __int128 before = refused.takeable.beyond_shares;
  const __int128 step = std::max(asked, before) / kSteps;
  return before + (before == 0 ? 1 : std::max<__int128>(1, step));
}

bool RefusedTakers::MayTakeMore(const Refused& refused, const Takeable& takeable) const {
  return figures_changed_ ? takeable.IsMoreThan(refused.takeable)
                          : takeable.beyond_shares >= Enough(refused);
}

// With the tree as of the last attempt, as QuotaStatus, but for the time.
void RefusedTakers::Look() {
  timer_ = TimerId::kNone;
  last_ = handle_.clock().Now();
  book_.RefreshNominations();
  book_.mutable_tree().Advance(last_);
  Figures figures(book_);
  absl::flat_hash_map<Alike, Found> found_by_request;
  absl::flat_hash_map<QuotaId, LineAmounts> activated;  // what these ask for
  std::vector<std::shared_ptr<const PodInfo>> pods;
  std::vector<Refused*> left;
  bool some_have_no_room = false;
  for (Refused* const refused : InOrder()) {
    if (refused->tree_version == book_.tree_version()) {
      const auto [at, is_new] = found_by_request.try_emplace(AlikeOf(*refused));
      Found& found = at->second;
      if (is_new) found.takeable = figures.TakeableFor(at->first);
      if (!MayTakeMore(*refused, found.takeable)) {
        Takeable& least = refused->takeable;
        least = {std::min(least.beyond_guarantees, found.takeable.beyond_guarantees),
                 std::min(least.beyond_shares, found.takeable.beyond_shares),
                 std::min(least.with_places, found.takeable.with_places)};
        left.push_back(refused);
        continue;
      }
      LineAmounts& others = activated[refused->quota];
      found.is_full |= !others.empty() && figures.TakeableFor(at->first, others).empty();
      if (found.is_full) {
        some_have_no_room = true;
        continue;
      }
      AddAmounts(refused->requests.front(), others);
    }
    absl::StatusOr<std::shared_ptr<const PodInfo>> pod = PodInfo::Create(refused->pod);
    if (pod.ok()) pods.push_back(*std::move(pod));
  }
  figures_changed_ &= some_have_no_room;
  if (some_have_no_room) {
    LookAt(absl::InfinitePast());
  } else if (const absl::Time then = WhenDecayLetsIn(left); then < absl::InfiniteFuture()) {
    LookAt(then);
  }
  for (const auto& pod : pods) Remove(*pod->identity());
  if (!pods.empty()) handle_.Activate(pods);
}

// Looks ahead in steps that double, from a sixteenth of the shortest half-life on, and then halves
// the last one. After some half-lives usage is what runs now, and changes no more.
absl::Time RefusedTakers::WhenDecayLetsIn(const std::vector<Refused*>& left) {
  if (left.empty() || !book_.tree().has_history()) return absl::InfiniteFuture();
  absl::flat_hash_map<Alike, __int128> enough;  // the least, of pods that are alike
  for (const Refused* const refused : left) {
    if (book_.tree().spec(refused->quota).reclaim != ReclaimStrategy::kFairShare) continue;
    const auto [at, is_new] = enough.try_emplace(AlikeOf(*refused));
    at->second = is_new ? Enough(*refused) : std::min(at->second, Enough(*refused));
  }
  if (enough.empty()) return absl::InfiniteFuture();
  const auto lets_in = [&](absl::Duration after) {
    const QuotaTree::Later later(book_.mutable_tree(), last_ + after);
    Figures figures(book_);
    return absl::c_any_of(enough, [&](const auto& alike) {
      return figures.TakeableFor(alike.first).beyond_shares >= alike.second;
    });
  };
  absl::Duration shortest = absl::InfiniteDuration(), longest = absl::ZeroDuration();
  for (QuotaId quota = 0; quota < book_.tree().size(); ++quota) {
    const std::optional<absl::Duration>& half_life = book_.tree().spec(quota).half_life;
    shortest = std::min(shortest, half_life.value_or(shortest));
    longest = std::max(longest, half_life.value_or(longest));
  }
  constexpr int kHalfLives = 16;
  absl::Duration before = absl::ZeroDuration(), after = shortest / kHalfLives;
  while (!lets_in(after)) {
    if (after > kHalfLives * longest) return absl::InfiniteFuture();
    before = after;
    after *= 2;
  }
  while (after - before > kPause) {
    const absl::Duration middle = before + (after - before) / 2;
    (lets_in(middle) ? after : before) = middle;
  }
  return last_ + after;
}

// Those that still wait, in the order in which they are activated; others are forgotten.
std::vector<RefusedTakers::Refused*> RefusedTakers::InOrder() {
  std::vector<IdentityPtr> running;
  std::vector<Refused*> waiting;
  refused_.ForEach([&](const Identity& who, const Refused& refused) {
    if (book_.FindCharge(who) != nullptr) {
      running.push_back(refused.pod->identity());
    } else if (!book_.IsPromised(who)) {
      waiting.push_back(refused_.Find(who));
    }
  });
  for (const IdentityPtr& who : running) refused_.Erase(*who);
  absl::c_sort(waiting, [](const Refused* a, const Refused* b) {
    return std::make_tuple(-int64_t{a->priority}, a->creation_time, a->sequence) <
           std::make_tuple(-int64_t{b->priority}, b->creation_time, b->sequence);
  });
  return waiting;
}

// --- Figures ---

RefusedTakers::Figures::Figures(const QuotaBook& book)
    : book_(book), tree_(book.tree()), shares_(book.tree()) {
  const auto add = [&](const QuotaBook::Sums& sums, auto& to) {
    for (const auto& [where, amount] : sums) {
      for (QuotaId quota = where.first; quota != -1; quota = tree_.parent(quota)) {
        to[{quota, where.second}] += amount;
      }
    }
  };
  add(book.Leaving(), leaving_);
  not_running_ = leaving_;
  add(book.Promised(), not_running_);
}

// Of a claim that several of them use each has all.
const LineAmounts& RefusedTakers::Figures::Given(QuotaId quota, int32_t priority) {
  const auto [known, is_new] = given_.try_emplace({quota, priority});
  LineAmounts& given = known->second;
  if (!is_new || tree_.spec(quota).preemption == QuotaPreemption::kNever) return given;
  for (const auto& [key, charge] : book_.ChargesOf(quota)) {
    if (key.priority > HighestOfOwn(tree_.spec(quota), priority)) break;
    if (!charge->preemptible) continue;
    AddAmounts(charge->amounts, given);
    for (const ClaimCharge& claim : charge->claims) AddAmounts(claim.amounts, given);
  }
  return given;
}

bool RefusedTakers::Figures::MayReclaim(const Alike& alike) {
  const LineAmounts& given = Given(alike.quota, alike.priority);
  if (given.empty()) return false;
  return absl::c_any_of(alike.requests, [&](const LineAmounts& request) {
    for (QuotaId side = alike.quota; side != QuotaTree::kCluster; side = tree_.parent(side)) {
      bool claims = false, is_within = true;
      for (const auto& [line, amount] : request) {
        if (amount <= 0 || !tree_.Concerns(side, line)) continue;
        claims = true;
        const int64_t more = amount - AmountOfLine(given, line);
        is_within &= tree_.HeldWith(side, line, alike.quota, more) <= tree_.guarantee(side, line);
      }
      if (claims && is_within) return true;
    }
    return false;
  });
}

RefusedTakers::Takeable RefusedTakers::Figures::TakeableFor(const Alike& alike,
                                                            const LineAmounts& and_more) {
  const QuotaId quota = alike.quota;
  const LineAmounts& given = Given(quota, alike.priority);
  const auto by = [&](Bound bound) {
    __int128 most = 0;
    for (LineAmounts request : alike.requests) {
      AddAmounts(and_more, request);
      most = std::max(most, BeyondBelow(quota, request, given, bound));
      for (QuotaId side = quota; side != QuotaTree::kCluster; side = tree_.parent(side)) {
        most = std::max(most, BeyondBeside(side, quota, request, given, bound));
      }
    }
    return most;
  };
  Takeable takeable{.beyond_guarantees = by(Bound::kGuarantee),
                    .with_places = by(Bound::kGuaranteeWithPlaces)};
  if (tree_.spec(quota).reclaim == ReclaimStrategy::kFairShare) {
    takeable.beyond_shares = by(Bound::kShare);
  }
  return takeable;
}

__int128 RefusedTakers::Figures::BoundOf(QuotaId quota, int line, Bound bound) {
  return bound == Bound::kShare ? shares_.Of(quota, line) : tree_.guarantee(quota, line);
}

__int128 RefusedTakers::Figures::OwnBound(QuotaId quota, int line, Bound bound) {
  const __int128 below = bound == Bound::kShare ? shares_.OfChildren(quota, line)
                                                : tree_.guaranteed_below(quota, line);
  return std::max<__int128>(0, BoundOf(quota, line, bound) - below);
}

// What is left of the bound may be less than is asked for. By shares others may give then that have
// even more beyond theirs: TakingRule::EvensOut().
std::optional<__int128> RefusedTakers::Figures::Excess(__int128 has, __int128 with, __int128 of,
                                                       Bound bound) {
  if (with <= of) return 0;
  if (bound != Bound::kShare || has >= of) return std::nullopt;
  return with - of;
}

__int128 RefusedTakers::Figures::BeyondBeside(QuotaId side, QuotaId quota,
                                              const LineAmounts& request, const LineAmounts& given,
                                              Bound bound) {
  __int128 beyond = 0;
  for (const auto& [line, amount] : request) {
    if (amount <= 0 || !tree_.Concerns(side, line)) continue;
    const int64_t less = AmountOfLine(given, line);
    const std::optional<__int128> excess =
        Excess(tree_.HeldWith(side, line, quota, -less),
               tree_.HeldWith(side, line, quota, amount - less), BoundOf(side, line, bound), bound);
    if (!excess.has_value()) return 0;
    const QuotaId above = tree_.parent(side);
    beyond += RunningBeyondBelow(above, line, bound, *excess);
    if (const __int128 own = RunningBeyond(side, line, bound); own > *excess) beyond -= own;
    // Of pods of `above` itself, which stand beside its children.
    const __int128 of_above = tree_.own(above, line) - OwnBound(above, line, bound);
    if (of_above > *excess) beyond += of_above;
  }
  return beyond;
}

__int128 RefusedTakers::Figures::BeyondBelow(QuotaId quota, const LineAmounts& request,
                                             const LineAmounts& given, Bound bound) {
  __int128 beyond = 0;
  for (const auto& [line, amount] : request) {
    if (amount <= 0 || !tree_.Concerns(quota, line)) continue;
    const __int128 has = tree_.own(quota, line) - AmountOfLine(given, line);
    const std::optional<__int128> excess =
        Excess(has, has + amount, OwnBound(quota, line, bound), bound);
    if (!excess.has_value()) return 0;
    beyond += RunningBeyondBelow(quota, line, bound, *excess);
  }
  return beyond;
}

__int128 RefusedTakers::Figures::RunningBeyondBelow(QuotaId above, int line, Bound bound,
                                                    __int128 excess) {
  const auto [known, is_new] = beyond_below_.try_emplace({above, line, bound});
  std::vector<Beyond>& most_first = known->second;
  if (is_new) {
    for (const QuotaId child : tree_.children(above)) {
      if (const __int128 of = RunningBeyond(child, line, bound); of > 0) most_first.push_back({of});
    }
    absl::c_sort(most_first, [](const Beyond& a, const Beyond& b) { return a.of_one > b.of_one; });
    __int128 so_far = 0;
    for (Beyond& beyond : most_first) beyond.with_those_before = so_far += beyond.of_one;
  }
  const auto end = absl::c_partition_point(
      most_first, [excess](const Beyond& beyond) { return beyond.of_one > excess; });
  return end == most_first.begin() ? 0 : std::prev(end)->with_those_before;
}

// Of what the quota has more than its bound, what could be taken: pods that leave give it back in
// any case. What pods are nominated to counts only with places.
__int128 RefusedTakers::Figures::RunningBeyond(QuotaId quota, int line, Bound bound) {
  const __int128 beyond = tree_.Held(quota, line) - BoundOf(quota, line, bound);
  if (beyond <= 0) return 0;
  const auto& sums = bound == Bound::kGuaranteeWithPlaces ? leaving_ : not_running_;
  const auto not_running = sums.find({quota, line});
  if (not_running == sums.end()) return beyond;
  return std::clamp<__int128>(tree_.used(quota, line) - not_running->second, 0, beyond);
}

}  // namespace berth
