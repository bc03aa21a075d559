// SPDX-License-Identifier: Apache-2.0
// Implementation of served_session.h.
#include "remote/plugin/served_session.h"

#include <utility>
#include <vector>

#include "berth/api/core_v1.pb.h"
#include "berth/framework/bind.h"
#include "berth/framework/permit.h"
#include "berth/framework/postfilter.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/reserve.h"
#include "remote/plugin/served_call.h"
#include "remote/plugin/verdicts.h"

namespace berth {
namespace {

constexpr int kBindingThreads = 64;
constexpr size_t kMostPods = 16384;

// The codes of a PostFilter question. Which plugin rejected a node, and why, is not sent.
class SentStatuses final : public NodeStatuses {
 public:
  SentStatuses(const std::string& codes, const ServedNodes& nodes) {
    for (NodeRow row = 0; row < nodes.table().size(); ++row) {
      codes_.push_back(static_cast<Code>(codes[nodes.index(row)]));
    }
  }

  Code code(NodeRow row) const override { return codes_[row]; }
  Status status(NodeRow row) const override { return Status::Make(codes_[row], {}); }
  std::vector<NodeRow> RowsWith(Code code) const override {
    std::vector<NodeRow> rows;
    for (size_t row = 0; row < codes_.size(); ++row) {
      if (codes_[row] == code) rows.push_back(static_cast<NodeRow>(row));
    }
    return rows;
  }

