// SPDX-License-Identifier: Apache-2.0
// What quotas used lately, and what that makes of their weights: the part of QuotaTree that is
// about time. Each child of a quota with a half-life has a mean of what it used, kept as of the
// moment at which its usage changed last; what it is now follows from that.
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/algorithm/container.h"
#include "berth/quota/quota_tree.h"

namespace berth {
namespace {

constexpr int64_t kMillionths = 1'000'000, kThousandths = 1000;

}  // namespace

void QuotaTree::Advance(absl::Time now) {
  if (has_history_ && now > now_) now_ = now;
}

void QuotaTree::ContinueHistory(const QuotaTree& before) {
  if (!has_history_ || !before.has_history_) return;
  for (QuotaId quota = 1; quota < size(); ++quota) {
    const std::optional<QuotaId> found = before.Find(specs_[quota].name);
    if (!found.has_value() || before.specs_[*found].uid != specs_[quota].uid) continue;
    if (!HasHistory(quota) || !before.HasHistory(*found) || !before.KnowsHistory(*found)) continue;
    for (int line = 0; line < static_cast<int>(lines_.size()); ++line) {
      const auto same = absl::c_find(before.lines_, lines_[line]);
      if (same == before.lines_.end()) continue;
      const int line_before = static_cast<int>(same - before.lines_.begin());
      decayed_[At(quota, line)] = before.DecayedOf(*found, line_before);
    }
    decayed_at_[quota] = now_;
  }
}

void QuotaTree::RestoreHistory(QuotaId quota, int line, double mean, absl::Time at) {
  const absl::Time from = std::min(at, now_);
  decayed_[At(quota, line)] = DecayedSince(quota, line, mean, from);
  decayed_at_[quota] = now_;
  ++moves_;
}

// The mean of what was used, in which every half-life halves the weight of what lies behind.
double QuotaTree::DecayedOf(QuotaId quota, int line) const {
  const size_t at = At(quota, line);
  if (decayed_at_[quota] == absl::InfinitePast()) return decayed_[at];  // nothing was used yet
  return DecayedSince(quota, line, decayed_[at], decayed_at_[quota]);
}

double QuotaTree::DecayedSince(QuotaId quota, int line, double mean, absl::Time at) const {
  const double stays =
      std::exp2(-absl::FDivDuration(now_ - at, *specs_[parents_[quota]].half_life));
  return mean * stays + static_cast<double>(used_[At(quota, line)]) * (1 - stays);
}

void QuotaTree::CatchUp(QuotaId quota) {
  if (!HasHistory(quota) || decayed_at_[quota] >= now_) return;
  for (int line = 0; line < static_cast<int>(lines_.size()); ++line) {
    decayed_[At(quota, line)] = DecayedOf(quota, line);
  }
  decayed_at_[quota] = now_;
}

const QuotaTree::Contest& QuotaTree::ContestBelow(QuotaId above, int line) const {
  Contest& contest = contests_[At(above, line)];
  if (contest.at == now_ && contest.moves == moves_) return contest;
  contest = {.at = now_, .moves = moves_};
  for (const QuotaId child : children_[above]) {
    if (!Contends(child, line)) continue;
    contest.weights += WeightOf(child, line);
    contest.decayed += DecayedOf(child, line);
  }
  return contest;
}

int64_t QuotaTree::PartLately(QuotaId quota, int line) const {
  double all = ContestBelow(parents_[quota], line).decayed;
  const double own = DecayedOf(quota, line);
  if (!Contends(quota, line)) all += own;
  return all <= 0 ? 0 : static_cast<int64_t>(own / all * kMillionths);
}

int64_t QuotaTree::PartByWeight(QuotaId above, int line, int64_t weight, bool is_counted) const {
  __int128 all = ContestBelow(above, line).weights;
  if (!is_counted) all += weight;
  return static_cast<int64_t>(weight * __int128{kMillionths} / std::max<__int128>(1, all));
}

// KAI proportion/resource_division.
int64_t QuotaTree::WeightLately(QuotaId quota, int line) const {
  const QuotaId above = parents_[quota];
  const int64_t part =
      PartByWeight(above, line, WeightOf(quota, line), /*is_counted=*/Contends(quota, line));
  const int64_t more = specs_[above].history_milli * (part - PartLately(quota, line));
  return std::max<int64_t>(0, part * kThousandths + more);
}

// 1, in the measure of the children's: of its own pods nothing is kept.
int64_t QuotaTree::OwnWeight(QuotaId quota, int line) const {
  constexpr int64_t kOne = 1000;  // thousandths, as WeightOf()
  if (!specs_[quota].half_life.has_value()) return kOne;
  return PartByWeight(quota, line, kOne, /*is_counted=*/false) * kThousandths;
}

}  // namespace berth
