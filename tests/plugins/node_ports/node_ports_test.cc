// SPDX-License-Identifier: Apache-2.0
// Tests of NodePorts, after kube-scheduler's own tables.
#include "plugins/node_ports/node_ports.h"

#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

struct Port {
  absl::string_view protocol, ip;
  int32_t port;
};

PodPtr PodWith(std::vector<Port> ports, absl::string_view node = "m1",
               absl::string_view name = "p") {
  PodBuilder pod = MakePod().Name(name).NodeName(node);
  for (const Port& port : ports) pod.HostPort(port.port, port.protocol, port.ip);
  return pod.Obj();
}

TEST(NodePortsTest, Filter) {
  const Status rejected =
      Status::Unschedulable("node(s) didn't have free ports for the requested pod ports");
  struct Case {
    absl::string_view name;
    std::vector<Port> wanted, used;
    Status want;
  };
  FakeHandle handle;
  const auto plugin = MakePlugin<NodePorts>(handle);
  for (const Case& c : {
           Case{"nothing used", {{"UDP", "127.0.0.1", 8080}}, {}, Status::Success()},
           Case{"another port",
                {{"UDP", "127.0.0.1", 8080}},
                {{"UDP", "127.0.0.1", 9090}},
                Status::Success()},
           Case{"the same UDP port",
                {{"UDP", "127.0.0.1", 8080}},
                {{"UDP", "127.0.0.1", 8080}},
                rejected},
           Case{"the same TCP port",
                {{"TCP", "127.0.0.1", 8080}},
                {{"TCP", "127.0.0.1", 8080}},
                rejected},
           Case{"another address",
                {{"TCP", "127.0.0.1", 8080}},
                {{"TCP", "127.0.0.2", 8080}},
                Status::Success()},
           Case{"another protocol",
                {{"UDP", "127.0.0.1", 8080}},
                {{"TCP", "127.0.0.1", 8080}},
                Status::Success()},
           Case{"the second port conflicts",
                {{"TCP", "127.0.0.1", 8000}, {"UDP", "127.0.0.1", 8080}},
                {{"UDP", "127.0.0.1", 8080}},
                rejected},
           Case{"every address wanted",
                {{"TCP", "0.0.0.0", 8001}},
                {{"TCP", "127.0.0.1", 8001}},
                rejected},
           Case{"every address used",
                {{"TCP", "10.0.10.10", 8001}},
                {{"TCP", "0.0.0.0", 8001}},
                rejected},
           Case{"no address is every address",
                {{"TCP", "", 8001}},
                {{"TCP", "1.2.3.4", 8001}},
                rejected},
           Case{"no protocol is TCP", {{"", "", 8001}}, {{"TCP", "", 8001}}, rejected},
           Case{"SCTP is none of them",
                {{"SCTP", "0.0.0.0", 8001}},
                {{"TCP", "0.0.0.0", 8001}, {"UDP", "0.0.0.0", 8001}},
                Status::Success()},
       }) {
    const NodeInfo node = MakeNode().Name("m1").Info({PodWith(c.used, "m1", "other")});
    EXPECT_EQ(RunFilter(*plugin, PodWith(c.wanted), node), c.want) << c.name;
  }
}

TEST(NodePortsTest, SkipsPodsWithoutHostPorts) {
  FakeHandle handle;
  const auto plugin = MakePlugin<NodePorts>(handle);
  CycleState state;
  PreFilterResult result;
  EXPECT_TRUE(plugin->PreFilter(state, *MakePod().Obj(), handle.nodes(), result).IsSkip());
}

TEST(NodePortsTest, PodDeletions) {
  FakeHandle handle;
  const auto plugin = MakePlugin<NodePorts>(handle);
  const PodPtr pod = PodWith({{"TCP", "0.0.0.0", 8001}}, "");
  const auto queues = [&](const PodPtr& gone) {
    return Queues(*plugin, EventResource::Pod(), action::kDelete, pod, PodDeleted(gone));
  };
  EXPECT_TRUE(queues(PodWith({{"TCP", "10.0.0.1", 8001}}, "m1", "gone")));
  EXPECT_FALSE(queues(PodWith({{"TCP", "10.0.0.1", 8002}}, "m1", "gone")));
  EXPECT_FALSE(queues(PodWith({}, "m1", "gone")));
  EXPECT_FALSE(queues(PodWith({{"TCP", "10.0.0.1", 8001}}, "", "gone")));
  EXPECT_TRUE(queues(MakePod().Name("gone").NominatedNodeName("m1").HostPort(8001).Obj()));
  EXPECT_TRUE(Queues(*plugin, EventResource::Node(), action::kAdd, pod, NodeAdded(MakeNode())));
}

}  // namespace
}  // namespace berth::testing
