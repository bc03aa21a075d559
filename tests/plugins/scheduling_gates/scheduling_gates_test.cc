// SPDX-License-Identifier: Apache-2.0
// Tests of SchedulingGates.
#include "plugins/scheduling_gates/scheduling_gates.h"

#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

TEST(SchedulingGatesTest, PreEnqueue) {
  FakeHandle handle;
  const auto plugin = MakePlugin<SchedulingGates>(handle);
  EXPECT_EQ(plugin->PreEnqueue(*MakePod().Obj()), Status::Success());
  EXPECT_EQ(plugin->PreEnqueue(*MakePod().SchedulingGate("foo").SchedulingGate("bar").Obj()),
            Unresolvable("waiting for scheduling gates: [foo bar]"));
}

TEST(SchedulingGatesTest, QueuesThePodThatLostItsGates) {
  FakeHandle handle;
  const auto plugin = MakePlugin<SchedulingGates>(handle);
  const auto queues = [&](const PodPtr& before, const PodPtr& after, const PodPtr& pod) {
    return Queues(*plugin, EventResource::Pod(), action::kUpdatePodSchedulingGatesEliminated, pod,
                  PodUpdated(before, after));
  };
  const PodPtr gated = MakePod().Name("p").SchedulingGate("foo").Obj();
  const PodPtr open = MakePod().Name("p").Obj();
  EXPECT_TRUE(queues(gated, open, gated));
  EXPECT_FALSE(queues(gated, open, MakePod().Name("other").SchedulingGate("foo").Obj()));
}

}  // namespace
}  // namespace berth::testing
