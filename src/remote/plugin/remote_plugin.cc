// SPDX-License-Identifier: Apache-2.0
// Implementation of remote_plugin.h.
#include "remote/plugin/remote_plugin.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/columns/node_table.h"
#include "berth/columns/node_verdicts.h"

namespace berth {
namespace {

// How many classes of pods are cached: each takes 10 bytes a node.
constexpr size_t kMostCached = 256;
constexpr size_t kMostRejected = 8192;

constexpr uint32_t Bit(Code code) { return 1u << static_cast<uint8_t>(code); }
constexpr uint32_t kRejecting =
    Bit(Code::kUnschedulable) | Bit(Code::kUnschedulableAndUnresolvable) | Bit(Code::kPending);

}  // namespace

struct RemotePlugin::CycleVerdicts final : StateData {
  std::unique_ptr<StateData> Clone() const override {
    return std::make_unique<CycleVerdicts>(*this);
  }
  // Set by Filter or Score, of which the first one asks.
  mutable VerdictsPtr verdicts;
  mutable int64_t generation = 0;  // of the process, when it was asked
};

RemotePlugin::RemotePlugin(std::string name, RemotePluginArgs args, RemoteDescription description,
                           PointMask points, Handle& handle)
    : name_(std::move(name)),
      args_(std::move(args)),
      description_(std::move(description)),
      points_(points),
      handle_(handle),
      cycle_key_{"RemotePlugin"},
      failures_(handle.CounterOf(absl::StrCat(name_, "/failures"))),
      signer_(description_.signature.value_or(std::vector<std::string>())),
      process_(ProcessOptions(), description_,
               handle.CounterOf(absl::StrCat(name_, "/questions"))) {
  for (const ClusterEventWithHint& event : description_.events) {
    if (event.event.resource.type == EventResource::kObject)
      handle_.Watch(event.event.resource.kind);
  }
}

bool RemotePlugin::Serves(ExtensionPoint point) const {
  if (point == ExtensionPoint::kPreFilter && (points_ & BitOf(ExtensionPoint::kFilter)) != 0) {
    return true;
  }
  return (points_ & BitOf(point)) != 0;
}

RemoteProcess::Options RemotePlugin::ProcessOptions() {
  v1::Start start;
  start.set_protocol_version(v1::PROTOCOL_VERSION_1);
  start.set_plugin(name_);
  start.set_profile(std::string(handle_.profile_name()));
  start.set_arguments_json(args_.args.json);
  for (int i = 0; i < kExtensionPointCount; ++i) {
    const auto point = static_cast<ExtensionPoint>(i);
    if ((points_ & BitOf(point)) != 0) start.add_points(ToWire(point));
  }
  return {.args = args_,
          .start = std::move(start),
          // So that it knows the nodes before the next pod comes.
          .on_up = [this] { handle_.Post(name_, [this] { OnSynced(); }); },
          .on_down =
              [this](absl::string_view why) {
                handle_.Post(name_, [this, text = std::string(why)] { OnDown(text); });
              },
          .on_message = [this](const v1::FromPlugin& message) { OnMessage(message); }};
}

void RemotePlugin::OnSynced() {
  MutexLock lock(mutex_);
  process_.Ready(handle_.nodes()).IgnoreError();
}

std::string RemotePlugin::FailureText(const absl::Status& status) const {
  return absl::StrCat("the remote plugin ", name_, " at ", args_.address, ": ", status.message());
}

Status RemotePlugin::Failed(const absl::Status& status) const {
  failures_.Add(1);
  if (args_.ignores_failures()) return Status::Success();
  return Status::Error(FailureText(status));
}

// --- Verdicts ------------------------------------------------------------------------------------

bool RemotePlugin::IsGoodFor(const Verdicts& verdicts, absl::Span<const NodeRow> rows) const {
  const NodeMirror& told = process_.nodes();
  if (verdicts.revision == told.revision()) return true;
  for (const NodeRow row : rows) {
    if (told.changed(told.index(row)) > verdicts.revision) return false;
  }
  return true;
}

absl::StatusOr<RemotePlugin::VerdictsPtr> RemotePlugin::Ask(const PodInfo& pod) const {
  absl::StatusOr<Verdicts> verdicts = process_.Evaluate(pod, points_);
  if (!verdicts.ok()) return verdicts.status();
  return std::make_shared<const Verdicts>(*std::move(verdicts));
}

absl::StatusOr<RemotePlugin::VerdictsPtr> RemotePlugin::VerdictsFor(
    const CycleState& state, const PodInfo& pod, absl::Span<const NodeRow> rows) const {
  if (absl::Status ready = process_.Ready(handle_.nodes()); !ready.ok()) return ready;
  if (cached_of_ != process_.generation()) {
    cached_.clear();
    cached_of_ = process_.generation();
  }
  if (description_.is_cacheable() && !state.full_evaluation()) {
    std::string signature = signer_.Sign(pod);
    const auto found = cached_.find(signature);
    if (found != cached_.end() && IsGoodFor(*found->second, rows)) return found->second;
    absl::StatusOr<VerdictsPtr> verdicts = Ask(pod);
    if (!verdicts.ok() || (*verdicts)->status.IsError()) return verdicts;
    if (cached_.size() >= kMostCached && found == cached_.end()) cached_.clear();
    cached_[std::move(signature)] = *verdicts;
    return verdicts;
  }
  const CycleVerdicts* const cycle = state.Find(cycle_key_);
  if (cycle != nullptr && cycle->verdicts != nullptr &&
      cycle->generation == process_.generation() &&
      cycle->verdicts->revision == process_.nodes().revision()) {
    return cycle->verdicts;
  }
  absl::StatusOr<VerdictsPtr> verdicts = Ask(pod);
  if (verdicts.ok() && cycle != nullptr) {
    cycle->verdicts = *verdicts;
    cycle->generation = process_.generation();
  }
  return verdicts;
}

absl::StatusOr<RemotePlugin::VerdictsPtr> RemotePlugin::VerdictsOf(const CycleState& state,
                                                                   const PodInfo& pod,
                                                                   const NodeInfo& node,
                                                                   uint32_t& index) const {
  const NodeRow row = handle_.nodes().FindRow(node.name());
  if (row < 0) {
    return absl::NotFoundError(absl::StrCat("it was not told of node ", node.name().view()));
  }
  if (absl::Status ready = process_.Ready(handle_.nodes()); !ready.ok()) return ready;
  index = process_.nodes().index(row);
  if (process_.nodes().IsAsTold(index, node)) return VerdictsFor(state, pod, {&row, 1});
  absl::StatusOr<Verdicts> verdicts =
      process_.EvaluateOn(pod, points_, std::exchange(index, 0), node);
  if (!verdicts.ok()) return verdicts.status();
  return std::make_shared<const Verdicts>(*std::move(verdicts));
}

void RemotePlugin::RememberRejected(const PodInfo& pod) const {
  if (rejected_.size() < kMostRejected) rejected_.try_emplace(pod.uid(), pod.packed());
}

Status RemotePlugin::PreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                               PreFilterResult& result) {
  state.Write(cycle_key_, std::make_unique<CycleVerdicts>());
  if ((points_ & BitOf(ExtensionPoint::kPreFilter)) == 0) return Status::Success();
  MutexLock lock(mutex_);
  const absl::StatusOr<VerdictsPtr> verdicts = VerdictsFor(state, pod, {});
  if (!verdicts.ok()) return Failed(verdicts.status());
  if (!(*verdicts)->status.ok()) return (*verdicts)->status;
  if ((*verdicts)->pre_filter.IsRejected()) RememberRejected(pod);
  if ((*verdicts)->eligible.has_value()) {
    absl::btree_set<Symbol>& names = result.node_names.emplace();
    for (NodeRow row = 0; row < nodes.size(); ++row) {
      const uint32_t index = process_.nodes().index(row);
      if (index < (*verdicts)->eligible->size() && (*(*verdicts)->eligible)[index]) {
        names.insert(nodes.node(row).name());
      }
    }
  }
  return (*verdicts)->pre_filter;
}

