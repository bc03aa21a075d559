// SPDX-License-Identifier: Apache-2.0
// Implementation of group_moves.h.
#include "engine/group_moves.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "berth/api/amounts.h"
#include "berth/extensions/moves_pods.h"
#include "berth/preemption/preemption.h"
#include "engine/filtered_nodes.h"
#include "engine/group_classes.h"
#include "engine/shared_by_members.h"
#include "engine/transaction.h"
#include "framework/nominated_rows.h"
#include "group/group_victims.h"
#include "search/move_search.h"

namespace berth {
namespace {

using PodPtr = std::shared_ptr<const PodInfo>;

// Each pod that is moved is of a kind of its own, beyond the classes of members.
constexpr int kFirstKindOfMoved = 1 << 24;

// A member, or a pod that is moved, as it looks without a node.
struct Waiting {
  PodPtr pod;
  int kind = 0;
  PodPtr moved_from = nullptr;  // the running pod; null: a member
  Symbol node = {};             // where it ran
};

// What MoveSearch moves in: real cycles in a transaction, as GroupSpace.
class GroupMoveSpace final : public MoveSpace {
 public:
  // Everything outlives this. Places into `trial`.
  GroupMoveSpace(const AttemptRequest& request, const MovesPods& rules, ClusterState& cluster,
                 PodScheduler& pod_scheduler, AttemptResult& trial)
      : request_(request),
        anywhere_(request),
        rules_(rules),
        cluster_(cluster),
        pod_scheduler_(pod_scheduler),
        trial_(trial),
        groups_(cluster.groups()),
        transaction_(cluster, trial.placed) {
    anywhere_.placement = nullptr;
    for (const PodPtr& pod : request.pods) priority_ = std::min(priority_, pod->priority());
  }
  ~GroupMoveSpace() override { transaction_.RollBack(); }

  void AddMember(const PodPtr& pod, int kind) { waiting_.push_back({pod, kind}); }

  int Next() const override { return placed_ < waiting_.size() ? waiting_[placed_].kind : -1; }
  std::vector<NodeRow> FeasibleRows() override;
  std::vector<Move> Moves(int most) override;
  bool Place(NodeRow row) override;
  void TakeOff(const Move& move) override;
  void Undo() override;

  // Whether every way was offered: no rule of a pod that might be moved goes by other pods, and
  // what was lacking were amounts.
  bool is_exact() const { return is_exact_; }
  // Once it is found. In the order in which they were placed.
  const std::vector<Waiting>& all() const { return waiting_; }

 private:
  using Deficits = std::vector<std::pair<ResourceId, int64_t>>;

  // A pod that is moved may go beyond where the group has to be.
  const AttemptRequest& Scope() const {
    return waiting_[placed_].moved_from == nullptr ? request_ : anywhere_;
  }
  bool MayMove(const PodInfo& pod) const;
  bool IsBoundToADomain(const PodInfo& pod) const;
  int NumberOf(const PodInfo& pod) {
    return numbers_.try_emplace(pod.uid(), Number()).first->second;
  }
  int Number() const { return static_cast<int>(numbers_.size()); }
  // What the next pod lacks on the node of that row.
  Deficits Lacks(NodeRow row) const;
  void AddSets(NodeRow row, const Deficits& lacks, int most,
               std::vector<std::pair<Move, int64_t>>& moves);
  bool KeepBudgetsAndGroups(const std::vector<PodPtr>& pods) const;

