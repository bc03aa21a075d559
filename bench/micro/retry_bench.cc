// SPDX-License-Identifier: Apache-2.0
// What does a pod cost that fits nowhere and is tried again, by cluster size and by what rejects
// it, if one node has changed since it was tried last? It should cost what changed. The default
// profile; the attempt with its message, and what the queue does to try a pod again after five
// minutes.
#include <benchmark/benchmark.h>

#include <chrono>
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
using ::berth::testing::NodeBuilder;
using ::berth::testing::ObjectsFromYaml;
using ::berth::testing::PodBuilder;

constexpr char kConfiguration[] = R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: default-scheduler}]
)";

constexpr char kHost[] = "kubernetes.io/hostname";
constexpr char kZone[] = "topology.kubernetes.io/zone";
constexpr int kZones = 10;

// A tenth of the nodes is cordoned: one zone.
Object Node(int i) {
  const std::string name = absl::StrCat("node-", i);
  NodeBuilder node = MakeNode().Name(name).Label(kHost, name);
  node.Label(kZone, absl::StrCat("z", i % kZones));
  if (i % kZones == 0) node.Unschedulable();
  node.Allocatable("cpu", "64").Allocatable("memory", "256Gi").Allocatable("pods", "1000");
  return node.Object();
}

// On each node that is not cordoned runs one pod of the application.
Object Running(absl::string_view name, absl::string_view application, int node) {
  PodBuilder pod = MakePod().Name(name).Namespace("default").Label("app", application);
  pod.Request("cpu", "1m").NodeName(absl::StrCat("node-", node));
  return pod.Object();
}

// A volume of the cordoned zone, bound to the claim "data"; every node can attach one volume of its
// driver, and has done so.
std::vector<Object> Storage(int nodes) {
  std::vector<Object> objects = ObjectsFromYaml(R"(
{apiVersion: v1, kind: PersistentVolumeClaim, spec: {volumeName: data},
 metadata: {name: data, namespace: default, annotations: {pv.kubernetes.io/bind-completed: 'yes'}}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: data}, spec: {csi: {driver: d, volumeHandle: data},
 nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [
 {key: topology.kubernetes.io/zone, operator: In, values: [z0]}]}]}}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, spec: {volumeName: anywhere},
 metadata: {name: anywhere, namespace: default, annotations: {pv.kubernetes.io/bind-completed: 'yes'}}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: anywhere}, spec: {csi: {driver: e, volumeHandle: any}}}
)");
  for (int i = 0; i < nodes; ++i) {
    for (Object& object : ObjectsFromYaml(absl::StrCat(
             "{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: node-", i,
             "}, spec: {drivers: [{name: d, nodeID: host, allocatable: {count: 2}}, {name: e, "
             "nodeID: "
             "host, allocatable: {count: 1}}]}}\n---\n",
             "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v-", i,
             "}, spec: {csi: {driver: e, volumeHandle: v-", i, "}}}\n---\n",
             "{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: a-", i,
             "}, spec: {attacher: e, nodeName: node-", i, ", source: {persistentVolumeName: v-", i,
             "}}}"))) {
      objects.push_back(std::move(object));
    }
  }
  return objects;
}

std::unique_ptr<Simulation> NewCluster(int nodes) {
  static const Registry& registry = *new Registry(BuiltinRegistry().value());
  LoadedConfiguration loaded = ParseConfiguration(kConfiguration, "configuration", registry);
  BERTH_CHECK(loaded.problems.ok());
  std::vector<Object> objects;
  for (int i = 0; i < nodes; ++i) {
    objects.push_back(Node(i));
    if (i % kZones != 0) objects.push_back(Running(absl::StrCat("app-", i), "a", i));
  }
  return Simulation::Create({.configuration = std::move(loaded.configuration),
                             .registry = &registry,
                             .objects = std::move(objects)})
      .value();
}

