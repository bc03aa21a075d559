// SPDX-License-Identifier: Apache-2.0
// Implementation of quota_trial.h.
#include "plugins/capacity_scheduling/quota_trial.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "plugins/capacity_scheduling/victim_units.h"

namespace berth {
QuotaTrial::QuotaTrial(QuotaBook& book, Handle& handle, QuotaId quota,
                       absl::Span<const PodInfo* const> preemptors)
    : book_(book), handle_(handle), rule_(book.tree(), handle.clock().Now()) {
  const QuotaTree& tree = book_.tree();
  taker_.quota = quota;
  taker_.priority = preemptors.front()->priority();
  taker_.creation_time = preemptors.front()->creation_time();
  for (const PodInfo* pod : preemptors) {
    // Others are of other quotas, or charged already.
    const bool counts = pod == preemptors.front() ||
                        (book_.QuotaOf(*pod) == quota && !book_.IsPromised(*pod->identity()));
    if (!counts) continue;
    asked_.push_back(book_.RequestOf(*pod));
    AddAmounts(tree.ChargeOf(asked_.back(), nullptr), taker_.request);
  }
  request_ = tree.ChargeOf(asked_.front(), nullptr);
  constexpr __int128 kMost = std::numeric_limits<int64_t>::max();
  for (const auto& [where, sum] : book_.leaving()) {
    for (__int128 rest = sum; rest > 0; rest -= kMost) {
      Change(where.first, {{where.second, static_cast<int64_t>(std::min(rest, kMost))}}, -1);
    }
  }
}

QuotaTrial::~QuotaTrial() {
  for (auto moved = moved_.rbegin(); moved != moved_.rend(); ++moved) {
    if (moved->sign > 0) {
      book_.mutable_tree().Release(moved->quota, moved->amounts);
    } else {
      book_.mutable_tree().Charge(moved->quota, moved->amounts);
    }
  }
}

void QuotaTrial::Change(QuotaId quota, const LineAmounts& amounts, int sign) {
  if (sign > 0) {
    book_.mutable_tree().Charge(quota, amounts);
  } else {
    book_.mutable_tree().Release(quota, amounts);
  }
  moved_.push_back({quota, amounts, sign});
}

void QuotaTrial::Move(const VictimUnit& unit, bool gone) {
  for (const std::shared_ptr<const PodInfo>& pod : unit.pods) {
    const QuotaCharge* const charge = book_.FindCharge(*pod->identity());
    if (charge != nullptr) Change(charge->quota, charge->amounts, gone ? -1 : 1);
  }
}

bool QuotaTrial::PlaceOn(const LabelSet& node) {
  const bool any_of_some_nodes = absl::c_any_of(
      book_.tree().lines(), [](const QuotaLine& line) { return line.of_some_nodes(); });
  if (!any_of_some_nodes) return false;
  const LineAmounts before = std::move(request_);
  request_ = book_.tree().ChargeOf(asked_.front(), &node);
  taker_.request.clear();
  for (const PodAmounts& amounts : asked_) {
    AddAmounts(book_.tree().ChargeOf(amounts, &node), taker_.request);
  }
  return request_ != before;
}

std::optional<QuotaHolder> QuotaTrial::HolderOf(const VictimUnit& unit) const {
  QuotaHolder holder;
  holder.start_time = absl::InfinitePast();
  holder.creation_time = absl::InfinitePast();
  const absl::Time now = handle_.clock().Now();
  for (size_t i = 0; i < unit.pods.size(); ++i) {
    const PodInfo& pod = *unit.pods[i];
    const QuotaCharge* const charge = book_.FindCharge(*pod.identity());
    if (charge == nullptr || (i > 0 && charge->quota != holder.quota)) return std::nullopt;
    holder.priority = i == 0 ? pod.priority() : std::max(holder.priority, pod.priority());
    holder.quota = charge->quota;
    AddAmounts(charge->amounts, holder.amounts);
    holder.creation_time = std::max(holder.creation_time, pod.creation_time());
    holder.start_time = std::max(holder.start_time, pod.start_time().value_or(now));
    holder.preemptible &= charge->preemptible;
  }
  return holder;
}

VictimTrial::Verdict QuotaTrial::MayEvict(const VictimUnit& unit) const {
  const std::optional<QuotaHolder> holder = HolderOf(unit);
  if (!holder.has_value()) {
    return {Status::Unschedulable("not all of its pods are of one quota")};
  }
  const TakingVerdict verdict = rule_.MayTake(taker_, *holder);
  if (verdict.ok()) return {Status::Success()};
  // Many in a row are refused for the same reason.
  if (refused_.verdict != verdict) {
    refused_ = {verdict, Status::Unschedulable(verdict.ToString(book_.tree()))};
  }
  return {refused_.status, verdict.until};
}

Status QuotaTrial::WhyNobody() const {
  const TakingVerdict verdict = rule_.WhyNotReclaim(taker_);
  if (verdict.ok()) return VictimTrial::WhyNobody();
  return Status::Unschedulable(
      absl::StrCat("no pod may be evicted for it: ", verdict.ToString(book_.tree())));
}

Status QuotaTrial::HasRoom() const {
  const auto shortage = book_.tree().FindShortage(taker_.quota, request_);
  if (!shortage.has_value()) return Status::Success();
  return Status::Unschedulable(book_.tree().ToString(*shortage));
}

std::vector<QuotaId> QuotaTrial::VictimQuotas() const {
  const QuotaTree& tree = book_.tree();
  std::vector<std::tuple<int, int64_t, QuotaId>> ranked;
  const bool may_reclaim = rule_.MayReclaim(taker_);
  for (QuotaId quota = 1; quota < tree.size(); ++quota) {
    if (quota != taker_.quota && !may_reclaim) continue;
    const QuotaBook::Charges& charges = book_.ChargesOf(quota);
    if (charges.empty() || !rule_.MayGive(taker_, quota)) continue;
    // In its own quota no pod goes that is as important.
    const bool only_lower =
        quota == taker_.quota && tree.spec(quota).preemption == QuotaPreemption::kLowerPriority;
    if (only_lower && charges.begin()->first.priority >= taker_.priority) continue;
    const QuotaTree::Branches branches = tree.BranchesOf(taker_.quota, quota);
    int64_t borrowed = 0;  // in millionths of what the cluster has
    for (const auto& [line, amount] : taker_.request) {
      const __int128 whole = std::max<__int128>(1, tree.guarantee(QuotaTree::kCluster, line));
      borrowed = std::max(
          borrowed, static_cast<int64_t>(std::min<__int128>(
                        int64_t{1} << 60, tree.borrowed(branches.b, line) * 1'000'000 / whole)));
    }
    ranked.push_back({-tree.depth(branches.ancestor), -borrowed, quota});
  }
  absl::c_sort(ranked);
  std::vector<QuotaId> quotas;
  for (const auto& [distance, borrowed, quota] : ranked) quotas.push_back(quota);
  return quotas;
}

std::vector<VictimUnit> QuotaTrial::Units() const {
  std::vector<VictimUnit> units;
  for (const QuotaId quota : VictimQuotas()) {
    std::vector<RunningPod> pods;
    for (const auto& [key, charge] : book_.ChargesOf(quota)) {
      if (charge->leaving) continue;
      std::shared_ptr<const PodInfo> pod = FindOn(handle_.nodes(), charge->node, *charge->who);
      if (pod != nullptr) pods.push_back({std::move(pod), charge->node});
    }
    for (VictimUnit& unit : UnitsOf(handle_, pods)) units.push_back(std::move(unit));
  }
  return units;
}

}  // namespace berth
