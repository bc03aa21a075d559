// SPDX-License-Identifier: Apache-2.0
// Implementation of PluginServer: serves a plugin that is written against Berth's headers.
#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/api/core_v1.pb.h"
#include "berth/columns/node_verdicts.h"
#include "berth/executor.h"
#include "berth/framework/bind.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/filter.h"
#include "berth/framework/postfilter.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/reserve.h"
#include "berth/framework/score.h"
#include "berth/mutex.h"
#include "berth/remote_plugins.h"
#include "berth/v1/plugin.grpc.pb.h"
#include "remote/plugin/description.h"
#include "remote/plugin/served_handle.h"
#include "remote/wire/connection.h"

namespace berth {
namespace {

constexpr int kBindingThreads = 64;

void SetStatus(const Status& status, v1::Status& message) {
  message.set_code(static_cast<v1::Code>(status.code()));
  for (const std::string& reason : status.reasons()) message.add_reasons(reason);
}

void SetStatus(const absl::Status& status, v1::Status& message) {
  if (!status.ok()) SetStatus(Status::Error(status), message);
}

void SetBit(std::string& bits, uint32_t index) {
  bits[index / 8] = static_cast<char>(static_cast<uint8_t>(bits[index / 8]) | 1u << (index % 8));
}

template <class P>
void AddIf(Plugin& plugin, v1::Point point, v1::Description& description) {
  if (dynamic_cast<P*>(&plugin) != nullptr) description.add_points(point);
}

// One scheduler's profile: a plugin instance, the nodes, and the pods that are under way.
class ServedSession {
 public:
  ServedSession(const ServedPlugin& served, const v1::Start& start,
                std::function<void(v1::FromPlugin)> send)
      : served_(served),
        send_(std::move(send)),
        handle_({.profile = start.profile(),
                 .nodes = &nodes_.table(),
                 .send = send_,
                 .run_later = [this](std::function<void()> work) { RunLater(std::move(work)); }}),
        pool_(MakeGrowingThreadPool(kBindingThreads)) {}

  absl::Status Begin() {
    absl::StatusOr<std::unique_ptr<Plugin>> plugin =
        served_.registration.factory(served_.args, handle_);
    if (!plugin.ok()) return plugin.status();
    plugin_ = *std::move(plugin);
    return absl::OkStatus();
  }

  absl::Status Handle(const v1::ToPlugin& message) {
    MutexLock lock(mutex_);
    switch (message.message_case()) {
      case v1::ToPlugin::kUpdate:
        return Apply(message.update());
      case v1::ToPlugin::kEvaluate:
        return Evaluate(message.evaluate());
      case v1::ToPlugin::kPostFilter:
        return NoPostFilter(message.post_filter());
      case v1::ToPlugin::kCall:
        return Call(message.call());
      default:
        return absl::InvalidArgumentError("a message of which nothing is known");
    }
  }

 private:
  // A pod that has been evaluated, until it is bound or given back.
  struct PodState {
    std::shared_ptr<const PodInfo> pod;
    CycleState state;
  };

  template <class P>
  P* As() const {
    return dynamic_cast<P*>(plugin_.get());
  }

  void RunLater(std::function<void()> work) {
    pool_->Run([this, work = std::move(work)] {
      MutexLock lock(mutex_);
      work();
    });
  }

  absl::Status Apply(const v1::Update& update) {
    if (absl::Status status = nodes_.Apply(update); !status.ok()) return status;
    if (!update.full()) return absl::OkStatus();
    v1::FromPlugin message;
    message.mutable_synced()->set_revision(update.revision());
    send_(std::move(message));
    return absl::OkStatus();
  }

  absl::Status Evaluate(const v1::Evaluate& question) {
    auto pod = PodInfo::Create(std::make_shared<const api::Pod>(question.pod()));
    if (!pod.ok()) return pod.status();
    v1::FromPlugin message;
    v1::Evaluation& answer = *message.mutable_evaluation();
    answer.set_id(question.id());
    answer.set_revision(question.revision());
    PodState current{*std::move(pod), CycleState()};
    if (question.has_hypothetical()) {
      if (absl::Status status = EvaluateOne(question.hypothetical(), current, answer);
          !status.ok()) {
        return status;
      }
    } else {
      EvaluateAll(question, current, answer);
    }
    send_(std::move(message));
    return absl::OkStatus();
  }