// Before every try a pod of `application` comes to a node, or the cordoned zone's oldest node goes,
// or comes back. If that wakes the pod, taking it in is counted too; else the pod is tried because
// it has waited for five minutes.
enum class Change { kPod, kPodThatWakes, kNode };
void Retry(benchmark::State& state, PodBuilder pod, absl::string_view application,
           Change change = Change::kPod) {
  const int nodes = static_cast<int>(state.range(0));
  const auto simulation = NewCluster(nodes);
  if (pod.Message().spec().volumes_size() > 0) {
    for (Object& object : Storage(nodes)) simulation->cluster().Set(std::move(object));
  }
  const absl::Duration apart =
      change == Change::kPodThatWakes ? absl::Seconds(15) : absl::Minutes(5);
  pod.Name("pod").Namespace("default").Label("app", "a");
  simulation->cluster().Set(pod.Object());
  for (int i = 0; i < 3; ++i) simulation->Advance(absl::Minutes(5));
  const int64_t before = simulation->scheduler().counters().cycles;
  int tries = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const int turn = tries++;
    const int node = turn % (nodes / kZones) * kZones;  // the one behind it is not cordoned
    if (change == Change::kNode) {
      const Object goes = Node(turn / 2 % (nodes / kZones) * kZones);
      if (turn % 2 == 0) {
        simulation->cluster().Delete(Kind::kNode, goes.key());
      } else {
        simulation->cluster().Set(goes);
      }
      simulation->RunUntilIdle();
      state.ResumeTiming();
    } else {
      Object other = Running(absl::StrCat("other-", turn), application, node + 1);
      if (change == Change::kPodThatWakes) state.ResumeTiming();
      simulation->cluster().Set(std::move(other));
      if (change == Change::kPod) {
        simulation->RunUntilIdle();
        state.ResumeTiming();
      }
    }
    simulation->Advance(apart);
  }
  const int64_t cycles = simulation->scheduler().counters().cycles - before;
  if (cycles != tries) state.SkipWithError("not tried once a change");
  if (simulation->scheduler().counters().bound != 0) state.SkipWithError("a pod is bound");
}

