// SPDX-License-Identifier: Apache-2.0
// Every server has the standard health service and reflection.
#include "remote/wire/connection.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include "tests/remote/plugin/plugin_stage.h"

namespace berth::testing {
namespace {

using ::testing::HasSubstr;

// The answer to one message of any method, in bytes: there are no stubs of these services here.
absl::StatusOr<std::string> Ask(const std::string& address, const std::string& method,
                                const std::string& request) {
  const auto channel = OpenChannel(*WireAddress::Parse(address), {});
  if (!channel.ok()) return channel.status();
  grpc::GenericStub stub(*channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(&context, method, &queue);
  void* tag = nullptr;
  bool ok = false;
  const auto done = [&] { return queue.Next(&tag, &ok) && ok; };
  const grpc::Slice slice(request);
  const grpc::ByteBuffer bytes(&slice, 1);
  grpc::ByteBuffer answer;
  call->StartCall(nullptr);
  if (!done()) return absl::UnavailableError("the call");
  call->Write(bytes, nullptr);
  if (!done()) return absl::UnavailableError("the request");
  call->Read(&answer, nullptr);
  if (!done()) return absl::UnavailableError("the answer");
  context.TryCancel();
  grpc::Status status;
  call->Finish(&status, nullptr);
  queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  grpc::Slice whole;
  if (!answer.DumpToSingleSlice(&whole).ok()) return absl::InternalError("no bytes");
  return std::string(whole.begin(), whole.end());
}

TEST(WireServer, HasHealthAndReflection) {
  const std::string address = FreshAddress();
  const auto server = ServeBuiltin("NodeUnschedulable", address);
  const auto health = Ask(address, "/grpc.health.v1.Health/Check", "");
  ASSERT_TRUE(health.ok()) << health.status();
  EXPECT_EQ(*health, std::string("\x08\x01"));  // SERVING
  // list_services
  const auto services =
      Ask(address, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "\x3a\x01*");
  ASSERT_TRUE(services.ok()) << services.status();
  EXPECT_THAT(*services, HasSubstr("berth.v1.Plugin"));
  EXPECT_THAT(*services, HasSubstr("grpc.health.v1.Health"));
}

TEST(WireServer, SaysWhyItCannotListen) {
  const auto trouble = [](const std::string& address) {
    const auto server = WireServer::Start(*WireAddress::Parse(address), {}, {});
    return server.ok() ? "" : std::string(server.status().message());
  };
  EXPECT_THAT(trouble("unix:/no/such/folder/x.sock"), HasSubstr("No such file or directory"));
  const auto server = WireServer::Start(*WireAddress::Parse("127.0.0.1:0"), {}, {});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_THAT(trouble((*server)->address().ToString()), HasSubstr("Address already in use"));
}

}  // namespace
}  // namespace berth::testing
