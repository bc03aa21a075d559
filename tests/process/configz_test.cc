// SPDX-License-Identifier: Apache-2.0
// What /configz shows.
#include "process/configz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/builtin_plugins.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Configz, IsTheConfigurationInFull) {
  const Registry registry = *BuiltinRegistry();
  const std::string text = ConfigzText(DefaultConfiguration(registry));
  EXPECT_THAT(text, StartsWith(R"({"componentconfig":{"apiVersion":)"
                               R"("kubescheduler.config.k8s.io/v1")"));
  EXPECT_THAT(text, HasSubstr(R"("leaderElection":{"leaderElect":true,"leaseDuration":"15s")"));
  EXPECT_THAT(text, HasSubstr(R"("podInitialBackoffSeconds":1,)"));
  EXPECT_THAT(text, HasSubstr(R"("schedulerName":"default-scheduler")"));
}

TEST(Configz, ShowsNoKeys) {
  KubeSchedulerConfiguration configuration = DefaultConfiguration(*BuiltinRegistry());
  Extender& extender = configuration.extenders.emplace_back();
  extender.tls_config.emplace();
  extender.tls_config->key_data = "secret";
  extender.tls_config->cert_data = "public";
  const std::string text = ConfigzText(configuration);
  EXPECT_THAT(text, HasSubstr("cHVibGlj"));
  EXPECT_THAT(text, Not(HasSubstr("c2VjcmV0")));
}

}  // namespace
}  // namespace berth
