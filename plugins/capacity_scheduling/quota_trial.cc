// SPDX-License-Identifier: Apache-2.0
// Implementation of quota_trial.h.
#include "plugins/capacity_scheduling/quota_trial.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/api/time.h"
#include "plugins/capacity_scheduling/victim_units.h"

namespace berth {
namespace {

constexpr absl::string_view kCheckpointTime = "scheduling.berth.dev/checkpoint-time";

bool IsPreemptible(const PodInfo& pod) {
  const Symbol* const label = pod.labels().Find(kPreemptibleLabel);
  return label == nullptr || label->view() != "false";
}

// The pod of that uid on the node, or null.
std::shared_ptr<const PodInfo> FindOn(const NodeTable& nodes, Symbol node, UidRef pod) {
  const NodeRow row = nodes.FindRow(node);
  if (row < 0) return nullptr;
  for (const std::shared_ptr<const PodInfo>& on_node : nodes.node(row).pods()) {
    if (pod.Means(*on_node->identity())) return on_node;
  }
  return nullptr;
}

}  // namespace

absl::Time WorkSavedAt(const PodInfo& pod, absl::Time now) {
  absl::Time saved = pod.start_time().value_or(now);
  if (const std::optional<absl::string_view> text = pod.annotation(kCheckpointTime)) {
    const absl::StatusOr<absl::Time> checkpoint = ParseTime(*text);
    if (checkpoint.ok()) saved = std::max(saved, std::min(*checkpoint, now));
  }
  return saved;
}

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

void QuotaTrial::PlaceOn(const LabelSet& node) {
  request_ = book_.tree().ChargeOf(asked_.front(), &node);
  taker_.request.clear();
  for (const PodAmounts& amounts : asked_) {
    AddAmounts(book_.tree().ChargeOf(amounts, &node), taker_.request);
  }
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
    holder.preemptible &= IsPreemptible(pod);
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
  return {Status::Unschedulable(std::string(TakingName(verdict.taking))), verdict.until};
}

Status QuotaTrial::HasRoom() const {
  const auto shortage = book_.tree().FindShortage(taker_.quota, request_);
  if (!shortage.has_value()) return Status::Success();
  return Status::Unschedulable(book_.tree().ToString(*shortage));
}

// Nearer quotas first; of them, who borrowed most of the lines that are asked for; lower priority;
// less work lost; later ones.
std::vector<VictimUnit> QuotaTrial::Units() const {
  const QuotaTree& tree = book_.tree();
  std::vector<std::pair<std::tuple<int, int64_t, QuotaId>, QuotaId>> quotas;
  const bool may_reclaim = rule_.MayReclaim(taker_);
  for (QuotaId quota = 1; quota < tree.size(); ++quota) {
    if (quota != taker_.quota && !may_reclaim) continue;
    if (book_.ChargesOf(quota).empty() || !rule_.MayGive(taker_, quota)) continue;
    const QuotaTree::Branches branches = tree.BranchesOf(taker_.quota, quota);
    int64_t borrowed = 0;  // in millionths of what the cluster has
    for (const auto& [line, amount] : taker_.request) {
      const __int128 whole = std::max<__int128>(1, tree.guarantee(QuotaTree::kCluster, line));
      borrowed = std::max(
          borrowed, static_cast<int64_t>(std::min<__int128>(
                        int64_t{1} << 60, tree.borrowed(branches.b, line) * 1'000'000 / whole)));
    }
    quotas.push_back({{-tree.depth(branches.ancestor), -borrowed, quota}, quota});
  }
  absl::c_sort(quotas);
  std::vector<VictimUnit> units;
  for (const auto& [rank, quota] : quotas) {
    std::vector<const QuotaCharge*> charges;
    for (const auto& [sequence, charge] : book_.ChargesOf(quota)) {
      if (!charge->leaving) charges.push_back(charge);
    }
    for (VictimUnit& unit : UnitsOf(std::move(charges))) units.push_back(std::move(unit));
  }
  return units;
}

// Lower priority first, then who loses the least work, then later ones.
std::vector<VictimUnit> QuotaTrial::UnitsOf(std::vector<const QuotaCharge*> charges) const {
  struct Victim {
    const QuotaCharge* charge;
    std::shared_ptr<const PodInfo> pod;
    absl::Time saved_at;
  };
  const absl::Time now = handle_.clock().Now();
  std::vector<Victim> victims;
  for (const QuotaCharge* charge : charges) {
    std::shared_ptr<const PodInfo> pod = FindOn(handle_.nodes(), charge->node, *charge->who);
    if (pod == nullptr) continue;
    const absl::Time saved_at = WorkSavedAt(*pod, now);
    victims.push_back({charge, std::move(pod), saved_at});
  }
  absl::c_sort(victims, [](const Victim& a, const Victim& b) {
    const int32_t of_a = a.pod->priority(), of_b = b.pod->priority();
    return std::tie(of_a, b.saved_at, b.charge->sequence) <
           std::tie(of_b, a.saved_at, a.charge->sequence);
  });
  std::vector<RunningPod> pods;
  for (Victim& victim : victims) pods.push_back({std::move(victim.pod), victim.charge->node});
  return berth::UnitsOf(handle_, pods);
}

}  // namespace berth
