// SPDX-License-Identifier: Apache-2.0
// Plugins that throw, answer nonsense or are slow: the pod's cycle fails with the plugin's name,
// the failure is counted where it happened, and the scheduler goes on.
#include <stdexcept>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "tests/engine/scripted_plugin.h"
#include "tests/engine/world.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

[[noreturn]] void Boom() { throw std::runtime_error("boom"); }

struct Fault {
  std::string name;
  std::function<void(Script&)> arm;
  std::string point;    // that is blamed
  std::string message;  // part of the pod's
  // The pod is bound in spite of it.
  bool harmless = false;
};

const Fault kFaults[] = {
    {"PreEnqueue throws",
     [](Script& s) { s.pre_enqueue = [](const PodInfo&) -> Status { Boom(); }; }, "PreEnqueue",
     "plugin \"A\" threw in PreEnqueue: boom"},
    {"PreEnqueue waits", [](Script& s) { s.pre_enqueue = [](auto&) { return Status::Wait(); }; },
     "PreEnqueue", "running PreEnqueue plugin \"A\": returned \"Wait\", which is unsupported"},
    {"PreFilter throws", [](Script& s) { s.pre_filter = [](const PodInfo&) -> Status { Boom(); }; },
     "PreFilter", "plugin \"A\" threw in PreFilter: boom"},
    {"PreFilter is pending",
     [](Script& s) { s.pre_filter = [](auto&) { return Status::Pending("x"); }; }, "PreFilter",
     "returned \"Pending\", which is unsupported"},
    {"Filter throws", [](Script& s) { s.filter = [](auto&, auto&) -> Status { Boom(); }; },
     "Filter", "plugin \"A\" threw in Filter: boom"},
    {"Filter waits", [](Script& s) { s.filter = [](auto&, auto&) { return Status::Wait(); }; },
     "Filter", "returned \"Wait\", which is unsupported"},
    {"Filter skips", [](Script& s) { s.filter = [](auto&, auto&) { return Status::Skip(); }; },
     "Filter", "returned \"Skip\", which is unsupported"},
    {"PreScore throws", [](Script& s) { s.pre_score = [](const PodInfo&) -> Status { Boom(); }; },
     "PreScore", "plugin \"A\" threw in PreScore: boom"},
    {"PreScore rejects",
     [](Script& s) { s.pre_score = [](auto&) { return Status::Unschedulable("x"); }; }, "PreScore",
     "returned \"Unschedulable\", which is unsupported"},
    {"Score throws", [](Script& s) { s.score = [](auto&) -> int64_t { Boom(); }; }, "Score",
     "plugin \"A\" threw in Score: boom"},
    {"Score is out of range", [](Script& s) { s.score = [](auto&) { return 101; }; }, "Score",
     "plugin \"A\" returns an invalid score 101"},
    {"Reserve throws", [](Script& s) { s.reserve = [](const PodInfo&) -> Status { Boom(); }; },
     "Reserve", "plugin \"A\" threw in Reserve: boom"},
    {"Reserve skips", [](Script& s) { s.reserve = [](auto&) { return Status::Skip(); }; },
     "Reserve", "returned \"Skip\", which is unsupported"},
    {"Unreserve throws",
     [](Script& s) {
       s.reserve = [](auto&) { return Status::Unschedulable("full"); };
       s.unreserve = [](const PodInfo&) { Boom(); };
     },
     "Unreserve", "0/1 nodes are available: 1 full."},
    {"Permit throws",
     [](Script& s) {
       s.permit = [](CycleState&, const PodInfo&, absl::Duration&) -> Status { Boom(); };
     },
     "Permit", "plugin \"A\" threw in Permit: boom"},
    {"Permit skips",
     [](Script& s) {
       s.permit = [](CycleState&, const PodInfo&, absl::Duration&) { return Status::Skip(); };
     },
     "Permit", "returned \"Skip\", which is unsupported"},
    {"PreBind throws", [](Script& s) { s.pre_bind = [](const PodInfo&) -> Status { Boom(); }; },
     "PreBind", "plugin \"A\" threw in PreBind: boom"},
    {"PreBind skips", [](Script& s) { s.pre_bind = [](auto&) { return Status::Skip(); }; },
     "PreBind", "returned \"Skip\", which is unsupported"},
    {"PollPreBind throws",
     [](Script& s) {
       s.pre_bind = [](auto&) { return Status::Wait(); };
       s.poll_pre_bind = [](const PodInfo&) -> Status { Boom(); };
     },
     "PollPreBind", "plugin \"A\" threw in PollPreBind: boom"},
    {"PostBind throws", [](Script& s) { s.post_bind = [](auto&, auto&) { Boom(); }; }, "PostBind",
     "", true},
};

