// SPDX-License-Identifier: Apache-2.0
// Health endpoints answer in apiserver's words.
#include "process/health_checks.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

ServerResponse Ask(const Endpoints& endpoints, std::string path, std::string query = "") {
  return endpoints.Answer({.path = std::move(path), .query = std::move(query)});
}

class HealthChecks : public ::testing::Test {
 protected:
  HealthChecks() {
    AddHealthEndpoints("/readyz",
                       {{"leaderElection", [this] { return leader_; }},
                        {"shutdown", [] { return absl::OkStatus(); }}},
                       endpoints_);
    AddHealthEndpoints("/livez", {}, endpoints_);
  }
  absl::Status leader_;
  Endpoints endpoints_;
};

TEST_F(HealthChecks, AllPass) {
  EXPECT_EQ(Ask(endpoints_, "/readyz").code, 200);
  EXPECT_EQ(Ask(endpoints_, "/readyz").body, "ok");
  EXPECT_EQ(Ask(endpoints_, "/readyz").content_type, "text/plain; charset=utf-8");
  EXPECT_EQ(Ask(endpoints_, "/readyz", "verbose").body,
            "[+]leaderElection ok\n[+]shutdown ok\nreadyz check passed\n");
  EXPECT_EQ(Ask(endpoints_, "/readyz/shutdown").body, "ok");
}

TEST_F(HealthChecks, WhatFailsIsNamedAndItsReasonIsBelowItsOwnPath) {
  leader_ = absl::UnavailableError("failed election to renew leadership on lease x");
  const ServerResponse all = Ask(endpoints_, "/readyz");
  EXPECT_EQ(all.code, 500);
  EXPECT_EQ(all.body,
            "[-]leaderElection failed: reason withheld\n[+]shutdown ok\nreadyz check failed\n");
  const ServerResponse one = Ask(endpoints_, "/readyz/leaderElection");
  EXPECT_EQ(one.code, 500);
  EXPECT_EQ(one.body, "internal server error: failed election to renew leadership on lease x\n");
}

TEST_F(HealthChecks, ExcludedOnesDoNotCount) {
  leader_ = absl::UnavailableError("no");
  EXPECT_EQ(Ask(endpoints_, "/readyz", "exclude=leaderElection").code, 200);
  EXPECT_EQ(Ask(endpoints_, "/readyz", "verbose&exclude=leaderElection&exclude=b&exclude=a").body,
            "[+]leaderElection excluded: ok\n[+]shutdown ok\n"
            "warn: some health checks cannot be excluded: no matches for \"a\",\"b\"\n"
            "readyz check passed\n");
}

TEST_F(HealthChecks, WithoutChecksThereIsPing) {
  EXPECT_EQ(Ask(endpoints_, "/livez", "verbose").body, "[+]ping ok\nlivez check passed\n");
  EXPECT_EQ(Ask(endpoints_, "/livez/ping").body, "ok");
  EXPECT_EQ(Ask(endpoints_, "/livez/shutdown").code, 404);
}

}  // namespace
}  // namespace berth
