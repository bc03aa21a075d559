// SPDX-License-Identifier: Apache-2.0
// PreBind that waits: when it is polled, and what can happen to the pod meanwhile.
#include <string>

#include "gmock/gmock.h"
#include "tests/engine/scripted_plugin.h"
#include "tests/engine/world.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PreBindWaits : public ::testing::Test {
 protected:
  PreBindWaits() : plugins_({"A", "B"}), world_(plugins_.configuration(), plugins_.registry()) {
    world_.Set(CpuNode("n0", "4").Object());
    plugins_["A"].pre_bind = [](const PodInfo&) { return Status::Wait(); };
    plugins_["A"].polled_namespace = "x";
    plugins_["A"].poll_pre_bind = [this](const PodInfo&) {
      ++polls_;
      return answer_;
    };
    plugins_["B"].pre_bind = [this](const PodInfo&) {
      ++others_;
      return Status::Success();
    };
  }

  ScriptedPlugins plugins_;
  World world_;
  Status answer_ = Status::Wait();
  int polls_ = 0, others_ = 0;
};

TEST_F(PreBindWaits, PollsAtOnceEverySecondAndWhenItsObjectChanges) {
  world_.Set(CpuPod("p", "1").Object());
  world_.Run();
  EXPECT_EQ(polls_, 1);
  EXPECT_EQ(world_.Pending("p").waiting.reason, WaitingReason::kBinding);
  EXPECT_EQ(world_.Nominated("p"), "n0") << "the wait is announced";
  world_.Set(CpuPod("large", "8").Object());
  world_.Run();
  EXPECT_EQ(polls_, 1) << "pods are none of its business";
  for (int i = 0; i < 3; ++i) world_.Advance(absl::Seconds(1));
  EXPECT_EQ(polls_, 4);
  for (const char* const name : {"x", "z"}) {
    world_.Set(testing::ObjectsFromYaml(
        absl::StrCat("{apiVersion: v1, kind: Namespace, metadata: {name: ", name, "}}"))[0]);
    world_.Run();
    EXPECT_EQ(polls_, 5) << name;
  }
  EXPECT_EQ(world_.NodeOf("p"), "");
  EXPECT_EQ(others_, 0) << "the plugins after it have to wait, too";

  answer_ = Status::Success();
  world_.Advance(absl::Seconds(1));
  EXPECT_EQ(world_.NodeOf("p"), "n0");
  EXPECT_EQ(others_, 1);
}

TEST_F(PreBindWaits, AnErrorUndoesThePlacement) {
  world_.Set(CpuPod("p", "4").Object());
  world_.Run();
  plugins_["A"].poll_pre_bind = [](const PodInfo& pod) {
    return pod.name() == "p" ? Status::Error("in vain") : Status::Success();
  };
  world_.Set(CpuPod("other", "4").Priority(1).Object());
  world_.Advance(absl::Seconds(1));
  EXPECT_THAT(world_.Pending("p").message, HasSubstr("running PreBind plugin \"A\": in vain"));
  EXPECT_THAT(plugins_["B"].log, ElementsAre("Reserve p", "Unreserve p", "Reserve other"));
}

TEST_F(PreBindWaits, APodThatIsDeletedGivesItsPlaceBackAtOnce) {
  for (const bool at_once : {false, true}) {
    SCOPED_TRACE(at_once ? "while PreBind runs" : "while it waits");
    plugins_["B"].log.clear();
    plugins_["A"].pre_bind = [&](const PodInfo& pod) {
      if (at_once) world_.memory().Delete(Kind::kPod, pod.key());
      return Status::Wait();
    };
    world_.Set(CpuPod("p", "1").Object());
    world_.Run();
    if (!at_once) world_.memory().Delete(Kind::kPod, "default/p");
    world_.Run();
    EXPECT_THAT(plugins_["B"].log, ElementsAre("Reserve p", "Unreserve p"));
    EXPECT_TRUE(world_.scheduler->Unbound().empty());
  }
}

TEST_F(PreBindWaits, AnErrorIsAnErrorIfSomebodyElseHasBoundThePod) {
  plugins_["A"].pre_bind = [&](const PodInfo& pod) {
    world_.memory().Set(CpuPod("p", "1").Uid(pod.uid()).NodeName("n0").Object());
    return Status::Error("in vain");
  };
  world_.Set(CpuPod("p", "1").Object());
  world_.Run();
  EXPECT_EQ(world_.NodeOf("p"), "n0");
  EXPECT_THAT(plugins_["B"].log, ElementsAre("Reserve p", "Unreserve p"));
  EXPECT_TRUE(world_.scheduler->Unbound().empty());
}

TEST_F(PreBindWaits, APluginThatCannotBePolledFailsItsPod) {
  plugins_["A"].poll_pre_bind = [](const PodInfo&) { return Status::Skip(); };
  world_.Set(CpuPod("p", "1").Object());
  world_.Run();
  EXPECT_THAT(world_.Pending("p").message, HasSubstr("A"));
  EXPECT_EQ(world_.Pending("p").state, UnboundPod::State::kBackoff);
}

}  // namespace
}  // namespace berth