TEST(PluginFaults, FailTheCycleWithTheirNameAndAreCounted) {
  for (const Fault& fault : kFaults) {
    SCOPED_TRACE(fault.name);
    ScriptedPlugins plugins({"A"});
    World world(plugins.configuration(), plugins.registry());
    world.Set(CpuNode("n0", "4").Object());
    if (fault.point == "PreScore" || fault.point == "Score") {
      world.Set(CpuNode("n1", "4").Object());  // a single node is not scored
    }
    fault.arm(plugins["A"]);
    world.Set(CpuPod("p", "1").Object());
    world.Run();
    const SchedulerCounters counters = world.scheduler->counters();
    EXPECT_GE(counters.plugin_faults, 1);
    ASSERT_EQ(counters.troubles.size(), 1u);
    EXPECT_EQ(counters.troubles[0].plugin, "A");
    EXPECT_EQ(counters.troubles[0].point, fault.point);
    EXPECT_EQ(counters.troubles[0].faults, counters.plugin_faults);
    EXPECT_EQ(counters.troubles[0].slow_calls, 0);
    if (fault.harmless) {
      EXPECT_NE(world.NodeOf("p"), "");
      continue;
    }
    EXPECT_EQ(world.NodeOf("p"), "");
    EXPECT_THAT(world.Pending("p").message, HasSubstr(fault.message));
    EXPECT_EQ(world.Pending("p").plugin, "A");

    // The plugin behaves again: nothing was left behind, and the pod is placed by itself.
    Script& script = plugins["A"];
    Handle* const handle = script.handle;
    script = Script();
    script.handle = handle;
    if (fault.point == "PreEnqueue") {
      script.hint = [](const PodInfo&, const ObjectChange&) { return QueueingHint::kQueue; };
      world.Set(CpuNode("extra", "0").Object());
    }
    if (fault.name == "Unreserve throws") {
      script.hint = [](const PodInfo&, const ObjectChange&) { return QueueingHint::kQueue; };
      world.Set(CpuNode("extra", "0").Object());
    }
    world.Advance(absl::Seconds(5));
    EXPECT_NE(world.NodeOf("p"), "");
  }
}

TEST(PluginFaults, OtherPodsGoOn) {
  ScriptedPlugins plugins({"A"});
  World world(plugins.configuration(), plugins.registry());
  world.Set(CpuNode("n0", "4").Object());
  plugins["A"].filter = [](const PodInfo& pod, const NodeInfo&) -> Status {
    if (pod.name() == "bad") Boom();
    return Status::Success();
  };
  world.Set(CpuPod("bad", "1").Object());
  for (const char* name : {"p", "q"}) world.Set(CpuPod(name, "1").Object());
  world.Advance(absl::Seconds(20));
  EXPECT_EQ(world.NodeOf("p"), "n0");
  EXPECT_EQ(world.NodeOf("q"), "n0");
  const UnboundPod bad = world.Pending("bad");
  EXPECT_EQ(bad.waiting.reason, WaitingReason::kPluginError);
  EXPECT_EQ(bad.state, UnboundPod::State::kBackoff);
  EXPECT_EQ(world.Condition("bad", "PodScheduled").reason(), "SchedulerError");
}

