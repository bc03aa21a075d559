// SPDX-License-Identifier: Apache-2.0
// Implementation of remote_plugin.h.
#include "remote/plugin/remote_plugin.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/packed_pod.h"
#include "berth/columns/node_table.h"
#include "berth/columns/node_verdicts.h"
#include "berth/remote_plugins.h"
#include "remote/plugin/arguments_schema.h"

namespace berth {
namespace {

// How many classes of pods are cached: each takes 10 bytes a node.
constexpr size_t kMostCached = 256;
constexpr size_t kMostRejected = 8192;

constexpr uint32_t Bit(Code code) { return 1u << static_cast<uint8_t>(code); }
constexpr uint32_t kRejecting =
    Bit(Code::kUnschedulable) | Bit(Code::kUnschedulableAndUnresolvable) | Bit(Code::kPending);

// For plugins whose scores are normalized: the interface of the class says so.
class NormalizingRemotePlugin final : public RemotePlugin, public ScoreExtensions {
 public:
  using RemotePlugin::RemotePlugin;
  NormalizingRemotePlugin(std::string name, RemotePluginArgs args, RemoteDescription description,
                          PointMask points, Handle& handle)
      : RemotePlugin(std::move(name), std::move(args), std::move(description), points, handle) {}

  absl::Status NormalizeScores(const CycleState&, const PodInfo&, absl::Span<const NodeRow>,
                               absl::Span<int64_t> scores) const override {
    DefaultNormalizeScores(*description().normalization, scores);
    return absl::OkStatus();
  }
};

class PlainRemotePlugin final : public RemotePlugin {
 public:
  PlainRemotePlugin(std::string name, RemotePluginArgs args, RemoteDescription description,
                    PointMask points, Handle& handle)
      : RemotePlugin(std::move(name), std::move(args), std::move(description), points, handle) {}
};

absl::StatusOr<RemoteDescription> FindDescription(const RemotePluginArgs& args) {
  const absl::Duration timeout = args.description_file.empty()
                                     ? args.start_timeout
                                     : std::min(args.start_timeout, absl::Seconds(1));
  absl::StatusOr<v1::Description> said = DescribeRemotePlugin(args, timeout);
  if (said.ok()) return ReadDescription(*said);
  if (!args.description_file.empty()) return ReadDescriptionFile(args.description_file);
  return absl::UnavailableError(
      absl::StrCat(said.status().message(),
                   "; start it, or name a descriptionFile, which `berth describe-plugin` writes"));
}

absl::StatusOr<PointMask> ChoosePoints(const RemotePluginArgs& args,
                                       const RemoteDescription& description) {
  if (args.points.empty()) return description.points;
  PointMask points = 0;
  for (const std::string& name : args.points) {
    const absl::StatusOr<ExtensionPoint> point = RemotePointNamed(name);
    if (!point.ok()) return point.status();
    if (!description.Serves(*point)) {
      return absl::InvalidArgumentError(
          absl::StrCat("points: ", description.Title(), " does not serve ", name));
    }
    points |= BitOf(*point);
  }
  return points;
}

// The node that the plugin nominates, and its victims there.
absl::Status TakePlan(const v1::PostFilterResult& said, const NodeTable& nodes,
                      PostFilterResult& result) {
  result.nominated_node = said.nominated_node();
  if (said.nominated_node().empty()) {
    if (said.victim_uids().empty()) return absl::OkStatus();
    return absl::InvalidArgumentError("its answer makes no sense: victims, and no node");
  }
  const std::optional<Symbol> name = Symbol::Find(said.nominated_node());
  const NodeRow row = name.has_value() ? nodes.FindRow(*name) : -1;
  if (row < 0) {
    return absl::InvalidArgumentError("its answer makes no sense: no such node to nominate");
  }
  for (const std::string& uid : said.victim_uids()) {
    const auto pods = nodes.node(row).pods();
    const auto victim =
        std::find_if(pods.begin(), pods.end(), [&](const auto& p) { return p->uid() == uid; });
    if (victim == pods.end()) {
      return absl::InvalidArgumentError("its answer makes no sense: a victim is not there");
    }
    result.victims.push_back(*victim);
  }
  return absl::OkStatus();
}

}  // namespace

struct RemotePlugin::CycleVerdicts final : StateData {
  std::unique_ptr<StateData> Clone() const override {
    return std::make_unique<CycleVerdicts>(*this);
  }
  // Set by Filter or Score, of which the first one asks.
  mutable VerdictsPtr verdicts;
  mutable uint64_t session_id = 0;
};

absl::StatusOr<std::unique_ptr<Plugin>> RemotePlugin::Create(absl::string_view name,
                                                             const PluginArgs& args,
                                                             Handle& handle) {
  const auto& remote = args.As<RemotePluginArgs>();
  const auto because = [&](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat("the remote plugin ", name, " at ",
                                                    remote.address, ": ", status.message()));
  };
  absl::StatusOr<RemoteDescription> description = FindDescription(remote);
  if (!description.ok()) return because(description.status());
  const absl::StatusOr<PointMask> points = ChoosePoints(remote, *description);
  if (!points.ok()) return because(points.status());
  if (absl::Status status =
          CheckArguments(description->message.arguments_schema(), remote.args.json);
      !status.ok()) {
    return because(status);
  }
  if (description->normalization.has_value()) {
    return std::make_unique<NormalizingRemotePlugin>(std::string(name), remote,
                                                     *std::move(description), *points, handle);
  }
  return std::make_unique<PlainRemotePlugin>(std::string(name), remote, *std::move(description),
                                             *points, handle);
}

