// SPDX-License-Identifier: Apache-2.0
// Implementation of group_scheduler.h.
#include "engine/group_scheduler.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "engine/group_space.h"
#include "engine/shared_by_members.h"
#include "search/assignment_search.h"

namespace berth {
namespace {

// First as many of each part as its minimum takes, then the others; as they are queued.
MemberOrder MinimaFirst(const AttemptRequest& request) {
  MemberOrder first, then;
  std::vector<int> counts(request.quorum.counts(), 0);
  for (size_t i = 0; i < request.pods.size(); ++i) {
    const int part = request.PartOf(i);
    const bool needed = counts[part]++ < request.quorum.MissingIn(part);
    (needed ? first : then).push_back(request.pods[i]);
  }
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

MemberOrder PodsOf(const std::vector<MemberClass>& classes) {
  MemberOrder order;
  for (const MemberClass& members : classes) {
    order.insert(order.end(), members.pods.begin(), members.pods.end());
  }
  return order;
}

// A better result takes the place of `result`; what was tried and found counts in any case.
void Adopt(AttemptResult other, AttemptResult& result) {
  const int cycles = result.cycles + other.cycles;
  const int most_placed = std::max(result.most_placed, other.most_placed);
  if (other.minimum_reached) {
    result = std::move(other);
    result.order = StartOrder::kOther;
  }
  result.cycles = cycles;
  result.most_placed = most_placed;
}

}  // namespace

// Members that failed since the last placement or plan, one of each class.
struct GroupScheduler::ClassFailures {
  uint64_t changes = 0;                         // so much had been placed or planned by then
  absl::flat_hash_map<std::string, int> index;  // in AttemptResult::failed, by EquivalenceKey()
};

// When events are to be taken in: by what the cycles of the members took, as far as that is known
// without a clock.
class GroupScheduler::IntakeTimer {
 public:
  // All outlive this. `intake` may be null: it is never due.
  IntakeTimer(const EventIntake* intake, const PodScheduler& pod_scheduler,
              const AttemptResult& result, int nodes)
      : intake_(intake),
        pod_scheduler_(pod_scheduler),
        result_(result),
        steps_of_all_nodes_(nodes / kNodesInAStep),
        begun_(Done()) {}

  void Restart() { begun_ = Done(); }
  bool IsDue() const { return intake_ != nullptr && Done() - begun_ >= intake_->steps(); }

 private:
  static constexpr int64_t kStepsOfCycle = 16;
  static constexpr int64_t kNodesInAStep = 8;

  // In steps: a look at each node for each cycle that caches do not answer, and for PostFilter.
  int64_t Done() const {
    const int64_t recalled = pod_scheduler_.cycle().counters().recalled;
    return kStepsOfCycle * result_.cycles +
           steps_of_all_nodes_ * (result_.cycles - recalled + result_.post_filters);
  }

