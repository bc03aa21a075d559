// The files in config/: all of them can be used as they are, and the one that writes the defaults
// out in full is the default.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

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

}  // namespace
}  // namespace berth