  // Whether Filter and Score are to follow.
  bool PreFilter(PodState& current, v1::Evaluation& answer, bool& skips_filter) {
    auto* const plugin = As<PreFilterPlugin>();
    if (plugin == nullptr) return true;
    PreFilterResult result;
    const Status status = plugin->PreFilter(current.state, *current.pod, nodes_.table(), result);
    if (status.IsError()) {
      SetStatus(status, *answer.mutable_status());
      return false;
    }
    SetStatus(status, *answer.mutable_pre_filter());
    skips_filter = status.IsSkip();
    if (result.node_names.has_value()) {
      std::string& eligible = *answer.mutable_eligible();
      eligible.assign((nodes_.node_count() + 7) / 8, 0);
      for (NodeRow row = 0; row < nodes_.table().size(); ++row) {
        if (result.node_names->contains(nodes_.table().node(row).name())) {
          SetBit(eligible, nodes_.index(row));
        }
      }
    }
    return !status.IsRejected();
  }

  void EvaluateAll(const v1::Evaluate& question, PodState& current, v1::Evaluation& answer) {
    bool skips_filter = false;
    if (!PreFilter(current, answer, skips_filter)) return;
    const NodeTable& table = nodes_.table();
    std::vector<NodeRow> rows(table.size());
    for (NodeRow row = 0; row < table.size(); ++row) rows[row] = row;
    if (As<FilterPlugin>() != nullptr && !skips_filter && !Filter(current, rows, answer)) return;
    const auto& points = question.points();
    if (As<ScorePlugin>() != nullptr &&
        std::find(points.begin(), points.end(), v1::SCORE) != points.end()) {
      Score(current, rows, answer);
    }
  }

  bool Filter(PodState& current, const std::vector<NodeRow>& rows, v1::Evaluation& answer) {
    const NodeTable& table = nodes_.table();
    auto& filter = *As<FilterPlugin>();
    verdicts_.Reset(table.size());
    verdicts_.BeginBlock(rows);
    const Status status = filter.FilterNodes(current.state, *current.pod, table, verdicts_);
    if (!status.ok()) {
      SetStatus(status, *answer.mutable_status());
      return false;
    }
    std::vector<std::pair<uint32_t, uint8_t>> rejected;        // index and position in reasons
    std::map<std::pair<Code, uint8_t>, uint8_t> of_reason_id;  // what rows share
    std::map<std::pair<Code, std::string>, uint8_t> of_text;
    for (const NodeRow row : rows) {
      const Code code = verdicts_.code(row);
      if (code == Code::kSuccess) continue;
      const uint8_t id = verdicts_.reason_id(row);
      const auto shared = of_reason_id.find({code, id});
      if (id != NodeVerdicts::kNoReasonId && shared != of_reason_id.end()) {
        rejected.emplace_back(nodes_.index(row), shared->second);
        continue;
      }
      const Status said = filter.Filter(current.state, *current.pod, table.node(row));
      const auto [text, is_new] = of_text.emplace(std::pair(said.code(), said.message()),
                                                  static_cast<uint8_t>(of_text.size()));
      if (is_new && of_text.size() > 250) {  // the last one stands for all others
        of_text.erase(text);
        rejected.emplace_back(nodes_.index(row), uint8_t{249});
        continue;
      }
      if (is_new) SetStatus(said, *answer.add_reasons());
      if (id != NodeVerdicts::kNoReasonId) of_reason_id[{code, id}] = text->second;
      rejected.emplace_back(nodes_.index(row), text->second);
    }
    verdicts_.EndPlugin(0);
    if (rejected.empty()) return true;
    std::sort(rejected.begin(), rejected.end());
    answer.mutable_rejected()->assign((nodes_.node_count() + 7) / 8, 0);
    for (const auto& [index, reason] : rejected) {
      SetBit(*answer.mutable_rejected(), index);
      if (answer.reasons_size() > 1) {
        answer.mutable_reason_ids()->push_back(static_cast<char>(reason));
      }
    }
    return true;
  }

