// SPDX-License-Identifier: Apache-2.0
// Nodes whose devices are the same to a claim are asked about once.
#include "plugins/dynamic_resources/nodes_by_devices.h"

#include "berth/api/core_v1.pb.h"
#include "berth/api/resource_v1.pb.h"
#include "plugins/dynamic_resources/dynamic_resources.h"
#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

constexpr int kManyNodes = 64;

// A class, and for each node two devices that differ in their uuid from all others.
std::string ManyDevices() {
  std::string yaml =
      "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: any}, spec: {}}\n---\n";
  for (int n = 0; n < kManyNodes; ++n) {
    const auto device = [n](int i) {
      return absl::StrCat("{name: x", i, ", attributes: {uuid: {string: u-", n, "-", i,
                          "}, size: {int: ", 1 + n % 2, "}}}");
    };
    absl::StrAppend(&yaml,
                    "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s", n,
                    "}, spec: {driver: d, nodeName: n", n, ", pool: {name: n", n,
                    ", generation: 1, resourceSliceCount: 1}, devices: [", device(0), ", ",
                    device(1), "]}}\n---\n");
  }
  return yaml;
}

std::string ClaimSelecting(absl::string_view name, absl::string_view expression) {
  return absl::StrCat("{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: ",
                      name, ", namespace: default, uid: uid-", name,
                      "}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: any, "
                      "selectors: [{cel: {expression: 'device.attributes[\"d\"].",
                      expression, "'}}]}}]}}}\n---\n");
}

PodPtr PodUsing(absl::string_view claim) {
  PodBuilder pod = MakePod();
  pod.Name(absl::StrCat("p-", claim)).SchedulerName("default-scheduler");
  auto& reference = *pod.Message().mutable_spec()->add_resource_claims();
  reference.set_name("ref");
  reference.set_resource_claim_name(std::string(claim));
  return pod.Obj();
}

class NodesByDevicesTest : public ::testing::Test {
 protected:
  static std::vector<NodeInfo> Nodes() {
    std::vector<NodeInfo> nodes;
    for (int n = 0; n < kManyNodes; ++n) {
      nodes.push_back(MakeNode().Name(absl::StrCat("n", n)).Info());
    }
    return nodes;
  }

  CycleState Begin(const PodPtr& pod) {
    CycleState state;
    PreFilterResult narrowed;
    EXPECT_TRUE(plugin_->PreFilter(state, *pod, handle_.nodes(), narrowed).ok());
    return state;
  }
  int CountFeasible(const CycleState& state, const PodPtr& pod) {
    NodeVerdicts verdicts;
    verdicts.Reset(kManyNodes);
    std::vector<NodeRow> rows(kManyNodes);
    for (int n = 0; n < kManyNodes; ++n) rows[n] = n;
    verdicts.BeginBlock(rows);
    EXPECT_TRUE(plugin_->FilterNodes(state, *pod, handle_.nodes(), verdicts).ok());
    int feasible = 0;
    for (const NodeRow row : rows) feasible += verdicts.code(row) == Code::kSuccess ? 1 : 0;
    return feasible;
  }
  int64_t evaluations() { return handle_.Shared<ClusterDevices>()->inventory().evaluations(); }

  FakeHandle handle_{Nodes(), ObjectsFromYaml(ManyDevices() + ClaimSelecting("small", "size == 1") +
                                              ClaimSelecting("other", "size == 1") +
                                              ClaimSelecting("large", "size == 2") +
                                              ClaimSelecting("odd", "nosuch == 2") +
                                              ClaimSelecting("one", "uuid == \"u-5-1\""))};
  std::unique_ptr<DynamicResources> plugin_ =
      MakePlugin<DynamicResources, DynamicResourcesArgs>(handle_, "{}");
};

TEST_F(NodesByDevicesTest, AreAskedOnce) {
  const PodPtr small = PodUsing("small"), large = PodUsing("large"), one = PodUsing("one");
  EXPECT_EQ(CountFeasible(Begin(small), small), kManyNodes / 2);
  EXPECT_EQ(evaluations(), 3) << "a device of a small node, two of a large one";
  EXPECT_EQ(CountFeasible(Begin(large), large), kManyNodes / 2);
  EXPECT_EQ(evaluations(), 6);
  EXPECT_EQ(CountFeasible(Begin(one), one), 1);
  EXPECT_EQ(evaluations(), 6 + 2 * kManyNodes) << "no two devices are the same to it";
}

TEST_F(NodesByDevicesTest, AreOthersWhenDevicesAreTaken) {
  const PodPtr small = PodUsing("small"), other = PodUsing("other");
  for (const char* const node : {"n0", "n2"}) {
    CycleState state = Begin(small);
    ASSERT_TRUE(plugin_->Reserve(state, *small, node).ok());
    CycleState next = Begin(other);
    EXPECT_EQ(CountFeasible(next, other), kManyNodes / 2) << "one device is left";
    ASSERT_TRUE(plugin_->Reserve(next, *other, node).ok());
    const PodPtr third = PodUsing("large");
    EXPECT_EQ(CountFeasible(Begin(third), third), kManyNodes / 2);
    plugin_->Unreserve(next, *other, node);
    plugin_->Unreserve(state, *small, node);
  }
}

// A score of all nodes is known without a look at each, unless the allocator fails on one.
TEST_F(NodesByDevicesTest, HaveOneScoreUnlessOneFails) {
  const PodPtr small = PodUsing("small"), odd = PodUsing("odd");
  const CycleState state = Begin(small);
  EXPECT_EQ(plugin_->UniformScore(state, *small, handle_.nodes()), 0);
  EXPECT_EQ(evaluations(), 3);
  EXPECT_EQ(plugin_->UniformScore(Begin(odd), *odd, handle_.nodes()), std::nullopt);
}

}  // namespace
}  // namespace berth::testing
