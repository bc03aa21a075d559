// SPDX-License-Identifier: Apache-2.0
// What does a pod cost from the queue to its binding, by cluster size, for pods of one class, for
// pods whose rules count pods of their class, for pods of one class while nodes come and go, and
// for pods of which no two ask for the same? Pods of one class should cost nearly the same at every
// size, others in proportion to the nodes. The default profile, or one that packs GPUs, on the
// in-memory cluster, binding and its confirmation included.
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

constexpr char kGpuConfiguration[] = R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint: {enabled: [{name: GpuDevices}, {name: GpuExpectedWaste}]}
)";

constexpr char kHostname[] = "kubernetes.io/hostname";
constexpr char kZone[] = "topology.kubernetes.io/zone";

Object Node(int i, bool gpus) {
  const std::string name = absl::StrCat("node-", i);
  auto node = MakeNode().Name(name).Label(kHostname, name);
  node.Label(kZone, absl::StrCat("z", i % 3)).Allocatable("cpu", "64");
  node.Allocatable("memory", "256Gi").Allocatable("pods", "1000");
  if (gpus) node.Allocatable("nvidia.com/gpu", "8");
  return Object::Of(std::make_shared<const api::Node>(node.Proto()));
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

Object GpuPod(int i) {
  return Object::Of(std::make_shared<const api::Pod>(MakePod()
                                                         .Name(absl::StrCat("pod-", i))
                                                         .Namespace("default")
                                                         .Request("cpu", "10m")
                                                         .Request("nvidia.com/gpu", "1")
                                                         .Proto()));
}

std::unique_ptr<Simulation> NewCluster(int nodes, bool gpus) {
  static const Registry& registry = *new Registry(BuiltinRegistry().value());
  LoadedConfiguration loaded =
      ParseConfiguration(gpus ? kGpuConfiguration : kConfiguration, "configuration", registry);
  BERTH_CHECK(loaded.problems.ok());
  std::vector<Object> objects;
  for (int i = 0; i < nodes; ++i) objects.push_back(Node(i, gpus));
  return Simulation::Create({.configuration = std::move(loaded.configuration),
                             .registry = &registry,
                             .objects = std::move(objects)})
      .value();
}

void Schedule(benchmark::State& state, bool alike) {
  const auto simulation = NewCluster(static_cast<int>(state.range(0)), false);
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

using testing::PodBuilder;

void AddSpread(PodBuilder& pod, absl::string_view key, UnsatisfiableAction action) {
  pod.SpreadConstraint(1, key, action, {{"app", "a"}});
}

// Pods of one application, which `go_by` gives their constraints.
void ScheduleApplication(benchmark::State& state, void (*go_by)(PodBuilder&)) {
  const auto simulation = NewCluster(static_cast<int>(state.range(0)), false);
  const auto make = [&](int i) {
    PodBuilder pod = MakePod().Name(absl::StrCat("pod-", i)).Namespace("default");
    pod.Request("cpu", "10m").Request("memory", "1Mi").Label("app", "a");
    go_by(pod);
    return Object::Of(std::make_shared<const api::Pod>(pod.Proto()));
  };
  int next = 0;
  for (; next < 5; ++next) {
    simulation->cluster().Set(make(next));
    simulation->RunUntilIdle();
  }
  for (auto _ : state) {
    state.PauseTiming();
    Object pod = make(next++);
    state.ResumeTiming();
    simulation->cluster().Set(std::move(pod));
    simulation->RunUntilIdle();
  }
  if (simulation->scheduler().counters().bound != next) state.SkipWithError("a pod is not bound");
}

void BM_AlikePodNearOthers(benchmark::State& state) {
  ScheduleApplication(state, [](PodBuilder& pod) {
    pod.PreferredPodAffinity(10, kHostname, {{"app", "a"}});
  });
}
BENCHMARK(BM_AlikePodNearOthers)->Apply(BySize);

void BM_AlikePodSpreadSoftly(benchmark::State& state) {
  ScheduleApplication(state, [](PodBuilder& pod) {
    AddSpread(pod, kHostname, UnsatisfiableAction::kScheduleAnyway);
    AddSpread(pod, kZone, UnsatisfiableAction::kScheduleAnyway);
  });
}
BENCHMARK(BM_AlikePodSpreadSoftly)->Apply(BySize);

void BM_AlikePodSpreadOverTwoZones(benchmark::State& state) {
  ScheduleApplication(state, [](PodBuilder& pod) {
    AddSpread(pod, kZone, UnsatisfiableAction::kDoNotSchedule);
    pod.NodeAffinityIn(kZone, {"z0", "z1"});
  });
}
BENCHMARK(BM_AlikePodSpreadOverTwoZones)->Apply(BySize);

// Before every pod a node goes, each from another place of the middle half, or comes back at the
// end of its zone.
void WhileNodesComeAndGo(benchmark::State& state, bool gpus) {
  const int nodes = static_cast<int>(state.range(0));
  const auto simulation = NewCluster(nodes, gpus);
  int next = 0;
  for (; next < 3; ++next) simulation->cluster().Set(gpus ? GpuPod(next) : Pod(next, true));
  simulation->RunUntilIdle();
  int changes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    Object pod = gpus ? GpuPod(next) : Pod(next, true);
    ++next;
    const int node = nodes / 4 + (changes / 2 * 7) % (nodes / 2);
    Object changed = Node(node, gpus);
    state.ResumeTiming();
    if (changes++ % 2 == 0) {
      simulation->cluster().Delete(Kind::kNode, changed.key());
    } else {
      simulation->cluster().Set(std::move(changed));
    }
    simulation->cluster().Set(std::move(pod));
    simulation->RunUntilIdle();
  }
  if (simulation->scheduler().counters().bound != next) state.SkipWithError("a pod is not bound");
}
void BM_AlikePodAfterANodeCameOrWent(benchmark::State& state) { WhileNodesComeAndGo(state, false); }
BENCHMARK(BM_AlikePodAfterANodeCameOrWent)->Apply(BySize);
void BM_GpuPodAfterANodeCameOrWent(benchmark::State& state) { WhileNodesComeAndGo(state, true); }
BENCHMARK(BM_GpuPodAfterANodeCameOrWent)->Arg(5'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace berth