  void Score(PodState& current, const std::vector<NodeRow>& rows, v1::Evaluation& answer) {
    const NodeTable& table = nodes_.table();
    if (auto* const pre_score = As<PreScorePlugin>()) {
      const Status status = pre_score->PreScore(current.state, *current.pod, table, rows);
      if (status.IsSkip()) return;
      if (!status.ok()) return SetStatus(status, *answer.mutable_status());
    }
    std::vector<int64_t> scores(rows.size());
    const absl::Status status = As<ScorePlugin>()->ScoreNodes(current.state, *current.pod, table,
                                                              rows, absl::MakeSpan(scores));
    if (!status.ok()) return SetStatus(status, *answer.mutable_status());
    uint32_t width = 0;
    for (const int64_t score : scores) {
      if (score != 0) width = std::max(width, 1u);
      if (score != static_cast<int8_t>(score)) width = 8;
    }
    if (width == 0) return;
    answer.set_score_width(width);
    std::string& bytes = *answer.mutable_scores();
    bytes.assign(size_t{nodes_.node_count()} * width, 0);
    for (size_t i = 0; i < rows.size(); ++i) {
      const size_t at = size_t{nodes_.index(rows[i])} * width;
      for (uint32_t byte = 0; byte < width; ++byte) {
        bytes[at + byte] = static_cast<char>(static_cast<uint64_t>(scores[i]) >> (8 * byte));
      }
    }
  }

  absl::Status EvaluateOne(const v1::HypotheticalNode& hypothetical, PodState& current,
                           v1::Evaluation& answer) {
    const NodeInfo* const known = nodes_.node(hypothetical.index());
    if (known == nullptr) return absl::InvalidArgumentError("there is no such node");
    bool skips_filter = false;
    if (!PreFilter(current, answer, skips_filter)) return absl::OkStatus();
    answer.clear_eligible();
    NodeInfo node = *known;
    auto* const extensions = As<PreFilterExtensions>();
    for (const std::string& uid : hypothetical.pods_removed()) {
      const auto pods = node.pods();
      const auto found = std::find_if(pods.begin(), pods.end(),
                                      [&](const auto& pod) { return pod->uid() == uid; });
      if (found == pods.end()) continue;
      const std::shared_ptr<const PodInfo> removed = *found;
      node.RemovePod(uid);
      if (extensions == nullptr || skips_filter) continue;
      const Status status = extensions->RemovePod(current.state, *current.pod, *removed, node);
      if (!status.ok()) SetStatus(status, *answer.mutable_status());
    }
    for (const api::Pod& message : hypothetical.pods_added()) {
      auto added = PodInfo::Create(std::make_shared<const api::Pod>(message));
      if (!added.ok()) return added.status();
      node.AddPod(*added);
      if (extensions == nullptr || skips_filter) continue;
      const Status status = extensions->AddPod(current.state, *current.pod, **added, node);
      if (!status.ok()) SetStatus(status, *answer.mutable_status());
    }
    if (As<FilterPlugin>() == nullptr || skips_filter) return absl::OkStatus();
    const Status status = As<FilterPlugin>()->Filter(current.state, *current.pod, node);
    if (status.IsError()) SetStatus(status, *answer.mutable_status());
    if (status.IsRejected()) {
      answer.mutable_rejected()->assign(1, 1);
      SetStatus(status, *answer.add_reasons());
    }
    return absl::OkStatus();
  }

  absl::Status NoPostFilter(const v1::PostFilter& question) {
    v1::FromPlugin message;
    message.mutable_post_filter()->set_id(question.id());
    message.mutable_post_filter()->mutable_status()->set_code(v1::UNSCHEDULABLE);
    send_(std::move(message));
    return absl::OkStatus();
  }

  // The pod with what its PreFilter wrote, which the points after it may read.
  absl::StatusOr<std::shared_ptr<PodState>> StateOf(const api::Pod& message) {
    auto pod = PodInfo::Create(std::make_shared<const api::Pod>(message));
    if (!pod.ok()) return pod.status();
    std::shared_ptr<PodState>& slot = pods_[(*pod)->uid()];
    if (slot == nullptr) {
      slot = std::make_shared<PodState>();
      slot->pod = *std::move(pod);
      if (auto* const plugin = As<PreFilterPlugin>()) {
        PreFilterResult result;
        plugin->PreFilter(slot->state, *slot->pod, nodes_.table(), result);
      }
    }
    return slot;
  }

