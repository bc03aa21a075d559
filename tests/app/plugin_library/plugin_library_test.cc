// SPDX-License-Identifier: Apache-2.0
// `berth --plugin-library`: a library that fits is loaded; others are refused before their code
// runs, with what to do.
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/app/run_command.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Configuration() {
  return WriteTemporary("nowhere.yaml", R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: Nowhere}]}}
)");
}

std::string Cluster() {
  return WriteTemporary("cluster.yaml", R"(
apiVersion: v1
kind: Node
metadata: {name: a}
status: {allocatable: {cpu: 8, pods: 110}}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
)");
}

std::string Refusal(const std::string& library) {
  const Outcome outcome =
      RunBerth(absl::StrCat("validate --plugin-library ", library, " config/default.yaml"));
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr(absl::StrCat("--plugin-library ", library, ": ")));
  return outcome.err;
}

TEST(PluginLibraryTest, ItsPluginsAreLikeOthers) {
  const std::string flag = absl::StrCat(" --plugin-library ", GOOD);
  EXPECT_EQ(RunBerth(absl::StrCat("validate", flag, " ", Configuration())).status, 0);
  EXPECT_THAT(RunBerth(absl::StrCat("validate ", Configuration())).err,
              HasSubstr("no such plugin"));
  const Outcome explained = RunBerth(absl::StrCat("explain", flag, " --config ", Configuration(),
                                                  " --cluster ", Cluster(), " -o json"));
  EXPECT_EQ(explained.status, 0) << explained.err;
  EXPECT_THAT(explained.out, AllOf(HasSubstr("Nowhere"), HasSubstr("the library says no")));
  // A file a flag: what follows is the configuration.
  EXPECT_EQ(RunBerth(absl::StrCat("validate", flag, flag, " ", Configuration())).status, 1)
      << "a plugin of the same name twice";
}

TEST(PluginLibraryTest, OneOfAnotherBerthIsRefused) {
  EXPECT_THAT(
      Refusal(OF_ANOTHER_BERTH),
      AllOf(HasSubstr("was built for berth 0.0.9 (g++ 11, libstdc++ 1), and this is berth "),
            HasSubstr("headers "), HasSubstr("; build it again")));
}

TEST(PluginLibraryTest, WhatIsNoLibraryIsRefused) {
  EXPECT_THAT(Refusal("config/default.yaml"), HasSubstr("is no shared object"));
  EXPECT_THAT(Refusal("/no/such/file.so"), HasSubstr("cannot be read"));
  EXPECT_THAT(Refusal(NO_PLUGINS), HasSubstr("lacks berth_plugin_library_identity"));
  EXPECT_THAT(Refusal(WITHOUT_REGISTRATIONS),
              HasSubstr("lacks berth_plugin_library_registrations"));
  const std::string cut = WriteTemporary("cut.so", ReadWhole(GOOD).substr(0, 3000));
  EXPECT_THAT(Refusal(cut), HasSubstr(cut));
}

}  // namespace
}  // namespace berth
