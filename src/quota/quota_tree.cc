// SPDX-License-Identifier: Apache-2.0
// Implementation of QuotaTree.
#include "berth/quota/quota_tree.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/api/amounts.h"

namespace berth {
namespace {

constexpr int64_t kMilliWeight = 1000;
constexpr __int128 kShareUnits = 1'000'000;

int64_t MillionthsOf(__int128 amount, __int128 whole) {
  const __int128 capped = std::clamp<__int128>(amount, 0, std::numeric_limits<int64_t>::max());
  return static_cast<int64_t>(std::min<__int128>(capped * kShareUnits / whole, __int128{1} << 60));
}

__int128 OrUnlimited(std::optional<int64_t> amount) {
  return amount.has_value() ? __int128{*amount} : QuotaTree::kUnlimited;
}

int64_t Clamp(__int128 amount) {
  return static_cast<int64_t>(std::clamp<__int128>(amount, std::numeric_limits<int64_t>::min(),
                                                   std::numeric_limits<int64_t>::max()));
}

}  // namespace

QuotaTree::QuotaTree(std::vector<QuotaSpec> specs) : specs_(std::move(specs)) {
  specs_.insert(specs_.begin(), QuotaSpec());
  FindLines();
  LinkParents();
  const size_t cells = specs_.size() * lines_.size();
  for (auto* amounts : {&guarantee_, &guaranteed_below_, &most_, &pool_, &local_, &max_,
                        &borrowing_limit_, &used_, &bubbled_, &own_, &wanted_, &needs_}) {
    amounts->assign(cells, 0);
  }
  concerns_.assign(cells, false);
  capacity_.assign(lines_.size(), std::nullopt);
  charges_.assign(specs_.size(), 0);
  has_history_ =
      absl::c_any_of(specs_, [](const QuotaSpec& spec) { return spec.half_life.has_value(); });
  if (has_history_) {
    decayed_.assign(cells, 0);
    decayed_at_.assign(specs_.size(), absl::InfinitePast());
    contests_.assign(cells, {});
  }
  for (int line = 0; line < static_cast<int>(lines_.size()); ++line) Reckon(line);
}

void QuotaTree::FindLines() {
  for (const QuotaSpec& spec : specs_) {
    for (const QuotaAmounts* amounts :
         {&spec.min, &spec.max, &spec.borrowing_limit, &spec.lending_limit}) {
      for (const auto& [line, amount] : amounts->entries()) {
        if (!absl::c_linear_search(lines_, line)) lines_.push_back(line);
      }
    }
  }
}

// A quota that is above itself goes below the cluster, and so those below it are somewhere as well.
void QuotaTree::LinkParents() {
  const int count = size();
  for (QuotaId quota = 1; quota < count; ++quota) ids_.try_emplace(specs_[quota].name, quota);
  parents_.assign(count, kCluster);
  parents_[kCluster] = -1;
  for (QuotaId quota = 1; quota < count; ++quota) {
    if (specs_[quota].parent.empty()) continue;
    const auto found = ids_.find(specs_[quota].parent);
    if (found != ids_.end()) parents_[quota] = found->second;
  }
  depths_.assign(count, -1);
  depths_[kCluster] = 0;
  std::vector<QuotaId> path;
  for (QuotaId quota = 1; quota < count; ++quota) {
    path.clear();
    QuotaId above = quota;
    for (; depths_[above] == -1; above = parents_[above]) {
      depths_[above] = -2;  // on this path
      path.push_back(above);
    }
    if (depths_[above] == -2) {  // a cycle
      parents_[path.back()] = kCluster;
      above = kCluster;
    }
    int depth = depths_[above];
    for (auto below = path.rbegin(); below != path.rend(); ++below) depths_[*below] = ++depth;
  }
  children_.assign(count, {});
  for (QuotaId quota = 1; quota < count; ++quota) children_[parents_[quota]].push_back(quota);
  top_down_.resize(count);
  for (QuotaId quota = 0; quota < count; ++quota) top_down_[quota] = quota;
  absl::c_stable_sort(top_down_, [&](QuotaId a, QuotaId b) { return depths_[a] < depths_[b]; });
}

std::optional<QuotaId> QuotaTree::Find(absl::string_view name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? std::nullopt : std::optional<QuotaId>(found->second);
}

QuotaTree::Branches QuotaTree::BranchesOf(QuotaId a, QuotaId b) const {
  Branches branches{a, b, kCluster};
  while (depths_[a] > depths_[b]) branches.a = a, a = parents_[a];
  while (depths_[b] > depths_[a]) branches.b = b, b = parents_[b];
  while (a != b) {
    branches.a = a, a = parents_[a];
    branches.b = b, b = parents_[b];
  }
  branches.ancestor = a;
  return branches;
}

// --- What is given ---

void QuotaTree::SetCapacity(int line, int64_t amount) {
  if (capacity_[line] == amount) return;
  capacity_[line] = amount;
  ++capacity_version_;
  Reckon(line);
}

std::optional<int64_t> QuotaTree::capacity(int line) const { return capacity_[line]; }

// Everything but `used_`, from the bottom up.
void QuotaTree::Reckon(int line) {
  const QuotaLine& of = lines_[line];
  // A quota that names a min names it for those above it, too.
  for (auto next = top_down_.rbegin(); next != top_down_.rend(); ++next) {
    const QuotaId quota = *next;
    concerns_[At(quota, line)] =
        quota != kCluster &&
        (specs_[quota].min.Find(of).has_value() ||
         absl::c_any_of(children_[quota], [&](QuotaId child) { return Concerns(child, line); }));
  }
  for (const QuotaId quota : top_down_) {
    if (quota == kCluster) continue;
    if (specs_[quota].max.Find(of).has_value() ||
        (parents_[quota] != kCluster && Concerns(parents_[quota], line))) {
      concerns_[At(quota, line)] = true;
    }
  }
  for (auto next = top_down_.rbegin(); next != top_down_.rend(); ++next) {
    const QuotaId quota = *next;
    const QuotaSpec& spec = specs_[quota];
    const size_t at = At(quota, line);
    __int128 of_children = 0, from_children = 0;
    for (const QuotaId child : children_[quota]) {
      of_children += guarantee_[At(child, line)];
      from_children += pool_[At(child, line)] - local_[At(child, line)];
    }
    const std::optional<int64_t> min = quota == kCluster ? capacity_[line] : spec.min.Find(of);
    __int128 own = 0;
    guarantee_[at] = guaranteed_below_[at] = of_children;
    if (min.has_value()) {
      guarantee_[at] = *min;
      own = *min - of_children;
    } else if (quota == kCluster) {
      guarantee_[at] = kUnlimited;
      own = kUnlimited - of_children;
    }
    pool_[at] = own + from_children;
    const __int128 lends = spec.lends ? OrUnlimited(spec.lending_limit.Find(of)) : __int128{0};
    local_[at] = quota == kCluster ? __int128{0} : std::max<__int128>(0, pool_[at] - lends);
    max_[at] = OrUnlimited(spec.max.Find(of));
    borrowing_limit_[at] = OrUnlimited(spec.borrowing_limit.Find(of));
    most_[at] = std::min(max_[at], guarantee_[at] + borrowing_limit_[at]);
    bubbled_[at] = own_[at];
    needs_[at] = own_[at] + wanted_[at];
    for (const QuotaId child : children_[quota]) {
      bubbled_[at] += std::max<__int128>(0, bubbled_[At(child, line)] - local_[At(child, line)]);
      needs_[at] += Takes(child, line) - wanted_[At(child, line)];
    }
  }
}

// In thousandths.
int64_t QuotaTree::WeightOf(QuotaId quota, int line) const {
  const QuotaSpec& spec = specs_[quota];
  if (const std::optional<int64_t> weight = spec.weights.Find(lines_[line]); weight.has_value()) {
    return *weight;
  }
  if (spec.max_is_weight) {
    if (const std::optional<int64_t> max = spec.max.Find(lines_[line]); max.has_value()) {
      return lines_[line].QuantityOf(*max).MilliValue();
    }
  }
  return Clamp(__int128{spec.weight} * kMilliWeight);
}

// --- What is used ---

LineAmounts QuotaTree::ChargeOf(const PodAmounts& amounts, const LabelSet* node) const {
  LineAmounts charge;
  for (int line = 0; line < static_cast<int>(lines_.size()); ++line) {
    const QuotaLine& of = lines_[line];
    const bool is_covered = !of.of_some_nodes() || (node != nullptr && of.Covers(*node));
    // What claims have they have wherever the pod is.
    const int64_t amount = is_covered ? amounts.Of(of) : amounts.DecidedOf(of);
    if (amount != 0) charge.emplace_back(line, amount);
  }
  return charge;
}

LineAmounts QuotaTree::PossibleOf(const PodAmounts& amounts, const LabelSet* node) const {
  LineAmounts possible;
  if (amounts.possible.empty() && amounts.possible_gpu_milli == 0) return possible;
  for (int line = 0; line < static_cast<int>(lines_.size()); ++line) {
    const QuotaLine& of = lines_[line];
    if (of.of_some_nodes() && (node == nullptr || !of.Covers(*node))) continue;
    if (const int64_t amount = amounts.PossibleOf(of)) possible.emplace_back(line, amount);
  }
  return possible;
}

void QuotaTree::Move(QuotaId quota, const LineAmounts& amounts, int sign) {
  if (has_history_) {
    for (QuotaId at = quota; at != kCluster; at = parents_[at]) CatchUp(at);
    ++moves_;
  }
  for (QuotaId at = quota; at != -1; at = parents_[at]) ++charges_[at];
  for (const auto& [line, amount] : amounts) {
    own_[At(quota, line)] += __int128{sign} * amount;
    MoveNeeds(quota, line, __int128{sign} * amount);
    __int128 more = __int128{sign} * amount;  // of what `above` has to give
    for (QuotaId above = quota; above != -1; above = parents_[above]) {
      const size_t at = At(above, line);
      used_[at] += __int128{sign} * amount;
      if (more == 0) continue;
      const auto beyond = [&] { return std::max<__int128>(0, bubbled_[at] - local_[at]); };
      const __int128 before = beyond();
      bubbled_[at] += more;
      more = beyond() - before;
    }
  }
}

// Kueue resource_node.go: available(), where min and max are one bound: max - min is what may be
// borrowed at most.
__int128 QuotaTree::Available(QuotaId quota, int line) const {
  absl::InlinedVector<QuotaId, 8> path;
  for (QuotaId above = quota; above != kCluster; above = parents_[above]) path.push_back(above);
  __int128 available = pool_[At(kCluster, line)] - bubbled_[At(kCluster, line)];
  __int128 left = kUnlimited * 2;  // until a quota has all it may have
  for (auto next = path.rbegin(); next != path.rend(); ++next) {
    const size_t at = At(*next, line);
    const __int128 kept = std::max<__int128>(0, local_[at] - bubbled_[at]);
    const __int128 borrowable =
        std::min(available, most_[at] - reserved(*next, line) - std::max(local_[at], bubbled_[at]));
    // What is never lent stays, however much is missing above.
    available = kept > 0 ? kept + std::max<__int128>(0, borrowable) : borrowable;
    left = std::min(left, most_[at] - used_[at]);
  }
  return std::min(available, left);
}

// As FindShortageOf(): what passes to the quota above is what is not kept for this one.
__int128 QuotaTree::WithinBounds(QuotaId quota, int line) const {
  __int128 left = kUnlimited * 2, kept = 0;  // by those below
  for (QuotaId above = quota; above != kCluster; above = parents_[above]) {
    const size_t at = At(above, line);
    const __int128 kept_here = std::max<__int128>(0, local_[at] - bubbled_[at]);
    const __int128 borrowable = most_[at] - reserved(above, line) - bubbled_[at];
    left = std::min(left, most_[at] - used_[at]);
    left = std::min(left, kept + std::max(kept_here, borrowable));
    kept += kept_here;
  }
  return left;
}

__int128 QuotaTree::HeldWith(QuotaId quota, int line, QuotaId by, int64_t more) const {
  __int128 of_above = more;
  for (QuotaId below = by; below != quota; below = parents_[below]) {
    const size_t at = At(below, line);
    const auto beyond = [&](__int128 used) { return std::max<__int128>(0, used - local_[at]); };
    of_above = beyond(bubbled_[at] + of_above) - beyond(bubbled_[at]);
  }
  const size_t at = At(quota, line);
  return std::max(local_[at], bubbled_[at] + of_above) + reserved(quota, line);
}

int64_t QuotaTree::LeastOf(int line, int64_t amount, int64_t possible) const {
  const std::optional<int64_t> all = capacity(line);
  if (possible == 0 || !all.has_value()) return amount;
  const __int128 left = *all - used(kCluster, line);
  return Clamp(std::max<__int128>(amount - possible, std::min<__int128>(amount, left)));
}

std::optional<QuotaTree::Shortage> QuotaTree::FindShortage(QuotaId quota,
                                                           const LineAmounts& amounts,
                                                           const LineAmounts& possible,
                                                           const LineAmounts& avoidable) const {
  for (const auto& [line, amount] : amounts) {
    std::optional<Shortage> shortage = FindShortageOf(quota, line, amount);
    int64_t least = amount;
    if (shortage.has_value() && shortage->kind != Shortage::Kind::kBorrowed) {
      least -= AmountOfLine(avoidable, line);
      if (least < amount) shortage = FindShortageOf(quota, line, least);
    }
    if (shortage.has_value() && shortage->kind == Shortage::Kind::kBorrowed) {
      least = std::min(least, LeastOf(line, amount, AmountOfLine(possible, line)));
      if (least < amount) shortage = FindShortageOf(quota, line, least);
    }
    if (shortage.has_value()) return shortage;
  }
  return std::nullopt;
}

std::optional<QuotaTree::Shortage> QuotaTree::FindShortageOf(QuotaId quota, int line,
                                                             int64_t amount) const {
  if (amount <= 0 || !Concerns(quota, line) || Available(quota, line) >= amount) {
    return std::nullopt;
  }
  using Kind = Shortage::Kind;
  __int128 of_above = amount;  // what `above` has to give of it
  for (QuotaId above = quota; above != kCluster; above = parents_[above]) {
    const size_t at = At(above, line);
    const bool by_max = max_[at] <= most_[at];
    Shortage shortage{
        by_max ? Kind::kMax : Kind::kBorrowingLimit, above, line, amount, used_[at], most_[at]};
    if (used_[at] + amount > most_[at]) return shortage;
    const __int128 passed_on =
        std::max<__int128>(0, of_above - std::max<__int128>(0, local_[at] - bubbled_[at]));
    if (passed_on > 0 && bubbled_[at] + of_above + reserved(above, line) > most_[at]) {
      shortage.kept = bubbled_[at] + reserved(above, line) - used_[at];
      return shortage;
    }
    of_above = passed_on;
  }
  const size_t at = At(kCluster, line);
  return Shortage{Kind::kBorrowed, kCluster, line, amount, bubbled_[at], pool_[at]};
}

std::string QuotaTree::ToString(const Shortage& shortage) const {
  const QuotaLine& line = lines_[shortage.line];
  const auto text = [&](__int128 amount) { return line.QuantityOf(Clamp(amount)).ToString(); };
  // What leaves may be used as well: that reads as if more were used than there is.
  const std::string needed =
      absl::StrCat(shortage.nominated > 0
                       ? absl::StrCat(", ", text(shortage.nominated), " by pods that are nominated")
                       : "",
                   shortage.kept > 0 ? absl::StrCat(", and keeps ", text(shortage.kept),
                                                    " for quotas below it that do not lend")
                                     : "",
                   "; needs ", text(shortage.needed));
  switch (shortage.kind) {
    case Shortage::Kind::kMax:
      return absl::StrCat(specs_[shortage.quota].subject(), " uses ", text(shortage.used),
                          " of at most ", text(shortage.limit), " ", line.ToString(), needed);
    case Shortage::Kind::kBorrowingLimit:
      return absl::StrCat(specs_[shortage.quota].subject(), " uses ", text(shortage.used),
                          " and may borrow up to ", text(shortage.limit), " ", line.ToString(),
                          needed);
    case Shortage::Kind::kBorrowed:
      break;
  }
  return absl::StrCat("all quotas use ", text(shortage.used), " of ", text(shortage.limit), " ",
                      line.ToString(), " that may be lent", needed);
}

// --- What is wanted, and shares ---

void QuotaTree::MoveWanted(QuotaId quota, const LineAmounts& amounts, int sign) {
  ++moves_;
  for (const auto& [line, amount] : amounts) {
    for (QuotaId above = quota; above != -1; above = parents_[above]) {
      wanted_[At(above, line)] += __int128{sign} * amount;
    }
    MoveNeeds(quota, line, __int128{sign} * amount);
  }
}

__int128 QuotaTree::Takes(QuotaId quota, int line) const {
  const size_t at = At(quota, line);
  return std::min(most_[at], std::max(needs_[at], local_[at] + reserved(quota, line)));
}

void QuotaTree::MoveNeeds(QuotaId quota, int line, __int128 more) {
  for (QuotaId above = quota; above != kCluster && more != 0; above = parents_[above]) {
    const __int128 before = Takes(above, line);
    needs_[At(above, line)] += more;
    more = Takes(above, line) - before;
  }
}

// What each child gets of so much, in their order.
std::vector<__int128> QuotaTree::SharesBelow(QuotaId above, int line, __int128 total) const {
  std::vector<ShareClaim> claims;
  claims.reserve(children_[above].size());
  const bool has_history = specs_[above].half_life.has_value();
  for (const QuotaId sibling : children_[above]) {
    const size_t at = At(sibling, line);
    claims.push_back({.guarantee = guarantee_[at],
                      .wanted = Takes(sibling, line),
                      .weight = WeightOf(sibling, line),
                      .priority = specs_[sibling].priority});
    if (has_history) claims.back().weight_lately = WeightLately(sibling, line);
  }
  return DivideFairly(total, claims);
}

__int128 QuotaTree::ShareOf(QuotaId quota, int line) const {
  if (quota == kCluster) return guarantee_[At(kCluster, line)];
  const QuotaId above = parents_[quota];
  const auto own = absl::c_find(children_[above], quota) - children_[above].begin();
  return SharesBelow(above, line, ShareOf(above, line))[own];
}

std::vector<__int128> QuotaTree::SharesOf(int line) const {
  std::vector<__int128> shares(specs_.size(), 0);
  shares[kCluster] = guarantee_[At(kCluster, line)];
  for (const QuotaId above : top_down_) {
    if (children_[above].empty()) continue;
    const std::vector<__int128> of_children = SharesBelow(above, line, shares[above]);
    for (size_t i = 0; i < of_children.size(); ++i) shares[children_[above][i]] = of_children[i];
  }
  return shares;
}

// What the parent has of the line, or the cluster.
__int128 QuotaTree::WholeAbove(QuotaId quota, int line) const {
  __int128 whole = guarantee(parents_[quota] < 0 ? kCluster : parents_[quota], line);
  if (whole <= 0) whole = guarantee(kCluster, line);
  return std::max<__int128>(1, whole);
}

QuotaTree::DominantShare QuotaTree::DominantShareOf(QuotaId quota, const LineAmounts& more) const {
  DominantShare dominant;
  bool found = false;
  for (int line = 0; line < static_cast<int>(lines_.size()); ++line) {
    if (!Concerns(quota, line)) continue;
    const __int128 borrows = used(quota, line) + AmountOfLine(more, line) - guarantee(quota, line);
    DominantShare share;
    share.millionths = MillionthsOf(borrows, WholeAbove(quota, line));
    if (HasHistory(quota)) {
      share.weight = WeightLately(quota, line);
      share.history = PartLately(quota, line);
    } else {
      share.weight = WeightOf(quota, line);
    }
    if (!found || LessShare(dominant, share)) dominant = share;
    found = true;
  }
  return dominant;
}

QuotaTree::DominantShare QuotaTree::OwnDominantShareOf(QuotaId quota,
                                                       const LineAmounts& more) const {
  DominantShare dominant;
  bool found = false;
  for (int line = 0; line < static_cast<int>(lines_.size()); ++line) {
    if (!Concerns(quota, line)) continue;
    __int128 used_by_itself = own_[At(quota, line)] + AmountOfLine(more, line);
    __int128 guaranteed = guarantee(quota, line);
    for (const QuotaId child : children_[quota]) guaranteed -= guarantee(child, line);
    const __int128 borrows = used_by_itself - std::max<__int128>(0, guaranteed);
    DominantShare share;
    share.millionths = MillionthsOf(borrows, WholeAbove(quota, line));
    share.weight = OwnWeight(quota, line);
    if (!found || LessShare(dominant, share)) dominant = share;
    found = true;
  }
  return dominant;
}

bool QuotaTree::LessShare(const DominantShare& a, const DominantShare& b) {
  // a / weight of a < b / weight of b, where x / 0 is more than anything unless x is 0.
  const __int128 left = __int128{a.millionths} * b.weight;
  const __int128 right = __int128{b.millionths} * a.weight;
  if (a.millionths > 0 && a.weight == 0) {
    if (b.millionths == 0 || b.weight != 0) return false;
    return a.history < b.history;
  }
  if (b.millionths > 0 && b.weight == 0) return true;
  return left != right ? left < right : a.history < b.history;
}

bool QuotaTree::IsConsistent() const {
  for (int line = 0; line < static_cast<int>(lines_.size()); ++line) {
    for (auto next = top_down_.rbegin(); next != top_down_.rend(); ++next) {
      __int128 used = own_[At(*next, line)], bubbled = own_[At(*next, line)];
      for (const QuotaId child : children_[*next]) {
        const size_t at = At(child, line);
        used += used_[at];
        bubbled += std::max<__int128>(0, bubbled_[at] - local_[at]);
      }
      if (used != used_[At(*next, line)] || bubbled != bubbled_[At(*next, line)]) return false;
    }
  }
  return true;
}

}  // namespace berth
