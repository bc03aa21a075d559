// SPDX-License-Identifier: Apache-2.0
// Implementation of tournament.h. Kueue's fair sharing tournament, by a list of keys.
#include "berth/quota/tournament.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"

namespace berth {

// What one that takes part is compared by.
struct TournamentKeys {
  bool under_guarantee = false;
  bool under_share = false;
  int32_t quota_priority = 0;
  QuotaTree::DominantShare share;
  int32_t pod_priority = 0;
  absl::Time since;
};

namespace {

using Keys = TournamentKeys;

constexpr QuotaOrderKey kDefaultOrder[] = {QuotaOrderKey::kUnderGuarantee, QuotaOrderKey::kPriority,
                                           QuotaOrderKey::kShare, QuotaOrderKey::kPodPriority,
                                           QuotaOrderKey::kAge};

absl::Span<const QuotaOrderKey> OrderOf(const QuotaTree& tree, QuotaId quota) {
  const std::vector<QuotaOrderKey>& order = tree.spec(quota).order;
  return order.empty() ? absl::Span<const QuotaOrderKey>(kDefaultOrder) : order;
}

bool Has(absl::Span<const QuotaOrderKey> order, QuotaOrderKey key) {
  return absl::c_linear_search(order, key);
}

// With the request counted in, on every line that it asks for and that some quota has.
template <class BoundOf>
bool StaysWithin(const QuotaTree& tree, QuotaId quota, const LineAmounts& request,
                 const BoundOf& bound_of) {
  bool claims = false;
  for (const auto& [line, amount] : request) {
    if (!tree.Concerns(quota, line)) continue;
    const auto [used, bound] = bound_of(line);
    if (used + amount > bound) return false;
    claims = true;
  }
  return claims;
}

Keys KeysOf(const QuotaTree& tree, QuotaId quota, const TournamentHead& head,
            absl::Span<const QuotaOrderKey> order) {
  Keys keys;
  keys.under_guarantee = StaysWithin(tree, quota, head.request, [&](int line) {
    return std::pair(tree.used(quota, line), tree.guarantee(quota, line));
  });
  if (Has(order, QuotaOrderKey::kUnderShare)) {
    keys.under_share = StaysWithin(tree, quota, head.request, [&](int line) {
      return std::pair(tree.used(quota, line), tree.ShareOf(quota, line));
    });
  }
  keys.quota_priority = tree.spec(quota).priority;
  keys.share = tree.DominantShareOf(quota, head.request);
  keys.pod_priority = head.priority;
  keys.since = head.since;
  return keys;
}

// What the quota's own pods compete with, beside its children.
Keys OwnKeysOf(const QuotaTree& tree, QuotaId quota, const TournamentHead& head) {
  Keys keys;
  keys.pod_priority = head.priority;
  keys.since = head.since;
  if (quota == QuotaTree::kCluster) return keys;
  const auto of_itself = [&](int line) {
    __int128 used = tree.used(quota, line), guarantee = tree.guarantee(quota, line);
    for (const QuotaId child : tree.children(quota)) {
      used -= tree.used(child, line);
      guarantee -= tree.guarantee(child, line);
    }
    return std::pair(used, std::max<__int128>(0, guarantee));
  };
  keys.under_guarantee = StaysWithin(tree, quota, head.request, of_itself);
  keys.under_share = keys.under_guarantee;
  keys.share = tree.OwnDominantShareOf(quota, head.request);
  return keys;
}

// Less than 0 if `a` goes before `b`.
int Compare(const Keys& a, const Keys& b, absl::Span<const QuotaOrderKey> order) {
  const auto first = [](auto low, auto high) { return low < high ? -1 : high < low ? 1 : 0; };
  for (const QuotaOrderKey key : order) {
    int comparison = 0;
    switch (key) {
      case QuotaOrderKey::kUnderGuarantee:
        comparison = first(!a.under_guarantee, !b.under_guarantee);
        break;
      case QuotaOrderKey::kUnderShare:
        comparison = first(!a.under_share, !b.under_share);
        break;
      case QuotaOrderKey::kPriority:
        comparison = first(b.quota_priority, a.quota_priority);
        break;
      case QuotaOrderKey::kShare:
        comparison = QuotaTree::LessShare(a.share, b.share)   ? -1
                     : QuotaTree::LessShare(b.share, a.share) ? 1
                                                              : 0;
        break;
      case QuotaOrderKey::kPodPriority:
        comparison = first(b.pod_priority, a.pod_priority);
        break;
      case QuotaOrderKey::kAge:
        comparison = first(a.since, b.since);
        break;
    }
    if (comparison != 0) return comparison;
  }
  return 0;
}

std::optional<QuotaId> WinnerAt(const QuotaTree& tree, const TournamentHeads& heads,
                                QuotaId quota) {
  const absl::Span<const QuotaOrderKey> order = OrderOf(tree, quota);
  std::optional<QuotaId> winner;
  Keys best;
  if (heads[quota].has_value()) {
    winner = quota;
    best = OwnKeysOf(tree, quota, *heads[quota]);
  }
  for (const QuotaId child : tree.children(quota)) {
    const std::optional<QuotaId> of_child = WinnerAt(tree, heads, child);
    if (!of_child.has_value()) continue;
    const Keys keys = KeysOf(tree, child, *heads[*of_child], order);
    if (winner.has_value() && Compare(keys, best, order) >= 0) continue;
    winner = of_child;
    best = keys;
  }
  return winner;
}

}  // namespace

std::optional<QuotaId> ChooseNext(const QuotaTree& tree, const TournamentHeads& heads) {
  return WinnerAt(tree, heads, QuotaTree::kCluster);
}

// --- Remembered ---

struct Tournament::Standing {
  std::optional<QuotaId> winner;
  Keys keys;
};

struct Tournament::Round {
  // As of these.
  std::optional<uint64_t> charges;
  uint64_t head_changes = 0;
  std::optional<QuotaId> winner;
  Standing own;
  std::vector<Standing> children;
};

Tournament::Tournament(const QuotaTree& tree)
    : tree_(tree),
      heads_(tree.size()),
      head_changes_(tree.size(), 0),
      head_counts_(tree.size(), 0),
      moves_(tree.size(), false),
      rounds_(tree.size()),
      capacity_version_(tree.capacity_version()) {
  for (QuotaId quota = 0; quota < tree.size(); ++quota) {
    rounds_[quota].children.resize(tree.children(quota).size());
    const bool moves = tree.spec(quota).half_life.has_value() ||
                       Has(OrderOf(tree, quota), QuotaOrderKey::kUnderShare);
    if (!moves) continue;
    for (QuotaId above = quota; above != -1; above = tree.parent(above)) moves_[above] = true;
  }
}

Tournament::~Tournament() = default;

void Tournament::SetHead(QuotaId quota, std::optional<TournamentHead> head) {
  const int more = static_cast<int>(head.has_value()) - static_cast<int>(heads_[quota].has_value());
  heads_[quota] = std::move(head);
  for (QuotaId above = quota; above != -1; above = tree_.parent(above)) {
    ++head_changes_[above];
    head_counts_[above] += more;
  }
}

bool Tournament::IsStale(QuotaId quota) const {
  const Round& round = rounds_[quota];
  return moves_[quota] || round.charges != tree_.charges(quota) ||
         round.head_changes != head_changes_[quota];
}

void Tournament::Refresh(QuotaId quota) {
  Round& round = rounds_[quota];
  const absl::Span<const QuotaOrderKey> order = OrderOf(tree_, quota);
  round.charges = tree_.charges(quota);
  round.head_changes = head_changes_[quota];
  const Standing* best = nullptr;
  if (heads_[quota].has_value()) {
    round.own = {quota, OwnKeysOf(tree_, quota, *heads_[quota])};
    best = &round.own;
  }
  const absl::Span<const QuotaId> children = tree_.children(quota);
  for (size_t i = 0; i < children.size(); ++i) {
    const QuotaId child = children[i];
    Standing& standing = round.children[i];
    if (head_counts_[child] == 0) {
      standing.winner.reset();
      continue;
    }
    // What its keys go by: its charges, its winner, and, where they move, its siblings.
    const bool is_stale = IsStale(child);
    if (is_stale) Refresh(child);
    if (is_stale || moves_[quota] || !standing.winner.has_value()) {
      const QuotaId winner = *rounds_[child].winner;
      standing = {winner, KeysOf(tree_, child, *heads_[winner], order)};
    }
    if (best == nullptr || Compare(standing.keys, best->keys, order) < 0) best = &standing;
  }
  round.winner = best == nullptr ? std::nullopt : best->winner;
}

std::optional<QuotaId> Tournament::Next() {
  if (capacity_version_ != tree_.capacity_version()) {
    capacity_version_ = tree_.capacity_version();
    for (Round& round : rounds_) {
      round.charges.reset();
      for (Standing& standing : round.children) standing.winner.reset();
    }
  }
  if (IsStale(QuotaTree::kCluster)) Refresh(QuotaTree::kCluster);
  return rounds_[QuotaTree::kCluster].winner;
}

}  // namespace berth
