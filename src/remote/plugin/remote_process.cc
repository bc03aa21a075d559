// SPDX-License-Identifier: Apache-2.0
// Implementation of remote_process.h.
#include "remote/plugin/remote_process.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/packed_pod.h"

namespace berth {
namespace {

absl::Status AnotherQuestion() {
  return absl::InvalidArgumentError("its answer is to another question");
}

// The node that the plugin nominates, and its victims there.
absl::Status TakePlan(const v1::PostFilterResult& said, const NodeTable& nodes,
                      PostFilterResult& result) {
  PostFilterResult plan;
  plan.nominated_node = said.nominated_node();
  if (!said.nominated_node().empty()) {
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
      plan.victims.push_back(*victim);
    }
  } else if (!said.victim_uids().empty()) {
    return absl::InvalidArgumentError("its answer makes no sense: victims, and no node");
  }
  result = std::move(plan);
  return absl::OkStatus();
}

}  // namespace

RemoteProcess::RemoteProcess(Options options, const RemoteDescription& description,
                             Counter& questions)
    : options_(std::move(options)),
      description_(description),
      questions_(questions),
      mirror_(description) {}

RemoteProcess::~RemoteProcess() {
  std::unique_ptr<SessionKeeper> keeper;
  {
    MutexLock lock(keeper_mutex_);
    keeper = std::move(keeper_);
  }
}

SessionKeeper& RemoteProcess::Keeper() {
  MutexLock lock(keeper_mutex_);
  if (keeper_ == nullptr) {
    keeper_ =
        std::make_unique<SessionKeeper>(SessionKeeper::Options{.args = options_.args,
                                                               .description = description_.message,
                                                               .start = options_.start,
                                                               .on_up = options_.on_up,
                                                               .on_down = options_.on_down,
                                                               .on_message = options_.on_message});
  }
  return *keeper_;
}

absl::Status RemoteProcess::Ready(const NodeTable& nodes) {
  const bool first = !std::exchange(waited_, true);
  if (session_ == nullptr || session_->is_broken()) {
    std::string why;
    SessionKeeper& keeper = Keeper();
    session_ = keeper.Current(&why);
    if (session_ == nullptr && first) session_ = keeper.Await(options_.start_wait, &why);
    if (session_ == nullptr) return absl::UnavailableError(why);
  }
  if (session_->id() != session_id_) {
    // Another process may be there, with other verdicts.
    if (session_id_ != 0) Forget();
    mirror_.Reset();
    session_id_ = session_->id();
    knows_nodes_ = false;
    told_since_ = absl::Now();
  }
  if (std::optional<v1::Update> update = mirror_.Advance(nodes); update.has_value()) {
    v1::ToPlugin message;
    *message.mutable_update() = *std::move(update);
    session_->Send(std::move(message));
  }
  if (knows_nodes_) return absl::OkStatus();
  // All nodes at once take the peer a while: only at the start the scheduler waits for it.
  if (first) session_->AwaitSynced(1, options_.args.start_timeout).IgnoreError();
  if (session_->synced_revision() > 0) {
    knows_nodes_ = true;
    return absl::OkStatus();
  }
  absl::Status status = absl::UnavailableError("it has not taken in the nodes yet");
  if (absl::Now() - told_since_ >= options_.args.start_timeout) return Fault(status);
  return status;
}

absl::Status RemoteProcess::Fault(const absl::Status& status) {
  session_->Break(status.message());
  Forget();
  return status;
}

absl::StatusOr<Verdicts> RemoteProcess::Evaluate(const PodInfo& pod, PointMask points) {
  return Ask(pod, points, nullptr);
}

absl::StatusOr<Verdicts> RemoteProcess::EvaluateOn(const PodInfo& pod, PointMask points,
                                                   uint32_t index, const NodeInfo& node) {
  const v1::HypotheticalNode hypothetical = mirror_.Hypothetical(index, node);
  return Ask(pod, points, &hypothetical);
}

absl::StatusOr<Verdicts> RemoteProcess::Ask(const PodInfo& pod, PointMask points,
                                            const v1::HypotheticalNode* hypothetical) {
  v1::ToPlugin message;
  v1::Evaluate& evaluate = *message.mutable_evaluate();
  const uint64_t id = session_->NextId();
  evaluate.set_id(id);
  evaluate.set_revision(mirror_.revision());
  *evaluate.mutable_pod() = *pod.packed()->Unpack();
  for (const ExtensionPoint point :
       {ExtensionPoint::kPreFilter, ExtensionPoint::kFilter, ExtensionPoint::kScore}) {
    if ((points & BitOf(point)) != 0) evaluate.add_points(ToWire(point));
  }
  if (hypothetical != nullptr) *evaluate.mutable_hypothetical() = *hypothetical;
  questions_.Add(1);
  const absl::StatusOr<v1::FromPlugin> answer =
      session_->Ask(std::move(message), id, options_.args.deadline);
  if (!answer.ok()) return Fault(answer.status());
  if (!answer->has_evaluation() || answer->evaluation().revision() != mirror_.revision()) {
    return Fault(AnotherQuestion());
  }
  absl::StatusOr<Verdicts> verdicts =
      ReadEvaluation(answer->evaluation(), hypothetical == nullptr ? mirror_.node_count() : 1);
  if (!verdicts.ok()) return Fault(verdicts.status());
  return verdicts;
}

absl::StatusOr<Status> RemoteProcess::PostFilter(const PodInfo& pod, const NodeStatuses& statuses,
                                                 const NodeTable& nodes, PostFilterResult& result) {
  v1::ToPlugin message;
  v1::PostFilter& question = *message.mutable_post_filter();
  const uint64_t id = session_->NextId();
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
      session_->Ask(std::move(message), id, options_.args.deadline);
  if (!answer.ok()) return Fault(answer.status());
  if (!answer->has_post_filter()) return Fault(AnotherQuestion());
  absl::StatusOr<Status> status = ReadStatus(answer->post_filter().status());
  if (!status.ok()) return Fault(status.status());
  if (!status->ok()) return status;
  if (absl::Status taken = TakePlan(answer->post_filter(), nodes, result); !taken.ok()) {
    return Fault(taken);
  }
  return status;
}

absl::StatusOr<v1::CallResult> RemoteProcess::Call(v1::PodPoint point, const PodInfo& pod,
                                                   absl::string_view node_name,
                                                   absl::Duration deadline) {
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
  if (answer.ok() && !answer->has_call()) answer = AnotherQuestion();
  if (!answer.ok()) {
    session->Break(answer.status().message());
    return answer.status();
  }
  return std::move(*answer->mutable_call());
}

void RemoteProcess::Tell(v1::PodPoint point, const PodInfo& pod, absl::string_view node_name) {
  MutexLock lock(keeper_mutex_);
  const std::shared_ptr<Session> session = keeper_ == nullptr ? nullptr : keeper_->Current(nullptr);
  if (session == nullptr || session->synced_revision() == 0) return;
  v1::ToPlugin message;
  v1::PodCall& call = *message.mutable_call();
  call.set_point(point);
  *call.mutable_pod() = *pod.packed()->Unpack();
  call.set_node(std::string(node_name));
  session->Send(std::move(message));
}

}  // namespace berth
