// SPDX-License-Identifier: Apache-2.0
// The extension points of VolumeBinding, and its arguments.
#include "plugins/volume_binding/volume_binding.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/storage_v1.pb.h"
#include "berth/columns/match_rows.h"
#include "berth/columns/node_verdicts.h"
#include "plugins/volume_binding/pod_volumes.h"
#include "plugins/volume_binding/volume_hints.h"
#include "plugins/volume_binding/volume_writes.h"

namespace berth {
namespace {

struct BindingState : StateData {
  std::shared_ptr<const PodVolumes> volumes;  // shared by the copies
  VolumeWrites writes;                        // of the node that is reserved
  absl::Time bind_deadline;                   // from PreBind on

  std::unique_ptr<StateData> Clone() const override {
    return std::make_unique<BindingState>(*this);
  }
};
constexpr StateKey<BindingState> kState{"VolumeBinding"};

bool HasToBind(const CycleState& state) {
  const BindingState* data = state.Find(kState);
  return data != nullptr && !data->volumes->delayed.empty();
}

// The claim of a pod with no other, that may take any free volume; or null.
const DelayedClaim* OnlyRequest(const PodVolumes& volumes) {
  if (volumes.delayed.size() != 1 || !volumes.bound.empty()) return nullptr;
  const DelayedClaim& claim = volumes.delayed.front();
  const bool takes_any = claim.volumes != nullptr && claim.promised.empty() &&
                         !claim.selected_node.has_value() && claim.selector_error.empty();
  return takes_any ? &claim : nullptr;
}

}  // namespace

const FieldTable& VolumeBindingArgs::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<VolumeBindingArgs>("VolumeBindingArgs", "Arguments of VolumeBinding.")
          .Field("bindTimeoutSeconds", &VolumeBindingArgs::bind_timeout_seconds,
                 "How long binding the volumes of a pod may take, in seconds.")
          .Check([](const VolumeBindingArgs& args, FieldProblems& problems) {
            if (args.bind_timeout_seconds >= 0) return;
            problems.Invalid("bindTimeoutSeconds", static_cast<double>(args.bind_timeout_seconds),
                             "invalid BindTimeoutSeconds, should not be a negative value");
          }));
  return table;
}

absl::StatusOr<std::unique_ptr<Plugin>> VolumeBinding::Create(const PluginArgs& args,
                                                              Handle& handle) {
  return std::make_unique<VolumeBinding>(handle, args.As<VolumeBindingArgs>());
}

const api::CSINode* VolumeBinding::CsiNode(const NodeInfo& node) const {
  return handle_.objects().Find<api::CSINode>("", node.name().view());
}

absl::Span<const StateUse> VolumeBinding::StateUses() const {
  using Point = ExtensionPoint;
  static constexpr StateUse kUses[] = {{Point::kFilter, Point::kPreFilter},
                                       {Point::kReserve, Point::kPreFilter},
                                       {Point::kPreBind, Point::kPreFilter}};
  return kUses;
}

Status VolumeBinding::PreFilter(CycleState& state, const PodInfo& pod, const NodeTable&,
                                PreFilterResult&) {
  state.Delete(kState);
  bool has_claims = false;
  Status status = CheckClaims(pod, handle_.objects(), has_claims);
  if (!status.ok()) return status;
  if (!has_claims) return Status::Skip();
  assumed_.Prune(handle_.objects());
  auto volumes = std::make_shared<PodVolumes>();
  status = FindPodVolumes(pod, handle_.objects(), assumed_, known_, *volumes);
  if (!status.ok()) return status;
  if (volumes->has_unbound_immediate) {
    return Status::UnschedulableAndUnresolvable("pod has unbound immediate PersistentVolumeClaims");
  }
  auto data = std::make_unique<BindingState>();
  data->volumes = std::move(volumes);
  state.Write(kState, std::move(data));
  return Status::Success();
}

Status VolumeBinding::Filter(const CycleState& state, const PodInfo&, const NodeInfo& node) const {
  const absl::StatusOr<const BindingState*> read = state.Read(kState);
  if (!read.ok()) return Status::Error(read.status());
  const BindingState* const data = *read;
  VolumeChoice choice;
  return Counted("predicate",
                 ChooseVolumes(*data->volumes, assumed_, node, CsiNode(node), choice).ToStatus());
}

// If all claims are bound, labels mostly say all, and there is one thing to say.
Status VolumeBinding::FilterNodes(const CycleState& state, const PodInfo& pod,
                                  const NodeTable& nodes, NodeVerdicts& verdicts) const {
  const absl::StatusOr<const BindingState*> read = state.Read(kState);
  if (!read.ok()) return Status::Error(read.status());
  const BindingState* const data = *read;
  const std::vector<std::optional<VolumeAffinity>>& bound = data->volumes->bound;
  if (const DelayedClaim* const claim = OnlyRequest(*data->volumes)) {
    EvaluateRowsOfOne(*claim, nodes, verdicts);
    return Status::Success();
  }
  if (!data->volumes->delayed.empty()) return EvaluateRows(*data->volumes, nodes, verdicts);
  const bool by_columns =
      std::all_of(bound.begin(), bound.end(), [](const std::optional<VolumeAffinity>& affinity) {
        return !affinity.has_value() || affinity->can_use_columns();
      });
  if (!by_columns) return FilterPlugin::FilterNodes(state, pod, nodes, verdicts);
  const absl::Span<const NodeRow> rows = verdicts.candidates();
  RowMatches matches(rows.size(), 1);
  bool one_is_missing = false;
  for (const std::optional<VolumeAffinity>& affinity : bound) {
    one_is_missing = !affinity.has_value();
    if (one_is_missing) break;  // which rejects all nodes that the ones before suit
    affinity->KeepMatching(nodes, rows, absl::MakeSpan(matches));
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (matches[i] != 0 && !one_is_missing) continue;
    verdicts.Set(rows[i], Code::kUnschedulableAndUnresolvable, matches[i]);
  }
  return Status::Success();
}

