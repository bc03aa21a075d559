// SPDX-License-Identifier: Apache-2.0
// The gRPC service of cluster_server.h.
#include "berth/cluster_server.h"

#include <grpcpp/grpcpp.h>

#include <limits>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "berth/clock.h"
#include "berth/mutex.h"
#include "berth/v1/cluster.grpc.pb.h"
#include "remote/wire/address.h"
#include "remote/wire/connection.h"
#include "serve/cluster_set.h"
#include "serve/questions.h"
#include "serve/rate_limit.h"
#include "serve/schedule_stream.h"

namespace berth {
namespace {

// Streams take no thread; questions do, and so do health and reflection.
constexpr int kThreadsBesideQuestions = 16;

absl::Status CheckOptions(const ClusterServerOptions& options) {
  if (options.registry == nullptr) return absl::InvalidArgumentError("registry is null");
  if (options.max_message_bytes < 1024 ||
      options.max_message_bytes > size_t{std::numeric_limits<int>::max()}) {
    return absl::InvalidArgumentError("the largest message must have 1 KiB to 2 GiB");
  }
  if (options.max_clusters < 1 || options.max_objects < 1 || options.max_events < 1 ||
      options.max_questions < 1) {
    return absl::InvalidArgumentError("a limit of 0 lets nothing through");
  }
  if (!(options.changes_per_second >= 0) || !(options.questions_per_second >= 0)) {
    return absl::InvalidArgumentError("a rate is negative");
  }
  if (options.binding_threads < 0) return absl::InvalidArgumentError("binding_threads is negative");
  if (options.idle_timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("the idle timeout must be positive");
  }
  return absl::OkStatus();
}

class Service final : public v1::Clusters::WithRawCallbackMethod_Schedule<v1::Clusters::Service> {
 public:
  explicit Service(const ClusterServerOptions& options)
      : options_(options), clusters_(options), rate_(options.questions_per_second, clock_.Now()) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Schedule(
      grpc::CallbackServerContext*) override {
    return ScheduleStream::Start(clusters_);
  }

  grpc::Status Explain(grpc::ServerContext*, const v1::ExplainRequest* request,
                       v1::Explanation* answer) override {
    return Ask(request->world().cluster(), answer, [&](std::vector<Object> objects) {
      return berth::Explain(options_, std::move(objects), *request);
    });
  }
  grpc::Status WhatIf(grpc::ServerContext*, const v1::WhatIfRequest* request,
                      v1::WhatIfAnswer* answer) override {
    return Ask(request->world().cluster(), answer, [&](std::vector<Object> objects) {
      return berth::WhatIf(options_, std::move(objects), *request);
    });
  }
  grpc::Status Validate(grpc::ServerContext*, const v1::ValidateRequest* request,
                        v1::ValidateAnswer* answer) override {
    return Ask("", answer,
               [&](const std::vector<Object>&) { return berth::Validate(options_, *request); });
  }

  void End() { clusters_.End(absl::UnavailableError("the server ends")); }

 private:
  template <class Answer, class Question>
  grpc::Status Ask(const std::string& cluster, Answer* answer, const Question& question) {
    if (absl::Status begun = Begin(); !begun.ok()) return ToGrpc(begun);
    grpc::Status status = AskOfCluster(cluster, answer, question);
    MutexLock lock(mutex_);
    --under_way_;
    return status;
  }

  template <class Answer, class Question>
  grpc::Status AskOfCluster(const std::string& cluster, Answer* answer, const Question& question) {
    std::vector<Object> objects;
    if (!cluster.empty()) {
      const std::shared_ptr<HostedCluster> found = clusters_.Find(cluster);
      if (found == nullptr) {
        return {grpc::StatusCode::NOT_FOUND, absl::StrCat("there is no cluster ", cluster)};
      }
      objects = found->Objects();
    }
    auto answered = question(std::move(objects));
    if (!answered.ok()) return ToGrpc(answered.status());
    *answer = *std::move(answered);
    return grpc::Status::OK;
  }

  absl::Status Begin() {
    MutexLock lock(mutex_);
    if (under_way_ >= options_.max_questions) {
      return absl::ResourceExhaustedError(
          absl::StrCat("as many questions as this server answers at once, ", under_way_,
                       ", are under way; try again later"));
    }
    if (!rate_.TryTake(clock_.Now())) {
      return absl::ResourceExhaustedError("more questions a second than this server answers");
    }
    ++under_way_;
    return absl::OkStatus();
  }

  const ClusterServerOptions& options_;
  const RealClock clock_;
  ClusterSet clusters_;
  Mutex mutex_;
  int under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  RateLimit rate_ ABSL_GUARDED_BY(mutex_);
};

class Server final : public ClusterServer {
 public:
  explicit Server(ClusterServerOptions options)
      : options_(std::move(options)), service_(options_) {}
  ~Server() override {
    service_.End();
    server_ = nullptr;  // before the service
  }

  absl::Status Listen(const WireAddress& address) {
    absl::StatusOr<std::unique_ptr<WireServer>> server = WireServer::Start(
        address, {options_.client_ca_file, options_.cert_file, options_.key_file, ""}, {&service_},
        {.message_bytes = static_cast<int>(options_.max_message_bytes),
         .threads = options_.max_questions + kThreadsBesideQuestions});
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    return absl::OkStatus();
  }

  std::string address() const override { return server_->address().ToString(); }
  void Shutdown(absl::Duration grace) override {
    service_.End();
    server_->Shutdown(grace);
  }
  void Wait() override { server_->Wait(); }

 private:
  const ClusterServerOptions options_;
  Service service_;
  std::unique_ptr<WireServer> server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ClusterServer>> ClusterServer::Start(ClusterServerOptions options) {
  if (absl::Status checked = CheckOptions(options); !checked.ok()) return checked;
  const absl::StatusOr<WireAddress> address = WireAddress::Parse(options.address);
  if (!address.ok()) return address.status();
  auto server = std::make_unique<Server>(std::move(options));
  if (absl::Status listening = server->Listen(*address); !listening.ok()) return listening;
  return server;
}

}  // namespace berth
