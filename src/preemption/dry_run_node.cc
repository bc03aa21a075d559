// SPDX-License-Identifier: Apache-2.0
// Implementation of dry_run_node.h.
#include "preemption/dry_run_node.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "preemption/dry_run_sums.h"
#include "preemption/elsewhere_search.h"

namespace berth {
namespace {

constexpr int64_t kStepsOfRun = 4;

Status SelectVictims(DryRun& run, const PreemptionQuery& query, PreemptionCandidate& candidate) {
  Status status = query.rules.SelectVictims(run, query.budgets.all(), candidate);
  if (!status.ok() || !candidate.victims.empty()) return status;
  return Status::Error(
      absl::StrCat("expected at least one victim pod on node \"", candidate.node, "\""));
}

}  // namespace

CandidateScores ScoresOf(const PreemptionCandidate& candidate, const PreemptionQuery& query) {
  if (query.scores.empty()) return DefaultScoresOf(candidate);
  CandidateScores scores;
  for (const PreemptionRules::CandidateScore& score : query.scores) {
    scores.push_back(score(candidate));
  }
  return scores;
}

Status NoVictims(const PreemptionRules& rules, const NodeInfo* node, const PodInfo& preemptor) {
  return Status::UnschedulableAndUnresolvable(rules.NoVictimsReason(node, preemptor));
}

namespace {

using GroupNames = std::vector<std::string>;

// How many pods of groups that end with the victims violate a budget besides.
int ViolationsElsewhere(const PreemptionQuery& query, const PreemptionCandidate& candidate) {
  const DisruptionBudgets& budgets = query.budgets.all();
  if (query.groups == nullptr || budgets.empty()) return 0;
  GroupVictims::Pods all = candidate.victims;
  query.groups->AddWholeGroups(all);
  if (all.size() == candidate.victims.size()) return 0;
  return static_cast<int>(SplitByBudget(all, budgets).violating.size() -
                          SplitByBudget(candidate.victims, budgets).violating.size());
}

GroupVictims::Pods PodsThatMayGo(const NodeInfo& node, absl::Span<const VictimUnit> elsewhere) {
  GroupVictims::Pods pods(node.pods().begin(), node.pods().end());
  for (const VictimUnit& unit : elsewhere) {
    for (const auto& pod : unit.pods) {
      if (!absl::c_linear_search(pods, pod)) pods.push_back(pod);
    }
  }
  return pods;
}

using PodTest = std::function<bool(const PodInfo&)>;

// `stays` and `spared` are DryRun::Keep() and Spare(), or null.
DryRunResult DryRunOnce(Handle& handle, const PreemptionQuery& query, NodeRow row, PodTest stays,
                        PodTest spared) {
  const NodeInfo& node = handle.nodes().node(row);
  query.state.work_budget().Spend(kStepsOfRun + static_cast<int64_t>(node.pods().size()) / 4);
  DryRun run(handle, query.state, query.pod, node);
  if (spared != nullptr) run.Spare(std::move(spared));
  if (stays != nullptr) run.Keep(std::move(stays));
  if (query.elsewhere != nullptr) {
    run.SetElsewhere(query.elsewhere->UnitsFor(node.name(), query));
  } else if (query.need != nullptr) {
    UseSums(run, DryRunSums::Make(handle, *query.need, query.state, query.pod, node));
  }
  auto scored = std::make_shared<ScoredCandidate>();
  PreemptionCandidate& candidate = scored->candidate;
  candidate = {row, std::string(node.name().view()), {}, 0};
  DryRunResult result;
  result.failure = SelectVictims(run, query, candidate);
  result.retry_time = run.retry_time();
  if (result.failure.ok()) {
    candidate.pdb_violations += ViolationsElsewhere(query, candidate);
    scored->scores = ScoresOf(candidate, query);
    result.candidate = std::move(scored);
  } else {
    result.no_victims = result.failure.code() == Code::kUnschedulableAndUnresolvable &&
                        result.failure == NoVictims(query.rules, &node, query.pod);
  }
  return result;
}

// Of the groups `kept` only the members go that the group can spare; of the pod's own none.
DryRunResult DryRunKeeping(Handle& handle, const PreemptionQuery& query, NodeRow row,
                           const GroupNames& kept) {
  PodTest stays, spared;
  if (query.spare_groups != nullptr) {
    spared = [&query](const PodInfo& pod) { return query.spare_groups->EvictionEndsGroup(pod); };
  }
  const auto is_sibling = [&query](const PodInfo& pod) {
    return query.own_group != nullptr && query.groups->GroupWith(pod) == query.own_group;
  };
  if (query.own_group != nullptr) stays = is_sibling;
  if (!kept.empty()) {
    const NodeInfo& node = handle.nodes().node(row);
    std::vector<VictimUnit> elsewhere;
    if (query.elsewhere != nullptr) elsewhere = query.elsewhere->UnitsFor(node.name(), query);
    const GroupVictims::Pods pods = PodsThatMayGo(node, elsewhere);
    std::vector<const PodInfo*> staying;
    for (const std::string& group : kept) query.groups->AddStaying(pods, group, staying);
    stays = [staying = std::move(staying), is_sibling](const PodInfo& pod) {
      return is_sibling(pod) ||
             absl::c_any_of(staying, [&](const PodInfo* one) { return one->uid() == pod.uid(); });
    };
  }
  return DryRunOnce(handle, query, row, std::move(stays), std::move(spared));
}

// Members of a group that ends were put back on the node before others, and go all the same: so
// some of the others may stay. Of several such groups one may be enough.
class FewerVictims {
 public:
  // `found` has a candidate.
  FewerVictims(Handle& handle, const PreemptionQuery& query, NodeRow row, DryRunResult found)
      : handle_(handle), query_(query), row_(row), best_(std::move(found)) {}