RemotePlugin::RemotePlugin(std::string name, RemotePluginArgs args, RemoteDescription description,
                           PointMask points, Handle& handle)
    : name_(std::move(name)),
      args_(std::move(args)),
      description_(std::move(description)),
      points_(points),
      handle_(handle),
      cycle_key_{"RemotePlugin"},
      questions_(handle.CounterOf(absl::StrCat(name_, "/questions"))),
      failures_(handle.CounterOf(absl::StrCat(name_, "/failures"))),
      signer_(description_.signature.value_or(std::vector<std::string>())),
      mirror_(description_) {
  for (const ClusterEventWithHint& event : description_.events) {
    if (event.event.resource.type == EventResource::kObject)
      handle_.Watch(event.event.resource.kind);
  }
}

RemotePlugin::~RemotePlugin() {
  std::unique_ptr<SessionKeeper> keeper;
  {
    MutexLock lock(keeper_mutex_);
    keeper = std::move(keeper_);
  }
}

bool RemotePlugin::Serves(ExtensionPoint point) const {
  if (point == ExtensionPoint::kPreFilter && (points_ & BitOf(ExtensionPoint::kFilter)) != 0) {
    return true;
  }
  return (points_ & BitOf(point)) != 0;
}

// --- The session ---------------------------------------------------------------------------------

SessionKeeper& RemotePlugin::Keeper() const {
  MutexLock lock(keeper_mutex_);
  if (keeper_ != nullptr) return *keeper_;
  v1::Start start;
  start.set_protocol_version(v1::PROTOCOL_VERSION_1);
  start.set_plugin(name_);
  start.set_profile(std::string(handle_.profile_name()));
  start.set_arguments_json(args_.args.json);
  for (int i = 0; i < kExtensionPointCount; ++i) {
    const auto point = static_cast<ExtensionPoint>(i);
    if ((points_ & BitOf(point)) != 0) start.add_points(ToWire(point));
  }
  auto* const self = const_cast<RemotePlugin*>(this);
  keeper_ = std::make_unique<SessionKeeper>(SessionKeeper::Options{
      .args = args_,
      .description = description_.message,
      .start = std::move(start),
      .on_up =
          [self] {
            // So that it knows the nodes before the next pod comes.
            self->handle_.Post(self->name_, [self] {
              MutexLock lock(self->mutex_);
              self->Ready().status().IgnoreError();
            });
          },
      .on_down =
          [self](absl::string_view why) {
            self->handle_.Post(self->name_,
                               [self, text = std::string(why)] { self->OnDown(text); });
          },
      .on_message = [self](const v1::FromPlugin& message) { self->OnMessage(message); }});
  return *keeper_;
}