  absl::Status Call(const v1::PodCall& call) {
    absl::StatusOr<std::shared_ptr<PodState>> found = StateOf(call.pod());
    if (!found.ok()) return found.status();
    const std::shared_ptr<PodState> pod = *found;
    const std::string node = call.node();
    switch (call.point()) {
      case v1::CALL_RESERVE:
        Answer(call.id(), As<ReservePlugin>() == nullptr
                              ? Status::Success()
                              : As<ReservePlugin>()->Reserve(pod->state, *pod->pod, node));
        return absl::OkStatus();
      case v1::CALL_UNRESERVE:
        if (auto* const plugin = As<ReservePlugin>()) {
          plugin->Unreserve(pod->state, *pod->pod, node);
        }
        pods_.erase(pod->pod->uid());
        return absl::OkStatus();
      case v1::CALL_PERMIT:
        Permit(call.id(), *pod, node);
        return absl::OkStatus();
      case v1::CALL_POST_BIND:
        if (auto* const plugin = As<PostBindPlugin>()) {
          plugin->PostBind(pod->state, *pod->pod, node);
        }
        pods_.erase(pod->pod->uid());
        return absl::OkStatus();
      case v1::CALL_PRE_BIND:
      case v1::CALL_BIND:  // they may block, several at once
        pool_->Run([this, pod, node, point = call.point(), id = call.id()] {
          Status status;
          if (point == v1::CALL_PRE_BIND && As<PreBindPlugin>() != nullptr) {
            status = As<PreBindPlugin>()->PreBind(pod->state, *pod->pod, node);
          } else if (point == v1::CALL_BIND && As<BindPlugin>() != nullptr) {
            status = As<BindPlugin>()->Bind(pod->state, *pod->pod, node);
          }
          Answer(id, status);
        });
        return absl::OkStatus();
      default:
        return absl::InvalidArgumentError("a point of which nothing is known");
    }
  }

  void Permit(uint64_t id, PodState& pod, const std::string& node) {
    absl::Duration timeout;
    const Status status = As<PermitPlugin>() == nullptr
                              ? Status::Success()
                              : As<PermitPlugin>()->Permit(pod.state, *pod.pod, node, timeout);
    if (status.IsWait()) handle_.NoteWaiting(pod.pod, node, plugin_->Name());
    Answer(id, status, timeout);
  }

  void Answer(uint64_t id, const Status& status, absl::Duration wait = absl::ZeroDuration()) {
    v1::FromPlugin message;
    message.mutable_call()->set_id(id);
    SetStatus(status, *message.mutable_call()->mutable_status());
    message.mutable_call()->set_wait_milliseconds(absl::ToInt64Milliseconds(wait));
    send_(std::move(message));
  }

  const ServedPlugin& served_;
  const std::function<void(v1::FromPlugin)> send_;
  ServedNodes nodes_;
  ServedHandle handle_;
  std::unique_ptr<Plugin> plugin_;
  NodeVerdicts verdicts_;
  std::map<std::string, std::shared_ptr<PodState>> pods_;
  Mutex mutex_;
  std::unique_ptr<Executor> pool_;  // last: its work uses the rest
};

class Service final : public v1::Plugin::Service {
 public:
  explicit Service(ServedPlugin served) : served_(std::move(served)) {}

  absl::Status Prepare() {
    ServedNodes nodes;
    ServedHandle handle({.nodes = &nodes.table(),
                         .send = [](const v1::FromPlugin&) {},
                         .run_later = [](const std::function<void()>&) {}});
    absl::StatusOr<std::unique_ptr<berth::Plugin>> plugin =
        served_.registration.factory(served_.args, handle);
    if (!plugin.ok()) return plugin.status();
    Describe(**plugin);
    const absl::StatusOr<RemoteDescription> read = ReadDescription(description_);
    return read.status();
  }

