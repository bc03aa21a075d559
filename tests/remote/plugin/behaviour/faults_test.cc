// SPDX-License-Identifier: Apache-2.0
// The process of a remote plugin dies, hangs, is slow, answers nonsense, or is another version.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "tests/remote/plugin/faulty_process.h"
#include "tests/remote/plugin/plugin_stage.h"

namespace berth::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr absl::Duration kPatience = absl::Seconds(60);

std::vector<Object> Nodes() {
  std::vector<Object> objects;
  for (int i = 0; i < 10; ++i) {
    objects.push_back(MakeNode()
                          .Name(absl::StrCat("n", i))
                          .Label("bad", i < 9 ? "true" : "false")
                          .Capacity("cpu", "100000")
                          .Pods(100000)
                          .Object());
  }
  return objects;
}

Object Pod(const std::string& name) { return MakePod().Name(name).Request("cpu", "1").Object(); }

// A profile with the faulty process in it, of which one pod was placed while it was well.
struct Stage {
  explicit Stage(const std::string& policy) : address(FreshAddress()), process(address) {
    auto made = Simulate(
        RemoteProfile(address, absl::StrCat("deadline: 150ms, failurePolicy: ", policy, ", ")),
        Nodes());
    BERTH_CHECK(made.ok()) << made.status().ToString();
    simulation = *std::move(made);
    Add("first");
    BERTH_CHECK(simulation->cluster().Bindings().size() == 1);
  }

  void Add(const std::string& name) {
    simulation->cluster().Set(Pod(name));
    simulation->RunUntilIdle();
  }
  std::string MessageOf(const std::string& pod) const {
    for (const UnboundPod& unbound : simulation->scheduler().Unbound()) {
      if (unbound.pod == "default/" + pod) return unbound.message;
    }
    return "";
  }
  // The process is another one, so that it is asked: what was said before counts no more.
  void Restart() {
    const int before = process.sessions();
    process.End();
    process.Begin();
    const absl::Time end = absl::Now() + kPatience;
    while (process.sessions() == before && absl::Now() < end) {
      absl::SleepFor(absl::Milliseconds(5));
    }
  }
  // Lets time pass, of the simulation and on the wall, until so many pods are bound.
  bool RunsUntilBound(size_t count) {
    const absl::Time end = absl::Now() + kPatience;
    while (absl::Now() < end) {
      simulation->Advance(absl::Seconds(20));
      if (simulation->cluster().Bindings().size() >= count) return true;
      absl::SleepFor(absl::Milliseconds(20));
    }
    return false;
  }

  const std::string address;
  FaultyProcess process;
  std::unique_ptr<Simulation> simulation;
};

class Faults : public ::testing::TestWithParam<Fault> {};

// With Fail the pod waits, the plugin and the reason named, until the process is well again; then
// it gets the node that the plugin wants.
TEST_P(Faults, FailAPodsCycleAndHeal) {
  Stage stage("Fail");
  stage.process.Set(GetParam());
  stage.Restart();
  const absl::Time begin = absl::Now();
  for (int i = 0; i < 3; ++i) stage.Add(absl::StrCat("p", i));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(20));
  EXPECT_THAT(stage.simulation->cluster().Bindings(), SizeIs(1));
  EXPECT_THAT(stage.MessageOf("p0"), HasSubstr("Remote"));
  EXPECT_THAT(stage.MessageOf("p0"), HasSubstr("the remote plugin Remote at unix:"));
  stage.process.Set(Fault::kNone);
  ASSERT_TRUE(stage.RunsUntilBound(4)) << stage.MessageOf("p0");
  for (const auto& [pod, node] : stage.simulation->cluster().Bindings()) EXPECT_EQ(node, "n9");
}