absl::StatusOr<std::shared_ptr<Session>> RemotePlugin::Ready() const {
  std::string why;
  const bool first = !std::exchange(waited_, true);
  std::shared_ptr<Session> session = current_;
  if (session == nullptr || session->is_broken()) {
    SessionKeeper& keeper = Keeper();
    session = keeper.Current(&why);
    if (session == nullptr && first) session = keeper.Await(args_.start_timeout, &why);
    current_ = session;
  }
  if (session == nullptr) return absl::UnavailableError(why);
  if (session->id() != session_id_) {
    // Another process may be there, with other verdicts.
    if (session_id_ != 0) Forget();
    mirror_.Reset();
    session_id_ = session->id();
    knows_nodes_ = false;
    told_since_ = absl::Now();
  }
  if (std::optional<v1::Update> update = mirror_.Advance(handle_.nodes()); update.has_value()) {
    v1::ToPlugin message;
    *message.mutable_update() = *std::move(update);
    session->Send(std::move(message));
  }
  if (knows_nodes_) return session;
  // All nodes at once take the peer a while: only at the start the scheduler waits for it.
  if (first) session->AwaitSynced(1, args_.start_timeout).IgnoreError();
  if (session->synced_revision() > 0) {
    knows_nodes_ = true;
    return session;
  }
  const absl::Status status = absl::UnavailableError("it has not taken in the nodes yet");
  if (absl::Now() - told_since_ >= args_.start_timeout) return Fault(*session, status);
  return status;
}

void RemotePlugin::OnSynced() {
  MutexLock lock(mutex_);
  Ready().status().IgnoreError();
}

void RemotePlugin::Forget() const {
  ++generation_;
  cached_.clear();
}

absl::Status RemotePlugin::Fault(Session& session, const absl::Status& status) const {
  session.Break(status.message());
  Forget();
  return status;
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
  if (verdicts.revision == mirror_.revision()) return true;
  for (const NodeRow row : rows) {
    if (mirror_.changed(mirror_.index(row)) > verdicts.revision) return false;
  }
  return true;
}

absl::StatusOr<RemotePlugin::VerdictsPtr> RemotePlugin::VerdictsFor(
    const CycleState& state, const PodInfo& pod, absl::Span<const NodeRow> rows) const {
  absl::StatusOr<std::shared_ptr<Session>> session = Ready();
  if (!session.ok()) return session.status();
  if (description_.is_cacheable() && !state.full_evaluation()) {
    std::string signature = signer_.Sign(pod);
    const auto found = cached_.find(signature);
    if (found != cached_.end() && IsGoodFor(*found->second, rows)) return found->second;
    absl::StatusOr<VerdictsPtr> verdicts = AskVerdicts(**session, pod, nullptr);
    if (!verdicts.ok() || (*verdicts)->status.IsError()) return verdicts;
    if (cached_.size() >= kMostCached && found == cached_.end()) cached_.clear();
    cached_[std::move(signature)] = *verdicts;
    return verdicts;
  }
  const CycleVerdicts* const cycle = state.Find(cycle_key_);
  if (cycle != nullptr && cycle->verdicts != nullptr && cycle->session_id == session_id_ &&
      cycle->verdicts->revision == mirror_.revision()) {
    return cycle->verdicts;
  }
  absl::StatusOr<VerdictsPtr> verdicts = AskVerdicts(**session, pod, nullptr);
  if (verdicts.ok() && cycle != nullptr) {
    cycle->verdicts = *verdicts;
    cycle->session_id = session_id_;
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
  absl::StatusOr<std::shared_ptr<Session>> session = Ready();
  if (!session.ok()) return session.status();
  index = mirror_.index(row);
  if (mirror_.IsAsTold(index, node)) return VerdictsFor(state, pod, {&row, 1});
  const v1::HypotheticalNode hypothetical = mirror_.Hypothetical(index, node);
  index = 0;
  return AskVerdicts(**session, pod, &hypothetical);
}

absl::StatusOr<RemotePlugin::VerdictsPtr> RemotePlugin::AskVerdicts(
    Session& session, const PodInfo& pod, const v1::HypotheticalNode* hypothetical) const {
  v1::ToPlugin message;
  v1::Evaluate& evaluate = *message.mutable_evaluate();
  const uint64_t id = session.NextId();
  evaluate.set_id(id);
  evaluate.set_revision(mirror_.revision());
  *evaluate.mutable_pod() = *pod.packed()->Unpack();
  for (const ExtensionPoint point :
       {ExtensionPoint::kPreFilter, ExtensionPoint::kFilter, ExtensionPoint::kScore}) {
    if ((points_ & BitOf(point)) != 0) evaluate.add_points(ToWire(point));
  }
  if (hypothetical != nullptr) *evaluate.mutable_hypothetical() = *hypothetical;
  questions_.Add(1);
  const absl::StatusOr<v1::FromPlugin> answer = session.Ask(std::move(message), id, args_.deadline);
  if (!answer.ok()) return Fault(session, answer.status());
  if (!answer->has_evaluation() || answer->evaluation().revision() != mirror_.revision()) {
    return Fault(session, absl::InvalidArgumentError("its answer is to another question"));
  }
  absl::StatusOr<Verdicts> verdicts =
      ReadEvaluation(answer->evaluation(), hypothetical == nullptr ? mirror_.node_count() : 1);
  if (!verdicts.ok()) return Fault(session, verdicts.status());
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
      const uint32_t index = mirror_.index(row);
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
    const uint8_t id = (*said)->reason_ids[mirror_.index(row)];
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
    scores[i] = (*said)->scores[mirror_.index(rows[i])];
  }
  return absl::OkStatus();
}

