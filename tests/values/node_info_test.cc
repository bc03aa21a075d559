// SPDX-License-Identifier: Apache-2.0
// NodeSpec and NodeInfo: what is read of a node, and what its pods add up to.
#include "berth/framework/node_info.h"

#include <memory>
#include <string>
#include <vector>

#include "berth/api/core_v1.pb.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;
using ::berth::testing::NodeFromYaml;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

Symbol S(absl::string_view text) { return Symbol::Intern(text); }

TEST(NodeSpec, OfAManifest) {
  const NodeInfo node = NodeFromYaml(R"(
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {zone: a}}
spec:
  unschedulable: true
  taints: [{key: k, value: v, effect: NoSchedule}]
status:
  capacity: {cpu: "9", pods: "9"}
  allocatable:
    {cpu: 7500m, memory: 1Gi, pods: "42", example.com/gpu: "8", storage: 1Gi}
  images:
  - {names: ["a:1", "a@sha256:x"], sizeBytes: 10}
  - {names: ["b", "a:1"], sizeBytes: 20}
)");
  EXPECT_TRUE(node.has_node());
  EXPECT_EQ(node.name(), S("n1"));
  EXPECT_EQ(node.labels(), LabelSet({{"zone", "a"}}));
  EXPECT_TRUE(node.unschedulable());
  EXPECT_THAT(node.taints().taints(), SizeIs(1));
  EXPECT_EQ(node.allowed_pods(), 42);
  EXPECT_EQ(node.allocatable().Get(kCpu), 7500);
  EXPECT_EQ(node.allocatable().Get(kMemory), 1 << 30);
  EXPECT_EQ(node.allocatable().Get(ResourceIdOf("example.com/gpu")), 8);
  // Names that no pod can request from the scheduler.
  EXPECT_EQ(MakeNode().Allocatable("gpu", "3").Info().allocatable().Get(ResourceIdOf("gpu")), 0);
  EXPECT_EQ(node.allocatable().Get(ResourceIdOf("storage")), 0);
  // Image names are not normalised, and the first entry of a name counts.
  EXPECT_THAT(
      node.spec().images,
      ElementsAre(NodeImage{S("a:1"), 10}, NodeImage{S("a@sha256:x"), 10}, NodeImage{S("b"), 20}));
}

TEST(NodeSpec, NamesTheFieldThatDoesNotParse) {
  auto node = MakeNode().Allocatable("cpu", "many").Proto();
  const auto spec = NodeSpec::Create(std::make_shared<const api::Node>(node));
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(spec.status().message()),
              ::testing::StartsWith("status.allocatable.cpu: "));
  EXPECT_EQ(NodeSpec::Create(std::make_shared<const api::Node>()).status().message(),
            "metadata.name: Required value");
}

TEST(NodeInfo, SumsUpItsPods) {
  NodeInfo node = MakeNode().Name("n").Capacity("cpu", "8").Info();
  const auto a = MakePod()
                     .Name("a")
                     .Request("cpu", "1")
                     .Request("memory", "1")
                     .HostPort(80)
                     .Claim("data")
                     .PodAntiAffinity("zone", {})
                     .Obj();
  const auto b = MakePod()
                     .Name("b")
                     .Request("cpu", "2")
                     .HostPort(80)
                     .Claim("data")
                     .PreferredPodAffinity(1, "zone", {})
                     .Obj();
  const auto c = MakePod().Name("c").Request("example.com/gpu", "2").Obj();
  node.AddPod(a);
  node.AddPod(b);
  node.AddPod(c);
  EXPECT_THAT(node.pods(), ElementsAre(a, b, c));
  EXPECT_THAT(node.pods_with_affinity(), ElementsAre(a, b));
  EXPECT_THAT(node.pods_with_required_anti_affinity(), ElementsAre(a));
  EXPECT_EQ(node.requested().Get(kCpu), 3000);
  EXPECT_EQ(node.requested().Get(kMemory), 1);
  EXPECT_EQ(node.nonzero_requested().Get(kCpu), 3100);
  EXPECT_EQ(node.nonzero_requested().Get(kMemory), (400 << 20) + 1);
  EXPECT_EQ(node.requested().Get(ResourceIdOf("example.com/gpu")), 2);
  EXPECT_THAT(node.used_ports(), SizeIs(2));
  EXPECT_THAT(node.claim_uses(), UnorderedElementsAre(Pair("default/data", 2)));

  EXPECT_TRUE(node.RemovePod(a->uid()));
  EXPECT_FALSE(node.RemovePod(a->uid()));
  EXPECT_THAT(node.pods(), ElementsAre(b, c));
  EXPECT_THAT(node.pods_with_affinity(), ElementsAre(b));
  EXPECT_THAT(node.pods_with_required_anti_affinity(), IsEmpty());
  EXPECT_EQ(node.requested().Get(kCpu), 2000);
  // The port and the claim that b uses as well are still used.
  EXPECT_THAT(node.used_ports(), SizeIs(1));
  EXPECT_THAT(node.claim_uses(), UnorderedElementsAre(Pair("default/data", 1)));

  EXPECT_TRUE(node.RemovePod(c->uid()));
  EXPECT_TRUE(node.RemovePod(b->uid()));
  EXPECT_TRUE(node.requested().IsZero());
  EXPECT_TRUE(node.nonzero_requested().IsZero());
  EXPECT_THAT(node.used_ports(), IsEmpty());
  EXPECT_THAT(node.claim_uses(), IsEmpty());
}

