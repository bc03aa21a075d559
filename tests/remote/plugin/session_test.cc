// SPDX-License-Identifier: Apache-2.0
// Sessions that break at any moment, with questions under way.
#include "remote/plugin/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "tests/remote/plugin/faulty_process.h"
#include "tests/remote/plugin/plugin_stage.h"

namespace berth::testing {
namespace {

// Each round a session ends in another way, at another moment, while four threads ask. The last of
// who holds its channel must not be a thread of gRPC: with the channel gRPC ends its threads, and
// waits for them. Nothing crashes, and nobody waits for ever.
TEST(Session, MayBreakAtAnyMomentWithQuestionsUnderWay) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 random(seed);
  const std::string address = FreshAddress();
  FaultyProcess process(address);
  RemotePluginArgs args;
  args.address = address;
  const absl::StatusOr<v1::Description> description = DescribeRemotePlugin(args, absl::Seconds(60));
  ASSERT_TRUE(description.ok()) << description.status();
  v1::Start start;
  start.set_protocol_version(v1::PROTOCOL_VERSION_1);
  std::atomic<int> answers = 0;
  for (int round = 0; round < 60; ++round) {
    process.Set(Fault::kNone);
    auto keeper = std::make_unique<SessionKeeper>(
        SessionKeeper::Options{.args = args, .description = *description, .start = start});
    std::string why;
    std::shared_ptr<Session> session = keeper->Await(absl::Seconds(60), &why);
    ASSERT_NE(session, nullptr) << why;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([session, &answers] {
        for (int question = 0; question < 200 && !session->is_broken(); ++question) {
          v1::ToPlugin message;
          const uint64_t id = session->NextId();
          message.mutable_evaluate()->set_id(id);
          if (session->Ask(std::move(message), id, absl::Milliseconds(200)).ok()) ++answers;
        }
      });
    }
    session.reset();
    absl::SleepFor(absl::Microseconds(static_cast<int64_t>(random() % 4000)));
    switch (random() % 4) {
      case 0:
        if (const std::shared_ptr<Session> current = keeper->Current(&why)) {
          current->Break("a test");
        }
        break;
      case 1:
        process.Set(Fault::kDies);
        break;
      case 2:
        process.End();
        process.Begin();
        break;
      default:
        break;
    }
    keeper.reset();
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_GT(answers, 0);
}

}  // namespace
}  // namespace berth::testing