// --- What may be cached ----------------------------------------------------------------------

Status RemotePlugin::SignPod(const PodInfo& pod, PodSignature& signature) const {
  MutexLock lock(mutex_);
  if (!description_.is_cacheable()) {
    return Status::Unschedulable("its verdicts are for one pod each");
  }
  if (absl::StatusOr<std::shared_ptr<Session>> session = Ready(); !session.ok()) {
    return Status::Unschedulable(std::string(session.status().message()));
  }
  signature.Add(generation_);
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
    Forget();
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

absl::StatusOr<v1::CallResult> RemotePlugin::Call(v1::PodPoint point, const PodInfo& pod,
                                                  absl::string_view node_name,
                                                  absl::Duration deadline) const {
  std::string why;
  const std::shared_ptr<Session> session = [&]() -> std::shared_ptr<Session> {
    MutexLock lock(keeper_mutex_);
    return keeper_ == nullptr ? nullptr : keeper_->Current(&why);
  }();
  if (session == nullptr) return absl::UnavailableError(why.empty() ? "not connected" : why);
  if (session->synced_revision() == 0) {
    return absl::UnavailableError("it has not taken in the nodes yet");
  }
  v1::ToPlugin message;
  v1::PodCall& call = *message.mutable_call();
  const uint64_t id = session->NextId();
  call.set_id(id);
  call.set_point(point);
  *call.mutable_pod() = *pod.packed()->Unpack();
  call.set_node(std::string(node_name));
  questions_.Add(1);
  absl::StatusOr<v1::FromPlugin> answer = session->Ask(std::move(message), id, deadline);
  if (answer.ok() && !answer->has_call()) {
    answer = absl::InvalidArgumentError("its answer is to another question");
  }
  if (!answer.ok()) {
    session->Break(answer.status().message());
    return answer.status();
  }
  return std::move(*answer->mutable_call());
}

void RemotePlugin::Tell(v1::PodPoint point, const PodInfo& pod, absl::string_view node_name) const {
  MutexLock lock(keeper_mutex_);
  const std::shared_ptr<Session> session = keeper_ == nullptr ? nullptr : keeper_->Current(nullptr);
  // One that comes later learns from the pods on the nodes what holds.
  if (session == nullptr || session->synced_revision() == 0) return;
  v1::ToPlugin message;
  v1::PodCall& call = *message.mutable_call();
  call.set_point(point);
  *call.mutable_pod() = *pod.packed()->Unpack();
  call.set_node(std::string(node_name));
  session->Send(std::move(message));
}

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
  return StatusOfCall(Call(v1::CALL_RESERVE, pod, node_name, args_.deadline), kRejecting);
}

void RemotePlugin::Unreserve(CycleState&, const PodInfo& pod, absl::string_view node_name) {
  Tell(v1::CALL_UNRESERVE, pod, node_name);
}

Status RemotePlugin::Permit(CycleState&, const PodInfo& pod, absl::string_view node_name,
                            absl::Duration& timeout) {
  const absl::StatusOr<v1::CallResult> result =
      Call(v1::CALL_PERMIT, pod, node_name, args_.deadline);
  Status status = StatusOfCall(result, kRejecting | Bit(Code::kWait));
  if (!status.IsWait()) return status;
  timeout = absl::Milliseconds(result->wait_milliseconds());
  if (timeout > absl::ZeroDuration()) return status;
  return Failed(absl::InvalidArgumentError("it says WAIT and not how long"));
}

Status RemotePlugin::PreBind(CycleState&, const PodInfo& pod, absl::string_view node_name) {
  return StatusOfCall(Call(v1::CALL_PRE_BIND, pod, node_name, args_.bind_deadline), kRejecting);
}

Status RemotePlugin::Bind(CycleState&, const PodInfo& pod, absl::string_view node_name) {
  const absl::StatusOr<v1::CallResult> result =
      Call(v1::CALL_BIND, pod, node_name, args_.bind_deadline);
  // Nothing was bound, as far as is known: another Bind plugin is to do it.
  if (!result.ok() && args_.ignores_failures()) {
    failures_.Add(1);
    return Status::Skip();
  }
  return StatusOfCall(result, kRejecting | Bit(Code::kSkip));
}

