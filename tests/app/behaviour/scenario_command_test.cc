// SPDX-License-Identifier: Apache-2.0
// `berth simulate --scenario`, and the same of a scheduler with plugins of its own.
#include <filesystem>

#include "gmock/gmock.h"
#include "tests/app/run_command.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::string_view kGood = R"(name: a good one
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
- settle: true
- expect: {placed: {p: n0}}
)";

std::string Wrong() {
  std::string text(kGood);
  text.replace(text.rfind("n0"), 2, "n7");
  return text;
}

int RunAndRead(std::vector<std::string> words, std::string& output) {
  Process process(std::move(words));
  const int status = process.Wait();
  output = process.output();
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ScenarioCommand, SaysWhatHoldsAndWhatHappenedWhereItDoesNot) {
  const std::string good = WriteTemporary("good.yaml", kGood);
  const std::string wrong = WriteTemporary("wrong.yaml", Wrong());
  std::string output;
  EXPECT_EQ(RunAndRead({BerthCommand(), "simulate", "--scenario", good}, output), 0);
  EXPECT_THAT(output, AllOf(HasSubstr("ok"), HasSubstr("a good one"),
                            HasSubstr("1 of 1 scenarios hold"), Not(HasSubstr("what happened"))));
  EXPECT_EQ(RunAndRead({BerthCommand(), "simulate", "--scenario", good, wrong}, output), 1);
  EXPECT_THAT(output, AllOf(HasSubstr("FAIL"),
                            HasSubstr(absl::StrCat(wrong, ":14:24: expected default/p on n7")),
                            HasSubstr("what happened"), HasSubstr("default/p  tried, placed on n0"),
                            HasSubstr("1 of 2 scenarios hold")));
}

TEST(ScenarioCommand, PrintsJson) {
  const std::string wrong = WriteTemporary("wrong.yaml", Wrong());
  std::string output;
  EXPECT_EQ(RunAndRead({BerthCommand(), "simulate", "--scenario", wrong, "-o", "json"}, output), 1);
  EXPECT_THAT(output, AllOf(HasSubstr(R"("ok":false)"), HasSubstr(R"("passed":0,"failed":1)"),
                            HasSubstr(R"("object":"default/p","what":"tried, placed on n0")"),
                            HasSubstr(R"("figures":{"pods":1,"bound":1)")));
}

TEST(ScenarioCommand, TakesFolders) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/", getpid(), "-scenarios");
  std::filesystem::create_directories(absl::StrCat(folder, "/sub"));
  std::ofstream(absl::StrCat(folder, "/a.yaml")) << kGood;
  std::ofstream(absl::StrCat(folder, "/sub/b.yaml")) << kGood;
  std::string output;
  EXPECT_EQ(
      RunAndRead({BerthCommand(), "simulate", "--scenario", folder, "--scenario", folder}, output),
      0);
  EXPECT_THAT(output, HasSubstr("4 of 4 scenarios hold"));
  std::filesystem::remove_all(folder);
}

TEST(ScenarioCommand, NamesThatBeginAtTheRootAreTakenAsTheyAre) {
  const std::string config = WriteTemporary("absolute.yaml", R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
)");
  const std::string scenario =
      WriteTemporary("names-a-file.yaml", absl::StrCat("config: ", config, "\n", kGood));
  std::string output;
  EXPECT_EQ(RunAndRead({BerthCommand(), "simulate", "--scenario", scenario}, output), 0) << output;
}

TEST(ScenarioCommand, BadInputExitsWithOneAndBadUsageWithTwo) {
  const std::string bad = WriteTemporary("bad.yaml", "steps: [{dance: true}]\n");
  std::string output;
  EXPECT_EQ(RunAndRead({BerthCommand(), "simulate", "--scenario", bad}, output), 1);
  EXPECT_THAT(output, HasSubstr(absl::StrCat(bad, ":1:10: error: unknown step dance")));
  EXPECT_EQ(RunAndRead({BerthCommand(), "simulate", "--scenario", "no/such/file.yaml"}, output), 1);
  EXPECT_THAT(output, HasSubstr("no/such/file.yaml"));
  EXPECT_EQ(RunAndRead({BerthCommand(), "simulate", "--scenario", bad, "--config", "x"}, output),
            2);
  EXPECT_EQ(RunAndRead({BerthCommand(), "simulate", "--scenario"}, output), 2);
  EXPECT_EQ(RunAndRead({BerthCommand(), "explain", "--scenario", bad}, output), 2);
}

TEST(ScenarioCommand, ASchedulersOwnPluginsTakePart) {
  const std::string scenario = WriteTemporary("own.yaml", R"(name: only my nodes
config: |
  apiVersion: kubescheduler.config.k8s.io/v1
  kind: KubeSchedulerConfiguration
  profiles: [{plugins: {multiPoint: {enabled: [{name: Stubborn}]}}}]
steps:
- create: |
    apiVersion: v1
    kind: Node
    metadata: {name: theirs}
    status: {allocatable: {cpu: '1', pods: '110'}}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: p}
    spec: {containers: [{name: c, image: x}]}
- settle: true
- expect: {pending: {p: not mine}}
- create: |
    apiVersion: v1
    kind: Node
    metadata: {name: mine}
    status: {allocatable: {cpu: '1', pods: '110'}}
- settle: true
- expect: {placed: {p: mine}}
)");
  std::string output;
  EXPECT_EQ(RunAndRead({STUBBORN_SCHEDULER, "simulate", "--scenario", scenario}, output), 0)
      << output;
}

}  // namespace
}  // namespace berth