  // Another candidate of the node, or the same.
  DryRunResult Find(int& runs_left) && {
    const PreemptionCandidate& found = best_.candidate->candidate;
    std::vector<VictimUnit> groups;
    for (VictimUnit& unit :
         query_.groups->UnitsOf(found.victims, handle_.nodes().node(row_).name())) {
      if (unit.group.empty()) {
        alone_.insert(unit.pods.front()->uid());
      } else {
        groups.push_back(std::move(unit));
      }
    }
    if (alone_.empty() && groups.size() < 2) return std::move(best_);
    going_ = WhoGoes(found);
    if (groups.size() > 1) {
      absl::c_stable_sort(groups, [](const VictimUnit& a, const VictimUnit& b) {
        return HighestPriority(a) > HighestPriority(b);
      });
      for (const VictimUnit& group : groups) {
        if (--runs_left >= 0) TryWithout(group.pods);
      }
    }
    if (!alone_.empty() && --runs_left >= 0) TryWithout({});
    return std::move(best_);
  }

 private:
  using Uids = absl::flat_hash_set<absl::string_view>;

  Uids WhoGoes(const PreemptionCandidate& candidate) const {
    GroupVictims::Pods pods = candidate.victims;
    query_.groups->AddWholeGroups(pods);
    Uids uids;
    for (const auto& pod : pods) uids.insert(pod->uid());
    return uids;
  }

  // Only pods go that would go, and none of `staying`; those that are alone are put back first.
  void TryWithout(absl::Span<const std::shared_ptr<const PodInfo>> staying) {
    Uids may_go = going_;
    for (const auto& pod : staying) may_go.erase(pod->uid());
    DryRunResult fewer = DryRunOnce(
        handle_, query_, row_, [&](const PodInfo& pod) { return !may_go.contains(pod.uid()); },
        [&](const PodInfo& pod) { return alone_.contains(pod.uid()); });
    if (fewer.candidate == nullptr) return;
    const PreemptionCandidate& candidate = fewer.candidate->candidate;
    Uids going = WhoGoes(candidate);
    const bool is_better = going.size() < going_.size() &&
                           candidate.pdb_violations <= best_.candidate->candidate.pdb_violations &&
                           !ForbiddenGroup(handle_, query_, candidate).has_value();
    if (!is_better) return;
    best_ = std::move(fewer);
    going_ = std::move(going);
  }

  Handle& handle_;
  const PreemptionQuery& query_;
  const NodeRow row_;
  DryRunResult best_;
  Uids going_;  // with the groups that end
  Uids alone_;  // of those that were found first
};

// Keeps more and more groups, until those that end may.
DryRunResult TryKeeping(Handle& handle, const PreemptionQuery& query, NodeRow row, GroupNames& kept,
                        int& runs_left) {
  DryRunResult result = DryRunKeeping(handle, query, row, kept);
  if (result.candidate == nullptr) return result;
  const PreemptionCandidate& candidate = result.candidate->candidate;
  const std::optional<std::string> forbidden = ForbiddenGroup(handle, query, candidate);
  if (!forbidden.has_value()) {
    const bool ends_group = query.groups != nullptr && query.spare_groups == nullptr &&
                            query.groups->EvictionsEndGroup(candidate.victims);
    if (!ends_group) return result;
    return FewerVictims(handle, query, row, std::move(result)).Find(runs_left);
  }
  GroupNames ending = {*forbidden};  // it may go if another one does not
  const Symbol node = handle.nodes().node(row).name();
  for (const VictimUnit& unit : query.groups->UnitsOf(candidate.victims, node)) {
    if (!unit.group.empty() && unit.group != *forbidden) ending.push_back(unit.group);
  }
  for (const std::string& group : ending) {
    if (absl::c_linear_search(kept, group) || --runs_left < 0) continue;
    kept.push_back(group);
    DryRunResult keeping = TryKeeping(handle, query, row, kept, runs_left);
    kept.pop_back();
    if (keeping.candidate != nullptr) return keeping;
  }
  return {.failure = Status::Unschedulable(absl::StrCat(
              "group ", *forbidden, " would end, and not all of its pods may be evicted")),
          .retry_time = result.retry_time};
}

}  // namespace

std::optional<std::string> ForbiddenGroup(const Handle& handle, const PreemptionQuery& query,
                                          const PreemptionCandidate& candidate) {
  if (query.groups == nullptr || !query.groups->EvictionsEndGroup(candidate.victims))
    return std::nullopt;
  const Symbol node = handle.nodes().node(candidate.row).name();
  const std::vector<VictimUnit> units = query.groups->UnitsOf(candidate.victims, node);
  const VictimUnit* const forbidden = query.rules.FindForbidden(query.state, query.pod, units);
  if (forbidden == nullptr) return std::nullopt;
  return forbidden->group;
}

DryRunResult DryRunNode(Handle& handle, const PreemptionQuery& query, NodeRow row) {
  constexpr int kMostRuns = 32;
  int runs_left = kMostRuns;
  GroupNames kept;
  return TryKeeping(handle, query, row, kept, runs_left);
}

}  // namespace berth