void RemotePlugin::PostBind(CycleState&, const PodInfo& pod, absl::string_view node_name) {
  Tell(v1::CALL_POST_BIND, pod, node_name);
}

Status RemotePlugin::PostFilter(CycleState&, const PodInfo& pod, const NodeStatuses& statuses,
                                PostFilterResult& result) {
  MutexLock lock(mutex_);
  const auto failed = [&](const absl::Status& status) {
    const Status failure = Failed(status);
    return failure.ok() ? Status::Unschedulable("") : failure;
  };
  absl::StatusOr<std::shared_ptr<Session>> session = Ready();
  if (!session.ok()) return failed(session.status());
  const NodeTable& nodes = handle_.nodes();
  v1::ToPlugin message;
  v1::PostFilter& question = *message.mutable_post_filter();
  const uint64_t id = (*session)->NextId();
  question.set_id(id);
  question.set_revision(mirror_.revision());
  *question.mutable_pod() = *pod.packed()->Unpack();
  std::string& codes = *question.mutable_codes();
  codes.assign(mirror_.node_count(), static_cast<char>(Code::kUnschedulableAndUnresolvable));
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    codes[mirror_.index(row)] = static_cast<char>(statuses.code(row));
  }
  questions_.Add(1);
  const absl::StatusOr<v1::FromPlugin> answer =
      (*session)->Ask(std::move(message), id, args_.deadline);
  if (!answer.ok()) return failed(Fault(**session, answer.status()));
  if (!answer->has_post_filter()) {
    return failed(
        Fault(**session, absl::InvalidArgumentError("its answer is to another question")));
  }
  const v1::PostFilterResult& said = answer->post_filter();
  absl::StatusOr<Status> status = ReadStatus(said.status());
  if (!status.ok()) return failed(Fault(**session, status.status()));
  if (!status->ok()) return *std::move(status);
  const absl::Status taken = TakePlan(said, nodes, result);
  if (taken.ok()) return Status::Success();
  result = PostFilterResult();
  return failed(Fault(**session, taken));
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
    Forget();
  }
  if ((points_ & BitOf(ExtensionPoint::kPermit)) == 0) return;
  const std::string text = FailureText(absl::UnavailableError(why));
  handle_.ForEachWaitingPod([&](WaitingPod& pod) {
    const std::vector<absl::string_view> pending = pod.pending_plugins();
    if (std::find(pending.begin(), pending.end(), name_) == pending.end()) return;
    args_.ignores_failures() ? pod.Allow(name_) : pod.Reject(name_, text);
  });
}

PluginRegistration WithRemotePlugin(absl::string_view name) {
  return WithPlugin(
      name,
      [name = std::string(name)](const PluginArgs& args, Handle& handle) {
        return RemotePlugin::Create(name, args, handle);
      },
      RemotePluginArgs::Fields());
}

std::vector<PluginRegistration> RemotePluginsIn(absl::string_view configuration) {
  std::vector<PluginRegistration> registrations;
  std::set<absl::string_view> names;
  Problems none;  // whoever reads the configuration reports them
  const std::vector<Document> documents = ReadDocuments(configuration, "", none);
  for (const Document& document : documents) {
    for (const Value profile : document.root().Find("profiles").elements()) {
      for (const Value entry : profile.Find("pluginConfig").elements()) {
        const Value name = entry.Find("name");
        if (entry.Find("args").Find("kind").text() != RemotePluginArgs::Fields().name()) continue;
        if (!name.IsString() || !names.insert(name.text()).second) continue;
        registrations.push_back(WithRemotePlugin(name.text()));
      }
    }
  }
  return registrations;
}

absl::StatusOr<std::string> DescribeRemotePlugin(const std::string& address,
                                                 const std::string& ca_file,
                                                 const std::string& cert_file,
                                                 const std::string& key_file) {
  RemotePluginArgs args;
  args.address = address;
  args.ca_file = ca_file;
  args.cert_file = cert_file;
  args.key_file = key_file;
  const absl::StatusOr<v1::Description> said = DescribeRemotePlugin(args, args.start_timeout);
  if (!said.ok()) return said.status();
  const absl::StatusOr<RemoteDescription> read = ReadDescription(*said);
  if (!read.ok()) return read.status();
  return DescriptionToJson(read->message);
}

}  // namespace berth
