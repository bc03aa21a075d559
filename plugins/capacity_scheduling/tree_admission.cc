// SPDX-License-Identifier: Apache-2.0
// Implementation of tree_admission.h.
#include "plugins/capacity_scheduling/tree_admission.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <list>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/framework/placement.h"
#include "plugins/capacity_scheduling/quota_limits.h"
#include "plugins/capacity_scheduling/quota_trial.h"
#include "plugins/capacity_scheduling/tree_victims.h"
#include "plugins/capacity_scheduling/victim_plan.h"

namespace berth {
namespace {

// What one attempt in a tree of quotas keeps.
struct TreeState final : StateData {
  std::optional<QuotaId> quota;
  // Nodes that the pod may run on, but that a line of them has no room: until somebody gives it
  // back. Null: none, or nothing else is left.
  std::shared_ptr<const std::vector<NodeRow>> without_room;
  std::unique_ptr<StateData> Clone() const override { return std::make_unique<TreeState>(*this); }
};
constexpr StateKey<TreeState> kTreeState{"CapacityScheduling/tree"};

}  // namespace

const VictimUnit* TreeAdmission::RulesWithoutQuota::FindForbidden(
    const CycleState&, const PodInfo& pod, absl::Span<const VictimUnit> units) const {
  const auto forbidden = absl::c_find_if(units, [&](const VictimUnit& unit) {
    return absl::c_any_of(unit.pods, [&](const auto& member) {
      return member->priority() >= pod.priority() || book_.QuotaOf(*member).has_value();
    });
  });
  return forbidden == units.end() ? nullptr : &*forbidden;
}

bool TreeAdmission::Saw(const CycleState& state) { return state.Find(kTreeState) != nullptr; }

Status TreeAdmission::PreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                                PreFilterResult& result) {
  auto owned_state = std::make_unique<TreeState>();
  TreeState& tree_state = *owned_state;
  state.Write(kTreeState, std::move(owned_state));
  const std::optional<QuotaId> quota = tree_state.quota = book_.QuotaOf(pod);
  if (!quota.has_value()) return Status::Success();
  book_.OnPending(pod);  // it may have waited before there was a tree
  if (!state.for_explanation()) refused_takers_.Remove(*pod.identity());
  const QuotaBook::WithoutNomination without_nomination(book_, pod);
  std::vector<NodeRow> without_room;
  Status status = Admit(state, pod, *quota, nodes, result, without_room);
  std::list<QuotaBook::WithoutNomination> without_others;
  if (!status.ok() || result.node_names.has_value()) LeaveOutNominated(pod, *quota, without_others);
  if (!without_others.empty()) {
    result = {};
    without_room.clear();
    status = Admit(state, pod, *quota, nodes, result, without_room);
  }
  if (result.node_names.has_value()) {
    tree_state.without_room = std::make_shared<std::vector<NodeRow>>(std::move(without_room));
  }
  return status;
}

// What nominated pods are charged counts.
Status TreeAdmission::Admit(const CycleState& state, const PodInfo& pod, QuotaId quota,
                            const NodeTable& nodes, PreFilterResult& result,
                            std::vector<NodeRow>& without_room) {
  const QuotaTree& tree = book_.tree();
  const PodAmounts& request = book_.RequestOf(pod);
  const LineAmounts charge = tree.ChargeOf(request, nullptr);
  const LineAmounts possible = tree.PossibleOf(request, nullptr);
  const LineAmounts avoidable = tree.PossibleOf(book_.OpenClaimsOf(pod), nullptr);
  if (const auto shortage = tree.FindShortage(quota, charge, possible, avoidable)) {
    // Who borrows changes often: conditions of pods do not follow that.
    return Status::Unschedulable(state.for_explanation()
                                     ? DescribeInFull(tree, book_.WithNominated(*shortage))
                                     : book_.ToString(*shortage));
  }
  if (const auto beyond = BeyondMin(book_.tree(), pod, quota, charge, avoidable)) {
    return Status::Unschedulable(BeyondMinToString(book_.tree(), *beyond));
  }
  return NarrowByLines(pod, quota, nodes, result, without_room);
}

