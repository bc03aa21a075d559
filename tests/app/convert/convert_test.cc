// SPDX-License-Identifier: Apache-2.0
// `berth convert`: files of older tutorials are written as the v1 file they mean, and that is a
// good one.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "tests/app/run_command.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kFolder[] = "tests/app/convert/files";

std::vector<std::string> Files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string path = entry.path().string();
    if (!absl::EndsWith(path, ".v1.yaml")) files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(ConvertTest, EachFileMeansWhatIsRecorded) {
  const std::vector<std::string> files = Files();
  ASSERT_GE(files.size(), 10u);
  for (const std::string& file : files) {
    const Outcome converted = RunBerth(absl::StrCat("convert ", file));
    EXPECT_EQ(converted.status, 0) << file << ": " << converted.err;
    EXPECT_EQ(converted.out, ReadWhole(absl::StrCat(file, ".v1.yaml"))) << file;
    // It is good, and as a v1 file means itself.
    const std::string written = WriteTemporary("converted.yaml", converted.out);
    EXPECT_EQ(RunBerth(absl::StrCat("validate ", written)).status, 0) << file;
    const Outcome again = RunBerth(absl::StrCat("convert ", written));
    EXPECT_EQ(again.out.substr(again.out.find("apiVersion:")),
              RunBerth(absl::StrCat("convert - <", WriteTemporary("again.yaml", again.out)))
                  .out.substr(again.out.find("apiVersion:")));
  }
}

TEST(ConvertTest, ValidatePointsToIt) {
  for (const char* const file : {"policy.json", "v1beta2.yaml", "hard_way.yaml"}) {
    const Outcome outcome = RunBerth(absl::StrCat("validate ", kFolder, "/", file));
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.err, HasSubstr("`berth convert`")) << file;
  }
}

TEST(ConvertTest, AConfigMapIsReadThrough) {
  const std::string map = WriteTemporary("map.yaml", R"(
apiVersion: v1
kind: ConfigMap
data:
  other: "some text"
  config.yaml: |
    apiVersion: kubescheduler.config.k8s.io/v1
    kind: KubeSchedulerConfiguration
    profiles:
    - schedulerName: mine
    parallelism: nonsense
)");
  EXPECT_THAT(RunBerth(absl::StrCat("validate ", map)).err,
              AllOf(HasSubstr(", data.config.yaml:5:"), HasSubstr("parallelism")));
  const std::string empty =
      WriteTemporary("empty.yaml", "apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n");
  EXPECT_THAT(RunBerth(absl::StrCat("validate ", empty)).err,
              HasSubstr("data has no KubeSchedulerConfiguration"));
}

TEST(ConvertTest, ARemotePluginStaysOne) {
  const std::string profiles = R"(kind: KubeSchedulerConfiguration
profiles:
- schedulerName: mine
  plugins: {multiPoint: {enabled: [{name: Zones}]}}
  pluginConfig:
  - {name: Zones, args: {kind: RemotePluginArgs, address: 'unix:/nobody', startTimeout: 10ms}}
)";
  const std::string old =
      WriteTemporary("remote.yaml", "apiVersion: kubescheduler.config.k8s.io/v1beta3\n" + profiles);
  EXPECT_THAT(RunBerth(absl::StrCat("convert ", old)).out, HasSubstr("kind: RemotePluginArgs"));
  std::string entry = "    apiVersion: kubescheduler.config.k8s.io/v1\n";
  for (const absl::string_view line : absl::StrSplit(profiles, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&entry, "    ", line, "\n");
  }
  const std::string map = WriteTemporary(
      "remote_map.yaml", "apiVersion: v1\nkind: ConfigMap\ndata:\n  config.yaml: |\n" + entry);
  // The plugin is known, and its process is not there.
  EXPECT_THAT(RunBerth(absl::StrCat("validate ", map)).err, HasSubstr("unix:/nobody"));
}

// Until v1beta1 NodeResourcesLeastAllocated scored beside what a profile enabled.
TEST(ConvertTest, ADefaultStrategyBesideAnotherHasNoEqual) {
  const auto converted = [](absl::string_view disabled) {
    return RunBerth(
               absl::StrCat("convert ", WriteTemporary("old.yaml", absl::StrCat(R"(
apiVersion: kubescheduler.config.k8s.io/v1beta1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    score:
      enabled: [{name: NodeResourcesMostAllocated, weight: 3}]
      disabled: [)",
                                                                                disabled, "]\n"))))
        .out;
  };
  EXPECT_THAT(converted(""), HasSubstr("no equal for NodeResourcesLeastAllocated"));
  EXPECT_THAT(converted("{name: NodeResourcesLeastAllocated}"), Not(HasSubstr("no equal")));
  EXPECT_THAT(converted("{name: '*'}"), Not(HasSubstr("no equal")));
}

TEST(ConvertTest, WhatIsNoConfiguration) {
  const auto refusal = [](const std::string& text) {
    const Outcome outcome = RunBerth(absl::StrCat("convert ", WriteTemporary("input.yaml", text)));
    EXPECT_EQ(outcome.status, 1) << text;
    EXPECT_EQ(outcome.out, "") << text;
    return outcome.err;
  };
  EXPECT_THAT(refusal(""), HasSubstr("is empty"));
  EXPECT_THAT(refusal("a: [\n"), HasSubstr("error"));
  EXPECT_THAT(refusal("kind: Pod\n"), HasSubstr("kind \"Pod\""));
  EXPECT_THAT(refusal("kind: KubeSchedulerConfiguration\napiVersion: v7\n"),
              HasSubstr("is no version that kube-scheduler had"));
  EXPECT_THAT(RunBerth("convert /no/such/file").err, HasSubstr("cannot be read"));
  const Outcome without = RunBerth("convert");
  EXPECT_EQ(without.status, 2);
  EXPECT_THAT(without.err, HasSubstr("FILE is required"));
}

}  // namespace
}  // namespace berth
