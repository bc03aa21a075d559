// SPDX-License-Identifier: Apache-2.0
// The rules of NodeAffinity, its arguments and its signature.
#include "plugins/node_affinity/node_affinity.h"

#include <algorithm>

#include "berth/api/core_v1.pb.h"
#include "berth/columns/match_rows.h"
#include "berth/columns/node_verdicts.h"

namespace berth {
namespace {

constexpr char kRequiredField[] = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution";
constexpr char kPreferredField[] = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution";
constexpr char kPodReason[] = "node(s) didn't match Pod's node affinity/selector";
constexpr char kEnforcedReason[] = "node(s) didn't match scheduler-enforced node affinity";

void CheckAddedAffinity(const NodeAffinityArgs& args, FieldProblems& problems) {
  if (args.added_affinity == nullptr) return;
  const api::NodeAffinity& affinity = *args.added_affinity;
  if (affinity.has_required_during_scheduling_ignored_during_execution()) {
    const auto selector =
        NodeSelector::Create(affinity.required_during_scheduling_ignored_during_execution());
    if (!selector.ok()) problems.Add(kRequiredField, selector.status().message());
  }
  const auto preferred = PreferredSchedulingTerms::Create(affinity);
  if (!preferred.ok()) problems.Add(kPreferredField, preferred.status().message());
}

void Sign(absl::Span<const LabelRequirement> requirements, PodSignature& signature) {
  signature.Add(static_cast<int64_t>(requirements.size()));
  for (const LabelRequirement& requirement : requirements) {
    signature.Add(int64_t{requirement.key().id()});
    signature.Add(static_cast<int64_t>(requirement.op()));
    signature.Add(static_cast<int64_t>(requirement.values().size()));
    for (const Symbol value : requirement.values()) signature.Add(int64_t{value.id()});
  }
}

void Sign(const NodeSelectorTerm& term, PodSignature& signature) {
  Sign(term.expressions(), signature);
  signature.Add(static_cast<int64_t>(term.fields().size()));
  for (const NodeFieldRequirement& field : term.fields()) {
    signature.Add(int64_t{field.key.id()});
    signature.Add(int64_t{field.value.id()});
    signature.Add(int64_t{field.equal});
  }
}

}  // namespace

const FieldTable& NodeAffinityArgs::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<NodeAffinityArgs>("NodeAffinityArgs", "Arguments of NodeAffinity.")
          .Field("addedAffinity", &NodeAffinityArgs::added_affinity,
                 "A node affinity that every pod of the profile has besides its own, as in "
                 "spec.affinity.nodeAffinity of a pod.")
          .Check(CheckAddedAffinity));
  return table;
}

absl::StatusOr<std::unique_ptr<Plugin>> NodeAffinity::Create(const PluginArgs& args, Handle&) {
  AddedAffinity added;
  const auto& affinity = args.As<NodeAffinityArgs>().added_affinity;
  if (affinity != nullptr) {
    if (affinity->has_required_during_scheduling_ignored_during_execution()) {
      auto required =
          NodeSelector::Create(affinity->required_during_scheduling_ignored_during_execution());
      if (!required.ok()) return required.status();
      added.required = *std::move(required);
    }
    auto preferred = PreferredSchedulingTerms::Create(*affinity);
    if (!preferred.ok()) return preferred.status();
    added.preferred = *std::move(preferred);
  }
  return std::make_unique<NodeAffinity>(std::move(added));
}

Status NodeAffinity::PreFilter(CycleState&, const PodInfo& pod, const NodeTable&,
                               PreFilterResult& result) {
  const RequiredNodeAffinity& required = pod.required_node_affinity();
  if (required.empty() && !added_.required.has_value()) return Status::Skip();
  if (!required.affinity().has_value()) return Status::Success();
  const std::optional<std::vector<Symbol>>& pinned = required.affinity()->pinned_node_names();
  if (!pinned.has_value()) return Status::Success();
  if (pinned->empty()) return Status::UnschedulableAndUnresolvable("pod affinity terms conflict");
  result.node_names.emplace(pinned->begin(), pinned->end());
  return Status::Success();
}

Status NodeAffinity::Filter(const CycleState&, const PodInfo& pod, const NodeInfo& node) const {
  if (added_.required.has_value() && !added_.required->Matches(node.labels(), node.name())) {
    return Status::UnschedulableAndUnresolvable(kEnforcedReason);
  }
  if (!pod.required_node_affinity().Matches(node.labels(), node.name())) {
    return Status::UnschedulableAndUnresolvable(kPodReason);
  }
  return Status::Success();
}

