// SPDX-License-Identifier: Apache-2.0
// Implementation of refused_by_share.h.
#include "plugins/capacity_scheduling/refused_by_share.h"

#include <algorithm>
#include <tuple>

#include "absl/algorithm/container.h"

namespace berth {

void RefusedByShare::Add(const PodInfo& pod, QuotaId quota, Requests requests, bool may_reclaim) {
  const bool by_share = book_.tree().spec(quota).reclaim == ReclaimStrategy::kFairShare;
  if (!by_share || requests.empty()) return;
  Refused& refused = *refused_.FindOrAdd(pod.identity()).first;
  refused = {.pod = pod.packed(),
             .quota = quota,
             .priority = pod.priority(),
             .creation_time = pod.creation_time(),
             .sequence = next_sequence_++,
             .tree_version = book_.tree_version(),
             .requests = std::move(requests)};
  if (may_reclaim) refused.borrowed = Figures(book_).Borrowed(quota, refused.requests);
}

void RefusedByShare::SetTimer() {
  timer_is_set_ = true;
  const absl::Time now = handle_.clock().Now();
  handle_.RunAt(plugin_, std::max(now, last_) + kPause, [this] { Look(); });
}

// With the tree as of the last attempt, as QuotaStatus.
void RefusedByShare::Look() {
  timer_is_set_ = false;
  last_ = handle_.clock().Now();
  book_.RefreshNominations();
  Figures figures(book_);
  absl::flat_hash_map<std::pair<QuotaId, Requests>, Found> found_by_request;
  absl::flat_hash_map<QuotaId, LineAmounts> activated;  // what these ask for
  std::vector<std::shared_ptr<const PodInfo>> pods;
  bool some_are_left = false;
  for (Refused* const refused : InOrder()) {
    if (refused->tree_version == book_.tree_version()) {
      const auto& [quota, requests] = std::tie(refused->quota, refused->requests);
      const auto [at, is_new] = found_by_request.try_emplace({quota, requests});
      Found& found = at->second;
      if (is_new) found.borrowed = figures.Borrowed(quota, requests);
      const __int128 before = std::exchange(refused->borrowed, found.borrowed);
      if (found.borrowed <= before) continue;
      LineAmounts& others = activated[quota];
      found.is_full |= !others.empty() && figures.Borrowed(quota, requests, others) == 0;
      if (found.is_full) {
        refused->borrowed = before;
        some_are_left = true;
        continue;
      }
      AddAmounts(requests.front(), others);
    }
    absl::StatusOr<std::shared_ptr<const PodInfo>> pod = PodInfo::Create(refused->pod);
    if (pod.ok()) pods.push_back(*std::move(pod));
  }
  for (const auto& pod : pods) Remove(*pod->identity());
  if (!pods.empty()) handle_.Activate(pods);
  if (some_are_left) SetTimer();
}

// Those that still wait, in the order in which they are activated; others are forgotten.
std::vector<RefusedByShare::Refused*> RefusedByShare::InOrder() {
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

RefusedByShare::Figures::Figures(const QuotaBook& book) : tree_(book.tree()) {
  const auto add = [&](const QuotaBook::Sums& sums) {
    for (const auto& [where, amount] : sums) {
      for (QuotaId quota = where.first; quota != -1; quota = tree_.parent(quota)) {
        not_running_[{quota, where.second}] += amount;
      }
    }
  };
  add(book.leaving());
  add(book.Promised());
}

const std::vector<__int128>& RefusedByShare::Figures::SharesOf(int line) {
  const auto [known, is_new] = shares_.try_emplace(line);
  if (is_new) known->second = tree_.SharesOf(line);
  return known->second;
}

__int128 RefusedByShare::Figures::Borrowed(QuotaId quota, const Requests& requests,
                                           const LineAmounts& and_more) {
  __int128 most = 0;
  for (LineAmounts request : requests) {
    AddAmounts(and_more, request);
    for (QuotaId side = quota; side != QuotaTree::kCluster; side = tree_.parent(side)) {
      most = std::max(most, BorrowedBeside(side, quota, request));
    }
  }
  return most;
}

__int128 RefusedByShare::Figures::BorrowedBeside(QuotaId side, QuotaId quota,
                                                 const LineAmounts& request) {
  __int128 borrowed = 0;
  for (const auto& [line, amount] : request) {
    if (amount <= 0 || !tree_.Concerns(side, line)) continue;
    const std::vector<__int128>& shares = SharesOf(line);
    if (tree_.HeldWith(side, line, quota, amount) > shares[side]) return 0;
    const QuotaId above = tree_.parent(side);
    __int128 of_own = shares[above];  // of pods of `above` itself, which stand beside its children
    for (const QuotaId beside : tree_.children(above)) {
      of_own -= shares[beside];
      if (beside != side) borrowed += RunningBeyond(beside, line, shares[beside]);
    }
    borrowed += std::max<__int128>(0, tree_.own(above, line) - std::max<__int128>(0, of_own));
  }
  return borrowed;
}

// Of what the quota has more than its share, what could be taken: pods that are about to start
// cannot, and pods that leave give it back in any case.
__int128 RefusedByShare::Figures::RunningBeyond(QuotaId quota, int line, __int128 share) const {
  const __int128 beyond = tree_.Held(quota, line) - share;
  if (beyond <= 0) return 0;
  const auto not_running = not_running_.find({quota, line});
  if (not_running == not_running_.end()) return beyond;
  return std::clamp<__int128>(tree_.used(quota, line) - not_running->second, 0, beyond);
}

}  // namespace berth
