// SPDX-License-Identifier: Apache-2.0
// Implementation of remote_plugin.h.
#include "remote/plugin/remote_plugin.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/columns/node_table.h"
#include "berth/columns/node_verdicts.h"
#include "berth/config/profile.h"

namespace berth {
namespace {

// How many classes of pods are cached: each takes 10 bytes a node.
constexpr size_t kMostCached = 256;
constexpr size_t kMostRejected = 8192;
// For a process that was not there when its saved description was read.
constexpr absl::Duration kLongestSavedWait = absl::Seconds(1);
// How high scores that are normalized may be, so that their products do not overflow.
constexpr int64_t kHighestRawScore = int64_t{1} << 53;

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
  // It failed, and that is ignored: the cycle goes on without it.
  mutable bool is_ignored = false;
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

std::string RemotePlugin::WhyNot(ExtensionPoint point) const {
  const absl::StatusOr<ExtensionPoint> named = RemotePointNamed(ExtensionPointField(point));
  if (!named.ok()) return std::string(named.status().message());
  return absl::StrCat(description_.Title(), description_.Serves(point)
                                                ? " is not to serve it: see points in its args"
                                                : " does not serve it");
}

v1::Start RemotePlugin::MakeStart(absl::string_view name, const RemotePluginArgs& args,
                                  PointMask points, const Handle& handle) {
  v1::Start start;
  start.set_protocol_version(v1::PROTOCOL_VERSION_1);
  start.set_plugin(std::string(name));
  start.set_profile(std::string(handle.profile_name()));
  start.set_arguments_json(args.args.json);
  for (int i = 0; i < kExtensionPointCount; ++i) {
    const auto point = static_cast<ExtensionPoint>(i);
    if ((points & BitOf(point)) != 0) start.add_points(ToWire(point));
  }
  return start;
}

RemoteProcess::Options RemotePlugin::ProcessOptions() {
  return {.args = args_,
          .start = MakeStart(name_, args_, points_, handle_),
          .start_wait = description_.is_saved ? std::min(args_.start_timeout, kLongestSavedWait)
                                              : args_.start_timeout,
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

Status RemotePlugin::Fault(const absl::Status& status) const {
  return Status::Error(
      absl::StrCat("the remote plugin ", name_, " at ", args_.address, ": ", status.message()));
}

Status RemotePlugin::Failed(absl::string_view point, Status error, Status if_ignored) const {
  failures_.Add(1);
  handle_.AddFault(name_, point, error.message());
  return args_.ignores_failures() ? std::move(if_ignored) : std::move(error);
}

Status RemotePlugin::FailedInCycle(const CycleState& state, absl::string_view point,
                                   Status error) const {
  process_.Forget();
  if (const CycleVerdicts* const cycle = state.Find(cycle_key_); cycle != nullptr) {
    cycle->is_ignored = args_.ignores_failures();
  }
  return Failed(point, std::move(error));
}

absl::Status RemotePlugin::ScoreFailed(Status error) const {
  process_.Forget();
  const Status failed = Failed("Score", std::move(error));
  return failed.ok() ? absl::OkStatus() : absl::InternalError(failed.message());
}

int64_t RemotePlugin::HighestScore() const {
  return description_.normalization.has_value() ? kHighestRawScore : kMaxNodeScore;
}

Status RemotePlugin::CheckScore(int64_t score, Symbol node) const {
  const int64_t highest = HighestScore();
  if (score >= kMinNodeScore && score <= highest) return Status::Success();
  return Fault(absl::InvalidArgumentError(
      absl::StrCat("its answer makes no sense: the score of node ", node.view(), " is ", score,
                   ", and should be from ", kMinNodeScore, " to ", highest)));
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

RemotePlugin::VerdictsPtr RemotePlugin::VerdictsFor(const CycleState& state, const PodInfo& pod,
                                                    absl::Span<const NodeRow> rows,
                                                    absl::string_view point,
                                                    Status& failure) const {
  const CycleVerdicts* const cycle = state.Find(cycle_key_);
  if (cycle != nullptr && cycle->is_ignored) return nullptr;
  absl::StatusOr<VerdictsPtr> found = Find(state, pod, rows);
  if (found.ok() && (*found)->status.ok()) return *std::move(found);
  failure = FailedInCycle(state, point, found.ok() ? (*found)->status : Fault(found.status()));
  return nullptr;
}

RemotePlugin::VerdictsPtr RemotePlugin::VerdictsOf(const CycleState& state, const PodInfo& pod,
                                                   const NodeInfo& node, absl::string_view point,
                                                   uint32_t& index, Status& failure) const {
  const CycleVerdicts* const cycle = state.Find(cycle_key_);
  if (cycle != nullptr && cycle->is_ignored) return nullptr;
  absl::StatusOr<VerdictsPtr> found = FindOf(state, pod, node, index);
  if (found.ok() && (*found)->status.ok()) return *std::move(found);
  failure = FailedInCycle(state, point, found.ok() ? (*found)->status : Fault(found.status()));
  return nullptr;
}

absl::StatusOr<RemotePlugin::VerdictsPtr> RemotePlugin::Find(const CycleState& state,
                                                             const PodInfo& pod,
                                                             absl::Span<const NodeRow> rows) const {
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

absl::StatusOr<RemotePlugin::VerdictsPtr> RemotePlugin::FindOf(const CycleState& state,
                                                               const PodInfo& pod,
                                                               const NodeInfo& node,
                                                               uint32_t& index) const {
  const NodeRow row = handle_.nodes().FindRow(node.name());
  if (row < 0) {
    return absl::NotFoundError(absl::StrCat("it was not told of node ", node.name().view()));
  }
  if (absl::Status ready = process_.Ready(handle_.nodes()); !ready.ok()) return ready;
  index = process_.nodes().index(row);
  if (process_.nodes().IsAsTold(index, node)) return Find(state, pod, {&row, 1});
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
  Status failure;
  const VerdictsPtr said = VerdictsFor(state, pod, {}, "PreFilter", failure);
  if (said == nullptr) return failure;
  if (said->pre_filter.IsError()) return FailedInCycle(state, "PreFilter", said->pre_filter);
  if (said->pre_filter.IsRejected()) RememberRejected(pod);
  if (said->eligible.has_value()) {
    absl::btree_set<Symbol>& names = result.node_names.emplace();
    for (NodeRow row = 0; row < nodes.size(); ++row) {
      const uint32_t index = process_.nodes().index(row);
      if (index < said->eligible->size() && (*said->eligible)[index]) {
        names.insert(nodes.node(row).name());
      }
    }
  }
  return said->pre_filter;
}

Status RemotePlugin::FilterNodes(const CycleState& state, const PodInfo& pod, const NodeTable&,
                                 NodeVerdicts& verdicts) const {
  MutexLock lock(mutex_);
  Status failure;
  const VerdictsPtr said = VerdictsFor(state, pod, verdicts.candidates(), "Filter", failure);
  if (said == nullptr) return failure;
  // First, so that nothing is set if it is ignored.
  if (std::any_of(said->reasons.begin(), said->reasons.end(),
                  [](const Status& reason) { return reason.IsError(); })) {
    for (const NodeRow row : verdicts.candidates()) {
      const Status& status = said->StatusOf(process_.nodes().index(row));
      if (status.IsError()) return FailedInCycle(state, "Filter", status);
    }
  }
  bool rejects = false;
  for (const NodeRow row : verdicts.candidates()) {
    const uint8_t id = said->reason_ids[process_.nodes().index(row)];
    if (id == Verdicts::kFeasible) continue;
    verdicts.Set(row, said->reasons[id].code(), id);
    rejects = true;
  }
  if (rejects) RememberRejected(pod);
  return Status::Success();
}

Status RemotePlugin::Filter(const CycleState& state, const PodInfo& pod,
                            const NodeInfo& node) const {
  MutexLock lock(mutex_);
  uint32_t index = 0;
  Status failure;
  const VerdictsPtr said = VerdictsOf(state, pod, node, "Filter", index, failure);
  if (said == nullptr) return failure;
  const Status& status = said->StatusOf(index);
  return status.IsError() ? FailedInCycle(state, "Filter", status) : status;
}

absl::StatusOr<int64_t> RemotePlugin::Score(const CycleState& state, const PodInfo& pod,
                                            const NodeInfo& node) const {
  MutexLock lock(mutex_);
  uint32_t index = 0;
  Status failure;
  const VerdictsPtr said = VerdictsOf(state, pod, node, "Score", index, failure);
  if (said == nullptr) {
    if (failure.ok()) return 0;
    return absl::UnavailableError(failure.message());
  }
  const int64_t score = said->scores[index];
  Status usable = said->score_status;
  if (usable.ok()) usable = CheckScore(score, node.name());
  if (usable.ok()) return score;
  if (absl::Status failed = ScoreFailed(std::move(usable)); !failed.ok()) return failed;
  return 0;
}

absl::Status RemotePlugin::ScoreNodes(const CycleState& state, const PodInfo& pod,
                                      const NodeTable& nodes, absl::Span<const NodeRow> rows,
                                      absl::Span<int64_t> scores) const {
  MutexLock lock(mutex_);
  Status failure;
  const VerdictsPtr said = VerdictsFor(state, pod, rows, "Score", failure);
  if (said == nullptr) {
    std::fill(scores.begin(), scores.end(), 0);
    return failure.ok() ? absl::OkStatus() : absl::UnavailableError(failure.message());
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    scores[i] = said->scores[process_.nodes().index(rows[i])];
  }
  Status usable = said->score_status;
  // By value first: to fetch the name of each node takes as long as all else here.
  const int64_t highest = HighestScore();
  const auto wrong = std::find_if(scores.begin(), scores.end(), [highest](int64_t score) {
    return score < kMinNodeScore || score > highest;
  });
  if (usable.ok() && wrong != scores.end()) {
    usable = CheckScore(*wrong, nodes.node(rows[wrong - scores.begin()]).name());
  }
  if (usable.ok()) return absl::OkStatus();
  std::fill(scores.begin(), scores.end(), 0);
  return ScoreFailed(std::move(usable));
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

Status RemotePlugin::StatusOfCall(absl::string_view point,
                                  const absl::StatusOr<v1::CallResult>& result, uint32_t codes,
                                  Status if_ignored) const {
  if (!result.ok()) return Failed(point, Fault(result.status()), std::move(if_ignored));
  absl::StatusOr<Status> status = ReadStatus(result->status());
  if (!status.ok()) return Failed(point, Fault(status.status()), std::move(if_ignored));
  if (status->ok() || (codes & Bit(status->code())) != 0) return *std::move(status);
  if (status->IsError()) return Failed(point, *std::move(status), std::move(if_ignored));
  const absl::Status unknown = absl::InvalidArgumentError(
      absl::StrCat("its answer makes no sense: ", CodeName(status->code())));
  return Failed(point, Fault(unknown), std::move(if_ignored));
}

Status RemotePlugin::Reserve(CycleState&, const PodInfo& pod, absl::string_view node_name) {
  return StatusOfCall("Reserve", process_.Call(v1::CALL_RESERVE, pod, node_name, args_.deadline),
                      kRejecting);
}

void RemotePlugin::Unreserve(CycleState&, const PodInfo& pod, absl::string_view node_name) {
  process_.Tell(v1::CALL_UNRESERVE, pod, node_name);
}

Status RemotePlugin::Permit(CycleState&, const PodInfo& pod, absl::string_view node_name,
                            absl::Duration& timeout) {
  const absl::StatusOr<v1::CallResult> result =
      process_.Call(v1::CALL_PERMIT, pod, node_name, args_.deadline);
  Status status = StatusOfCall("Permit", result, kRejecting | Bit(Code::kWait));
  if (!status.IsWait()) return status;
  timeout = absl::Milliseconds(result->wait_milliseconds());
  if (timeout > absl::ZeroDuration()) return status;
  return Failed("Permit", Fault(absl::InvalidArgumentError("it says WAIT and not how long")));
}

Status RemotePlugin::PreBind(CycleState&, const PodInfo& pod, absl::string_view node_name) {
  return StatusOfCall(
      "PreBind", process_.Call(v1::CALL_PRE_BIND, pod, node_name, args_.bind_deadline), kRejecting);
}

// If it failed, nothing was bound as far as is known: another Bind plugin is to do it.
Status RemotePlugin::Bind(CycleState&, const PodInfo& pod, absl::string_view node_name) {
  return StatusOfCall("Bind", process_.Call(v1::CALL_BIND, pod, node_name, args_.bind_deadline),
                      kRejecting | Bit(Code::kSkip), Status::Skip());
}

void RemotePlugin::PostBind(CycleState&, const PodInfo& pod, absl::string_view node_name) {
  process_.Tell(v1::CALL_POST_BIND, pod, node_name);
}

Status RemotePlugin::PostFilter(CycleState&, const PodInfo& pod, const NodeStatuses& statuses,
                                PostFilterResult& result) {
  MutexLock lock(mutex_);
  const NodeTable& nodes = handle_.nodes();
  Status failure;
  if (absl::Status ready = process_.Ready(nodes); !ready.ok()) {
    failure = Fault(ready);
  } else {
    absl::StatusOr<Status> said = process_.PostFilter(pod, statuses, nodes, result);
    if (said.ok() && !said->IsError()) return *std::move(said);
    failure = said.ok() ? *std::move(said) : Fault(said.status());
  }
  return Failed("PostFilter", std::move(failure), Status::Unschedulable(""));
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

// Pods for which it was to allow: no plugin will.
void RemotePlugin::OnDown(const std::string& why) {
  {
    MutexLock lock(mutex_);
    process_.Forget();
  }
  if ((points_ & BitOf(ExtensionPoint::kPermit)) == 0) return;
  const Status fault = Fault(absl::UnavailableError(why));
  handle_.ForEachWaitingPod([&](WaitingPod& pod) {
    const std::vector<absl::string_view> pending = pod.pending_plugins();
    if (std::find(pending.begin(), pending.end(), name_) == pending.end()) return;
    const Status failed = Failed("Permit", fault);
    failed.ok() ? pod.Allow(name_) : pod.Reject(name_, failed.message());
  });
}

}  // namespace berth
