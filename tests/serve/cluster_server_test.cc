// SPDX-License-Identifier: Apache-2.0
// `berth serve` over sockets, with clients that behave and clients that do not.
#include "berth/cluster_server.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "berth/v1/cluster.grpc.pb.h"
#include "serve_stage.h"
#include "tests/kubernetes/test_certificates.h"

namespace berth {
namespace {

using testing::Changes;
using testing::Gone;
using ::testing::HasSubstr;
using testing::Hello;
using testing::Json;
using testing::NodeJson;
using testing::PodJson;

std::string FreshPath() {
  static std::atomic<int> number = 0;
  return absl::StrCat("/tmp/berth-serve-", getpid(), "-", ++number, ".sock");
}

class ClusterServerTest : public ::testing::Test {
 protected:
  void Start(ClusterServerOptions options = testing::ServeOptions()) {
    path_ = FreshPath();
    options.address = absl::StrCat("unix:", path_);
    auto server = ClusterServer::Start(std::move(options));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
    stub_ = v1::Clusters::NewStub(channel_);
  }
  void TearDown() override {
    server_ = nullptr;
    unlink(path_.c_str());
  }

  std::string path_;
  std::unique_ptr<ClusterServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Clusters::Stub> stub_;
};

// A stream, with what came over it.
struct Stream {
  explicit Stream(v1::Clusters::Stub& stub) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    stream = stub.Schedule(&context);
  }
  v1::Welcome Greet(const v1::Hello& hello) {
    v1::ToScheduler message;
    *message.mutable_hello() = hello;
    stream->Write(message);
    v1::FromScheduler answer;
    stream->Read(&answer);
    return answer.welcome();
  }
  void Send(const v1::Changes& changes) {
    v1::ToScheduler message;
    *message.mutable_changes() = changes;
    stream->Write(message);
  }
  // False: the stream has ended.
  bool ReadOne() {
    v1::FromScheduler message;
    if (!stream->Read(&message)) return false;
    if (message.has_applied()) applied = message.applied().sequence();
    for (const v1::SchedulerEvent& event : message.events().events()) {
      EXPECT_TRUE(revision == 0 || event.revision() == revision + 1);
      revision = event.revision();
      if (event.has_placement()) {
        placements[event.placement().pod().name()] = event.placement().node();
      }
    }
    return true;
  }
  grpc::Status Finish() {
    v1::FromScheduler message;
    while (stream->Read(&message)) {
    }
    return stream->Finish();
  }

  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ToScheduler, v1::FromScheduler>> stream;
  std::map<std::string, std::string> placements;
  uint64_t revision = 0, applied = 0;
};

TEST_F(ClusterServerTest, SchedulesAndIsForThisUserAlone) {
  Start();
  struct stat socket = {};
  ASSERT_EQ(stat(path_.c_str(), &socket), 0);
  EXPECT_EQ(socket.st_mode & 0777, 0600u);
  Stream stream(*stub_);
  EXPECT_FALSE(stream.Greet(Hello("a")).incarnation().empty());
  stream.Send(Changes(1, {Json(NodeJson("n1", 4)), Json(PodJson("p", 1))}, true));
  while (!stream.placements.contains("p")) ASSERT_TRUE(stream.ReadOne());
  // The cluster can be asked about.
  grpc::ClientContext context;
  v1::WhatIfRequest request;
  request.mutable_world()->set_cluster("a");
  request.add_pods()->set_json(PodJson("more", 4));
  v1::WhatIfAnswer answer;
  ASSERT_TRUE(stub_->WhatIf(&context, request, &answer).ok());
  EXPECT_FALSE(answer.fits());
  grpc::ClientContext other;
  request.mutable_world()->set_cluster("b");
  EXPECT_EQ(stub_->WhatIf(&other, request, &answer).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(ClusterServerTest, ASocketOfAnotherServerStays) {
  Start();
  ClusterServerOptions options = testing::ServeOptions();
  options.address = server_->address();
  const auto second = ClusterServer::Start(options);
  EXPECT_THAT(second.status().message(), HasSubstr("another process listens on " + path_));
  Stream stream(*stub_);
  EXPECT_FALSE(stream.Greet(Hello("a")).incarnation().empty());

  const std::string file = FreshPath();
  ASSERT_TRUE(std::ofstream(file) << "mine");
  options.address = "unix:" + file;
  EXPECT_THAT(ClusterServer::Start(options).status().message(), HasSubstr("is no socket"));
  std::string kept;
  std::ifstream(file) >> kept;
  EXPECT_EQ(kept, "mine");
  unlink(file.c_str());
}

TEST_F(ClusterServerTest, ClustersAreApart) {
  Start();
  Stream a(*stub_), b(*stub_);
  a.Greet(Hello("a"));
  b.Greet(Hello("b"));
  a.Send(Changes(1, {Json(NodeJson("of-a", 4)), Json(PodJson("p", 1))}, true));
  b.Send(Changes(1, {Json(NodeJson("of-b", 4)), Json(PodJson("p", 1))}, true));
  while (a.placements.empty()) ASSERT_TRUE(a.ReadOne());
  while (b.placements.empty()) ASSERT_TRUE(b.ReadOne());
  EXPECT_EQ(a.placements["p"], "of-a");
  EXPECT_EQ(b.placements["p"], "of-b");
}

TEST_F(ClusterServerTest, ABrokenStreamGoesOn) {
  Start();
  v1::Position position;
  {
    Stream stream(*stub_);
    position.set_incarnation(stream.Greet(Hello("a")).incarnation());
    stream.Send(Changes(1, {Json(NodeJson("n1", 4)), Json(PodJson("p", 1))}, true));
    while (stream.placements.empty()) ASSERT_TRUE(stream.ReadOne());
    position.set_revision(stream.revision);
    stream.context.TryCancel();
    EXPECT_FALSE(stream.Finish().ok());
  }
  v1::Hello hello = Hello("a");
  hello.set_take_over(true);  // the server may not have noticed yet
  *hello.mutable_resume() = position;
  Stream stream(*stub_);
  const v1::Welcome welcome = stream.Greet(hello);
  EXPECT_TRUE(welcome.resumed()) << welcome.why_not();
  EXPECT_EQ(welcome.applied(), 1u);
  stream.Send(Changes(2, {Json(PodJson("q", 3))}));
  while (stream.placements.empty()) ASSERT_TRUE(stream.ReadOne());
  EXPECT_EQ(stream.placements["q"], "n1");
}

TEST_F(ClusterServerTest, TwoClientsOfOneCluster) {
  Start();
  Stream first(*stub_), second(*stub_), third(*stub_);
  first.Greet(Hello("a"));
  second.Greet(Hello("a"));
  EXPECT_EQ(second.Finish().error_code(), grpc::StatusCode::ALREADY_EXISTS);
  v1::Hello hello = Hello("a");
  hello.set_take_over(true);
  EXPECT_FALSE(third.Greet(hello).incarnation().empty());
  EXPECT_EQ(first.Finish().error_code(), grpc::StatusCode::ABORTED);
}

TEST_F(ClusterServerTest, WhatMakesNoSenseEndsItsStreamAlone) {
  ClusterServerOptions options = testing::ServeOptions();
  options.max_message_bytes = 4096;
  Start(std::move(options));
  Stream good(*stub_);
  good.Greet(Hello("good"));
  {  // no Hello
    Stream stream(*stub_);
    stream.Send(Changes(1, {}));
    EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  {  // nothing at all
    Stream stream(*stub_);
    stream.stream->Write(v1::ToScheduler());
    EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  for (int i = 0; i < 70; ++i) {  // another version, which takes up no room among 64 clusters
    Stream stream(*stub_);
    v1::Hello hello = Hello(absl::StrCat("v", i));
    hello.set_protocol_version(2);
    stream.Greet(hello);
    const grpc::Status status = stream.Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(status.error_message(), HasSubstr("2"));
  }
  {  // Hello twice, sequences that do not grow, a revision that was never told
    for (int what = 0; what < 3; ++what) {
      Stream stream(*stub_);
      stream.Greet(Hello(absl::StrCat("x", what)));
      v1::ToScheduler message;
      if (what == 0) *message.mutable_hello() = Hello("a");
      if (what == 1) message.mutable_changes()->set_sequence(0);
      if (what == 2) message.mutable_acknowledge()->set_revision(99);
      stream.stream->Write(message);
      EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT) << what;
    }
  }
  {  // too large
    Stream stream(*stub_);
    stream.Greet(Hello("large"));
    stream.Send(Changes(1, {Json(std::string(10'000, ' '))}));
    EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  {  // bytes that are no message
    grpc::GenericStub generic(channel_);
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    void* tag = nullptr;
    bool ok = false;
    auto call = generic.PrepareCall(&context, "/berth.v1.Clusters/Schedule", &queue);
    call->StartCall(&queue);
    queue.Next(&tag, &ok);
    const grpc::Slice slice("\xff\xff\xff\xff");
    call->Write(grpc::ByteBuffer(&slice, 1), &queue);
    queue.Next(&tag, &ok);
    grpc::Status status;
    call->Finish(&status, &queue);
    queue.Next(&tag, &ok);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  {  // not even HTTP/2
    const int raw = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(connect(raw, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    const std::string garbage(1000, '\x7f');
    EXPECT_GT(send(raw, garbage.data(), garbage.size(), MSG_NOSIGNAL), 0);
    close(raw);
  }
  good.Send(Changes(1, {Json(NodeJson("n1", 4)), Json(PodJson("p", 1))}, true));
  while (good.placements.empty()) ASSERT_TRUE(good.ReadOne());
}

TEST_F(ClusterServerTest, ASlowReaderLosesNothingAndHoldsNobodyUp) {
  ClusterServerOptions options = testing::ServeOptions();
  options.max_events = 64;
  Start(std::move(options));
  constexpr int kPods = 20'000;
  Stream slow(*stub_), quick(*stub_);
  slow.Greet(Hello("slow"));
  quick.Greet(Hello("quick"));
  std::thread writer([&] {  // blocks when the server takes no more
    slow.Send(Changes(1, {Json(NodeJson("n1", 100'000))}, true));
    for (int i = 0; i < kPods; i += 100) {
      std::vector<v1::Change> pods;
      for (int j = i; j < i + 100; ++j) pods.push_back(Json(PodJson(absl::StrCat("p", j), 1)));
      slow.Send(Changes(2 + static_cast<uint64_t>(i), std::move(pods)));
    }
  });
  quick.Send(Changes(1, {Json(NodeJson("n1", 4)), Json(PodJson("p", 1))}, true));
  while (quick.placements.empty()) ASSERT_TRUE(quick.ReadOne());
  absl::SleepFor(absl::Milliseconds(300));
  while (slow.placements.size() < kPods) ASSERT_TRUE(slow.ReadOne());
  writer.join();
}

TEST_F(ClusterServerTest, ForgetsAndEnds) {
  Start();
  {
    Stream stream(*stub_);
    stream.Greet(Hello("a"));
    v1::ToScheduler message;
    message.mutable_forget();
    stream.stream->Write(message);
    EXPECT_TRUE(stream.Finish().ok());
  }
  grpc::ClientContext context;
  v1::ExplainRequest request;
  request.mutable_world()->set_cluster("a");
  v1::Explanation answer;
  EXPECT_EQ(stub_->Explain(&context, request, &answer).error_code(), grpc::StatusCode::NOT_FOUND);
  Stream stream(*stub_);
  stream.Greet(Hello("b"));
  server_->Shutdown(absl::Seconds(5));
  EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  server_->Wait();
}

TEST_F(ClusterServerTest, QuestionsHaveARate) {
  ClusterServerOptions options = testing::ServeOptions();
  options.questions_per_second = 1;
  Start(std::move(options));
  int refused = 0;
  for (int i = 0; i < 3; ++i) {
    grpc::ClientContext context;
    v1::ValidateAnswer answer;
    const grpc::Status status = stub_->Validate(&context, v1::ValidateRequest(), &answer);
    refused += status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED ? 1 : 0;
  }
  EXPECT_GE(refused, 1);
}

// Over TCP, a client without a certificate of the authority is not let in.
TEST(ClusterServerTlsTest, ClientsNeedACertificate) {
  const TestCertificates certificates = MakeTestCertificates("IP:127.0.0.1");
  const TestCertificates others = MakeTestCertificates("IP:127.0.0.1");
  const std::string folder = ::testing::TempDir();
  const auto write = [&](const std::string& name, const std::string& text) {
    const std::string path = absl::StrCat(folder, "berth-serve-", getpid(), "-", name);
    std::ofstream(path) << text;
    return path;
  };
  ClusterServerOptions options = testing::ServeOptions();
  options.address = "127.0.0.1:0";
  options.client_ca_file = write("ca.pem", certificates.authority_pem);
  options.cert_file = write("server.pem", certificates.server_pem);
  options.key_file = write("server.key", certificates.server_key_pem);
  const auto server = ClusterServer::Start(options);
  ASSERT_TRUE(server.ok()) << server.status();
  const auto validate = [&](const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    const auto stub = v1::Clusters::NewStub(grpc::CreateChannel((*server)->address(), credentials));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::ValidateAnswer answer;
    return stub->Validate(&context, v1::ValidateRequest(), &answer);
  };
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = certificates.authority_pem;
  EXPECT_FALSE(validate(grpc::SslCredentials(tls)).ok());
  EXPECT_FALSE(validate(grpc::InsecureChannelCredentials()).ok());
  tls.pem_cert_chain = others.client_pem;
  tls.pem_private_key = others.client_key_pem;
  EXPECT_FALSE(validate(grpc::SslCredentials(tls)).ok());
  tls.pem_cert_chain = certificates.client_pem;
  tls.pem_private_key = certificates.client_key_pem;
  const grpc::Status trusted = validate(grpc::SslCredentials(tls));
  EXPECT_TRUE(trusted.ok()) << trusted.error_message();
  for (const std::string* path : {&options.client_ca_file, &options.cert_file, &options.key_file}) {
    unlink(path->c_str());
  }
}

TEST(ClusterServerOptionsTest, WhatCannotBeTrustedOrMakesNoSenseIsRefused) {
  ClusterServerOptions options = testing::ServeOptions();
  options.address = "0.0.0.0:0";
  EXPECT_THAT(ClusterServer::Start(options).status().message(),
              HasSubstr("is not on the loopback interface"));
  options.address = "127.0.0.1:0";
  EXPECT_TRUE(ClusterServer::Start(options).ok());
  options.max_clusters = 0;
  EXPECT_EQ(ClusterServer::Start(options).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace berth