// Less important pods of its own quota, which it might evict there, as nominations do not count for
// more important pods on nodes; and pods of other quotas that were nominated later than the pod:
// their plans left it its room.
void TreeAdmission::LeaveOutNominated(const PodInfo& pod, QuotaId quota,
                                      std::list<QuotaBook::WithoutNomination>& without) {
  const QuotaPromise* const own = book_.FindPromise(*pod.identity());
  const bool any_later = own != nullptr && book_.AnyPromisedBeside(quota);
  const std::optional<int32_t> least = book_.LeastPriorityPromised(quota);
  const bool any_lower = least.has_value() && *least < pod.priority() &&
                         book_.tree().spec(quota).preemption != QuotaPreemption::kNever;
  if (!any_later && !any_lower) return;
  book_.ForEachPromise([&](const QuotaPromise& promise) {
    const bool counts = promise.charge.quota == quota
                            ? !any_lower || promise.charge.key.priority >= pod.priority()
                            : own == nullptr || promise.order < own->order;
    if (!counts) without.emplace_back(book_, *promise.pod);
  });
}

std::optional<bool> TreeAdmission::NominationCountsFor(const PodInfo& nominated,
                                                       const PodInfo& pod) const {
  if (!book_.has_tree()) return std::nullopt;
  const QuotaPromise* const promise = book_.FindPromise(*nominated.identity());
  if (promise == nullptr) return std::nullopt;
  const std::optional<QuotaId> quota = book_.QuotaOf(pod);
  if (!quota.has_value()) return std::nullopt;
  if (trial_ != nullptr && trial_->IsGone(nominated)) return false;
  if (*quota == promise->charge.quota) return std::nullopt;
  const QuotaPromise* const own = book_.FindPromise(*pod.identity());
  // Later plans left the pod its room on its own node, not on others.
  return own == nullptr || own->charge.node != promise->charge.node || promise->order < own->order;
}

// Looks only at nodes that the pod's own selectors allow: of a model that no node is of it is not
// held back by quotas.
TreeAdmission::NodesByLines TreeAdmission::SplitByLines(const PodInfo& pod, QuotaId quota,
                                                        const NodeTable& nodes) const {
  const QuotaTree& tree = book_.tree();
  const PodAmounts& amounts = book_.RequestOf(pod);
  const PodAmounts open_claims = book_.OpenClaimsOf(pod);
  std::vector<QuotaTree::Shortage> found;
  for (int line = 0; line < static_cast<int>(tree.lines().size()); ++line) {
    if (!tree.lines()[line].of_some_nodes()) continue;
    const int64_t amount = amounts.Of(tree.lines()[line]);
    if (amount == 0) continue;
    const int64_t possible = amounts.PossibleOf(tree.lines()[line]);
    const int64_t avoidable = open_claims.PossibleOf(tree.lines()[line]);
    if (const auto shortage =
            tree.FindShortage(quota, {{line, amount}}, {{line, possible}}, {{line, avoidable}})) {
      found.push_back(*shortage);
    }
  }
  NodesByLines split;
  if (found.empty()) return split;
  std::vector<bool> concerns(found.size(), false);
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    const NodeInfo& node = nodes.node(row);
    if (!pod.required_node_affinity().Matches(node.labels(), node.name())) continue;
    const LabelSet& labels = book_.LabelsOf(node);
    bool is_covered = false;
    for (size_t i = 0; i < found.size(); ++i) {
      if (!tree.lines()[found[i].line].Covers(labels)) continue;
      concerns[i] = is_covered = true;
    }
    (is_covered ? split.without_room : split.with_room).push_back(row);
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (concerns[i]) split.short_lines.push_back(found[i]);
  }
  return split;
}