Status RemotePlugin::FilterNodes(const CycleState& state, const PodInfo& pod, const NodeTable&,
                                 NodeVerdicts& verdicts) const {
  MutexLock lock(mutex_);
  const absl::StatusOr<VerdictsPtr> said = VerdictsFor(state, pod, verdicts.candidates());
  if (!said.ok()) return Failed(said.status());
  if (!(*said)->status.ok()) return (*said)->status;
  bool rejects = false;
  for (const NodeRow row : verdicts.candidates()) {
    const uint8_t id = (*said)->reason_ids[process_.nodes().index(row)];
    if (id == Verdicts::kFeasible) continue;
    const Status& status = (*said)->reasons[id];
    if (status.IsError()) return status;
    verdicts.Set(row, status.code(), id);
    rejects = true;
  }
  if (rejects) RememberRejected(pod);
  return Status::Success();
}

Status RemotePlugin::Filter(const CycleState& state, const PodInfo& pod,
                            const NodeInfo& node) const {
  MutexLock lock(mutex_);
  uint32_t index = 0;
  const absl::StatusOr<VerdictsPtr> said = VerdictsOf(state, pod, node, index);
  if (!said.ok()) return Failed(said.status());
  if (!(*said)->status.ok()) return (*said)->status;
  return (*said)->StatusOf(index);
}

