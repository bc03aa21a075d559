// SPDX-License-Identifier: Apache-2.0
#include "serve/questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "serve_stage.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::NodeJson;
using testing::PodJson;

void Add(google::protobuf::RepeatedPtrField<v1::Object>* list, const std::string& json) {
  list->Add()->set_json(json);
}

TEST(QuestionsTest, ExplainSaysWhatTheCommandSays) {
  v1::ExplainRequest request;
  Add(request.mutable_world()->mutable_add(), NodeJson("n1", 2));
  Add(request.mutable_world()->mutable_add(), NodeJson("n2", 4));
  Add(request.mutable_world()->mutable_add(), PodJson("small", 3));
  Add(request.mutable_world()->mutable_add(), PodJson("large", 9));
  request.set_nodes(10);
  const auto answer = Explain(testing::ServeOptions(), {}, request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->pods_size(), 2);
  const v1::PodExplanation& small = answer->pods(0);
  EXPECT_TRUE(small.fits());
  EXPECT_THAT(small.best_nodes(), ElementsAre("n2"));
  ASSERT_EQ(small.nodes_size(), 2);
  EXPECT_EQ(small.nodes(0).name(), "n2");
  EXPECT_GT(small.nodes(0).total(), 0);
  EXPECT_EQ(small.nodes(1).code(), "UnschedulableAndUnresolvable");
  const v1::PodExplanation& large = answer->pods(1);
  EXPECT_FALSE(large.fits());
  EXPECT_THAT(large.message(), HasSubstr("0/2 nodes are available: 2 Insufficient cpu"));
  ASSERT_EQ(large.rejections_size(), 1);
  EXPECT_EQ(large.rejections(0).nodes(), 2u);
  EXPECT_EQ(large.rejections(0).plugin(), "NodeResourcesFit");
  EXPECT_THAT(answer->text(), HasSubstr("default/small: would go to n2\n"));

  request.set_limit(1);
  EXPECT_EQ(Explain(testing::ServeOptions(), {}, request)->left_out(), 1u);
  request.set_pod("default/none");
  EXPECT_EQ(Explain(testing::ServeOptions(), {}, request).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(QuestionsTest, WhatIfFindsTheSmallestNumberOfNodes) {
  for (const uint32_t missing : {0u, 1u, 2u, 3u, 5u, 8u, 13u}) {
    v1::WhatIfRequest request;
    if (missing == 0) Add(request.mutable_world()->mutable_add(), NodeJson("n1", 8));
    const std::string gang = R"({"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"PodGroup",
        "metadata":{"name":"g"},"spec":{"minMember":)";
    const int members = missing == 0 ? 1 : static_cast<int>(missing);
    Add(request.mutable_pods(), absl::StrCat(gang, members, "}}"));
    for (int i = 0; i < members; ++i) {
      Add(request.mutable_pods(), PodJson(absl::StrCat("p", i), 8, "",
                                          R"("labels":{"scheduling.x-k8s.io/pod-group":"g"},)"));
    }
    request.mutable_more_nodes()->mutable_shape()->set_json(NodeJson("big", 8));
    request.mutable_more_nodes()->set_count(14);
    request.mutable_more_nodes()->set_search(true);
    const auto answer = WhatIf(testing::ServeOptions(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {enabled: [{name: Coscheduling}]}
    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: '*'}]}
)"),
                               {}, request);
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_TRUE(answer->fits()) << answer->text();
    EXPECT_EQ(answer->nodes_added(), missing);
    EXPECT_EQ(answer->placements().size(), static_cast<size_t>(members));
    EXPECT_EQ(answer->groups_size(), 1);
  }
}

TEST(QuestionsTest, WhatIfSaysWhoWouldGoAndWhatIsNotEnough) {
  v1::WhatIfRequest request;
  Add(request.mutable_world()->mutable_add(), NodeJson("n1", 2));
  Add(request.mutable_world()->mutable_add(), PodJson("old", 2, "\"nodeName\":\"n1\","));
  Add(request.mutable_pods(), PodJson("new", 2, "\"priority\":9,"));
  auto answer = WhatIf(testing::ServeOptions(), {}, request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_FALSE(answer->fits());
  EXPECT_TRUE(answer->fits_after_evictions());
  EXPECT_THAT(answer->evictions(), ElementsAre("default/old"));
  EXPECT_EQ(answer->placements().at("default/new"), "n1");

  Add(request.mutable_pods(), PodJson("huge", 99));
  request.mutable_more_nodes()->mutable_shape()->set_json(NodeJson("big", 8));
  request.mutable_more_nodes()->set_count(3);
  request.mutable_more_nodes()->set_search(true);
  answer = WhatIf(testing::ServeOptions(), {}, request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_FALSE(answer->fits());
  EXPECT_FALSE(answer->fits_after_evictions());
  EXPECT_EQ(answer->nodes_added(), 3u);

  request.clear_pods();
  EXPECT_EQ(WhatIf(testing::ServeOptions(), {}, request).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(QuestionsTest, ValidateSaysEveryProblemWithItsPlace) {
  v1::ValidateRequest request;
  request.set_configuration(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofile: "
      "[]\n");
  request.add_manifests("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: 7}");
  const auto answer = Validate(testing::ServeOptions(), request);
  ASSERT_TRUE(answer.ok());
  EXPECT_FALSE(answer->valid());
  ASSERT_GE(answer->problems_size(), 2);
  EXPECT_EQ(answer->problems(0).file(), "configuration");
  EXPECT_EQ(answer->problems(0).line(), 3u);
  EXPECT_EQ(answer->problems(1).file(), "manifests[0]");
  EXPECT_TRUE(Validate(testing::ServeOptions(), v1::ValidateRequest())->valid());
}

TEST(QuestionsTest, ValidateCompilesSelectorsOfDevices) {
  v1::ValidateRequest request;
  request.add_manifests(
      "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: c}, spec: {selectors: "
      "[{cel: {expression: device.nosuch}}]}}");
  const auto answer = Validate(testing::ServeOptions(), request);
  ASSERT_TRUE(answer.ok());
  EXPECT_FALSE(answer->valid());
  ASSERT_EQ(answer->problems_size(), 1);
  EXPECT_EQ(answer->problems(0).file(), "manifests[0]");
  EXPECT_EQ(answer->problems(0).column(), 112u);
  EXPECT_THAT(answer->problems(0).message(), ::testing::HasSubstr("undefined field 'nosuch'"));
}

// Remote plugins are known, and their processes are not asked.
TEST(QuestionsTest, ValidateKnowsRemotePlugins) {
  const auto problems = [](const std::string& more) {
    v1::ValidateRequest request;
    request.set_configuration(absl::StrCat(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: Mine}]}}
  pluginConfig:
  - name: Mine
    args: {kind: RemotePluginArgs, address: 'unix:/run/nobody.sock', )",
                                           more, "deadline: 50ms}\n"));
    const auto answer = Validate(testing::ServeOptions(), request);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return std::vector<v1::Problem>(answer->problems().begin(), answer->problems().end());
  };
  EXPECT_TRUE(problems("").empty());
  ASSERT_EQ(problems("points: [queueSort], ").size(), 1u);
  EXPECT_NE(problems("points: [queueSort], ")[0].message().find("cannot sort the queue"),
            std::string::npos);
}

}  // namespace
}  // namespace berth