void VolumeBinding::EvaluateRowsOfOne(const DelayedClaim& claim, const NodeTable& nodes,
                                      NodeVerdicts& verdicts) const {
  const absl::Span<const NodeRow> rows = verdicts.candidates();
  const std::vector<uint8_t> found = found_.Find(claim, known_.volumes, assumed_, nodes, rows);
  std::optional<VolumeVerdict> of_all;  // of those without
  if (!claim.provisioning.supported) of_all = CheckProvision(claim, LabelSet());
  for (size_t i = 0; i < rows.size(); ++i) {
    if (found[i] != 0) continue;
    const VolumeVerdict verdict =
        of_all.has_value() ? *of_all : CheckProvision(claim, nodes.node(rows[i]).labels());
    if (verdict.ok()) continue;
    verdicts.Set(rows[i], Code::kUnschedulableAndUnresolvable, verdict.reasons());
  }
}

// Every claim has a say on every node.
Status VolumeBinding::EvaluateRows(const PodVolumes& volumes, const NodeTable& nodes,
                                   NodeVerdicts& verdicts) const {
  const bool look_at_csi_nodes = std::any_of(
      volumes.bound.begin(), volumes.bound.end(),
      [](const auto& affinity) { return affinity.has_value() && affinity->depends_on_csi_node(); });
  VolumeChoice choice;
  for (const NodeRow row : verdicts.candidates()) {
    const NodeInfo& node = nodes.node(row);
    choice.bindings.clear();
    choice.provisions.clear();
    const VolumeVerdict verdict =
        ChooseVolumes(volumes, assumed_, node, look_at_csi_nodes ? CsiNode(node) : nullptr, choice);
    if (!verdict.error.empty()) return Counted("predicate", verdict.ToStatus());
    if (verdict.ok()) continue;
    verdicts.Set(row, Code::kUnschedulableAndUnresolvable, verdict.reasons());
  }
  return Status::Success();
}

void VolumeBinding::AddInputs(const CycleState& state, const PodInfo&, FilterInputs& inputs) const {
  const BindingState* data = state.Find(kState);
  if (data != nullptr) inputs.Add(data->volumes->inputs);
}

Status VolumeBinding::Reserve(CycleState& state, const PodInfo& pod, absl::string_view node_name) {
  if (!HasToBind(state)) return Status::Success();
  BindingState& data = *state.FindMutable(kState);
  const NodeRow row = handle_.nodes().FindRow(node_name);
  if (row < 0) return Status::Error(absl::StrCat("node \"", node_name, "\" not found"));
  const NodeInfo& node = handle_.nodes().node(row);
  VolumeChoice choice;
  Status status = Counted(
      "assume", ChooseVolumes(*data.volumes, assumed_, node, CsiNode(node), choice).ToStatus());
  if (!status.ok()) return status;
  data.writes = VolumeWrites(choice);
  for (const auto& [delayed, volume] : choice.bindings) {
    assumed_.TakeVolume(pod.uid(), volume->volume, delayed->identity);
  }
  for (const DelayedClaim* delayed : choice.provisions) {
    assumed_.SelectNode(pod.uid(), delayed->claim, node_name);
  }
  return Status::Success();
}

void VolumeBinding::Unreserve(CycleState& state, const PodInfo& pod, absl::string_view) {
  if (!HasToBind(state)) return;
  for (const DelayedClaim& delayed : state.Find(kState)->volumes->delayed) {
    assumed_.Revert(pod.uid(), *delayed.claim, delayed.identity);
  }
}

Status VolumeBinding::PreBindPreFlight(CycleState& state, const PodInfo&, absl::string_view) {
  return HasToBind(state) ? Status::Success() : Status::Skip();
}

Status VolumeBinding::PreBind(CycleState& state, const PodInfo&, absl::string_view node_name) {
  if (!HasToBind(state)) return Status::Success();
  BindingState& data = *state.FindMutable(kState);
  const absl::Status written = data.writes.Write(node_name, handle_);
  if (!written.ok()) return Counted("bind", Status::Error(written));
  data.bind_deadline = handle_.clock().Now() + bind_timeout_;
  data.writes.PollWhenTheyChange(state);
  return Status::Wait();
}

Status VolumeBinding::PollPreBind(CycleState& state, const PodInfo&, absl::string_view node_name) {
  const BindingState& data = *state.Find(kState);
  const absl::StatusOr<bool> bound = data.writes.AreBound(node_name, handle_);
  if (bound.ok() && *bound) return Status::Success();
  if (bound.ok() && handle_.clock().Now() < data.bind_deadline) return Status::Wait();
  return Counted("bind", Status::Error(absl::StrCat(
                             "binding volumes: ",
                             bound.ok() ? "context deadline exceeded" : bound.status().message())));
}

// The counter is there once there is something to count, as kube-scheduler's series is.
Status VolumeBinding::Counted(absl::string_view stage, Status status) const {
  if (status.IsError()) handle_.CounterOf(absl::StrCat("stage_error/", stage)).Add();
  return status;
}

std::vector<ClusterEventWithHint> VolumeBinding::EventsToRegister() const {
  return VolumeBindingEvents();
}

Status VolumeBinding::SignPod(const PodInfo& pod, PodSignature&) const {
  if (pod.claims().empty()) return Status::Success();
  return Status::Unschedulable("pods with claims are not signable");
}

}  // namespace berth
