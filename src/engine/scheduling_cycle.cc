// SPDX-License-Identifier: Apache-2.0
// Implementation of scheduling_cycle.h.
#include "engine/scheduling_cycle.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "evaluation/incremental/incremental_evaluator.h"

namespace berth {
namespace {

std::unique_ptr<NodeEvaluator> NewEvaluator(bool incremental, int filter_block_size) {
  if (incremental) return std::make_unique<IncrementalEvaluator>(filter_block_size);
  return std::make_unique<FullEvaluator>(filter_block_size);
}

// A new node that any Filter plugin registered for requeues the pod.
CycleResult NoNodes(const Framework& framework) {
  CycleResult result;
  result.status = Status::Unschedulable("no nodes available to schedule pods");
  for (const Hook<FilterPlugin>& hook : framework.plugins().filter) {
    result.rejecting_plugins.push_back(hook.name);
  }
  return result;
}

CycleResult EndedByPreFilter(PreFilterOutcome outcome) {
  CycleResult result;
  result.pre_filter_rejected = outcome.status.IsRejected();
  result.rejecting_plugins = std::move(outcome.narrowing_plugins);
  if (result.pre_filter_rejected && !outcome.status.plugin().empty()) {
    result.rejecting_plugins.push_back(outcome.status.plugin_symbol());
  }
  result.status = std::move(outcome.status);
  return result;
}

// A pod that preempted goes to the node that it is nominated to, if it fits there now, whatever
// other nodes would score. The row of that node, or -1.
NodeRow FindNominatedNode(const EvaluationRequest& request, const PreFilterOutcome& pre_filter) {
  const NodeRow row = request.nodes.FindRow(request.nominated_node);
  if (row < 0 || !pre_filter.Leaves(row, request.nodes)) return -1;
  const Status status = request.framework.nomination_filter().RunFilterByNominationRules(
      request.state, *request.pod, request.nodes.node(row));
  if (!status.ok()) return -1;
  std::vector<NodeRow> feasible = {row};
  ExtenderStatuses statuses;
  const Status asked =
      request.framework.extenders().RunFilter(*request.pod, request.nodes, feasible, statuses);
  return asked.ok() && !feasible.empty() ? row : -1;
}

// The result of the cycle after the evaluation. `narrowing_plugins` count as rejecting plugins.
CycleResult Conclude(const EvaluationRequest& request, Evaluation evaluation,
                     std::vector<Symbol> narrowing_plugins) {
  CycleResult result;
  result.row = evaluation.best;
  result.status = std::move(evaluation.status);
  if (result.row >= 0 || evaluation.diagnosis == nullptr) return result;
  result.status = Status::Unschedulable("");  // the text: `diagnosis`, by PodScheduler::RejectPod
  result.diagnosis = evaluation.diagnosis;
  result.rejecting_plugins = std::move(narrowing_plugins);
  const absl::Span<const Hook<FilterPlugin>> filters = request.framework.plugins().filter;
  for (size_t i = 0; i < filters.size(); ++i) {
    if (!evaluation.diagnosis->HasRejected(static_cast<uint8_t>(i))) continue;
    if (absl::c_linear_search(result.rejecting_plugins, filters[i].name)) continue;
    result.rejecting_plugins.push_back(filters[i].name);
  }
  if (evaluation.diagnosis->HasRejected(NodeVerdicts::kExtender)) {
    result.rejecting_plugins.push_back(Symbol::Intern(kExtenderName));
  }
  return result;
}

}  // namespace

SchedulingCycle::SchedulingCycle(bool incremental, int filter_block_size)
    : evaluator_(NewEvaluator(incremental, filter_block_size)),
      evaluator_with_extenders_(filter_block_size) {}

NodeEvaluator::Counters SchedulingCycle::counters() const {
  NodeEvaluator::Counters counters = evaluator_->counters();
  counters.unconfirmed += evaluator_with_extenders_.counters().unconfirmed;
  return counters;
}

CycleResult SchedulingCycle::Run(const Framework& framework, CycleState& state,
                                 const std::shared_ptr<const PodInfo>& pod, const NodeTable& nodes,
                                 const Nominator& nominator, int percentage) {
  if (nodes.size() == 0) return NoNodes(framework);
  const EvaluationRequest request = {.framework = framework,
                                     .state = state,
                                     .pod = pod,
                                     .nodes = nodes,
                                     .nominator = nominator,
                                     .nominated_node = nominator.NominatedNode(*pod),
                                     .percentage = percentage};
  NodeEvaluator& evaluator = framework.extenders().AnyInterested(*pod)
                                 ? static_cast<NodeEvaluator&>(evaluator_with_extenders_)
                                 : *evaluator_;
  // If pods of its class came before, the caches may have the answer. It is of all nodes: not for a
  // member of a group that is tried on some, nor before the node that a pod is nominated to.
  if (request.nominated_node.empty() && state.placement() == nullptr) {
    std::optional<Evaluation> known = evaluator.Recall(request);
    if (known.has_value()) return Conclude(request, *std::move(known), {});
  }
  PreFilterOutcome pre_filter = framework.point_metrics().Measure(
      PointMetrics::Point::kPreFilter,
      [&] { return framework.filters().RunPreFilter(state, *pod, nodes); });
  if (!pre_filter.status.ok()) return EndedByPreFilter(std::move(pre_filter));
  const NodeRow nominated = FindNominatedNode(request, pre_filter);
  if (nominated >= 0) return Conclude(request, {.best = nominated}, {});
  Evaluation evaluation = evaluator.Evaluate(request, pre_filter);
  return Conclude(request, std::move(evaluation), std::move(pre_filter.narrowing_plugins));
}

}  // namespace berth
