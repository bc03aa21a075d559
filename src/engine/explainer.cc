// SPDX-License-Identifier: Apache-2.0
// Implementation of explainer.h.
#include "engine/explainer.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "berth/scheduler.h"
#include "engine/rejection_reasons.h"
#include "evaluation/diagnosis.h"

namespace berth {
namespace {

// Of each question, whatever was asked before.
constexpr uint64_t kSeed = 0;

std::string NameOf(GroupAnswer answer) {
  switch (answer) {
    case GroupAnswer::kNone:
      return "";
    case GroupAnswer::kPlaced:
      return "placed";
    case GroupAnswer::kPlan:
      return "plan";
    case GroupAnswer::kInfeasible:
      return "infeasible";
    case GroupAnswer::kUndecided:
      return "undecided";
  }
  return "";
}

void SortByName(std::vector<NodeExplanation>& nodes) {
  std::sort(nodes.begin(), nodes.end(),
            [](const NodeExplanation& a, const NodeExplanation& b) { return a.name < b.name; });
}

// "2 pods were evicted (default/a, default/b)"; of many pods only the first are named.
std::string ManyWere(std::vector<std::string> pods, absl::string_view what) {
  constexpr size_t kMostNamed = 5;
  std::sort(pods.begin(), pods.end());
  const size_t count = pods.size();
  pods.resize(std::min(count, kMostNamed));
  return absl::StrCat(
      count, count == 1 ? " pod were " : " pods were ", what, " (", absl::StrJoin(pods, ", "),
      count > kMostNamed ? absl::StrCat(" and ", count - kMostNamed, " more") : "", ")");
}

// "; it would start if 1 pod were evicted (default/a)" for a group that others make room for.
// `plans`: those without which it does not start.
std::string WhatWouldHelp(absl::Span<const AttemptResult::Plan> plans) {
  std::vector<std::string> evicted, moved;
  for (const AttemptResult::Plan& plan : plans) {
    std::vector<std::string>& pods = plan.move_to.empty() ? evicted : moved;
    for (const auto& victim : plan.result.victims) pods.push_back(victim->key());
  }
  std::vector<std::string> changes;
  if (!evicted.empty()) changes.push_back(ManyWere(std::move(evicted), "evicted"));
  if (!moved.empty()) changes.push_back(ManyWere(std::move(moved), "moved to other nodes"));
  if (changes.empty()) return "";
  return absl::StrCat("; it would start if ", absl::StrJoin(changes, " and "));
}

}  // namespace

std::unique_ptr<Explainer> Explainer::Create(const KubeSchedulerConfiguration& configuration,
                                             const Registry& registry, const Clock& clock,
                                             std::vector<Object> objects, Problems& problems,
                                             const ExtenderList& extenders) {
  std::unique_ptr<Explainer> explainer(new Explainer);
  explainer->random_ = std::make_unique<RandomSequence>(kSeed);
  explainer->cluster_ = std::make_unique<ClusterState>();
  explainer->profiles_ = FrameworkSet::Create(configuration, registry, *explainer->cluster_, clock,
                                              *explainer->random_, nullptr, problems, extenders);
  if (explainer->profiles_ == nullptr) return nullptr;
  explainer->cluster_->SetProfiles(explainer->profiles_.get());
  explainer->entry_scheduler_ =
      std::make_unique<EntryScheduler>(*explainer->cluster_, /*incremental=*/false,
                                       /*filter_block_size=*/0);
  explainer->clock_ = &clock;
  explainer->reservations_ = std::make_unique<GroupReservations>(
      *explainer->cluster_, *explainer->profiles_, *explainer->entry_scheduler_, clock, nullptr);
  for (Object& object : objects) {
    ClusterChange change = explainer->cluster_->Apply({WatchEvent::Type::kSet, std::move(object)});
    if (!change.problem.ok()) {
      problems.AddError(change.where, change.subject, std::string(change.problem.message()));
    } else if (change.change.new_pod != nullptr && change.change.new_pod->node_name().empty() &&
               !change.change.new_pod->terminal()) {
      explainer->pending_.push_back(change.change.new_pod);
    }
  }
  explainer->cluster_->Refresh();
  return explainer;
}

PodExplanation Explainer::Explain(const std::shared_ptr<const PodInfo>& shared_pod) {
  *random_ = RandomSequence(kSeed);
  const PodInfo& pod = *shared_pod;
  PodExplanation explanation;
  explanation.pod = pod.key();
  const Framework* framework = profiles_->Find(pod.scheduler_name());
  if (framework == nullptr) {
    explanation.skipped = absl::StrCat("no profile is named ", pod.scheduler_name().view());
    return explanation;
  }
  explanation.profile = std::string(pod.scheduler_name().view());
  explanation.group = cluster_->GroupOf(pod).value_or("");
  explanation.alone = WhyAlone(*framework, pod);
  if (pod.deletion_time().has_value()) {
    explanation.skipped = "the pod is being deleted";
    return explanation;
  }
  Status queued = framework->RunPreEnqueue(pod);
  if (!queued.ok()) {
    explanation.skipped = queued.message();
    explanation.pre_enqueue = std::move(queued);
    return explanation;
  }
  const NodeTable& nodes = cluster_->nodes();
  if (nodes.size() == 0) {
    explanation.message = "no nodes available to schedule pods";
    return explanation;
  }

  CycleState state;
  state.SetForExplanation();
  PreFilterOutcome pre_filter = framework->filters().RunPreFilter(state, pod, nodes);
  if (pre_filter.status.IsError()) {
    explanation.error = pre_filter.status.message();
    return explanation;
  }
  PreFilterExplanation& shown = explanation.pre_filter.emplace();
  shown.status = pre_filter.status;
  if (!pre_filter.status.ok()) {
    const UniformStatuses statuses(nodes.size(), pre_filter.status);
    ExplainPostFilter(*framework, state, pod, statuses, explanation);
    explanation.message = PreFilterFailureMessage(
        nodes.size(), pre_filter.status.message(),
        explanation.post_filter.has_value() ? explanation.post_filter->status.message() : "");
    return explanation;
  }
  if (pre_filter.narrowed.node_names.has_value()) {
    shown.node_names.emplace();
    for (const Symbol name : *pre_filter.narrowed.node_names) {
      shown.node_names->emplace_back(name.view());
    }
    std::sort(shown.node_names->begin(), shown.node_names->end());
  }
  ExplainNodes(*framework, state, shared_pod, pre_filter, explanation);
  return explanation;
}

bool Explainer::IsTried(const Framework& framework, const PodInfo& pod) const {
  return !pod.deletion_time().has_value() && framework.RunPreEnqueue(pod).ok();
}

std::optional<GroupExplanation> Explainer::ExplainGroup(const PodInfo& pod) {
  const Framework* framework = profiles_->Find(pod.scheduler_name());
  const std::optional<std::string> name = cluster_->GroupOf(pod);
  if (framework == nullptr || !name.has_value() || !IsTried(*framework, pod)) return std::nullopt;
  *random_ = RandomSequence(kSeed);
  const GroupPlugin& plugin = *framework->plugins().group;
  const GroupMembers& members = *cluster_->groups().Find(*name);
  GroupExplanation explanation{.group = *name,
                               .profile = std::string(pod.scheduler_name().view()),
                               .running = members.assigned_count()};
  const std::optional<GroupSpec> spec = plugin.Spec(*name);
  if (spec.has_value()) explanation.min_member = spec->min_member;
  const Status ready = plugin.ReadyToSchedule(members);
  if (!ready.ok()) {
    explanation.message = ready.message();
    return explanation;
  }
  AttemptRequest request{.framework = framework, .group = *name};
  for (const GroupMember& member : members.members()) {
    if (member.node_name.empty() && member.pod->scheduler_name() == pod.scheduler_name() &&
        IsTried(*framework, *member.pod)) {
      request.pods.push_back(member.pod);
    }
  }
  DescribeGroup(plugin, cluster_->groups(), request);
  request.group_search_steps = SchedulerOptions().group_search_steps;
  request.now = clock_->Now();
  AttemptResult result = reservations_->Run(request);
  absl::Span<const AttemptResult::Plan> needed;  // for it to start
  if (result.answer == GroupAnswer::kPlan) {
    needed = result.plans;
  } else if (!result.minimum_reached && !result.plans.empty()) {
    // One pod is enough for it: each has a plan of its own.
    needed = absl::MakeSpan(result.plans).first(1);
    result.answer = GroupAnswer::kPlan;
  }
  explanation.starts = result.minimum_reached;
  explanation.answer = NameOf(result.answer);
  for (const Binder::Member& member : result.placed) {
    explanation.placements.emplace(member.placement.pod->key(), member.placement.node_name);
  }
  for (const AttemptResult::Plan& plan : result.plans) {
    explanation.plans.emplace(plan.pod->key(), plan.result);
  }
  entry_scheduler_->RollBack(result);
  if (!result.minimum_reached) {
    // The finding says what is done about it; here nothing is done.
    const std::string would_help = WhatWouldHelp(needed);
    if (!would_help.empty()) result.finding.clear();
    explanation.message = WhyGroupFailed(request, members, result).message();
    if (!would_help.empty()) {
      explanation.message = absl::StrCat(absl::StripSuffix(explanation.message, "."), would_help);
    }
  }
  reservations_->Release();
  return explanation;
}

void Explainer::ExplainNodes(const Framework& framework, CycleState& state,
                             const std::shared_ptr<const PodInfo>& shared_pod,
                             const PreFilterOutcome& pre_filter, PodExplanation& explanation) {
  const PodInfo& pod = *shared_pod;
  const NodeTable& nodes = cluster_->nodes();
  const EvaluationRequest request = {.framework = framework,
                                     .state = state,
                                     .pod = shared_pod,
                                     .nodes = nodes,
                                     .nominator = cluster_->nominations()};
  const Evaluation evaluation = evaluator_.Evaluate(request, pre_filter);
  if (!evaluation.status.ok()) explanation.error = evaluation.status.message();
  if (evaluation.diagnosis == nullptr) {
    if (!evaluation.status.ok()) ExplainEachNode(framework, state, pod, pre_filter, explanation);
    return;
  }
  const NodeStatuses& statuses = evaluation.diagnosis->statuses();
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    explanation.nodes.push_back({.name = std::string(nodes.node(row).name().view()),
                                 .filter = statuses.status(row),
                                 .scores = {},
                                 .total = std::nullopt,
                                 .notes = {},
                                 .allocations = {}});
  }
  const std::string nominated = cluster_->nominations().NominatedNode(pod);
  if (!nominated.empty()) {
    const NodeRow row = nodes.FindRow(nominated);
    explanation.nominated = {nominated, row >= 0 && explanation.nodes[row].filter.ok()};
  }
  if (!evaluation.status.ok()) return;
  if (evaluation.best >= 0) {
    ExplainScores(framework, explanation);
  } else {
    const ReasonCounts reasons = evaluation.diagnosis->CountReasons();
    ExplainPostFilter(framework, state, pod, statuses, explanation);
    explanation.message = FilterFailureMessage(
        nodes.size(), reasons,
        explanation.post_filter.has_value() ? explanation.post_filter->status.message() : "");
  }
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    NodeExplanation& node = explanation.nodes[row];
    node.notes = framework.reports().RunExplainNode(state, pod, nodes.node(row));
    if (!node.filter.ok()) continue;
    node.allocations = framework.reports().RunExplainAllocations(state, pod, nodes.node(row));
  }
  SortByName(explanation.nodes);
}

