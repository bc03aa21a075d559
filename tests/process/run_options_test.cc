// SPDX-License-Identifier: Apache-2.0
// What flags make of a configuration: which of the two goes first, and what is refused.
#include "process/run_options.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

KubeSchedulerConfiguration FileWithKubeconfig(const std::string& kubeconfig) {
  KubeSchedulerConfiguration file;
  file.client_connection.kubeconfig = kubeconfig;
  file.client_connection.qps = 7;
  file.leader_election.resource_name = "of-the-file";
  return file;
}

TEST(RunOptionsTest, WithoutAFileFlagsCount) {
  RunOptions options;
  options.client_connection = {.kubeconfig = "k", .qps = 500, .burst = 1000};
  options.leader_election = {.leader_elect = false, .resource_name = "berth"};
  KubeSchedulerConfiguration configuration;
  Problems problems;
  ApplyFlags(ConfigurationSource::kDefaults, options, configuration, problems);
  EXPECT_TRUE(problems.ok()) << problems.ToStatus();
  EXPECT_THAT(options.warnings, IsEmpty());
  EXPECT_EQ(configuration.client_connection.kubeconfig, "k");
  EXPECT_EQ(configuration.client_connection.qps, 500);
  EXPECT_EQ(configuration.client_connection.burst, 1000);
  EXPECT_FALSE(configuration.leader_election.leader_elect);
  EXPECT_EQ(configuration.leader_election.resource_name, "berth");
  EXPECT_EQ(configuration.leader_election.resource_namespace, "kube-system");
}

TEST(RunOptionsTest, AFileGoesBeforeTheConnectionsFlagsAndSaysSo) {
  RunOptions options;
  options.client_connection = {.kubeconfig = "of-the-flag", .qps = 500};
  options.leader_election = {.resource_name = "of-the-flag"};
  KubeSchedulerConfiguration configuration = FileWithKubeconfig("of-the-file");
  Problems problems;
  ApplyFlags(ConfigurationSource::kFile, options, configuration, problems);
  EXPECT_EQ(configuration.client_connection.kubeconfig, "of-the-file");
  EXPECT_EQ(configuration.client_connection.qps, 7);
  EXPECT_EQ(configuration.leader_election.resource_name, "of-the-flag");
  EXPECT_THAT(options.warnings, ElementsAre(HasSubstr("--kubeconfig has no effect"),
                                            HasSubstr("--kube-api-qps has no effect")));
}

TEST(RunOptionsTest, AKubeconfigCountsBesideAFileThatNamesNone) {
  RunOptions options;
  options.client_connection = {.kubeconfig = "of-the-flag"};
  KubeSchedulerConfiguration configuration = FileWithKubeconfig("");
  Problems problems;
  ApplyFlags(ConfigurationSource::kFile, options, configuration, problems);
  EXPECT_EQ(configuration.client_connection.kubeconfig, "of-the-flag");
  EXPECT_THAT(options.warnings, IsEmpty());
}

TEST(RunOptionsTest, FlagsThatContradictTheFileAreRefused) {
  RunOptions options;
  options.leader_election = {.lease_duration = absl::Seconds(5)};
  KubeSchedulerConfiguration configuration;
  Problems problems;
  ApplyFlags(ConfigurationSource::kDefaults, options, configuration, problems);
  EXPECT_FALSE(problems.ok());
  EXPECT_THAT(std::string(problems.ToStatus().message()),
              HasSubstr("leaderElection.leaseDuration: Invalid value: 5s: must be greater than "
                        "renewDeadline"));
}

TEST(RunOptionsTest, WhatTheServerWouldNeverTakeIsRefused) {
  RunOptions options;
  options.leader_election = {.resource_name = "a/../b", .resource_namespace = "kube.system"};
  options.client_connection = {.content_type = "application/xml"};
  KubeSchedulerConfiguration configuration;
  Problems problems;
  ApplyFlags(ConfigurationSource::kDefaults, options, configuration, problems);
  const std::string said = problems.ToString();
  EXPECT_THAT(said, HasSubstr("leaderElection.resourceName: Invalid value: \"a/../b\""));
  EXPECT_THAT(said, HasSubstr("leaderElection.resourceNamespace: Invalid value: \"kube.system\""));
  EXPECT_THAT(said, HasSubstr("clientConnection.contentType: Invalid value: \"application/xml\""));
}

}  // namespace
}  // namespace berth