void BySize(benchmark::internal::Benchmark* benchmark) {
  for (const int nodes : {1'000, 5'000, 20'000}) benchmark->Arg(nodes);
  benchmark->Unit(benchmark::kMicrosecond);
}

PodBuilder SpreadOver(absl::string_view key) {
  return MakePod().SpreadConstraint(1, key, UnsatisfiableAction::kDoNotSchedule, {{"app", "a"}});
}

// By plugins that look at one node at a time.
void BM_RetriedPodTooLarge(benchmark::State& state) {
  Retry(state, MakePod().Request("cpu", "100"), "b");
}
BENCHMARK(BM_RetriedPodTooLarge)->Apply(BySize);

void BM_RetriedPodTooLargeWhenANodeComesOrGoes(benchmark::State& state) {
  Retry(state, MakePod().Request("cpu", "100"), "b", Change::kNode);
}
BENCHMARK(BM_RetriedPodTooLargeWhenANodeComesOrGoes)->Apply(BySize);

// By the constraint, except in the cordoned zone, which has the fewest pods.
void BM_RetriedPodSpreadOverZones(benchmark::State& state) { Retry(state, SpreadOver(kZone), "b"); }
BENCHMARK(BM_RetriedPodSpreadOverZones)->Apply(BySize);

// The same of a pod that names zones itself, so that only their nodes are counted.
void BM_RetriedPodSpreadOverItsZones(benchmark::State& state) {
  Retry(state, SpreadOver(kZone).NodeAffinityNotIn(kZone, {"z1"}), "b");
}
BENCHMARK(BM_RetriedPodSpreadOverItsZones)->Apply(BySize);

// The same where the pod that came counts.
void BM_RetriedPodSpreadOverZonesCounts(benchmark::State& state) {
  Retry(state, SpreadOver(kZone), "a", Change::kPodThatWakes);
}
BENCHMARK(BM_RetriedPodSpreadOverZonesCounts)->Apply(BySize);

void BM_RetriedPodSpreadOverHosts(benchmark::State& state) { Retry(state, SpreadOver(kHost), "b"); }
BENCHMARK(BM_RetriedPodSpreadOverHosts)->Apply(BySize);

void BM_RetriedPodAffinity(benchmark::State& state) {
  Retry(state, MakePod().PodAffinity(kZone, {{"app", "missing"}}), "b");
}
BENCHMARK(BM_RetriedPodAffinity)->Apply(BySize);

void BM_RetriedPodAntiAffinity(benchmark::State& state) {
  Retry(state, MakePod().PodAntiAffinity(kHost, {{"app", "a"}}), "b");
}
BENCHMARK(BM_RetriedPodAntiAffinity)->Apply(BySize);

// In the cordoned zone, where its volume is, as unschedulable; elsewhere by VolumeBinding.
void BM_RetriedPodVolumeElsewhere(benchmark::State& state) {
  Retry(state, MakePod().Claim("data"), "b");
}
BENCHMARK(BM_RetriedPodVolumeElsewhere)->Apply(BySize);

// By what nodes can attach.
void BM_RetriedPodVolumeLimits(benchmark::State& state) {
  Retry(state, MakePod().Claim("anywhere"), "b");
}
BENCHMARK(BM_RetriedPodVolumeLimits)->Apply(BySize);

// The same where nodes have pods of lower priority, whose eviction would not help.
void BM_RetriedPreemptorVolumeLimits(benchmark::State& state) {
  Retry(state, MakePod().Claim("anywhere").Priority(10), "b");
}
BENCHMARK(BM_RetriedPreemptorVolumeLimits)->Apply(BySize);

void BM_RetriedPreemptorSpreadOverZones(benchmark::State& state) {
  Retry(state, SpreadOver(kZone).Priority(10), "b");
}
BENCHMARK(BM_RetriedPreemptorSpreadOverZones)->Apply(BySize);

void BM_RetriedPreemptorSpreadOverZonesCounts(benchmark::State& state) {
  Retry(state, SpreadOver(kZone).Priority(10), "a", Change::kPodThatWakes);
}
BENCHMARK(BM_RetriedPreemptorSpreadOverZonesCounts)->Apply(BySize);

void BM_RetriedPreemptorAntiAffinity(benchmark::State& state) {
  Retry(state, MakePod().PodAntiAffinity(kZone, {{"app", "a"}}).Priority(10), "b");
}
BENCHMARK(BM_RetriedPreemptorAntiAffinity)->Apply(BySize);

// Pods of so many kinds that none has the room of another's: all of them are tried in turn, again
// and again. The time is that of one pod.
void BM_RetriedPodOfManyKinds(benchmark::State& state) {
  const int kinds = static_cast<int>(state.range(1));
  const auto simulation = NewCluster(static_cast<int>(state.range(0)));
  for (int i = 0; i < kinds; ++i) {
    PodBuilder pod = MakePod().Name(absl::StrCat("pod-", i)).Namespace("default");
    pod.Request("cpu", absl::StrCat(1'000 + i));
    simulation->cluster().Set(pod.Object());
  }
  for (int i = 0; i < 3; ++i) simulation->Advance(absl::Minutes(5));
  int64_t tries = 0;
  for (auto _ : state) {
    const int64_t before = simulation->scheduler().counters().cycles;
    const auto start = std::chrono::steady_clock::now();
    simulation->Advance(absl::Minutes(5));
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(spent.count() / kinds);
    tries += simulation->scheduler().counters().cycles - before;
  }
  if (tries != state.iterations() * kinds) state.SkipWithError("not every pod was tried once");
}
BENCHMARK(BM_RetriedPodOfManyKinds)
    ->Args({5'000, 1'000})
    ->Args({5'000, 2'000})
    ->Args({5'000, 8'000})
    ->Iterations(3)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace berth
