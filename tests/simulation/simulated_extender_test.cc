// SPDX-License-Identifier: Apache-2.0
// An extender that does not answer, in a simulation.
#include "simulation/simulated_extender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/builtin_plugins.h"
#include "berth/in_memory_cluster.h"
#include "berth/simulation.h"
#include "berth/testing/objects.h"
#include "tests/extender/scripted_extender.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct SilentStage {
  SilentStage() {
    scripted->bind = [this](const PodInfo&, absl::string_view) { return answer; };
    pod = testing::MakePod().Name("p").Obj();
  }
  absl::Status Ask() { return extender->Bind(*pod, "n"); }
  size_t asked() const { return scripted->asked.size(); }

  SimulatedClock clock{absl::UnixEpoch()};
  InMemoryCluster cluster{clock};
  absl::Status answer = absl::DeadlineExceededError("no complete answer within 5s");
  std::shared_ptr<ScriptedExtender> scripted = std::make_shared<ScriptedExtender>();
  std::shared_ptr<SchedulerExtender> extender = NewSimulatedExtender(scripted, cluster, clock);
  std::shared_ptr<const PodInfo> pod;
};

TEST(SimulatedExtender, IsNotAskedForAWhileIfItDoesNotAnswer) {
  SilentStage stage;
  for (int i = 0; i < kUnansweredCalls; ++i) EXPECT_EQ(stage.Ask(), stage.answer);
  for (int i = 0; i < 100; ++i) {
    const absl::Status status = stage.Ask();
    EXPECT_TRUE(absl::IsDeadlineExceeded(status));
    EXPECT_THAT(status.message(), HasSubstr("no complete answer within 5s; after 4 such calls"));
  }
  EXPECT_EQ(stage.asked(), kUnansweredCalls);
  // Then one call tries it, and it is down again.
  stage.clock.Advance(kTakenToBeDown);
  EXPECT_EQ(stage.Ask(), stage.answer);
  EXPECT_NE(stage.Ask(), stage.answer);
  EXPECT_EQ(stage.asked(), kUnansweredCalls + 1);
  // Or it is not.
  stage.clock.Advance(kTakenToBeDown);
  stage.answer = absl::InvalidArgumentError("no");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(stage.Ask(), stage.answer);
}

TEST(SimulatedExtender, IsAskedOnIfItAnswersNowAndThen) {
  SilentStage stage;
  const absl::Status late = stage.answer;
  for (int i = 0; i < 50; ++i) {
    // A refusal is an answer.
    stage.answer = i % kUnansweredCalls == 0 ? absl::FailedPreconditionError("code 500") : late;
    EXPECT_EQ(stage.Ask(), stage.answer);
  }
  EXPECT_EQ(stage.asked(), 50u);
}

// Pods are tried again for as long as a simulation has patience, and the extender is not.
TEST(SimulatedExtender, HoldsASimulationUpForFewCalls) {
  const Registry registry = BuiltinRegistry().value();
  auto scripted = std::make_shared<ScriptedExtender>();
  scripted->filter = [](const PodInfo&, const NodeNames&) {
    return absl::UnavailableError("connection refused");
  };
  std::vector<Object> objects = {
      testing::MakeNode().Name("n").Capacity("cpu", "8").Pods(20).Object()};
  for (const char* const name : {"a", "b", "c"}) {
    objects.push_back(testing::MakePod().Name(name).Request("cpu", "1").Object());
  }
  auto simulation = Simulation::Create({.configuration = DefaultConfiguration(registry),
                                        .registry = &registry,
                                        .objects = std::move(objects),
                                        .extenders = {scripted}});
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  (*simulation)->RunUntilQuiet();
  EXPECT_THAT((*simulation)->cluster().Bindings(), IsEmpty());
  EXPECT_THAT((*simulation)->scheduler().Unbound(), SizeIs(3));
  EXPECT_THAT((*simulation)->scheduler().Unbound()[0].message, HasSubstr("connection refused"));
  EXPECT_EQ(scripted->asked.size(), static_cast<size_t>(kUnansweredCalls));
  EXPECT_GT((*simulation)->scheduler().counters().plugin_faults, 50);
}

}  // namespace
}  // namespace berth
