// SPDX-License-Identifier: Apache-2.0
// SIGINT ends a simulation with what was decided so far; a second one ends it at once.
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "tests/app/run_command.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::string_view kNode = R"(
apiVersion: v1
kind: Node
metadata: {name: n0}
status: {allocatable: {cpu: '1', memory: 8Gi, pods: '110'}}
)";

// Each pod that ends lets one run and wakes thousands, since pods that want a host port do not take
// turns: hours of work.
std::string LongCluster() {
  std::string text(kNode);
  for (int i = 0; i < 4000; ++i) {
    absl::StrAppend(
        &text, "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: p", i,
        "\n  annotations: {simulation.berth/run-time: 1s}\nspec: {containers: [{name: c, "
        "image: x, ports: [{containerPort: 80, hostPort: 80}], resources: {requests: {cpu: "
        "'1'}}}]}\n");
  }
  return WriteTemporary("long.yaml", text);
}

TEST(Interrupt, SimulatePrintsWhatWasDecidedAsJson) {
  Process process({BerthCommand(), "simulate", "--config", "config/default.yaml", "--cluster",
                   LongCluster(), "-o", "json"});
  ASSERT_TRUE(process.WaitUntilItCatchesInterrupts(true)) << process.output();
  process.Interrupt();
  const int status = process.Wait();
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_THAT(process.output(),
              AllOf(HasSubstr(R"("pods":4000)"), HasSubstr(R"({"pod":"default/p0","node":)"),
                    HasSubstr(R"("interrupted":true)"), ::testing::EndsWith("}\n")));
}

TEST(Interrupt, SimulatePrintsWhatWasDecidedAsATable) {
  Process process(
      {BerthCommand(), "simulate", "--config", "config/default.yaml", "--cluster", LongCluster()});
  ASSERT_TRUE(process.WaitUntilItCatchesInterrupts(true)) << process.output();
  absl::SleepFor(absl::Milliseconds(300));
  process.Interrupt();
  const int status = process.Wait();
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_THAT(process.output(), AllOf(HasSubstr("Interrupted"), HasSubstr("pending")));
}

TEST(Interrupt, AScenarioEndsWithItsTimeline) {
  const std::string scenario = WriteTemporary("endless.yaml", R"(name: endless
steps:
- create: |
    apiVersion: v1
    kind: Node
    metadata: {name: n0}
    status: {allocatable: {cpu: '1', pods: '110'}}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: p}
    spec: {containers: [{name: c, image: x}]}
- failBinds: {p: 1000000000}
- advance: 8000h
- expect: {bound: 1}
)");
  Process process({BerthCommand(), "simulate", "--scenario", scenario, "-o", "json"});
  ASSERT_TRUE(process.WaitUntilItCatchesInterrupts(true)) << process.output();
  absl::SleepFor(absl::Milliseconds(300));
  process.Interrupt();
  const int status = process.Wait();
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_THAT(process.output(),
              AllOf(HasSubstr(R"("interrupted":true)"), HasSubstr("binding to n0 refused"),
                    Not(HasSubstr("expected 1 pods"))));
}

TEST(Interrupt, ASecondOneEndsAProgramThatDoesNotGetToTheFirst) {
  const std::string config = WriteTemporary("stubborn-config.yaml", R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {multiPoint: {enabled: [{name: Stubborn}]}}}]
)");
  const std::string cluster = WriteTemporary("stubborn-cluster.yaml", absl::StrCat(kNode, R"(
---
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {stubborn: 'yes'}}
spec: {containers: [{name: c, image: x}]}
)"));
  Process process({STUBBORN_SCHEDULER, "simulate", "--config", config, "--cluster", cluster});
  ASSERT_TRUE(process.WaitUntilItCatchesInterrupts(true)) << process.output();
  process.Interrupt();
  ASSERT_TRUE(process.WaitUntilItCatchesInterrupts(false)) << "the first one was not taken in";
  process.Interrupt();
  const int status = process.Wait();
  ASSERT_TRUE(WIFSIGNALED(status)) << status << " " << process.output();
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

}  // namespace
}  // namespace berth