absl::StatusOr<int64_t> RemotePlugin::Score(const CycleState& state, const PodInfo& pod,
                                            const NodeInfo& node) const {
  MutexLock lock(mutex_);
  uint32_t index = 0;
  const absl::StatusOr<VerdictsPtr> said = VerdictsOf(state, pod, node, index);
  if (!said.ok()) {
    const Status failed = Failed(said.status());
    if (failed.ok()) return 0;
    return absl::UnavailableError(failed.message());
  }
  if (!(*said)->status.ok()) return absl::InternalError((*said)->status.message());
  return (*said)->scores[index];
}

absl::Status RemotePlugin::ScoreNodes(const CycleState& state, const PodInfo& pod, const NodeTable&,
                                      absl::Span<const NodeRow> rows,
                                      absl::Span<int64_t> scores) const {
  MutexLock lock(mutex_);
  const absl::StatusOr<VerdictsPtr> said = VerdictsFor(state, pod, rows);
  if (!said.ok()) {
    std::fill(scores.begin(), scores.end(), 0);
    const Status failed = Failed(said.status());
    return failed.ok() ? absl::OkStatus() : absl::UnavailableError(failed.message());
  }
  if (!(*said)->status.ok()) return absl::InternalError((*said)->status.message());
  for (size_t i = 0; i < rows.size(); ++i) {
    scores[i] = (*said)->scores[process_.nodes().index(rows[i])];
  }
  return absl::OkStatus();
}

// --- What may be cached ----------------------------------------------------------------------

Status RemotePlugin::SignPod(const PodInfo& pod, PodSignature& signature) const {
  MutexLock lock(mutex_);
  if (!description_.is_cacheable()) {
    return Status::Unschedulable("its verdicts are for one pod each");
  }
  if (absl::Status ready = process_.Ready(handle_.nodes()); !ready.ok()) {
    return Status::Unschedulable(std::string(ready.message()));
  }
  signature.Add(process_.generation());
  signature.Add(absl::string_view(signer_.Sign(pod)));
  return Status::Success();
}

// kNodeName: it is told of each node that comes.
Aspects RemotePlugin::DependsOn() const {
  if (!description_.is_cacheable()) return Aspect::kEverything;
  return description_.depends_on;
}

void RemotePlugin::OnInvalidate() {
  std::vector<std::shared_ptr<const PodInfo>> pods;
  {
    MutexLock lock(mutex_);
    process_.Forget();
    for (const auto& [uid, packed] : rejected_) {
      if (auto pod = PodInfo::Create(packed); pod.ok()) pods.push_back(*std::move(pod));
    }
    rejected_.clear();
  }
  std::sort(pods.begin(), pods.end(),
            [](const auto& a, const auto& b) { return a->uid() < b->uid(); });
  handle_.Activate(pods);
}

// --- Points of a pod that has a node -------------------------------------------------------------

