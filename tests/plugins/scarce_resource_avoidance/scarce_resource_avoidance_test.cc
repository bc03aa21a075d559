// SPDX-License-Identifier: Apache-2.0
// Tests of ScarceResourceAvoidance.
#include "plugins/scarce_resource_avoidance/scarce_resource_avoidance.h"

#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

TEST(ScarceResourceAvoidanceTest, Score) {
  const NodeBuilder cpu_node = MakeNode().Capacity("cpu", "10").Capacity("memory", "10Gi");
  const NodeBuilder gpu_node = NodeBuilder(cpu_node).Capacity("nvidia.com/gpu", "8");
  const NodeBuilder rich_node =
      NodeBuilder(gpu_node).Capacity("example.com/fpga", "1").Capacity("ephemeral-storage", "10Gi");
  const PodBuilder cpu_pod = MakePod().Request("cpu", "1").Request("memory", "1Gi");
  struct Case {
    absl::string_view name;
    PodBuilder pod;
    absl::string_view scarce;
    std::vector<NodeAndPods> nodes;
    std::vector<int64_t> want;
  };
  for (const Case& c : {
           // On the last node the GPU is one of three kinds that the pod leaves unused.
           Case{"a pod without GPU avoids the GPUs",
                cpu_pod,
                "nvidia.com/gpu",
                {{cpu_node}, {gpu_node}, {rich_node}},
                {100, 0, 66}},
           Case{"a pod with GPU does not",
                PodBuilder(cpu_pod).Request("nvidia.com/gpu", "1"),
                "nvidia.com/gpu",
                {{gpu_node}, {rich_node}},
                {100, 100}},
           Case{"two scarce kinds",
                cpu_pod,
                "nvidia.com/gpu, example.com/fpga",
                {{cpu_node}, {rich_node}},
                {100, 33}},
           Case{"nothing is scarce", cpu_pod, "", {{rich_node}}, {100}},
       }) {
    FakeHandle handle(Numbered(c.nodes));
    const auto plugin = MakePlugin<ScarceResourceAvoidance, ScarceResourceAvoidanceArgs>(
        handle, absl::StrCat("{resources: [", c.scarce, "]}"));
    EXPECT_EQ(RunScore(*plugin, c.pod.Obj(), handle), c.want) << c.name;
  }
}

}  // namespace
}  // namespace berth::testing
