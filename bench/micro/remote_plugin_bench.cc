// SPDX-License-Identifier: Apache-2.0
// What does it cost a cycle over 5,000 nodes that one Filter and Score plugin is in another
// process? Here it is in another thread of this process, behind a Unix socket: the bytes and the
// switches are the same. Set BERTH_REMOTE to the address of a process that serves TaintToleration,
// such as examples/builtins of the SDK for Go, to measure that. The CPU time is that of this
// process. BM_Cycle* are whole cycles of the default profile, with the plugin besides and without.
// In BM_CycleUnlike* the pods are of many applications, and no two are alike.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "applications.h"
#include "berth/builtin_plugins.h"
#include "berth/columns/node_verdicts.h"
#include "berth/configuration.h"
#include "berth/framework/filter.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/score.h"
#include "berth/remote_plugins.h"
#include "berth/simulation.h"
#include "berth/testing/fake_handle.h"
#include "berth/testing/objects.h"

namespace berth::testing {
namespace {

constexpr int kNodes = 5000;
constexpr int kCycles = 1000;
constexpr int kWarmUp = 10;

void OfCycles(benchmark::internal::Benchmark* benchmark) {
  benchmark->Iterations(kCycles)
      ->Unit(benchmark::kMicrosecond)
      ->MeasureProcessCPUTime()
      ->UseRealTime();
}

NodeBuilder MakeOneNode(int i) {
  NodeBuilder node = MakeNode().Name(absl::StrCat("n", i)).Capacity("cpu", "8").Pods(110);
  if (i % 3 == 0) node.Taint("team", absl::StrCat(i % 7), TaintEffect::kNoSchedule);
  if (i % 5 == 0) node.Taint("spot", "true", TaintEffect::kPreferNoSchedule);
  return node;
}

// What serves TaintToleration.
class Process {
 public:
  Process() {
    const char* const given = std::getenv("BERTH_REMOTE");
    address_ = given != nullptr ? given : absl::StrCat("unix:/tmp/berth-bench-", getpid(), ".sock");
    if (given != nullptr) return;
    server_ = PluginServer::Start({.registration = *BuiltinRegistry()->Find("TaintToleration"),
                                   .is_signed = true,
                                   .signature = {"spec.tolerations"},
                                   .depends_on = {"NodeTaints"},
                                   .normalization = ScoreDirection::kLowerIsBetter},
                                  {.address = address_})
                  .value();
  }
  const std::string& address() const { return address_; }

 private:
  std::string address_;
  std::unique_ptr<PluginServer> server_;
};

class Stage {
 public:
  Stage() : handle_(Nodes()), registry_(BuiltinRegistry().value()) {
    const PluginRegistration remote = WithRemotePlugin("Remote");
    const PluginArgs args =
        PluginArgs::Parse(absl::StrCat("{deadline: 20s, address: '", process_.address(), "'}"),
                          *remote.args)
            .value();
    remote_ = remote.factory(args, handle_).value();
    local_ = registry_.Find("TaintToleration")->factory(PluginArgs(), handle_).value();
    for (NodeRow row = 0; row < kNodes; ++row) rows_.push_back(row);
    scores_.resize(kNodes);
    Cycle(*remote_, *MakePod().Name("first").Obj());  // connects, and tells the nodes
  }

  // PreFilter, Filter and Score of one pod, as a cycle calls them, and the confirmation of a node.
  void Cycle(Plugin& plugin, const PodInfo& pod) {
    CycleState state;
    if (auto* const pre_filter = dynamic_cast<PreFilterPlugin*>(&plugin)) {
      PreFilterResult result;
      pre_filter->PreFilter(state, pod, handle_.nodes(), result);
    }
    verdicts_.Reset(kNodes);
    verdicts_.BeginBlock(rows_);
    auto& filter = dynamic_cast<FilterPlugin&>(plugin);
    if (!filter.FilterNodes(state, pod, handle_.nodes(), verdicts_).ok()) std::abort();
    verdicts_.EndPlugin(0);
    auto& score = dynamic_cast<ScorePlugin&>(plugin);
    if (!score.ScoreNodes(state, pod, handle_.nodes(), rows_, absl::MakeSpan(scores_)).ok()) {
      std::abort();
    }
    benchmark::DoNotOptimize(filter.Filter(state, pod, handle_.nodes().node(7)));
  }
  Plugin& remote() { return *remote_; }
  Plugin& local() { return *local_; }

 private:
  static std::vector<NodeInfo> Nodes() {
    std::vector<NodeInfo> nodes;
    for (int i = 0; i < kNodes; ++i) nodes.push_back(MakeOneNode(i).Info());
    return nodes;
  }