// Leaves out nodes on which the pod would be charged a line that has no room; those that it may run
// on otherwise are `without_room`.
Status TreeAdmission::NarrowByLines(const PodInfo& pod, QuotaId quota, const NodeTable& nodes,
                                    PreFilterResult& result, std::vector<NodeRow>& without_room) {
  NodesByLines split = SplitByLines(pod, quota, nodes);
  if (split.short_lines.empty()) return Status::Success();
  without_room = std::move(split.without_room);
  if (split.with_room.empty()) {
    return Status::Unschedulable(
        absl::StrJoin(split.short_lines, "; ",
                      [&](std::string* to, const auto& of) { to->append(book_.ToString(of)); }));
  }
  result.node_names.emplace();
  for (const NodeRow row : split.with_room) result.node_names->insert(nodes.node(row).name());
  return Status::Success();
}

Status TreeAdmission::BeginTrial(const CycleState& state,
                                 absl::Span<const PodInfo* const> preemptors,
                                 std::unique_ptr<VictimTrial>& trial) {
  const TreeState* const tree_state = state.Find(kTreeState);
  if (tree_state == nullptr || !tree_state->quota.has_value()) {
    return Status::Unschedulable("not eligible: the pod is of no quota in a tree");
  }
  if (preemptors.front()->preemption_policy() == PreemptionPolicy::kNever) {
    return Status::Unschedulable("not eligible due to preemptionPolicy=Never.");
  }
  trial = std::make_unique<QuotaTrial>(book_, handle_, *tree_state->quota, preemptors);
  return Status::Success();
}

Status TreeAdmission::PostFilter(CycleState& state, const PodInfo& pod,
                                 const NodeStatuses& statuses, PostFilterResult& result) {
  const std::optional<QuotaId> quota = state.Find(kTreeState)->quota;
  if (!quota.has_value()) {
    return preemption_.Run(rules_without_quota_, state, pod, statuses, result);
  }
  if (pod.preemption_policy() == PreemptionPolicy::kNever) {
    return Status::Unschedulable("not eligible due to preemptionPolicy=Never.");
  }
  const QuotaBook::WithoutNomination without_nomination(book_, pod);
  std::vector<const PodInfo*> preemptors = {&pod};
  const PlacedTogether* const together = state.Find(kPlacedTogether);
  if (together != nullptr) {
    for (const PodInfo* const sibling : together->pods) {
      if (sibling != &pod) preemptors.push_back(sibling);
    }
  }
  RefusedTakers::Requests requests;
  bool may_reclaim = false;
  Status planned;
  {
    QuotaTrial trial(book_, handle_, *quota, preemptors);
    if (together != nullptr) trial.KeepOwnGroup();
    planned = Plan(state, pod, statuses, trial, result);
    if (state.for_explanation()) return planned;
    if (planned.ok()) {
      refused_takers_.FiguresChanged();  // its place may be for others to take
      return planned;
    }
    requests = trial.RequestsByNode();
    may_reclaim = trial.MayReclaim(refused_takers_.RuleInTrial());
  }
  refused_takers_.Add(pod, *quota, std::move(requests), may_reclaim);
  return planned;
}

Status TreeAdmission::Plan(CycleState& state, const PodInfo& pod, const NodeStatuses& statuses,
                           QuotaTrial& trial, PostFilterResult& result) {
  trial_ = &trial;
  const absl::Cleanup end = [this] { trial_ = nullptr; };
  std::optional<std::vector<VictimUnit>> places;
  const auto find_places = [&]() -> absl::Span<const VictimUnit> {
    if (!places.has_value()) places = trial.PlacesToTake();
    return *places;
  };
  PostFilterResult by_places;
  Status planned = PlanTaking(find_places, state, pod, statuses, trial, by_places);
  if (places.has_value() && !places->empty()) {
    const bool waits = !by_places.nominated_node.has_value();
    // A group that plans as a whole does not wait for room that is being freed.
    const bool counts_on_leaving = planned.ok() && state.Find(kPlacedTogether) != nullptr &&
                                   AnyLeavesFrom(*by_places.nominated_node);
    const bool tries_without = counts_on_leaving || (!planned.ok() && !waits);
    if (tries_without) {
      Status without = PlanTaking(nullptr, state, pod, statuses, trial, result);
      if (without.ok() || !counts_on_leaving) return without;
    }
  }
  result = std::move(by_places);
  return planned;
}

