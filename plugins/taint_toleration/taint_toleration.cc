// SPDX-License-Identifier: Apache-2.0
// The rules of TaintToleration, once for both forms, and what may end a rejection.
#include "plugins/taint_toleration/taint_toleration.h"

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "berth/columns/node_table.h"
#include "berth/columns/node_verdicts.h"

namespace berth {
namespace {

bool ToleratesNode(const PodInfo& pod, const TaintList& taints) {
  return FindUntoleratedTaint(taints, pod.tolerations(), PreventsScheduling) == nullptr;
}

// Whether each taint of the node that prevents scheduling has a toleration of its key. If not, the
// pod does not tolerate the node. Cheaper than ToleratesNode(): most pods tolerate no taint.
bool MayTolerateNode(absl::Span<const Toleration> tolerations, const TaintList& taints) {
  for (const Taint& taint : taints) {
    if (!PreventsScheduling(taint)) continue;
    bool is_for_taint = false;
    for (const Toleration& toleration : tolerations) {
      is_for_taint |= toleration.key == taint.key || toleration.key.empty();
    }
    if (!is_for_taint) return false;
  }
  return true;
}

// More tolerations than that are compared with each list.
constexpr size_t kFewTolerations = 64;

int64_t CountUntoleratedPreferences(const PodInfo& pod, const TaintList& taints) {
  int64_t count = 0;
  for (const Taint& taint : taints) {
    if (DiscouragesScheduling(taint) && !Tolerates(pod.tolerations(), taint)) ++count;
  }
  return count;
}

absl::StatusOr<QueueingHint> AfterNodeChange(const PodInfo& pod, const ObjectChange& change) {
  const bool was_tolerated =
      change.old_node != nullptr && ToleratesNode(pod, change.old_node->taints());
  return QueueIf(!was_tolerated && ToleratesNode(pod, change.new_node->taints()));
}

absl::StatusOr<QueueingHint> AfterTolerationChange(const PodInfo& pod, const ObjectChange& change) {
  return QueueIf(change.new_pod->uid() == pod.uid());
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> TaintToleration::Create(const PluginArgs&, Handle&) {
  return std::make_unique<TaintToleration>();
}

Status TaintToleration::Filter(const CycleState&, const PodInfo& pod, const NodeInfo& node) const {
  if (ToleratesNode(pod, node.taints())) return Status::Success();
  return Status::UnschedulableAndUnresolvable("node(s) had untolerated taint(s)");
}

// A cluster has few distinct taint lists: evaluate each list, not each node.
Status TaintToleration::FilterNodes(const CycleState&, const PodInfo& pod, const NodeTable& nodes,
                                    NodeVerdicts& verdicts) const {
  const DictionaryColumn<TaintList>& taints = nodes.taints();
  const absl::Span<const Toleration> tolerations = pod.tolerations();
  if (verdicts.candidates().size() < taints.values().size()) {
    for (const NodeRow row : verdicts.candidates()) {
      if (ToleratesNode(pod, taints.at(row))) continue;
      verdicts.Set(row, Code::kUnschedulableAndUnresolvable, 0);
    }
    return Status::Success();
  }
  absl::InlinedVector<bool, 16> tolerated;
  bool all_tolerated = true;
  for (const TaintList& list : taints.values()) {
    tolerated.push_back(MayTolerateNode(tolerations, list) && ToleratesNode(pod, list));
    all_tolerated = all_tolerated && tolerated.back();
  }
  if (all_tolerated) return Status::Success();
  for (const NodeRow row : verdicts.candidates()) {
    if (!tolerated[taints.index(row)]) verdicts.Set(row, Code::kUnschedulableAndUnresolvable, 0);
  }
  return Status::Success();
}

bool TaintToleration::SelectRows(const CycleState&, const PodInfo& pod, const NodeTable& nodes,
                                 int most, std::vector<NodeRow>& rows) {
  if (pod.tolerations().size() > kFewTolerations) return false;
  index_.Refresh(nodes);
  const DictionaryColumn<TaintList>& taints = nodes.taints();
  absl::InlinedVector<uint32_t, 8> lists;
  int64_t count = 0;
  const bool known = index_.ForEachCandidate(pod.tolerations(), [&](uint32_t list) {
    if (count > most || taints.row_count(list) == 0) return;
    if (!ToleratesNode(pod, taints.values()[list])) return;
    count += taints.row_count(list);
    lists.push_back(list);
  });
  return known && taints.SelectRows(lists, most, rows);
}

absl::StatusOr<int64_t> TaintToleration::Score(const CycleState&, const PodInfo& pod,
                                               const NodeInfo& node) const {
  return CountUntoleratedPreferences(pod, node.taints());
}

absl::Status TaintToleration::ScoreNodes(const CycleState&, const PodInfo& pod,
                                         const NodeTable& nodes, absl::Span<const NodeRow> rows,
                                         absl::Span<int64_t> scores) const {
  const DictionaryColumn<TaintList>& taints = nodes.taints();
  if (rows.size() < taints.values().size()) {
    for (size_t i = 0; i < rows.size(); ++i) {
      scores[i] = CountUntoleratedPreferences(pod, taints.at(rows[i]));
    }
    return absl::OkStatus();
  }
  absl::InlinedVector<int64_t, 16> score_of_list;
  for (const TaintList& list : taints.values()) {
    score_of_list.push_back(CountUntoleratedPreferences(pod, list));
  }
  for (size_t i = 0; i < rows.size(); ++i) scores[i] = score_of_list[taints.index(rows[i])];
  return absl::OkStatus();
}

std::optional<int64_t> TaintToleration::UniformScore(const CycleState&, const PodInfo& pod,
                                                     const NodeTable& nodes) const {
  for (const TaintList& list : nodes.taints().values()) {
    if (CountUntoleratedPreferences(pod, list) != 0) return std::nullopt;
  }
  return 0;
}

absl::Status TaintToleration::NormalizeScores(const CycleState&, const PodInfo&,
                                              absl::Span<const NodeRow>,
                                              absl::Span<int64_t> scores) const {
  DefaultNormalizeScores(ScoreDirection::kLowerIsBetter, scores);
  return absl::OkStatus();
}

std::vector<ClusterEventWithHint> TaintToleration::EventsToRegister() const {
  return {{{EventResource::Node(), action::kAdd | action::kUpdateNodeTaint}, &AfterNodeChange},
          {{EventResource::Pod(), action::kUpdatePodToleration}, &AfterTolerationChange}};
}

Status TaintToleration::SignPod(const PodInfo& pod, PodSignature& signature) const {
  signature.Add(static_cast<int64_t>(pod.tolerations().size()));
  for (const Toleration& toleration : pod.tolerations()) {
    signature.Add(int64_t{toleration.key.id()});
    signature.Add(int64_t{toleration.value.id()});
    signature.Add(static_cast<int64_t>(toleration.op));
    signature.Add(static_cast<int64_t>(toleration.effect));
  }
  return Status::Success();
}

}  // namespace berth