// With Ignore the pods are placed as if the plugin were not there, and nothing of that is
// cached.
TEST_P(Faults, AreIgnoredIfTheProfileSaysSo) {
  Stage stage("Ignore");
  stage.process.Set(GetParam());
  stage.Restart();
  for (int i = 0; i < 3; ++i) stage.Add(absl::StrCat("p", i));
  EXPECT_THAT(stage.simulation->cluster().Bindings(), SizeIs(4)) << stage.MessageOf("p0");
  EXPECT_GT(stage.simulation->scheduler().PluginCounters()["Remote/failures"], 0);
  stage.process.Set(Fault::kNone);
  // Until it is connected again, and knows the nodes.
  const absl::Time end = absl::Now() + kPatience;
  std::string node;
  for (int i = 3; node != "n9" && absl::Now() < end; ++i) {
    stage.Add(absl::StrCat("p", i));
    node = stage.simulation->cluster().Bindings().back().second;
    absl::SleepFor(absl::Milliseconds(50));
  }
  for (int i = 0; i < 5; ++i) {
    stage.Add(absl::StrCat("q", i));
    EXPECT_EQ(stage.simulation->cluster().Bindings().back().second, "n9");
  }
}

INSTANTIATE_TEST_SUITE_P(All, Faults,
                         ::testing::Values(Fault::kHangs, Fault::kDies, Fault::kSlow,
                                           Fault::kGarbage, Fault::kOtherQuestion,
                                           Fault::kUnknownCode, Fault::kEmptyMessage));

TEST(RemoteFaults, AProcessThatIsGoneFailsPodsAtOnce) {
  Stage stage("Fail");
  stage.process.End();
  // The loss is noticed at once, but not at that very moment: until then what was said counts.
  std::string message;
  size_t added = 0;
  for (const absl::Time end = absl::Now() + kPatience; message.empty() && absl::Now() < end;) {
    const std::string pod = absl::StrCat("p", added++);
    stage.Add(pod);
    message = stage.MessageOf(pod);
    absl::SleepFor(absl::Milliseconds(1));  // a pod takes microseconds
  }
  EXPECT_THAT(message, HasSubstr("the remote plugin Remote at unix:"));
  stage.process.Begin();
  EXPECT_TRUE(stage.RunsUntilBound(added + 1));
}

// A process that comes back as another plugin is not taken.
TEST(RemoteFaults, AnotherVersionOfTheProtocolOrOfTheDescriptionIsRefused) {
  Stage stage("Fail");
  int pods = 0;
  const auto restart = [&](const std::function<void(v1::Description&)>& change,
                           absl::string_view why) {
    stage.process.End();
    change(stage.process.description());
    stage.process.Begin();
    // The pod's cycle ends while it is being refused, whatever the moment.
    const absl::Time end = absl::Now() + kPatience;
    std::string message;
    while (absl::Now() < end) {
      // A pod that comes before the end of the process is noticed is placed by what is cached.
      if (message.empty()) stage.Add(absl::StrCat("r", ++pods));
      message = stage.MessageOf(absl::StrCat("r", pods));
      if (message.find(std::string(why)) != message.npos) break;
      absl::SleepFor(absl::Milliseconds(20));
      stage.simulation->Advance(absl::Seconds(20));
    }
    return message;
  };
  EXPECT_THAT(restart([](v1::Description& d) { d.set_protocol_version(9); }, "speaks version 9"),
              HasSubstr("speaks version 9"));
  EXPECT_THAT(restart(
                  [](v1::Description& d) {
                    d.set_protocol_version(v1::PROTOCOL_VERSION_1);
                    d.add_depends_on("NodeTaints");
                  },
                  "describes itself otherwise"),
              HasSubstr("describes itself otherwise"));
  // Only the version of the plugin itself may change.
  stage.process.End();
  stage.process.description().mutable_depends_on()->RemoveLast();
  stage.process.description().set_version("2");
  stage.process.Begin();
  EXPECT_TRUE(stage.RunsUntilBound(1 + pods));
}

TEST(RemoteFaults, AProcessThatNeverTakesInTheNodesHoldsNobodyUp) {
  const std::string address = FreshAddress();
  FaultyProcess process(address);
  process.Set(Fault::kNeverTakesNodes);
  std::vector<Object> objects = Nodes();
  objects.push_back(Pod("p0"));
  objects.push_back(Pod("p1"));
  auto simulation = Simulate(
      RemoteProfile(address, "startTimeout: 0.3s, deadline: 150ms, failurePolicy: Ignore, "),
      objects);
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  const absl::Time begin = absl::Now();
  (*simulation)->RunUntilIdle();
  EXPECT_THAT((*simulation)->cluster().Bindings(), SizeIs(2));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
}

}  // namespace
}  // namespace berth::testing
