// What does a pod cost from the queue to its binding, by cluster size, for pods that are all alike
// and for pods of which no two ask for the same? Alike pods should cost nearly the same at every
// size, others in proportion to the nodes. The default profile on the in-memory cluster, binding
// and its confirmation included.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/builtin_plugins.h"
#include "berth/check.h"
#include "berth/configuration.h"
#include "berth/simulation.h"
#include "berth/testing/objects.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;

constexpr char kConfiguration[] = R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: default-scheduler}]
)";

Object Node(int i) {
  const std::string name = absl::StrCat("node-", i);
  return Object::Of(std::make_shared<const api::Node>(MakeNode()
                                                          .Name(name)
                                                          .Label("kubernetes.io/hostname", name)
                                                          .Allocatable("cpu", "64")
                                                          .Allocatable("memory", "256Gi")
                                                          .Allocatable("pods", "1000")
                                                          .Proto()));
}

Object Pod(int i, bool alike) {
  return Object::Of(std::make_shared<const api::Pod>(
      MakePod()
          .Name(absl::StrCat("pod-", i))
          .Namespace("default")
          .Request("cpu", "10m")
          .Request("memory", alike ? "1Mi" : absl::StrCat((1 << 20) + i))
          .Proto()));
}

void Schedule(benchmark::State& state, bool alike) {
  static const Registry& registry = *new Registry(BuiltinRegistry().value());
  LoadedConfiguration loaded = ParseConfiguration(kConfiguration, "configuration", registry);
  BERTH_CHECK(loaded.problems.ok());
  std::vector<Object> nodes;
  for (int i = 0; i < state.range(0); ++i) nodes.push_back(Node(i));
  auto simulation = Simulation::Create({.configuration = std::move(loaded.configuration),
                                        .registry = &registry,
                                        .objects = std::move(nodes)})
                        .value();
  int next = 0;
  for (; next < 3; ++next) simulation->cluster().Set(Pod(next, alike));
  simulation->RunUntilIdle();
  for (auto _ : state) {
    state.PauseTiming();
    Object pod = Pod(next++, alike);
    state.ResumeTiming();
    simulation->cluster().Set(std::move(pod));
    simulation->RunUntilIdle();
  }
  if (simulation->scheduler().counters().bound != next) state.SkipWithError("a pod is not bound");
}

void BySize(benchmark::internal::Benchmark* benchmark) {
  for (const int nodes : {1'000, 5'000, 15'000, 100'000}) benchmark->Arg(nodes);
  benchmark->Unit(benchmark::kMicrosecond);
}

void BM_AlikePod(benchmark::State& state) { Schedule(state, true); }
BENCHMARK(BM_AlikePod)->Apply(BySize);

void BM_UnlikePod(benchmark::State& state) { Schedule(state, false); }
BENCHMARK(BM_UnlikePod)->Apply(BySize);

}  // namespace
}  // namespace berth
