// SPDX-License-Identifier: Apache-2.0
// Tests of NodeResourcesFitPlus.
#include "plugins/node_resources_fit_plus/node_resources_fit_plus.h"

#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

TEST(NodeResourcesFitPlusTest, Score) {
  constexpr char kPackGpusSpreadCpu[] =
      "{resources: {nvidia.com/gpu: {type: MostAllocated, weight: 2}, cpu: {type: LeastAllocated, "
      "weight: 1}}}";
  const NodeBuilder gpu_node = MakeNode().Capacity("cpu", "10").Capacity("nvidia.com/gpu", "8");
  const PodBuilder gpu_pod = MakePod().Request("cpu", "1").Request("nvidia.com/gpu", "2");
  struct Case {
    absl::string_view name;
    PodBuilder pod;
    std::vector<NodeAndPods> nodes;
    std::vector<int64_t> want;
  };
  for (const Case& c : {
           // (2 * 25 + 90) / 3; (2 * 50 + 80) / 3
           Case{"each resource by its strategy",
                gpu_pod,
                {{gpu_node}, {gpu_node, {gpu_pod}}},
                {46, 60}},
           Case{"what the pod does not request does not count",
                MakePod().Request("cpu", "1"),
                {{gpu_node}, {gpu_node, {gpu_pod}}},
                {90, 80}},
           Case{"nothing that counts", MakePod().Request("memory", "1Gi"), {{gpu_node}}, {100}},
           // 0 for the GPUs, 90 for the CPU
           Case{"a node without the resource", gpu_pod, {{MakeNode().Capacity("cpu", "10")}}, {30}},
       }) {
    FakeHandle handle(Numbered(c.nodes));
    const auto plugin =
        MakePlugin<NodeResourcesFitPlus, NodeResourcesFitPlusArgs>(handle, kPackGpusSpreadCpu);
    EXPECT_EQ(RunScore(*plugin, c.pod.Obj(), handle), c.want) << c.name;
  }
}

TEST(NodeResourcesFitPlusTest, Args) {
  EXPECT_THAT(ArgsError<NodeResourcesFitPlusArgs>("{resources: {cpu: {type: Some, weight: 1}}}"),
              HasSubstr("Unsupported value: \"Some\""));
  EXPECT_THAT(
      ArgsError<NodeResourcesFitPlusArgs>("{resources: {cpu: {type: MostAllocated, weight: -1}}}"),
      HasSubstr("weight: Invalid value: -1"));
}

}  // namespace
}  // namespace berth::testing