Status NodeAffinity::FilterNodes(const CycleState&, const PodInfo& pod, const NodeTable& nodes,
                                 NodeVerdicts& verdicts) const {
  const absl::Span<const NodeRow> rows = verdicts.candidates();
  const auto reject_others = [&](const RowMatches& matches, uint8_t reason_id) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (matches[i] == 0) verdicts.Set(rows[i], Code::kUnschedulableAndUnresolvable, reason_id);
    }
  };
  const RequiredNodeAffinity& required = pod.required_node_affinity();
  if (!required.empty()) reject_others(MatchRows(required, nodes, rows), 0);
  // Filter() says this about a node that neither suits.
  if (added_.required.has_value()) reject_others(MatchRows(*added_.required, nodes, rows), 1);
  return Status::Success();
}

bool NodeAffinity::SelectRows(const CycleState&, const PodInfo& pod, const NodeTable& nodes,
                              int most, std::vector<NodeRow>& rows) {
  return berth::SelectRows(pod.required_node_affinity(), nodes, most, rows);
}

Status NodeAffinity::PreScore(CycleState&, const PodInfo& pod, const NodeTable&,
                              absl::Span<const NodeRow>) {
  const absl::Status& parsed = pod.preferred_node_affinity_status();
  if (!parsed.ok()) return Status::Error(parsed);
  return pod.preferred_node_affinity().terms().empty() && added_.preferred.terms().empty()
             ? Status::Skip()
             : Status::Success();
}

absl::StatusOr<int64_t> NodeAffinity::Score(const CycleState&, const PodInfo& pod,
                                            const NodeInfo& node) const {
  return added_.preferred.Score(node.labels(), node.name()) +
         pod.preferred_node_affinity().Score(node.labels(), node.name());
}

absl::Status NodeAffinity::ScoreNodes(const CycleState&, const PodInfo& pod, const NodeTable& nodes,
                                      absl::Span<const NodeRow> rows,
                                      absl::Span<int64_t> scores) const {
  std::fill(scores.begin(), scores.end(), 0);
  for (const PreferredSchedulingTerms* preferred :
       {&added_.preferred, &pod.preferred_node_affinity()}) {
    for (const PreferredSchedulingTerms::Term& term : preferred->terms()) {
      const RowMatches matches = MatchRows(term.term, nodes, rows);
      for (size_t i = 0; i < rows.size(); ++i) scores[i] += matches[i] * term.weight;
    }
  }
  return absl::OkStatus();
}

absl::Status NodeAffinity::NormalizeScores(const CycleState&, const PodInfo&,
                                           absl::Span<const NodeRow>,
                                           absl::Span<int64_t> scores) const {
  DefaultNormalizeScores(ScoreDirection::kHigherIsBetter, scores);
  return absl::OkStatus();
}

std::vector<ClusterEventWithHint> NodeAffinity::EventsToRegister() const {
  return {{{EventResource::Node(), action::kAdd | action::kUpdateNodeLabel},
           [this](const PodInfo& pod, const ObjectChange& change) {
             return AfterNodeChange(pod, change);
           }}};
}

absl::StatusOr<QueueingHint> NodeAffinity::AfterNodeChange(const PodInfo& pod,
                                                           const ObjectChange& change) const {
  const NodeInfo& node = *change.new_node;
  if (added_.required.has_value() && !added_.required->Matches(node.labels(), node.name())) {
    return QueueingHint::kSkip;
  }
  const absl::StatusOr<bool> matches =
      pod.required_node_affinity().Match(node.labels(), node.name());
  if (!matches.ok()) return matches.status();
  if (!*matches) return QueueingHint::kSkip;
  if (change.old_node == nullptr) return QueueingHint::kQueue;
  const absl::StatusOr<bool> matched =
      pod.required_node_affinity().Match(change.old_node->labels(), change.old_node->name());
  if (!matched.ok()) return matched.status();
  return *matched ? QueueingHint::kSkip : QueueingHint::kQueue;
}

Status NodeAffinity::SignPod(const PodInfo& pod, PodSignature& signature) const {
  const RequiredNodeAffinity& required = pod.required_node_affinity();
  if (required.affinity().has_value() && required.affinity()->has_errors()) {
    return Status::Unschedulable(
        "pods with node affinity terms that do not parse are not signable");
  }
  signature.Add(int64_t{required.node_selector().has_value()});
  if (required.node_selector().has_value()) {
    Sign(required.node_selector()->requirements(), signature);
  }
  signature.Add(required.affinity().has_value()
                    ? static_cast<int64_t>(required.affinity()->terms().size())
                    : int64_t{-1});
  if (required.affinity().has_value()) {
    for (const NodeSelectorTerm& term : required.affinity()->terms()) Sign(term, signature);
  }
  signature.Add(static_cast<int64_t>(pod.preferred_node_affinity().terms().size()));
  for (const PreferredSchedulingTerms::Term& term : pod.preferred_node_affinity().terms()) {
    signature.Add(term.weight);
    Sign(term.term, signature);
  }
  return Status::Success();
}

}  // namespace berth