TEST(PluginFaults, AHintThatThrowsRequeuesThePod) {
  ScriptedPlugins plugins({"A"});
  World world(plugins.configuration(), plugins.registry());
  world.Set(CpuNode("n0", "4").Object());
  plugins["A"].pre_filter = [](const PodInfo&) { return Status::Unschedulable("no"); };
  plugins["A"].hint = [](const PodInfo&,
                         const ObjectChange& change) -> absl::StatusOr<QueueingHint> {
    if (change.new_node != nullptr && change.new_node->name().view() == "n1") Boom();
    return QueueingHint::kSkip;
  };
  world.Set(CpuPod("p", "1").Object());
  world.Run();
  EXPECT_EQ(world.scheduler->counters().attempts, 1);
  world.Set(CpuNode("n1", "4").Object());
  world.Advance(absl::Seconds(3));
  EXPECT_EQ(world.scheduler->counters().attempts, 2);
  ASSERT_FALSE(world.scheduler->counters().troubles.empty());
  EXPECT_EQ(world.scheduler->counters().troubles[0].point, "QueueingHint");
}

TEST(PluginFaults, APostFilterThatThrowsLeavesThePodUnschedulable) {
  ScriptedPlugins plugins({"A"});
  World world(plugins.configuration(), plugins.registry());
  world.Set(CpuNode("n0", "4").Object());
  plugins["A"].post_filter = [](const PodInfo&) -> Status { Boom(); };
  world.Set(CpuPod("huge", "8").Object());
  world.Run();
  EXPECT_THAT(world.Pending("huge").message, HasSubstr("1 Insufficient cpu"));
  EXPECT_THAT(world.Pending("huge").message, HasSubstr("plugin \"A\" threw in PostFilter: boom"));
  EXPECT_EQ(world.scheduler->counters().troubles[0].point, "PostFilter");
}

TEST(PluginFaults, SlowCallsAreCountedWithTheLongest) {
  ScriptedPlugins plugins({"A"});
  World world(plugins.configuration(), plugins.registry(), World::Calls::kAtOnce,
              absl::Milliseconds(20));
  world.Set(CpuNode("n0", "4").Object());
  plugins["A"].pre_filter = [](const PodInfo& pod) {
    if (pod.name() == "p") std::this_thread::sleep_for(std::chrono::milliseconds(60));
    return Status::Success();
  };
  world.Set(CpuPod("p", "1").Object());
  world.Run();
  world.Set(CpuPod("q", "1").Object());
  world.Run();
  EXPECT_EQ(world.NodeOf("p"), "n0");
  const SchedulerCounters counters = world.scheduler->counters();
  EXPECT_EQ(counters.plugin_faults, 0);
  // A loaded machine may make other calls slow too.
  bool found = false;
  for (const PluginTrouble& trouble : counters.troubles) {
    if (trouble.plugin != "A" || trouble.point != "PreFilter") continue;
    found = true;
    EXPECT_GE(trouble.slow_calls, 1);
    EXPECT_GE(trouble.slowest, absl::Milliseconds(50));
  }
  EXPECT_TRUE(found);
}

// Some used to end the process, others to accept every node.
TEST(PluginFaults, BuiltInsWithoutTheirPreFilterFailTheCycle) {
  const Registry registry = BuiltinRegistry().value();
  for (const absl::string_view plugin : {"VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding",
                                         "VolumeZone", "PodTopologySpread", "InterPodAffinity"}) {
    const LoadedConfiguration loaded = ParseConfiguration(
        absl::StrCat("{apiVersion: kubescheduler.config.k8s.io/v1, kind: "
                     "KubeSchedulerConfiguration, profiles: [{plugins: {preFilter: {disabled: "
                     "[{name: ",
                     plugin, "}]}}}]}"),
        "half", registry);
    ASSERT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
    World world(loaded.configuration, registry);
    world.Set(CpuNode("n0", "4").Object());
    world.Set(CpuPod("p", "1").Object());
    world.Run();
    EXPECT_THAT(world.Pending("p").message,
                HasSubstr(absl::StrCat("running \"", plugin,
                                       "\" filter plugin: nothing is stored "
                                       "under the state key")));
    EXPECT_EQ(world.Pending("p").waiting.reason, WaitingReason::kPluginError);
  }
}

}  // namespace
}  // namespace berth
