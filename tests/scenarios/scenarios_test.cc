// Runs every scenario in this folder; to add one, add a file.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "berth/builtin_plugins.h"
#include "berth/testing/scenario.h"
#include "gtest/gtest.h"

namespace berth::testing {
namespace {

std::vector<std::string> ScenarioFiles() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/scenarios")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class Scenario : public ::testing::TestWithParam<std::string> {};

TEST_P(Scenario, Holds) {
  const absl::StatusOr<Registry> registry = BuiltinRegistry();
  ASSERT_TRUE(registry.ok()) << registry.status();
  const ScenarioResult result = RunScenarioFile(GetParam(), *registry);
  EXPECT_TRUE(result.ok()) << absl::StrJoin(result.failures, "\n") << "\n\nWhat happened:\n"
                           << result.timeline;
}

INSTANTIATE_TEST_SUITE_P(Files, Scenario, ::testing::ValuesIn(ScenarioFiles()),
                         [](const auto& info) {
                           return std::filesystem::path(info.param).stem().string();
                         });

// The runner itself: an expectation that does not hold is a failure with its place.
TEST(ScenarioRunner, ReportsWhatDoesNotHold) {
  const absl::StatusOr<Registry> registry = BuiltinRegistry();
  ASSERT_TRUE(registry.ok());
  const ScenarioResult result = RunScenario(R"(name: wrong
steps:
- create: |
    apiVersion: v1
    kind: Pod
    metadata: {name: p}
    spec: {containers: [{name: c, image: x}]}
- settle: true
- expect:
    bound: 1
    sleeping: 2
- dance: true
)",
                                            "wrong.yaml", *registry);
  ASSERT_EQ(result.failures.size(), 3u) << absl::StrJoin(result.failures, "\n");
  EXPECT_EQ(result.failures[0], "wrong.yaml:10:12: expected 1 pods with a node, there are 0");
  EXPECT_EQ(result.failures[1], "wrong.yaml:11:15: unknown expectation sleeping");
  EXPECT_EQ(result.failures[2], "wrong.yaml:12:10: unknown step dance");
}

}  // namespace
}  // namespace berth::testing