  const EventIntake* const intake_;
  const PodScheduler& pod_scheduler_;
  const AttemptResult& result_;
  const int64_t steps_of_all_nodes_;
  int64_t begun_;
};

void GroupScheduler::Place(const AttemptRequest& request, AttemptResult& result,
                           EventIntake* intake) {
  PlaceOrPlan(request, result, intake);
  if (result.yielded) return;
  if (result.minimum_reached && request.quorum.has_parts() && request.plans_evictions &&
      result.placed.size() < request.pods.size()) {
    preemption_.PlanMore(request, {}, result);
  }
  if (result.answer != GroupAnswer::kPlan) preemption_.PlanTogether(request, result);
  PlanMoves(request, result);
}

void GroupScheduler::PlanMoves(const AttemptRequest& request, AttemptResult& result) {
  if (request.most_moves == 0 || !request.plans_evictions) return;
  const bool has_plan = result.answer == GroupAnswer::kPlan || !result.plans.empty();
  if (!result.minimum_reached && !has_plan) moves_.Plan(request, result);
}

void GroupScheduler::PlaceOrPlan(const AttemptRequest& request, AttemptResult& result,
                                 EventIntake* intake) {
  // If it takes one pod only, a pod that fits is found at once.
  const bool as_a_whole = request.minimum > 1 || request.quorum.has_parts();
  // They may go where room was made for them: not as they would one by one.
  const bool is_nominated =
      cluster_.nominations().size() > 0 && absl::c_any_of(request.pods, [this](const auto& pod) {
        return !cluster_.nominations().NominatedNode(*pod).empty();
      });
  std::optional<GroupShortage> shortage;
  if (as_a_whole) shortage = FindShortage(request, cluster_.nodes());
  std::optional<PodFailure> explained;
  if (shortage.has_value() && shortage->of_one_kind) {
    explained = ExplainShortage(request, *shortage, cluster_);
  }
  if (explained.has_value()) {
    result.most_placed = static_cast<int>(shortage->room);
    result.failed.push_back(*std::move(explained));
  } else {
    result.minimum_reached =
        PlaceAll(request, MemberOrder(request.pods.begin(), request.pods.end()), result, intake);
    if (result.yielded) return;
  }
  if (result.minimum_reached) {
    result.answer = GroupAnswer::kPlaced;
    if (is_nominated) result.order = StartOrder::kOther;
    return;
  }
  if (!as_a_whole) return;
  if (!shortage.has_value()) shortage = FindShortageTogether(request, cluster_.nodes());
  if (shortage.has_value()) {
    result.answer = GroupAnswer::kInfeasible;
    result.finding = shortage->finding;
  } else {
    const std::vector<MemberClass> classes = ClassifyMembers(request, cluster_);
    if (PlaceInOtherOrders(request, classes, result, intake)) return;
    if (PlaceBySearch(request, classes, result)) return;
  }
  if (!request.plans_evictions) return;
  if (shortage.has_value() && shortage->even_if_empty) {
    preemption_.EndNominations(request, result);
  } else {
    preemption_.Plan(request, shortage, result);
  }
}

// The hardest first. What was hardest alone need not be hardest together: then the other way round.
// True also if it yielded.
bool GroupScheduler::PlaceInOtherOrders(const AttemptRequest& request,
                                        const std::vector<MemberClass>& classes,
                                        AttemptResult& result, EventIntake* intake) {
  if (request.quorum.has_parts() && PlaceInOrder(request, MinimaFirst(request), result, intake))
    return true;
  if (classes.size() == 1) return false;
  if (PlaceInOrder(request, PodsOf(classes), result, intake)) return true;
  return PlaceInOrder(request, PodsOf({classes.rbegin(), classes.rend()}), result, intake);
}

bool GroupScheduler::PlaceInOrder(const AttemptRequest& request, const MemberOrder& order,
                                  AttemptResult& result, EventIntake* intake) {
  if (absl::c_equal(order, request.pods)) return false;  // that was the first
  AttemptResult other;
  other.minimum_reached = PlaceAll(request, order, other, intake);
  other.answer = GroupAnswer::kPlaced;
  if (other.yielded) {
    other.cycles += result.cycles;
    result = std::move(other);
    return true;
  }
  Adopt(std::move(other), result);
  return result.minimum_reached;
}

// Members of one class that only compete are as many on a node in every order: what did not find a
// place one after another has none, and no search is needed.
bool GroupScheduler::PlaceBySearch(const AttemptRequest& request,
                                   const std::vector<MemberClass>& classes, AttemptResult& result) {
  if (classes.size() == 1 && classes.front().only_competes) return false;
  if (request.group_search_steps == 0) return false;
  if (absl::c_any_of(result.failed, [](const auto& failure) { return failure.status.IsError(); })) {
    return false;
  }
  AttemptResult other;
  GroupSpace space(request, classes, cluster_, pod_scheduler_, other);
  AssignmentSearch search(space, cluster_.nodes().size(), request.group_search_steps);
  const AssignmentSearch::Outcome outcome = search.Run();
  result.possibilities += search.possibilities();
  other.most_placed = search.most_placed();
  switch (outcome) {
    case AssignmentSearch::Outcome::kFound: {
      MemberOrder others;
      for (const auto& pod : request.pods) {
        const bool is_placed = absl::c_any_of(other.placed, [&](const Binder::Member& member) {
          return member.placement.pod == pod;
        });
        if (!is_placed) others.push_back(pod);
      }
      other.minimum_reached = PlaceAll(request, std::move(others), other);
      other.answer = GroupAnswer::kPlaced;
      other.possibilities = result.possibilities;
      break;
    }
    case AssignmentSearch::Outcome::kExhausted: {
      const std::string why = WhyNotAllTried(*request.framework, request.pods);
      const bool is_proven = why.empty();
      result.answer = is_proven ? GroupAnswer::kInfeasible : GroupAnswer::kUndecided;
      result.finding = is_proven ? absl::StrCat("No place exists: all ", result.possibilities,
                                                " possibilities were tried.")
                                 : absl::StrCat("Undecided after ", result.possibilities,
                                                " possibilities: ", why, ".");
      break;
    }
    case AssignmentSearch::Outcome::kUndecided:
      result.answer = GroupAnswer::kUndecided;
      result.finding = absl::StrCat("Undecided after ", result.possibilities, " possibilities.");
      break;
  }
  Adopt(std::move(other), result);
  return result.minimum_reached;
}

// Places what fits, beside what is placed already. Undoes everything and returns false if that is
// less than the minimum, or if it yielded.
bool GroupScheduler::PlaceAll(const AttemptRequest& request, MemberOrder order,
                              AttemptResult& result, EventIntake* intake) {
  Transaction transaction(cluster_, result.placed);
  // Members that wait for each other in a row, the last one first, would be tried as often as the
  // square of their number says. Then another order comes next.
  const size_t most_tries = 100 + 8 * request.pods.size();
  size_t tries = 0;
  bool out_of_reach = false;
  IntakeTimer timer(intake, pod_scheduler_, result, cluster_.nodes().size());
  while (!order.empty() && !out_of_reach) {
    ClassFailures failures;
    tries += order.size();
    for (const auto& pod : order) {
      TryMember(request, pod, failures, transaction, result);
      out_of_reach =
          IsOutOfReach(request, result) ||
          (request.watch != nullptr &&
           !request.watch->Continues(static_cast<int>(result.placed.size()),
                                     static_cast<int>(request.pods.size() - result.placed.size() -
                                                      result.failed.size())));
      if (out_of_reach) break;
      if (!timer.IsDue() || transaction.Save().changes > 0) continue;
      if (!intake->TakeIn(result.placed)) {
        GiveUp(result);
        return false;
      }
      cluster_.Refresh();
      failures = {};
      timer.Restart();
    }
    if (!out_of_reach) order = TakeMembersToRetry(request, result, tries < most_tries);
  }
  transaction.RollBackChanges();
  if (request.quorum.has_parts()) TakeBackPartsThatMiss(request, transaction, result);
  if (request.IsReachedBy(result.placed)) return true;
  if (result.failed.empty()) {  // all of them have a place, and it is not enough
    result.failed.push_back(
        MissesPart(request, request.pods.front(), "too few pods of a subgroup can be tried"));
  }
  pod_scheduler_.RollBackGroup(request, result);
  return false;
}

// The group is not what it was: nothing is decided.
void GroupScheduler::GiveUp(AttemptResult& result) {
  pod_scheduler_.RollBack(result);
  const int cycles = result.cycles;
  result = AttemptResult();
  result.cycles = cycles;
  result.yielded = true;
}

bool GroupScheduler::IsOutOfReach(const AttemptRequest& request, const AttemptResult& result) {
  return static_cast<int>(request.pods.size()) - result.hopeless < request.minimum;
}

// Places the pod, or adds it to those that failed.
void GroupScheduler::TryMember(const AttemptRequest& request,
                               const std::shared_ptr<const PodInfo>& pod, ClassFailures& failures,
                               Transaction& transaction, AttemptResult& result) {
  const auto changes = [&] {
    return result.placed.size() + result.plans.size() + cluster_.nominations().version();
  };
  const auto add_failure = [&](PodFailure failure) {
    result.hopeless += failure.may_fit_later ? 0 : 1;
    result.failed.push_back(std::move(failure));
  };
  std::optional<std::string> key;
  if (!failures.index.empty() && failures.changes == changes()) {
    key = EquivalenceKey(*request.framework, cluster_.nominations(), *pod);
    const auto found = key.has_value() ? failures.index.find(*key) : failures.index.end();
    if (found != failures.index.end()) {
      PodFailure failure = result.failed[found->second];
      if (failure.post_filter_ran || !PodScheduler::MayPreempt(request, result)) {
        failure.pod = pod;
        return add_failure(std::move(failure));
      }
    }
  }
  const size_t plans = result.plans.size();
  if (pod_scheduler_.Place(request, pod, result)) {
    cluster_.Refresh();  // the next member is to see it
    transaction.Nominate(pod, "");
    return;
  }
  PodFailure failure = std::move(result.failed.back());
  result.failed.pop_back();
  failure.placed_before = static_cast<int>(result.placed.size());
  const bool preempts = result.plans.size() > plans;
  if (preempts) {
    transaction.Preempt(pod, result.plans.back().result, request.now);
  } else {
    if (failure.nominated_node.has_value()) transaction.Nominate(pod, *failure.nominated_node);
    failure.may_fit_later = !failure.status.IsError() &&
                            MayFitLater(*request.framework, *pod, failure.rejecting_plugins);
    if (failures.changes != changes()) failures.index.clear();
    failures.changes = changes();
    if (!key.has_value()) key = EquivalenceKey(*request.framework, cluster_.nominations(), *pod);
    if (key.has_value()) failures.index[*key] = static_cast<int>(result.failed.size());
  }
  add_failure(std::move(failure));
}

// Takes out of `failed` those that siblings placed since may have let in, if `beside_siblings`,
// and, once the group reaches its minimum, those for which PostFilter did not run.
MemberOrder GroupScheduler::TakeMembersToRetry(const AttemptRequest& request, AttemptResult& result,
                                               bool beside_siblings) {
  const int placed = static_cast<int>(result.placed.size());
  const bool stands = request.IsReachedBy(result.placed);
  const auto first = std::stable_partition(
      result.failed.begin(), result.failed.end(), [&](const PodFailure& failure) {
        return !(beside_siblings && failure.may_fit_later && failure.placed_before < placed) &&
               !(stands && !failure.post_filter_ran);
      });
  MemberOrder order;
  for (auto failure = first; failure != result.failed.end(); ++failure) {
    if (!failure->may_fit_later) --result.hopeless;
    order.push_back(failure->pod);
  }
  result.failed.erase(first, result.failed.end());
  return order;
}

// A part whose own minimum is missed does not start half: its members wait, and so do those of its
// subgroups.
void GroupScheduler::TakeBackPartsThatMiss(const AttemptRequest& request, Transaction& transaction,
                                           AttemptResult& result) {
  const std::vector<bool> starts = request.FindStartingParts(result.placed);
  for (size_t i = result.placed.size(); i-- > 0;) {
    if (starts[i]) continue;
    const std::shared_ptr<const PodInfo> pod = result.placed[i].placement.pod;
    transaction.TakeBack(i);
    result.failed.push_back(MissesPart(request, pod, "its subgroup misses its own minimum"));
  }
}

PodFailure GroupScheduler::MissesPart(const AttemptRequest& request,
                                      const std::shared_ptr<const PodInfo>& pod,
                                      absl::string_view why) const {
  const Symbol plugin = request.framework->plugins().group_name;
  PodFailure failure{pod, Status::Unschedulable(std::string(why)).WithPlugin(plugin), {plugin}};
  failure.message = failure.status.message();
  auto waiting = std::make_shared<WaitingFor>();
  waiting->reason = WaitingReason::kWaitingForMembers;
  waiting->plugin = std::string(plugin.view());
  waiting->detail = failure.message;
  failure.waiting = std::move(waiting);
  failure.post_filter_ran = true;
  return failure;
}

}  // namespace berth
