// SPDX-License-Identifier: Apache-2.0
// What does it cost to make room for one pod of many alike ones: its cycle, the plan and the
// evictions? It should hardly depend on the number of nodes. With what is cached for other pods,
// and without.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"
#include "berth/builtin_plugins.h"
#include "berth/check.h"
#include "berth/configuration.h"
#include "berth/simulation.h"
#include "berth/testing/objects.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;

constexpr int kPodsPerNode = 4;
constexpr int kPreemptors = 400;

const Registry& Builtins() {
  static const Registry& registry = *new Registry(*BuiltinRegistry());
  return registry;
}

KubeSchedulerConfiguration QuotaConfiguration() {
  LoadedConfiguration loaded = ParseConfiguration(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint: {enabled: [{name: CapacityScheduling}]}
    postFilter:
      enabled: [{name: CapacityScheduling}]
      disabled: [{name: "*"}]
)",
                                                  "bench", Builtins());
  BERTH_CHECK(loaded.problems.ok()) << loaded.problems.ToString();
  return loaded.configuration;
}

Object Quota(const std::string& name_space, int64_t min_cpu) {
  auto quota = std::make_shared<api::ElasticQuota>();
  quota->mutable_metadata()->set_name("quota");
  quota->mutable_metadata()->set_namespace_(name_space);
  (*quota->mutable_spec()->mutable_min())["cpu"].set_string(absl::StrCat(min_cpu));
  (*quota->mutable_spec()->mutable_max())["cpu"].set_string(absl::StrCat(10 * min_cpu));
  return Object::Of(std::move(quota));
}

// Nodes of 4 CPUs, full of pods of priority 0 in "borrower", and pods of priority 10 in "owner".
void MakeRoom(benchmark::State& state, const KubeSchedulerConfiguration& configuration) {
  const int nodes = static_cast<int>(state.range(0));
  std::vector<Object> objects = {Quota("owner", 2 * nodes), Quota("borrower", 2 * nodes)};
  for (int i = 0; i < nodes; ++i) {
    objects.push_back(MakeNode()
                          .Name(absl::StrCat("node-", i))
                          .Allocatable("cpu", "4")
                          .Allocatable("memory", "32Gi")
                          .Object());
    for (int p = 0; p < kPodsPerNode; ++p) {
      objects.push_back(MakePod()
                            .Name(absl::StrCat("low-", i, "-", p))
                            .Namespace("borrower")
                            .NodeName(absl::StrCat("node-", i))
                            .Request("cpu", "1")
                            .Object());
    }
  }
  auto simulation = Simulation::Create({.configuration = configuration,
                                        .registry = &Builtins(),
                                        .objects = std::move(objects),
                                        .seed = 1,
                                        .incremental = state.range(1) != 0});
  BERTH_CHECK(simulation.ok()) << simulation.status();
  std::vector<Object> pods;
  for (int i = 0; i < kPreemptors + 3; ++i) {
    pods.push_back(MakePod()
                       .Name(absl::StrCat("high-", i))
                       .Namespace("owner")
                       .Priority(10)
                       .Request("cpu", "1")
                       .Object());
  }
  (*simulation)->RunUntilIdle();
  size_t next = 0;
  const auto add = [&] {
    (*simulation)->cluster().Set(pods[next++]);
    (*simulation)->RunUntilIdle();
  };
  for (int i = 0; i < 3; ++i) add();  // the first of a kind learns
  for (auto _ : state) add();
  BERTH_CHECK((*simulation)->cluster().Evictions().size() == next);
}

void BM_ByPriority(benchmark::State& state) { MakeRoom(state, DefaultConfiguration(Builtins())); }
void BM_ByQuota(benchmark::State& state) { MakeRoom(state, QuotaConfiguration()); }

void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"nodes", "incremental"})->Iterations(kPreemptors);
  for (const int incremental : {1, 0}) {
    for (const int nodes : {1'000, 5'000}) benchmark->Args({nodes, incremental});
  }
}
BENCHMARK(BM_ByPriority)->Apply(Sizes)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_ByQuota)->Apply(Sizes)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace berth
