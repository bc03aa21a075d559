// SPDX-License-Identifier: Apache-2.0
// A scheduler with gangs, for tests that make up clusters in code.
#ifndef BERTH_TESTS_ENGINE_GANG_CLUSTER_H_
#define BERTH_TESTS_ENGINE_GANG_CLUSTER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"
#include "berth/builtin_plugins.h"
#include "berth/configuration.h"
#include "berth/simulation.h"
#include "berth/testing/objects.h"
#include "gtest/gtest.h"

namespace berth {

inline const Registry& Builtins() {
  static const Registry& registry = *new Registry(*BuiltinRegistry());
  return registry;
}

inline KubeSchedulerConfiguration GangConfiguration() {
  LoadedConfiguration loaded = LoadConfigurationFile("config/gang.yaml", Builtins());
  EXPECT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
  return loaded.configuration;
}

inline KubeSchedulerConfiguration GangAndQuotaConfiguration() {
  LoadedConfiguration loaded = ParseConfiguration(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      enabled: [{name: Coscheduling}, {name: CapacityScheduling}]
      disabled: [{name: DefaultPreemption}, {name: PrioritySort}]
)",
                                                  "config", Builtins());
  EXPECT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
  return loaded.configuration;
}

inline Object MakeGroup(const std::string& name, int min_member,
                        const std::string& of_namespace = "default") {
  auto group = std::make_shared<api::PodGroup>();
  group->mutable_metadata()->set_name(name);
  group->mutable_metadata()->set_namespace_(of_namespace);
  group->mutable_spec()->set_min_member(min_member);
  return Object::Of(std::move(group));
}

inline Object MakeGpuNode(const std::string& name, int gpus) {
  return testing::MakeNode()
      .Name(name)
      .Allocatable("cpu", "64")
      .Allocatable("memory", "256Gi")
      .Allocatable("nvidia.com/gpu", absl::StrCat(gpus))
      .Object();
}

// In `group`, unless that is empty.
inline Object MakeGpuPod(const std::string& name, int gpus, const std::string& group = "") {
  auto pod = testing::MakePod().Name(name).Namespace("default").Request("nvidia.com/gpu",
                                                                        absl::StrCat(gpus));
  if (!group.empty()) pod.Label("scheduling.x-k8s.io/pod-group", group);
  return pod.Object();
}

}  // namespace berth

#endif  // BERTH_TESTS_ENGINE_GANG_CLUSTER_H_
