// SPDX-License-Identifier: Apache-2.0
// The files in config/: all of them can be used as they are, and the one that writes the defaults
// out in full is the default.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "berth/builtin_plugins.h"
#include "berth/configuration.h"

namespace berth {
namespace {

const Registry& Builtin() {
  static const Registry& registry = *new Registry(BuiltinRegistry().value());
  return registry;
}

TEST(ConfigFiles, AllAreRight) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("config")) {
    if (entry.is_directory()) continue;  // crd/ has no configurations
    const LoadedConfiguration loaded = LoadConfigurationFile(entry.path().string(), Builtin());
    EXPECT_TRUE(loaded.problems.empty()) << loaded.problems.ToString();
    ++files;
  }
  EXPECT_GE(files, 6);
}

TEST(ConfigFiles, TheFullDefaultIsTheDefault) {
  const LoadedConfiguration loaded =
      LoadConfigurationFile("config/kube-scheduler-default.yaml", Builtin());
  EXPECT_EQ(ConfigurationToYaml(loaded.configuration),
            ConfigurationToYaml(DefaultConfiguration(Builtin())));
}

// Problems of the file and of the profiles built from it, in one list.
TEST(ConfigFiles, ValidateReportsEverythingAtOnce) {
  const char* command = std::getenv("BERTH_COMMAND");
  ASSERT_NE(command, nullptr) << "run me with ctest";
  const std::string file = "tests/config/validate/everything_wrong";
  FILE* pipe = popen(
      absl::StrCat(command, " validate --config ", file, ".yaml 2>&1 >/dev/null").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string got;
  for (int c; (c = std::fgetc(pipe)) != EOF;) got.push_back(static_cast<char>(c));
  EXPECT_EQ(WEXITSTATUS(pclose(pipe)), 1);
  std::ifstream in(file + ".txt", std::ios::binary);
  EXPECT_EQ(got, std::string(std::istreambuf_iterator<char>(in), {}));
}

}  // namespace
}  // namespace berth