 private:
  std::vector<Code> codes_;  // by row
};

absl::Status CheckCodes(const std::string& codes, uint32_t nodes) {
  if (codes.size() != nodes) return absl::InvalidArgumentError("codes has another length");
  for (const char code : codes) {
    if (code < v1::SUCCESS || code > v1::PENDING) {
      return absl::InvalidArgumentError("a code that is none");
    }
  }
  return absl::OkStatus();
}

}  // namespace

ServedSession::ServedSession(const ServedPlugin& served, const v1::Start& start,
                             std::function<void(v1::FromPlugin)> send)
    : served_(served),
      send_(std::move(send)),
      handle_({.profile = start.profile(),
               .nodes = &nodes_.table(),
               .send = send_,
               .run_later = [this](std::function<void()> work) { RunLater(std::move(work)); }}),
      pool_(MakeGrowingThreadPool(kBindingThreads)) {}

ServedSession::~ServedSession() = default;

absl::Status ServedSession::Begin() {
  absl::StatusOr<std::unique_ptr<Plugin>> plugin =
      served_.registration.factory(served_.args, handle_);
  if (!plugin.ok()) return plugin.status();
  plugin_ = *std::move(plugin);
  evaluation_ = std::make_unique<ServedEvaluation>(*plugin_, nodes_);
  return absl::OkStatus();
}

absl::Status ServedSession::Handle(const v1::ToPlugin& message) {
  MutexLock lock(mutex_);
  switch (message.message_case()) {
    case v1::ToPlugin::kUpdate:
      return Apply(message.update());
    case v1::ToPlugin::kEvaluate:
      return Evaluate(message.evaluate());
    case v1::ToPlugin::kPostFilter:
      return PostFilter(message.post_filter());
    case v1::ToPlugin::kCall:
      return Call(message.call());
    default:
      return absl::InvalidArgumentError("a message of which nothing is known");
  }
}

void ServedSession::RunLater(std::function<void()> work) {
  pool_->Run([this, work = std::move(work)] {
    MutexLock lock(mutex_);
    work();
  });
}

absl::Status ServedSession::Apply(const v1::Update& update) {
  if (absl::Status status = nodes_.Apply(update); !status.ok()) return status;
  if (!update.full()) return absl::OkStatus();
  v1::FromPlugin message;
  message.mutable_synced()->set_revision(update.revision());
  send_(std::move(message));
  return absl::OkStatus();
}

absl::Status ServedSession::Evaluate(const v1::Evaluate& question) {
  const auto pod = PodInfo::Create(std::make_shared<const api::Pod>(question.pod()));
  if (!pod.ok()) return pod.status();
  v1::FromPlugin message;
  v1::Evaluation& answer = *message.mutable_evaluation();
  answer.set_id(question.id());
  answer.set_revision(question.revision());
  if (absl::Status status = evaluation_->Answer(question, **pod, answer); !status.ok()) {
    return status;
  }
  send_(std::move(message));
  return absl::OkStatus();
}

absl::Status ServedSession::PostFilter(const v1::PostFilter& question) {
  if (absl::Status status = CheckCodes(question.codes(), nodes_.node_count()); !status.ok()) {
    return status;
  }
  auto pod = PodInfo::Create(std::make_shared<const api::Pod>(question.pod()));
  if (!pod.ok()) return pod.status();
  const std::shared_ptr<PodState> current = NewState(*std::move(pod));
  v1::FromPlugin message;
  v1::PostFilterResult& answer = *message.mutable_post_filter();
  answer.set_id(question.id());
  auto* const plugin = As<PostFilterPlugin>();
  PostFilterResult result;
  const Status status = plugin == nullptr ? Status::Unschedulable("") : GuardedCall([&] {
    return plugin->PostFilter(current->state, *current->pod, SentStatuses(question.codes(), nodes_),
                              result);
  });
  WriteStatus(status, *answer.mutable_status());
  answer.set_nominated_node(result.nominated_node.value_or(""));
  for (const auto& victim : result.victims) answer.add_victim_uids(victim->uid());
  send_(std::move(message));
  return absl::OkStatus();
}

std::shared_ptr<ServedSession::PodState> ServedSession::NewState(
    std::shared_ptr<const PodInfo> pod) {
  auto state = std::make_shared<PodState>();
  state->pod = std::move(pod);
  if (auto* const plugin = As<PreFilterPlugin>()) {
    PreFilterResult result;
    GuardedCall(
        [&] { return plugin->PreFilter(state->state, *state->pod, nodes_.table(), result); });
  }
  return state;
}

absl::StatusOr<std::shared_ptr<ServedSession::PodState>> ServedSession::StateOf(
    const api::Pod& message) {
  auto pod = PodInfo::Create(std::make_shared<const api::Pod>(message));
  if (!pod.ok()) return pod.status();
  std::shared_ptr<PodState>& slot = pods_[(*pod)->uid()];
  if (slot != nullptr) return slot;
  if (const auto older = older_pods_.find((*pod)->uid()); older != older_pods_.end()) {
    slot = std::move(older->second);
    older_pods_.erase(older);
    return slot;
  }
  slot = NewState(*std::move(pod));
  std::shared_ptr<PodState> state = slot;
  if (pods_.size() >= kMostPods) older_pods_ = std::exchange(pods_, {});
  return state;
}

void ServedSession::Forget(const PodInfo& pod) {
  pods_.erase(pod.uid());
  older_pods_.erase(pod.uid());
}

absl::Status ServedSession::Call(const v1::PodCall& call) {
  absl::StatusOr<std::shared_ptr<PodState>> found = StateOf(call.pod());
  if (!found.ok()) return found.status();
  const std::shared_ptr<PodState>& pod = *found;
  const std::string& node = call.node();
  switch (call.point()) {
    case v1::CALL_RESERVE:
      Answer(call.id(), As<ReservePlugin>() == nullptr ? Status::Success() : GuardedCall([&] {
               return As<ReservePlugin>()->Reserve(pod->state, *pod->pod, node);
             }));
      return absl::OkStatus();
    case v1::CALL_UNRESERVE:
      if (auto* const plugin = As<ReservePlugin>()) {
        GuardedCall([&] {
          plugin->Unreserve(pod->state, *pod->pod, node);
          return Status::Success();
        });
      }
      Forget(*pod->pod);
      return absl::OkStatus();
    case v1::CALL_PERMIT:
      Permit(call.id(), *pod, node);
      return absl::OkStatus();
    case v1::CALL_POST_BIND:
      if (auto* const plugin = As<PostBindPlugin>()) {
        GuardedCall([&] {
          plugin->PostBind(pod->state, *pod->pod, node);
          return Status::Success();
        });
      }
      Forget(*pod->pod);
      return absl::OkStatus();
    case v1::CALL_PRE_BIND:
    case v1::CALL_BIND:  // they may block, several at once
      pool_->Run([this, pod, node, point = call.point(), id = call.id()] {
        Answer(id, GuardedCall([&] {
                 if (point == v1::CALL_PRE_BIND && As<PreBindPlugin>() != nullptr) {
                   return As<PreBindPlugin>()->PreBind(pod->state, *pod->pod, node);
                 }
                 if (point == v1::CALL_BIND && As<BindPlugin>() != nullptr) {
                   return As<BindPlugin>()->Bind(pod->state, *pod->pod, node);
                 }
                 return Status::Success();
               }));
      });
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError("a point of which nothing is known");
  }
}

void ServedSession::Permit(uint64_t id, PodState& pod, const std::string& node) {
  absl::Duration timeout;
  const Status status = As<PermitPlugin>() == nullptr ? Status::Success() : GuardedCall([&] {
    return As<PermitPlugin>()->Permit(pod.state, *pod.pod, node, timeout);
  });
  if (status.IsWait()) handle_.NoteWaiting(pod.pod, node, plugin_->Name(), timeout);
  Answer(id, status, timeout);
}

void ServedSession::Answer(uint64_t id, const Status& status, absl::Duration wait) {
  v1::FromPlugin message;
  message.mutable_call()->set_id(id);
  WriteStatus(status, *message.mutable_call()->mutable_status());
  message.mutable_call()->set_wait_milliseconds(absl::ToInt64Milliseconds(wait));
  send_(std::move(message));
}

}  // namespace berth
