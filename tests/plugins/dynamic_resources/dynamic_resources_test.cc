// SPDX-License-Identifier: Apache-2.0
// Tests of DynamicResources as far as it goes.
#include "plugins/dynamic_resources/dynamic_resources.h"

#include "berth/api/core_v1.pb.h"
#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

class NoStatuses final : public NodeStatuses {
  Code code(NodeRow) const override { return Code::kUnschedulable; }
  Status status(NodeRow) const override { return Status::Unschedulable("full"); }
  std::vector<NodeRow> RowsWith(Code) const override { return {}; }
};

PodPtr PodWithClaim() {
  PodBuilder pod = MakePod();
  pod.Message().mutable_spec()->add_resource_claims()->set_name("gpu");
  return pod.Obj();
}

TEST(DynamicResourcesTest, PodWithoutClaims) {
  FakeHandle handle({MakeNode().Name("a").Info(), MakeNode().Name("b").Info()});
  const auto plugin = MakePlugin<DynamicResources, DynamicResourcesArgs>(handle);
  const PodPtr pod = MakePod().Obj();
  CycleState state;
  PreFilterResult narrowed;
  PostFilterResult result;
  EXPECT_TRUE(plugin->PreEnqueue(*pod).ok());
  EXPECT_TRUE(plugin->PreFilter(state, *pod, handle.nodes(), narrowed).IsSkip());
  EXPECT_EQ(plugin->PostFilter(state, *pod, NoStatuses(), result),
            Status::Unschedulable("no new claims to deallocate"));
  EXPECT_EQ(RunScore(*plugin, pod, handle), (std::vector<int64_t>{0, 0}));
  EXPECT_TRUE(plugin->PreBindPreFlight(state, *pod, "a").IsSkip());
}

TEST(DynamicResourcesTest, PodWithClaimsIsRejected) {
  FakeHandle handle;
  const auto plugin = MakePlugin<DynamicResources, DynamicResourcesArgs>(handle);
  EXPECT_EQ(RunFilter(*plugin, PodWithClaim(), MakeNode().Info()),
            Unresolvable("resource claims (spec.resourceClaims) are not supported yet"));
  PodSignature signature;
  EXPECT_FALSE(plugin->SignPod(*PodWithClaim(), signature).ok());
}

TEST(DynamicResourcesTest, Args) {
  EXPECT_EQ(ArgsError<DynamicResourcesArgs>("{filterTimeout: 0s}"), "");
  EXPECT_THAT(ArgsError<DynamicResourcesArgs>("{filterTimeout: -1s}"),
              HasSubstr("filterTimeout: Invalid value"));
  EXPECT_THAT(ArgsError<DynamicResourcesArgs>("{bindingTimeout: 1m}"),
              HasSubstr("bindingTimeout: Forbidden: DRADeviceBindingConditions"));
}

}  // namespace
}  // namespace berth::testing