Status RemotePlugin::StatusOfCall(const absl::StatusOr<v1::CallResult>& result,
                                  uint32_t codes) const {
  if (!result.ok()) return Failed(result.status());
  absl::StatusOr<Status> status = ReadStatus(result->status());
  if (!status.ok()) return Failed(status.status());
  if (!status->ok() && !status->IsError() && (codes & Bit(status->code())) == 0) {
    return Failed(absl::InvalidArgumentError(
        absl::StrCat("its answer makes no sense: ", CodeName(status->code()))));
  }
  return *std::move(status);
}

Status RemotePlugin::Reserve(CycleState&, const PodInfo& pod, absl::string_view node_name) {
  return StatusOfCall(process_.Call(v1::CALL_RESERVE, pod, node_name, args_.deadline), kRejecting);
}

void RemotePlugin::Unreserve(CycleState&, const PodInfo& pod, absl::string_view node_name) {
  process_.Tell(v1::CALL_UNRESERVE, pod, node_name);
}

Status RemotePlugin::Permit(CycleState&, const PodInfo& pod, absl::string_view node_name,
                            absl::Duration& timeout) {
  const absl::StatusOr<v1::CallResult> result =
      process_.Call(v1::CALL_PERMIT, pod, node_name, args_.deadline);
  Status status = StatusOfCall(result, kRejecting | Bit(Code::kWait));
  if (!status.IsWait()) return status;
  timeout = absl::Milliseconds(result->wait_milliseconds());
  if (timeout > absl::ZeroDuration()) return status;
  return Failed(absl::InvalidArgumentError("it says WAIT and not how long"));
}

Status RemotePlugin::PreBind(CycleState&, const PodInfo& pod, absl::string_view node_name) {
  return StatusOfCall(process_.Call(v1::CALL_PRE_BIND, pod, node_name, args_.bind_deadline),
                      kRejecting);
}

Status RemotePlugin::Bind(CycleState&, const PodInfo& pod, absl::string_view node_name) {
  const absl::StatusOr<v1::CallResult> result =
      process_.Call(v1::CALL_BIND, pod, node_name, args_.bind_deadline);
  // Nothing was bound, as far as is known: another Bind plugin is to do it.
  if (!result.ok() && args_.ignores_failures()) {
    failures_.Add(1);
    return Status::Skip();
  }
  return StatusOfCall(result, kRejecting | Bit(Code::kSkip));
}

void RemotePlugin::PostBind(CycleState&, const PodInfo& pod, absl::string_view node_name) {
  process_.Tell(v1::CALL_POST_BIND, pod, node_name);
}

Status RemotePlugin::PostFilter(CycleState&, const PodInfo& pod, const NodeStatuses& statuses,
                                PostFilterResult& result) {
  MutexLock lock(mutex_);
  const NodeTable& nodes = handle_.nodes();
  absl::Status failure = process_.Ready(nodes);
  if (failure.ok()) {
    absl::StatusOr<Status> said = process_.PostFilter(pod, statuses, nodes, result);
    if (said.ok()) return *std::move(said);
    failure = said.status();
  }
  const Status failed = Failed(failure);
  return failed.ok() ? Status::Unschedulable("") : failed;
}

// --- From other threads --------------------------------------------------------------------------

void RemotePlugin::OnMessage(const v1::FromPlugin& message) {
  if (message.has_invalidate()) {
    handle_.Post(name_, [this] { OnInvalidate(); });
  } else if (message.has_permit()) {
    const v1::PermitDecision& decision = message.permit();
    if (decision.allow()) {
      handle_.PostAllow(name_, decision.pod_uid());
    } else {
      handle_.PostReject(name_, decision.pod_uid(), decision.message());
    }
  }
}

// Pods for which it was to allow: nobody will.
void RemotePlugin::OnDown(const std::string& why) {
  {
    MutexLock lock(mutex_);
    process_.Forget();
  }
  if ((points_ & BitOf(ExtensionPoint::kPermit)) == 0) return;
  const std::string text = FailureText(absl::UnavailableError(why));
  handle_.ForEachWaitingPod([&](WaitingPod& pod) {
    const std::vector<absl::string_view> pending = pod.pending_plugins();
    if (std::find(pending.begin(), pending.end(), name_) == pending.end()) return;
    args_.ignores_failures() ? pod.Allow(name_) : pod.Reject(name_, text);
  });
}

}  // namespace berth
