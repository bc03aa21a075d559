// SPDX-License-Identifier: Apache-2.0
// Tests of NodeUnschedulable.
#include "plugins/node_unschedulable/node_unschedulable.h"

#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

constexpr char kTaint[] = "node.kubernetes.io/unschedulable";

TEST(NodeUnschedulableTest, Filter) {
  struct Case {
    absl::string_view name;
    PodPtr pod;
    NodeInfo node;
    Status want;
  };
  FakeHandle handle;
  const auto plugin = MakePlugin<NodeUnschedulable>(handle);
  for (const Case& c : {
           Case{"cordoned", MakePod().Obj(), MakeNode().Unschedulable().Info(),
                Unresolvable("node(s) were unschedulable")},
           Case{"open", MakePod().Obj(), MakeNode().Info(), Status::Success()},
           Case{"cordoned, tolerated",
                MakePod().TolerationExists(kTaint, TaintEffect::kNoSchedule).Obj(),
                MakeNode().Unschedulable().Info(), Status::Success()},
           Case{"tolerated with another effect",
                MakePod().TolerationExists(kTaint, TaintEffect::kNoExecute).Obj(),
                MakeNode().Unschedulable().Info(), Unresolvable("node(s) were unschedulable")},
       }) {
    EXPECT_EQ(RunFilter(*plugin, c.pod, c.node), c.want) << c.name;
  }
}

TEST(NodeUnschedulableTest, NodeChanges) {
  FakeHandle handle;
  const auto plugin = MakePlugin<NodeUnschedulable>(handle);
  const PodPtr pod = MakePod().Obj();
  const NodeBuilder open = MakeNode().Name("n");
  const NodeBuilder cordoned = MakeNode().Name("n").Unschedulable();
  const auto queues = [&](const ObjectChange& change, ActionType action) {
    return Queues(*plugin, EventResource::Node(), action, pod, change);
  };
  EXPECT_TRUE(queues(NodeAdded(open), action::kAdd));
  EXPECT_FALSE(queues(NodeAdded(cordoned), action::kAdd));
  EXPECT_TRUE(queues(NodeUpdated(cordoned, open), action::kUpdateNodeTaint));
  EXPECT_FALSE(queues(NodeUpdated(open, cordoned), action::kUpdateNodeTaint));
  EXPECT_FALSE(queues(NodeUpdated(open, open), action::kUpdateNodeTaint));
}

TEST(NodeUnschedulableTest, TolerationChanges) {
  FakeHandle handle;
  const auto plugin = MakePlugin<NodeUnschedulable>(handle);
  const PodPtr pod = MakePod().Name("p").Obj();
  const auto queues = [&](const PodPtr& after) {
    return Queues(*plugin, EventResource::Pod(), action::kUpdatePodToleration, pod,
                  PodUpdated(pod, after));
  };
  EXPECT_TRUE(queues(MakePod().Name("p").TolerationExists(kTaint).Obj()));
  EXPECT_FALSE(queues(MakePod().Name("p").TolerationExists("unrelated").Obj()));
  EXPECT_FALSE(queues(MakePod().Name("other").TolerationExists(kTaint).Obj()));
}

}  // namespace
}  // namespace berth::testing
