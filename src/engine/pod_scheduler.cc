// SPDX-License-Identifier: Apache-2.0
// Implementation of pod_scheduler.h.
#include "engine/pod_scheduler.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/extensions/post_filter_events.h"
#include "berth/preemption/victim_rules.h"
#include "engine/filtered_nodes.h"
#include "evaluation/diagnosis.h"

namespace berth {
namespace {

bool AnyIsAmong(absl::Span<const std::shared_ptr<const PodInfo>> victims,
                const Binder::Members& placed) {
  return absl::c_any_of(placed, [&](const Binder::Member& member) {
    return absl::c_any_of(
        victims, [&](const auto& victim) { return victim->uid() == member.placement.pod->uid(); });
  });
}

}  // namespace

void WaitForPostFilter(const Framework& framework, const PodInfo& pod,
                       std::vector<Symbol>& rejecting_plugins) {
  for (const Hook<PostFilterPlugin>& hook : framework.plugins().post_filter) {
    const auto* const events = dynamic_cast<const PostFilterEvents*>(hook.plugin);
    if (events == nullptr || absl::c_linear_search(rejecting_plugins, hook.name)) continue;
    if (events->WaitsForEvents(pod)) rejecting_plugins.push_back(hook.name);
  }
}

void PodScheduler::RollBack(AttemptResult& result) {
  for (auto member = result.placed.rbegin(); member != result.placed.rend(); ++member) {
    Undo(member->placement);
  }
  result.placed.clear();
}

bool PodScheduler::Place(const AttemptRequest& request, const std::shared_ptr<const PodInfo>& pod,
                         AttemptResult& result) {
  ++result.cycles;
  CycleState state;
  if (!incremental_) state.SetFullEvaluation();
  state.SetWorkBudget(request.work_budget);
  state.SetPlacement(request.placement);
  const CycleResult cycle =
      cycle_.Run(*request.framework, state, pod, cluster_.nodes(), cluster_.nominations(),
                 request.percentage_of_nodes_to_score);
  result.yielded = state.work_budget().yielded();
  if (result.yielded) return false;
  if (cycle.row < 0) {
    RejectPod(request, pod, state, cycle, result);
    return false;
  }
  const Status reserved = Reserve(request, pod, cycle.row, std::move(state), result);
  if (!reserved.ok()) {
    result.failed.push_back(Refused(request, pod, reserved));
    return false;
  }
  return true;
}

Status PodScheduler::Reserve(const AttemptRequest& request,
                             const std::shared_ptr<const PodInfo>& pod, NodeRow row,
                             CycleState&& state, AttemptResult& result) {
  state.SetPlacement(nullptr);  // it need not live as long as the pod's binding
  result.placed.push_back({.placement = {.pod = pod,
                                         .framework = request.framework,
                                         .state = std::move(state),
                                         .history = request.history}});
  AssumedPod& placement = result.placed.back().placement;
  const Symbol node_name = cluster_.nodes().node(row).name();
  placement.node = node_name;
  placement.node_name = node_name.view();
  placement.assumed_at = cluster_.outside_changes();
  cluster_.Assume(pod, node_name);
  Status reserved = request.framework->point_metrics().Measure(PointMetrics::Point::kReserve, [&] {
    return request.framework->binding_points().RunReserve(placement.state, *pod,
                                                          placement.node_name);
  });
  if (!reserved.ok()) {
    Undo(placement);
    result.placed.pop_back();
    return reserved;
  }
  result.most_placed = std::max(result.most_placed, static_cast<int>(result.placed.size()));
  return reserved;
}

bool PodScheduler::PlaceOn(const AttemptRequest& request, const std::shared_ptr<const PodInfo>& pod,
                           NodeRow row, AttemptResult& result) {
  ++result.cycles;
  const Framework& framework = *request.framework;
  const NodeTable& nodes = cluster_.nodes();
  CycleState state;
  state.SetPlacement(request.placement);
  const PreFilterOutcome pre_filter = framework.filters().RunPreFilter(state, *pod, nodes);
  if (!pre_filter.status.ok() || !pre_filter.Leaves(row, nodes)) return false;
  const Status filtered =
      framework.nomination_filter().RunFilterWithNominatedPods(state, *pod, nodes.node(row));
  const bool placed = filtered.ok() && Reserve(request, pod, row, std::move(state), result).ok();
  if (placed) cluster_.Refresh();
  return placed;
}

std::vector<NodeRow> PodScheduler::FeasibleRows(const AttemptRequest& request,
                                                const PodInfo& pod) const {
  return FilteredNodes(*request.framework, pod, cluster_.nodes(), request.placement).feasible();
}

PodScheduler::PlacedOrPlan PodScheduler::PlaceOrPlan(const AttemptRequest& request,
                                                     const std::shared_ptr<const PodInfo>& pod,
                                                     AskPostFilter ask, AttemptResult& result,
                                                     std::vector<const PodInfo*> together) {
  ++result.cycles;
  PlacedOrPlan outcome;
  const Framework& framework = *request.framework;
  CycleState state;
  if (!incremental_) state.SetFullEvaluation();
  state.SetPlacement(request.placement);
  const CycleResult cycle =
      cycle_.Run(framework, state, pod, cluster_.nodes(), cluster_.nominations(),
                 request.percentage_of_nodes_to_score);
  outcome.status = cycle.status;
  if (cycle.row >= 0) {
    outcome.status = Reserve(request, pod, cycle.row, std::move(state), result);
    outcome.placed = outcome.status.ok();
    if (outcome.placed) cluster_.Refresh();
    return outcome;
  }
  if (ask == AskPostFilter::kNo) return outcome;
  if (cycle.diagnosis == nullptr && !cycle.pre_filter_rejected) return outcome;
  const UniformStatuses uniform(cluster_.nodes().size(), cycle.status);
  const NodeStatuses& statuses = cycle.diagnosis != nullptr ? cycle.diagnosis->statuses() : uniform;
  auto placed_together = std::make_unique<PlacedTogether>();
  placed_together->pods = std::move(together);
  state.Write(kPlacedTogether, std::move(placed_together));
  outcome.status = framework.point_metrics().Measure(PointMetrics::Point::kPostFilter, [&] {
    return framework.RunPostFilter(state, *pod, statuses, outcome.plan);
  });
  ++result.post_filters;
  outcome.found = outcome.status.ok() && !outcome.plan.nominated_node.value_or("").empty();
  return outcome;
}

// kube-scheduler v1.35 schedule_one.go schedulingCycle: a rejection reads like one of the only
// node, an error as it is; either clears the nomination.
PodFailure PodScheduler::Refused(const AttemptRequest& request,
                                 const std::shared_ptr<const PodInfo>& pod,
                                 const Status& status) const {
  PodFailure failure{pod, status, {}, status.message()};
  if (status.IsRejected()) {
    failure.rejecting_plugins.push_back(status.plugin_symbol());
    failure.message = RefusalMessage(status);
  }
  failure.post_filter_ran = true;
  failure.nominated_node = "";
  failure.waiting = WhyRejected(*request.framework, *pod, cluster_.nodes(), status);
  return failure;
}

bool PodScheduler::MayPreempt(const AttemptRequest& request, const AttemptResult& result) {
  if (request.quorum.has_parts()) return request.IsReachedBy(result.placed);
  const int others = static_cast<int>(request.pods.size() - 1 - result.failed.size());
  return request.minimum <= 1 || others >= request.minimum;
}

bool PodScheduler::StartsWithItsPart(const AttemptRequest& request, const PodInfo& pod,
                                     const AttemptResult& result) {
  if (!request.quorum.has_parts()) return true;
  std::vector<int> counts = request.CountByPart(result.placed);
  for (size_t i = 0; i < request.pods.size(); ++i) {
    if (request.pods[i].get() != &pod) continue;
    const int part = request.PartOf(i);
    ++counts[part];
    return request.quorum.PartsThatStart(counts)[part];
  }
  return true;
}

// A group is not started to lose a member, neither at once nor to a sibling that was left over
// because only in another order than by importance enough of them found a place.
bool PodScheduler::CostsTheGroup(const AttemptRequest& request, const AttemptResult& result,
                                 const PostFilterResult& plan) const {
  if (AnyIsAmong(plan.victims, result.placed)) return true;
  if (request.group.empty() || !cluster_.groups().StartedInOtherOrder(request.group)) return false;
  return absl::c_any_of(plan.victims, [&](const auto& victim) {
    return cluster_.groups().GroupOfPod(victim->uid()) == request.group;
  });
}

// Puts the failure of a cycle into words, and asks PostFilter if the pod may preempt.
void PodScheduler::RejectPod(const AttemptRequest& request,
                             const std::shared_ptr<const PodInfo>& pod, CycleState& state,
                             const CycleResult& cycle, AttemptResult& result) {
  PodFailure failure{pod, cycle.status, cycle.rejecting_plugins, cycle.status.message()};
  const NodeTable& nodes = cluster_.nodes();
  const bool evaluated = cycle.diagnosis != nullptr;
  if (evaluated) failure.skipped = state.skips().filter;
  if (!evaluated && !cycle.pre_filter_rejected) {  // an error, or no nodes at all
    failure.post_filter_ran = true;
    failure.nominated_node = "";
    failure.waiting = cycle.status.IsError()
                          ? WhyRejected(*request.framework, *pod, nodes, cycle.status)
                          : WhyNoNodes();
    result.failed.push_back(std::move(failure));
    return;
  }
  const UniformStatuses uniform(nodes.size(), cycle.status);
  const NodeStatuses& statuses = evaluated ? cycle.diagnosis->statuses() : uniform;
  // Reasons first: PostFilter may change `state`.
  const ReasonCounts reasons = evaluated ? cycle.diagnosis->CountReasons() : ReasonCounts();
  const PostFilterOutcome post_filter = RunPostFilter(request, state, statuses, failure, result);
  if (result.yielded) return;
  failure.message = evaluated ? FilterFailureMessage(nodes.size(), reasons, post_filter.message)
                              : PreFilterFailureMessage(nodes.size(), cycle.status.message(),
                                                        post_filter.message);
  if (!post_filter.message.empty()) {
    failure.post_filter_begins = failure.message.size() - post_filter.message.size() - 1;
  }
  if (failure.status.plugin().empty() && !failure.rejecting_plugins.empty()) {
    failure.status.SetPlugin(failure.rejecting_plugins.front());
  }
  if (post_filter.rejected) {  // after the blamed plugin was chosen: it is one of the others
    WaitForPostFilter(*request.framework, *pod, failure.rejecting_plugins);
  }
  const Symbol blamed = failure.status.plugin_symbol();
  failure.waiting = evaluated ? WhyNoNodeFits(*request.framework, *pod, nodes,
                                              {*cycle.diagnosis, reasons, blamed, result.placed})
                              : WhyRejected(*request.framework, *pod, nodes, failure.status);
  if (post_filter.retry_at < absl::InfiniteFuture()) {
    failure.waiting = WhyVictimsMayNotGoYet(*failure.waiting, post_filter.retry_at);
  }
  result.failed.push_back(std::move(failure));
}

// If the pod may preempt. Sets the nomination of `failure`, and `yielded` of `result`; adds the
// plan.
PodScheduler::PostFilterOutcome PodScheduler::RunPostFilter(const AttemptRequest& request,
                                                            CycleState& state,
                                                            const NodeStatuses& statuses,
                                                            PodFailure& failure,
                                                            AttemptResult& result) const {
  PostFilterOutcome outcome;
  const Framework& framework = *request.framework;
  if (framework.plugins().post_filter.empty()) {
    failure.post_filter_ran = true;
    failure.nominated_node = "";
    return outcome;
  }
  if (!request.plans_evictions) {
    failure.post_filter_ran = true;
    return outcome;
  }
  if (!MayPreempt(request, result)) return outcome;
  failure.post_filter_ran = true;
  if (!StartsWithItsPart(request, *failure.pod, result)) return outcome;
  PostFilterResult found;
  const Status status = framework.point_metrics().Measure(PointMetrics::Point::kPostFilter, [&] {
    return framework.RunPostFilter(state, *failure.pod, statuses, found);
  });
  result.yielded = state.work_budget().yielded();
  if (result.yielded) return outcome;
  ++result.post_filters;
  outcome.message = status.message();
  outcome.retry_at = found.retry_at;
  // Where evicting helps nowhere, no event of a plugin that evicts does.
  outcome.rejected = status.IsRejected() && statuses.CountWith(Code::kUnschedulable) > 0;
  if (!CostsTheGroup(request, result, found)) {
    failure.nominated_node = found.nominated_node;
    if (status.ok()) result.plans.push_back({failure.pod, std::move(found)});
  }
  return outcome;
}

Status PodScheduler::Permit(const Framework& framework, Binder::Member& member) {
  AssumedPod& placement = member.placement;
  const BindingRunner& runner = framework.binding_points();
  const PointMetrics& metrics = framework.point_metrics();
  PermitOutcome outcome = metrics.Measure(PointMetrics::Point::kPermit, [&] {
    return runner.RunPermit(placement.state, *placement.pod, placement.node_name);
  });
  if (!outcome.status.ok() && !outcome.status.IsWait()) return std::move(outcome.status);
  Status flight = metrics.Measure(PointMetrics::Point::kPreBindPreFlight, [&] {
    return runner.RunPreBindPreFlight(placement.state, *placement.pod, placement.node_name);
  });
  if (!flight.ok() && !flight.IsSkip()) return flight;
  member.waits = std::move(outcome.waits);
  member.takes_time = flight.ok();
  return Status::Success();
}

void PodScheduler::RollBackGroup(const AttemptRequest& request, AttemptResult& result) {
  RollBack(result);
  if (request.minimum <= 1 && !request.quorum.has_parts()) return;
  result.plans.clear();
  for (PodFailure& failure : result.failed) {
    if (failure.nominated_node.has_value() && !failure.nominated_node->empty()) {
      failure.nominated_node.reset();
    }
  }
}

}  // namespace berth
