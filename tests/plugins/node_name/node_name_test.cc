// SPDX-License-Identifier: Apache-2.0
// Tests of NodeName.
#include "plugins/node_name/node_name.h"

#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

TEST(NodeNameTest, Filter) {
  const Status mismatch = Unresolvable("node(s) didn't match the requested node name");
  struct Case {
    absl::string_view name;
    PodPtr pod;
    NodeInfo node;
    Status want;
  };
  FakeHandle handle;
  const auto plugin = MakePlugin<NodeName>(handle);
  for (const Case& c : {
           Case{"no name", MakePod().Obj(), MakeNode().Info(), Status::Success()},
           Case{"its name", MakePod().NodeName("foo").Obj(), MakeNode().Name("foo").Info(),
                Status::Success()},
           Case{"another name", MakePod().NodeName("bar").Obj(), MakeNode().Name("foo").Info(),
                mismatch},
           Case{"a name nobody has", MakePod().NodeName("no such node").Obj(),
                MakeNode().Name("foo").Info(), mismatch},
       }) {
    EXPECT_EQ(RunFilter(*plugin, c.pod, c.node), c.want) << c.name;
  }
}

TEST(NodeNameTest, ANewNodeQueues) {
  FakeHandle handle;
  const auto plugin = MakePlugin<NodeName>(handle);
  EXPECT_TRUE(
      Queues(*plugin, EventResource::Node(), action::kAdd, MakePod().Obj(), NodeAdded(MakeNode())));
  EXPECT_FALSE(Queues(*plugin, EventResource::Node(), action::kUpdateNodeLabel, MakePod().Obj(),
                      NodeUpdated(MakeNode(), MakeNode())));
}

}  // namespace
}  // namespace berth::testing