  FakeHandle handle_;
  Registry registry_;
  Process process_;
  std::unique_ptr<Plugin> remote_, local_;
  std::vector<NodeRow> rows_;
  std::vector<int64_t> scores_;
  NodeVerdicts verdicts_;
};

// Pods of which each has tolerations of its own.
std::vector<std::shared_ptr<const PodInfo>> NewPods(int count) {
  std::vector<std::shared_ptr<const PodInfo>> pods;
  for (int i = 0; i < count; ++i) {
    pods.push_back(MakePod()
                       .Name(absl::StrCat("p", i))
                       .Toleration("team", absl::StrCat("x", i), TaintEffect::kNoSchedule)
                       .Obj());
  }
  return pods;
}

void BM_InProcess(benchmark::State& state) {
  Stage stage;
  const auto pods = NewPods(kCycles);
  size_t next = 0;
  for (auto _ : state) stage.Cycle(stage.local(), *pods[next++ % pods.size()]);
}
BENCHMARK(BM_InProcess)->Apply(OfCycles);

void BM_RemoteNeverSeen(benchmark::State& state) {
  Stage stage;
  const auto pods = NewPods(kCycles);
  size_t next = 0;
  for (auto _ : state) stage.Cycle(stage.remote(), *pods[next++]);
}
BENCHMARK(BM_RemoteNeverSeen)->Apply(OfCycles);

void BM_RemoteRemembered(benchmark::State& state) {
  Stage stage;
  const auto pods = NewPods(1);
  for (auto _ : state) stage.Cycle(stage.remote(), *pods[0]);
}
BENCHMARK(BM_RemoteRemembered)->Apply(OfCycles);

// Whole cycles of these pods over these nodes, one pod after another, with the remote plugin in the
// profile or without it. The pods are kWarmUp + kCycles.
void Cycles(benchmark::State& state, bool is_remote, std::vector<Object> nodes,
            const std::vector<Object>& pods) {
  const Process process;
  const Registry registry = BuiltinRegistry({WithRemotePlugin("Remote")}).value();
  std::string configuration =
      "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration";
  if (is_remote) {
    absl::StrAppend(&configuration,
                    ", profiles: [{plugins: {multiPoint: {enabled: [{name: Remote, weight: 2}]}}, "
                    "pluginConfig: [{name: Remote, args: {kind: RemotePluginArgs, deadline: 20s, "
                    "startTimeout: 60s, address: '",
                    process.address(), "'}}]}]");
  }
  LoadedConfiguration loaded =
      ParseConfiguration(absl::StrCat(configuration, "}"), "bench.yaml", registry);
  const auto simulation = Simulation::Create({.configuration = std::move(loaded.configuration),
                                              .registry = &registry,
                                              .objects = std::move(nodes)});
  size_t next = 0;
  const auto place = [&] {
    (*simulation)->cluster().Set(pods[next++]);
    (*simulation)->RunUntilIdle();
  };
  while (next < kWarmUp) place();
  for (auto _ : state) place();
  if ((*simulation)->cluster().Bindings().size() != next) std::abort();
  state.counters["questions"] =
      static_cast<double>((*simulation)->scheduler().PluginCounters()["Remote/questions"]);
}

// Pods with one toleration: each has one of its own, and so is of a class of its own, or all are
// alike.
void SimpleCycles(benchmark::State& state, bool is_remote, bool is_new) {
  std::vector<Object> nodes;
  for (int i = 0; i < kNodes; ++i) nodes.push_back(MakeOneNode(i).Object());
  std::vector<Object> pods;
  for (int i = 0; i < kCycles + kWarmUp; ++i) {
    pods.push_back(
        MakePod()
            .Name(absl::StrCat("p", i))
            .Toleration("team", absl::StrCat("x", is_new ? i : 0), TaintEffect::kNoSchedule)
            .Request("cpu", "1m")
            .Object());
  }
  Cycles(state, is_remote, std::move(nodes), pods);
}
void BM_CycleNewWithout(benchmark::State& state) { SimpleCycles(state, false, true); }
void BM_CycleNewRemote(benchmark::State& state) { SimpleCycles(state, true, true); }
void BM_CycleKnownWithout(benchmark::State& state) { SimpleCycles(state, false, false); }
void BM_CycleKnownRemote(benchmark::State& state) { SimpleCycles(state, true, false); }
BENCHMARK(BM_CycleNewWithout)->Apply(OfCycles);
BENCHMARK(BM_CycleNewRemote)->Apply(OfCycles);
BENCHMARK(BM_CycleKnownWithout)->Apply(OfCycles);
BENCHMARK(BM_CycleKnownRemote)->Apply(OfCycles);

// Pods of 400 applications in random order. Each has requests of its own and, so that the remote
// plugin is asked about every one, a toleration of its own.
void UnlikeCycles(benchmark::State& state, bool is_remote) {
  constexpr int kShapes[] = {4, 8, 16, 32, 64};  // CPUs, and a quarter of the GiB
  std::mt19937 random(30);
  std::vector<Object> nodes;
  for (int i = 0; i < kNodes; ++i) {
    const int cpus = kShapes[random() % std::size(kShapes)];
    nodes.push_back(MakeNodeOfPool(i, random)
                        .Capacity("cpu", absl::StrCat(cpus))
                        .Capacity("memory", absl::StrCat(4 * cpus, "Gi"))
                        .Object());
  }
  const Applications applications(400, random);
  std::vector<Object> pods;
  for (int i = 0; i < kCycles + kWarmUp; ++i) {
    pods.push_back(applications.MakePodOfAny(random, i % 100, i)
                       .Name(absl::StrCat("p", i))
                       .Toleration("team", absl::StrCat("x", i), TaintEffect::kNoSchedule)
                       .Object());
  }
  Cycles(state, is_remote, std::move(nodes), pods);
}
void BM_CycleUnlikeWithout(benchmark::State& state) { UnlikeCycles(state, false); }
void BM_CycleUnlikeRemote(benchmark::State& state) { UnlikeCycles(state, true); }
BENCHMARK(BM_CycleUnlikeWithout)->Apply(OfCycles);
BENCHMARK(BM_CycleUnlikeRemote)->Apply(OfCycles);

}  // namespace
}  // namespace berth::testing