  grpc::Status Describe(grpc::ServerContext*, const v1::DescribeRequest*,
                        v1::Description* description) override {
    *description = description_;
    return grpc::Status::OK;
  }

  grpc::Status Session(grpc::ServerContext*,
                       grpc::ServerReaderWriter<v1::FromPlugin, v1::ToPlugin>* stream) override {
    v1::ToPlugin message;
    if (!stream->Read(&message) || !message.has_start()) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "the first message must be Start"};
    }
    if (message.start().protocol_version() != v1::PROTOCOL_VERSION_1) {
      return {grpc::StatusCode::FAILED_PRECONDITION, "this plugin speaks version 1"};
    }
    Mutex write_mutex;
    ServedSession session(served_, message.start(), [&](const v1::FromPlugin& answer) {
      MutexLock lock(write_mutex);
      stream->Write(answer);
    });
    v1::FromPlugin started;
    const absl::Status begun = session.Begin();
    if (!begun.ok()) started.mutable_started()->set_error(std::string(begun.message()));
    started.mutable_started();
    {
      MutexLock lock(write_mutex);
      stream->Write(started);
    }
    while (begun.ok() && stream->Read(&message)) {
      if (const absl::Status status = session.Handle(message); !status.ok()) {
        return {grpc::StatusCode::INVALID_ARGUMENT, std::string(status.message())};
      }
    }
    return grpc::Status::OK;
  }

 private:
  void Describe(berth::Plugin& plugin) {
    description_.set_name(served_.registration.name);
    description_.set_version(served_.version);
    description_.set_protocol_version(v1::PROTOCOL_VERSION_1);
    if (served_.points.empty()) {
      AddIf<PreFilterPlugin>(plugin, v1::PRE_FILTER, description_);
      AddIf<FilterPlugin>(plugin, v1::FILTER, description_);
      AddIf<ScorePlugin>(plugin, v1::SCORE, description_);
      AddIf<ReservePlugin>(plugin, v1::RESERVE, description_);
      AddIf<PermitPlugin>(plugin, v1::PERMIT, description_);
      AddIf<PreBindPlugin>(plugin, v1::PRE_BIND, description_);
      AddIf<BindPlugin>(plugin, v1::BIND, description_);
      AddIf<PostBindPlugin>(plugin, v1::POST_BIND, description_);
    }
    for (const ExtensionPoint point : served_.points) description_.add_points(ToWire(point));
    if (served_.is_signed) {
      description_.mutable_signature();
      for (const std::string& field : served_.signature) {
        description_.mutable_signature()->add_pod_fields(field);
      }
    }
    for (const std::string& aspect : served_.depends_on) {
      description_.add_depends_on(aspect);
      if (aspect == "NodeRequested") description_.add_depends_on("NodePods");
    }
    if (served_.normalization.has_value()) {
      description_.set_normalization(*served_.normalization == ScoreDirection::kHigherIsBetter
                                         ? v1::HIGHER_IS_BETTER
                                         : v1::LOWER_IS_BETTER);
    }
  }

  const ServedPlugin served_;
  v1::Description description_;
};

class Server final : public PluginServer {
 public:
  Server(std::unique_ptr<Service> service, std::unique_ptr<WireServer> server)
      : service_(std::move(service)), server_(std::move(server)) {}

  std::string address() const override { return server_->address().ToString(); }
  void Wait() override { server_->Wait(); }

 private:
  std::unique_ptr<Service> service_;
  std::unique_ptr<WireServer> server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PluginServer>> PluginServer::Start(
    ServedPlugin plugin, const PluginServerOptions& options) {
  const absl::StatusOr<WireAddress> address = WireAddress::Parse(options.address);
  if (!address.ok()) return address.status();
  if (plugin.args.table() == nullptr) {
    plugin.args = PluginArgs::Defaults(plugin.registration.args);
  }
  auto service = std::make_unique<Service>(std::move(plugin));
  if (absl::Status status = service->Prepare(); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<WireServer>> server = WireServer::Start(
      *address, {options.ca_file, options.cert_file, options.key_file, ""}, {service.get()});
  if (!server.ok()) return server.status();
  return std::make_unique<Server>(std::move(service), *std::move(server));
}

}  // namespace berth