// A filter failed on some node, which ended the evaluation: what does each node by itself come to?
void Explainer::ExplainEachNode(const Framework& framework, CycleState& state, const PodInfo& pod,
                                const PreFilterOutcome& pre_filter, PodExplanation& explanation) {
  const NodeTable& nodes = cluster_->nodes();
  const auto& names = pre_filter.narrowed.node_names;
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    const NodeInfo& node = nodes.node(row);
    NodeExplanation& shown = explanation.nodes.emplace_back();
    shown.name = std::string(node.name().view());
    shown.filter = names.has_value() && !names->contains(node.name())
                       ? pre_filter.excluded
                       : framework.nomination_filter().RunFilterWithNominatedPods(state, pod, node);
  }
  SortByName(explanation.nodes);
}

void Explainer::ExplainScores(const Framework& framework, PodExplanation& explanation) const {
  explanation.score_resolution = framework.plugins().score_resolution;
  const absl::Span<const NodeRow> feasible = evaluator_.feasible();
  const absl::Span<const int64_t> totals = evaluator_.totals();
  const int64_t best = *std::max_element(totals.begin(), totals.end());
  for (size_t i = 0; i < feasible.size(); ++i) {
    NodeExplanation& node = explanation.nodes[feasible[i]];
    node.total = totals[i];
    for (const PluginScores& scores : evaluator_.scores_by_plugin()) {
      node.scores.emplace(scores.plugin.view(), scores.weighted[i]);
    }
    if (totals[i] == best) explanation.best_nodes.push_back(node.name);
  }
  std::sort(explanation.best_nodes.begin(), explanation.best_nodes.end());
}

void Explainer::ExplainPostFilter(const Framework& framework, CycleState& state, const PodInfo& pod,
                                  const NodeStatuses& statuses, PodExplanation& explanation) {
  if (framework.plugins().post_filter.empty()) return;
  PostFilterExplanation& shown = explanation.post_filter.emplace();
  shown.status = framework.RunPostFilter(state, pod, statuses, shown.result);
}

}  // namespace berth