TEST(NodeInfo, RemovesThePodItAddedNotALaterVersion) {
  NodeInfo node = MakeNode().Info({MakePod().Name("p").Request("cpu", "2").Obj()});
  const auto resized = MakePod().Name("p").Request("cpu", "5").Obj();
  EXPECT_TRUE(node.RemovePod(resized->uid()));
  EXPECT_EQ(node.requested().Get(kCpu), 0);
}

TEST(NodeInfo, CopiesAreIndependent) {
  const auto pod = MakePod().Request("cpu", "1").Obj();
  const NodeInfo node = MakeNode().Info({pod});
  NodeInfo copy = node;
  EXPECT_EQ(copy.generation(), node.generation());
  copy.RemovePod(pod->uid());
  EXPECT_NE(copy.generation(), node.generation());
  EXPECT_EQ(node.requested().Get(kCpu), 1000);
  EXPECT_EQ(copy.requested().Get(kCpu), 0);
  EXPECT_EQ(&copy.spec(), &node.spec());
}

TEST(NodeInfo, EveryChangeHasANewGeneration) {
  NodeInfo node = MakeNode().Name("n").Info();
  std::vector<uint64_t> generations = {node.generation()};
  const auto note = [&] { generations.push_back(node.generation()); };
  node.AddPod(MakePod().Uid("u").Obj());
  note();
  node.SetSpec(MakeNode().Name("n").Obj());
  note();
  node.RemovePod("u");
  note();
  node.ClearSpec();
  note();
  for (size_t i = 1; i < generations.size(); ++i) EXPECT_LT(generations[i - 1], generations[i]);
  node.RemovePod("u");  // is not there: no change
  EXPECT_EQ(node.generation(), generations.back());
}

TEST(NodeInfo, MayHavePodsBeforeAndAfterItsNode) {
  NodeInfo node(S("n"));
  EXPECT_FALSE(node.has_node());
  EXPECT_EQ(node.arrival(), 0u);
  node.AddPod(MakePod().Request("cpu", "1").Obj());
  EXPECT_EQ(node.name(), S("n"));
  EXPECT_EQ(node.allocatable().Get(kCpu), 0);

  node.SetSpec(MakeNode().Name("n").Capacity("cpu", "4").Obj());
  const uint64_t arrival = node.arrival();
  EXPECT_TRUE(node.has_node());
  EXPECT_GT(arrival, 0u);
  EXPECT_EQ(node.allocatable().Get(kCpu), 4000);
  EXPECT_EQ(node.requested().Get(kCpu), 1000);
  node.SetSpec(MakeNode().Name("n").Obj());
  EXPECT_EQ(node.arrival(), arrival);

  node.ClearSpec();
  EXPECT_FALSE(node.has_node());
  EXPECT_EQ(node.name(), S("n"));
  EXPECT_THAT(node.pods(), SizeIs(1));
  node.SetSpec(MakeNode().Name("n").Obj());
  EXPECT_GT(node.arrival(), arrival);
}

}  // namespace
}  // namespace berth
