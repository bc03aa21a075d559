// SPDX-License-Identifier: Apache-2.0
// Implementation of PluginServer: serves a plugin that is written against Berth's headers, over
// gRPC.
#include <utility>

#include "berth/framework/bind.h"
#include "berth/framework/filter.h"
#include "berth/framework/permit.h"
#include "berth/framework/postfilter.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/reserve.h"
#include "berth/framework/score.h"
#include "berth/mutex.h"
#include "berth/remote_plugins.h"
#include "berth/v1/plugin.grpc.pb.h"
#include "remote/plugin/description.h"
#include "remote/plugin/served_handle.h"
#include "remote/plugin/served_session.h"
#include "remote/wire/connection.h"

namespace berth {
namespace {

template <class P>
void AddIf(Plugin& plugin, v1::Point point, v1::Description& description) {
  if (dynamic_cast<P*>(&plugin) != nullptr) description.add_points(point);
}

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
      AddIf<PostFilterPlugin>(plugin, v1::POST_FILTER, description_);
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