  const AttemptRequest& request_;
  AttemptRequest anywhere_;
  const MovesPods& rules_;
  ClusterState& cluster_;
  PodScheduler& pod_scheduler_;
  AttemptResult& trial_;
  const GroupVictims groups_;
  Transaction transaction_;
  bool is_exact_ = true;
  int32_t priority_ = std::numeric_limits<int32_t>::max();
  std::vector<Waiting> waiting_;
  size_t placed_ = 0;
  absl::flat_hash_map<std::string, int> numbers_;  // by uid
  absl::flat_hash_map<int, PodPtr> pods_;          // by number
  struct Step {
    Transaction::Savepoint before;
    size_t taken_off = 0;  // 0: a pod was placed
  };
  std::vector<Step> steps_;
};

// The fullest nodes first: on them the least is left over.
std::vector<NodeRow> GroupMoveSpace::FeasibleRows() {
  const PodInfo& pod = *waiting_[placed_].pod;
  const NodeTable& nodes = cluster_.nodes();
  std::vector<std::pair<double, NodeRow>> by_rest;
  for (const NodeRow row : pod_scheduler_.FeasibleRows(Scope(), pod)) {
    double rest = 0;
    pod.requests().ForEach([&](ResourceId resource, int64_t amount) {
      const int64_t has = nodes.allocatable(resource)[row];
      if (has > 0) rest += static_cast<double>(has - nodes.requested(resource)[row] - amount) / has;
    });
    by_rest.emplace_back(rest, row);
  }
  std::sort(by_rest.begin(), by_rest.end());
  std::vector<NodeRow> rows;
  for (const auto& [rest, row] : by_rest) rows.push_back(row);
  return rows;
}

bool GroupMoveSpace::MayMove(const PodInfo& pod) const {
  const CachedPod* const known = cluster_.cache().FindPod(*pod.identity());
  return pod.priority() <= priority_ && !pod.deletion_time().has_value() && known != nullptr &&
         !known->assumed() && pod.scheduler_name() == request_.pods.front()->scheduler_name() &&
         rules_.MayMove(pod) && cluster_.groups().GroupOfPod(pod.uid()) != request_.group &&
         !groups_.EvictionEndsGroup(pod) && !IsBoundToADomain(pod);
}

// Where such a pod may go again is for placement plugins to say, when it is made again.
bool GroupMoveSpace::IsBoundToADomain(const PodInfo& pod) const {
  const std::optional<std::string> group = cluster_.groups().GroupOfPod(pod.uid());
  if (!group.has_value()) return false;
  const std::optional<GroupSpec> spec = cluster_.groups().Spec(*group);
  return spec.has_value() && !spec->topology.empty();
}

GroupMoveSpace::Deficits GroupMoveSpace::Lacks(NodeRow row) const {
  const NodeTable& nodes = cluster_.nodes();
  Deficits lacks;
  waiting_[placed_].pod->requests().ForEach([&](ResourceId resource, int64_t amount) {
    const int64_t free =
        SaturatingSubtract(nodes.allocatable(resource)[row], nodes.requested(resource)[row]);
    if (amount > free) lacks.emplace_back(resource, amount - free);
  });
  return lacks;
}

// Together with those that were taken off before.
bool GroupMoveSpace::KeepBudgetsAndGroups(const std::vector<PodPtr>& pods) const {
  if (groups_.EvictionsEndGroup(pods)) return false;
  const DisruptionBudgets& budgets = cluster_.budgets();
  return budgets.empty() || SplitByBudget(pods, budgets).violating.empty();
}

// Sets of pods that give what is lacking, of which none could stay. Where nothing that can be
// summed up is lacking, single pods: the filters will say which of them is in the way.
void GroupMoveSpace::AddSets(NodeRow row, const Deficits& lacks, int most,
                             std::vector<std::pair<Move, int64_t>>& moves) {
  std::vector<PodPtr> movable;
  is_exact_ = is_exact_ && !lacks.empty();
  for (const PodPtr& pod : cluster_.nodes().node(row).pods()) {
    if (!MayMove(*pod)) continue;
    movable.push_back(pod);
    is_exact_ = is_exact_ && pod->required_affinity_terms().empty() &&
                pod->required_anti_affinity_terms().empty() &&
                pod->topology_spread_constraints().empty();
  }
  std::vector<PodPtr> chosen;
  const auto gives_enough = [&](const PodInfo* without) {
    return absl::c_all_of(lacks, [&](const auto& lack) {
      int64_t sum = 0;
      for (const PodPtr& pod : chosen) {
        if (pod.get() != without) sum = SaturatingAdd(sum, pod->requests().Get(lack.first));
      }
      return sum >= lack.second;
    });
  };
  const auto extend = [&](auto& self, size_t first) -> void {
    if (!chosen.empty() && gives_enough(nullptr)) {
      const bool is_least = lacks.empty() || absl::c_none_of(chosen, [&](const PodPtr& pod) {
                              return gives_enough(pod.get());
                            });
      if (!is_least || !KeepBudgetsAndGroups(chosen)) return;
      Move move{row, {}};
      int64_t too_much = 0;
      for (const PodPtr& pod : chosen) {
        move.pods.push_back(NumberOf(*pod));
        pods_[move.pods.back()] = pod;
        for (const auto& [resource, amount] : lacks) {
          too_much = SaturatingAdd(too_much, pod->requests().Get(resource));
        }
      }
      moves.emplace_back(std::move(move), too_much);
      return;
    }
    if (static_cast<int>(chosen.size()) == most) return;
    for (size_t i = first; i < movable.size(); ++i) {
      chosen.push_back(movable[i]);
      self(self, i + 1);
      chosen.pop_back();
    }
  };
  extend(extend, 0);
}

// The fewest pods first, then those that take the least.
std::vector<MoveSpace::Move> GroupMoveSpace::Moves(int most) {
  const FilteredNodes filtered(*request_.framework, *waiting_[placed_].pod, cluster_.nodes(),
                               Scope().placement);
  if (!filtered.status.ok()) return {};
  std::vector<std::pair<Move, int64_t>> moves;
  for (const NodeRow row : filtered.rows) {
    if (filtered.verdicts.code(row) != Code::kUnschedulable) continue;
    AddSets(row, Lacks(row), most, moves);
  }
  absl::c_stable_sort(moves, [](const auto& a, const auto& b) {
    return a.first.pods.size() != b.first.pods.size() ? a.first.pods.size() < b.first.pods.size()
                                                      : a.second < b.second;
  });
  std::vector<Move> sorted;
  for (auto& [move, amount] : moves) sorted.push_back(std::move(move));
  return sorted;
}

bool GroupMoveSpace::Place(NodeRow row) {
  const PodPtr& pod = waiting_[placed_].pod;
  const Transaction::Savepoint before = transaction_.Save();
  if (!pod_scheduler_.PlaceOn(Scope(), pod, row, trial_)) return false;
  if (waiting_[placed_].moved_from == nullptr) transaction_.Nominate(pod, "");
  steps_.push_back({before});
  ++placed_;
  return true;
}

void GroupMoveSpace::TakeOff(const Move& move) {
  steps_.push_back({transaction_.Save(), move.pods.size()});
  std::vector<PodPtr> pods;
  for (const int number : move.pods) {
    const PodPtr& pod = pods.emplace_back(pods_[number]);
    waiting_.push_back({AsAssigned(*pod, ""), kFirstKindOfMoved + number, pod,
                        cluster_.nodes().node(move.row).name()});
  }
  transaction_.Evict(pods);
}

void GroupMoveSpace::Undo() {
  const Step step = steps_.back();
  steps_.pop_back();
  transaction_.RollBackTo(step.before);
  waiting_.resize(waiting_.size() - step.taken_off);
  if (step.taken_off == 0) --placed_;
}

// Members that are placed together, alike ones one after another.
struct MembersToPlace {
  std::vector<std::pair<PodPtr, int>> members;  // and the class of each
  bool is_exact = false;  // the group has a place if these have, and only then
};

// As many as it takes; of unlike ones all.
MembersToPlace FindMembers(const AttemptRequest& request, ClusterState& cluster) {
  MembersToPlace found;
  const std::vector<MemberClass> classes = ClassifyMembers(request, cluster);
  found.is_exact =
      absl::c_all_of(classes, [](const MemberClass& members) { return members.only_competes; });
  for (size_t i = 0; i < classes.size(); ++i) {
    for (const PodPtr& pod : classes[i].pods) found.members.emplace_back(pod, static_cast<int>(i));
  }
  const auto needed = static_cast<size_t>(std::max(request.minimum, 1));
  if (!request.quorum.has_parts() && classes.size() == 1) found.members.resize(needed);
  found.is_exact = found.is_exact && found.members.size() == needed;
  return found;
}

// Moving pods leaves as much free as before: whether that is enough for these.
bool IsEnoughFree(const std::vector<std::pair<PodPtr, int>>& members, const NodeTable& nodes) {
  ResourceVector sum;
  for (const auto& [pod, kind] : members) sum.Add(pod->requests());
  bool enough = true;
  sum.ForEach([&](ResourceId resource, int64_t needed) {
    if (!enough) return;
    int64_t free = 0;
    for (NodeRow row = 0; row < nodes.size() && free < needed; ++row) {
      free = SaturatingAdd(
          free, std::max<int64_t>(0, SaturatingSubtract(nodes.allocatable(resource)[row],
                                                        nodes.requested(resource)[row])));
    }
    enough = free >= needed;
  });
  return enough;
}

std::string PodsText(size_t pods) { return absl::StrCat(pods, pods == 1 ? " pod" : " pods"); }

}  // namespace

// Whether a pod has yet to leave a node where room is held for a member.
bool GroupMoves::AwaitsMoves(const AttemptRequest& request) const {
  return absl::c_any_of(request.pods, [&](const PodPtr& pod) {
    const NodeRow row = NominatedRow(cluster_.nominations(), cluster_.nodes(), *pod);
    return row >= 0 && absl::c_any_of(cluster_.nodes().node(row).pods(), [](const PodPtr& other) {
             return other->deletion_time().has_value();
           });
  });
}

void GroupMoves::Plan(const AttemptRequest& request, AttemptResult& result) {
  const auto* const rules = dynamic_cast<const MovesPods*>(request.framework->plugins().group);
  if (rules == nullptr || result.failed.front().status.IsError()) return;
  if (AwaitsMoves(request)) {
    for (PodFailure& failure : result.failed) failure.nominated_node.reset();
    return;
  }
  const MembersToPlace to_place = FindMembers(request, cluster_);
  if (!IsEnoughFree(to_place.members, cluster_.nodes())) return;
  AttemptResult trial;
  std::vector<AttemptResult::Plan> plans;
  size_t moved = 0;
  {
    GroupMoveSpace space(request, *rules, cluster_, pod_scheduler_, trial);
    for (const auto& [pod, kind] : to_place.members) space.AddMember(pod, kind);
    MoveSearch search(space, cluster_.nodes().size(), request.group_search_steps);
    const MoveSearch::Outcome outcome = search.Run(request.most_moves);
    result.cycles += trial.cycles;
    result.possibilities += search.possibilities();
    const bool is_exact = to_place.is_exact && space.is_exact() &&
                          WhyNotAllTried(*request.framework, request.pods).empty();
    if (outcome != MoveSearch::Outcome::kFound) {
      const bool is_proven = outcome == MoveSearch::Outcome::kExhausted && is_exact;
      result.moves = is_proven ? MovesAnswer::kNoHelp : MovesAnswer::kUndecided;
      result.moves_finding =
          absl::StrCat("Moving up to ", PodsText(static_cast<size_t>(request.most_moves)),
                       is_proven ? " to other nodes does not help."
                                 : " to other nodes may help: not all ways were tried.");
      return;
    }
    for (size_t i = 0; i < trial.placed.size(); ++i) {
      if (space.all()[i].moved_from != nullptr) continue;
      plans.push_back({trial.placed[i].placement.pod, {}});
      plans.back().result.nominated_node = std::string(trial.placed[i].placement.node_name);
    }
    for (size_t i = 0; i < trial.placed.size(); ++i) {
      const Waiting& waiting = space.all()[i];
      if (waiting.moved_from == nullptr || trial.placed[i].placement.node == waiting.node) continue;
      const auto there = absl::c_find_if(plans, [&](const AttemptResult::Plan& plan) {
        return *plan.result.nominated_node == waiting.node.view();
      });
      AttemptResult::Plan& plan = there == plans.end() ? plans.front() : *there;
      plan.result.victims.push_back(waiting.moved_from);
      plan.move_to.emplace_back(trial.placed[i].placement.node_name);
      plan.result.plugin = request.framework->plugins().group_name;
      ++moved;
    }
    result.moves = search.is_fewest() && is_exact ? MovesAnswer::kFewest : MovesAnswer::kSome;
    result.finding = absl::StrCat(
        PodsText(moved), moved == 1 ? " is" : " are", " moved to other nodes to make room for it",
        result.moves == MovesAnswer::kFewest ? ", and no fewer would do." : ".");
  }
  result.answer = GroupAnswer::kPlan;
  result.evictions_finding.clear();
  NominatePods(std::move(plans), result);
}

}  // namespace berth