bool TreeAdmission::AnyLeavesFrom(absl::string_view node_name) const {
  const NodeRow row = handle_.nodes().FindRow(node_name);
  return row >= 0 && absl::c_any_of(handle_.nodes().node(row).pods(), [](const auto& pod) {
           return pod->deletion_time().has_value();
         });
}

Status TreeAdmission::PlanTaking(const FindPlaces& find_places, CycleState& state,
                                 const PodInfo& pod, const NodeStatuses& statuses,
                                 QuotaTrial& trial, PostFilterResult& result) {
  const TreeState& tree_state = *state.Find(kTreeState);
  std::vector<NodeRow> rows = statuses.RowsWith(Code::kUnschedulable);
  if (tree_state.without_room != nullptr) {
    std::vector<NodeRow> all;
    absl::c_set_union(rows, *tree_state.without_room, std::back_inserter(all));
    rows = std::move(all);
  }
  KeepInPlacement(state, rows);
  expected_.Refresh(handle_.nodes(), handle_.nominator());
  const auto plan = [&](PostFilterResult& planned) {
    std::unique_ptr<VictimList> units;
    if (state.full_evaluation()) {
      units = std::make_unique<AllVictims>(handle_.nodes(), trial.Units());
    } else {
      units =
          std::make_unique<TreeVictims>(book_, handle_, [&trial] { return trial.VictimQuotas(); });
    }
    return PlanVictims({handle_, state, pod, rows, preemption_.budgets(), book_, expected_,
                        short_rows_, trial, *units, find_places, this},
                       planned);
  };
  Status status = plan(result);
  const bool waits = !result.nominated_node.has_value();
  if (status.ok() || waits || !book_.claims().any_may_pass()) return status;
  trial.CountClaimsThatPass();
  PostFilterResult with_passing;
  if (!plan(with_passing).ok()) return status;
  result = std::move(with_passing);
  return Status::Success();
}

void TreeAdmission::ExplainWaiting(const PodInfo& pod, WaitingFor& waiting) const {
  waiting.reason = WaitingReason::kWaitingForQuota;
  const std::optional<QuotaId> quota = book_.QuotaOf(pod);
  if (!quota.has_value()) return;
  const QuotaTree& tree = book_.tree();
  const QuotaBook::WithoutNomination without_nomination(book_, pod);
  const PodAmounts& request = book_.RequestOf(pod);
  const LineAmounts charge = tree.ChargeOf(request, nullptr);
  const LineAmounts possible = tree.PossibleOf(request, nullptr);
  const LineAmounts avoidable = tree.PossibleOf(book_.OpenClaimsOf(pod), nullptr);
  auto shortage = tree.FindShortage(*quota, charge, possible, avoidable);
  bool is_beyond_min = false;
  if (!shortage.has_value()) {
    shortage = BeyondMin(book_.tree(), pod, *quota, charge, avoidable);
    is_beyond_min = shortage.has_value();
  }
  if (!shortage.has_value()) {
    const NodesByLines split = SplitByLines(pod, *quota, handle_.nodes());
    // A line that gives room again says more than one of which the quota may never have so much.
    const auto told =
        absl::c_find_if(split.short_lines, [](const auto& of) { return of.needed <= of.limit; });
    if (told != split.short_lines.end()) {
      shortage = *told;
    } else if (!split.short_lines.empty()) {
      shortage = split.short_lines.front();
    }
  }
  if (!shortage.has_value()) return;
  DescribeShortage(tree, *shortage, is_beyond_min, borrowers_, waiting);
}

}  // namespace berth
