// SPDX-License-Identifier: Apache-2.0
// What does it cost a cycle over 5,000 nodes that one Filter and Score plugin is in another
// process? Here it is in another thread of this process, behind a Unix socket: the bytes and the
// switches are the same. Set BERTH_REMOTE to the address of a process that serves TaintToleration,
// such as examples/builtins of the SDK for Go, to measure that.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/builtin_plugins.h"
#include "berth/columns/node_verdicts.h"
#include "berth/framework/filter.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/score.h"
#include "berth/remote_plugins.h"
#include "berth/testing/fake_handle.h"

namespace berth::testing {
namespace {

constexpr int kNodes = 5000;

class Stage {
 public:
  Stage() : handle_(Nodes()), registry_(BuiltinRegistry().value()) {
    const char* const given = std::getenv("BERTH_REMOTE");
    address_ = given != nullptr ? given : absl::StrCat("unix:/tmp/berth-bench-", getpid(), ".sock");
    if (given == nullptr) {
      server_ = PluginServer::Start({.registration = *registry_.Find("TaintToleration"),
                                     .is_signed = true,
                                     .signature = {"spec.tolerations"},
                                     .depends_on = {"NodeTaints"},
                                     .normalization = ScoreDirection::kLowerIsBetter},
                                    {.address = address_})
                    .value();
    }
    const PluginRegistration remote = WithRemotePlugin("Remote");
    const PluginArgs args =
        PluginArgs::Parse(absl::StrCat("{deadline: 20s, address: '", address_, "'}"), *remote.args)
            .value();
    remote_ = remote.factory(args, handle_).value();
    local_ = registry_.Find("TaintToleration")->factory(PluginArgs(), handle_).value();
    for (NodeRow row = 0; row < kNodes; ++row) rows_.push_back(row);
    scores_.resize(kNodes);
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
    for (int i = 0; i < kNodes; ++i) {
      NodeBuilder node = MakeNode().Name(absl::StrCat("n", i)).Capacity("cpu", "8").Pods(110);
      if (i % 3 == 0) node.Taint("team", absl::StrCat(i % 7), TaintEffect::kNoSchedule);
      if (i % 5 == 0) node.Taint("spot", "true", TaintEffect::kPreferNoSchedule);
      nodes.push_back(node.Info());
    }
    return nodes;
  }

  FakeHandle handle_;
  Registry registry_;
  std::string address_;
  std::unique_ptr<PluginServer> server_;
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
  const auto pods = NewPods(2000);
  size_t next = 0;
  for (auto _ : state) stage.Cycle(stage.local(), *pods[next++ % pods.size()]);
}
BENCHMARK(BM_InProcess)->Iterations(2000)->Unit(benchmark::kMicrosecond)->UseRealTime();

void BM_RemoteNeverSeen(benchmark::State& state) {
  Stage stage;
  const auto pods = NewPods(2000);
  size_t next = 0;
  for (auto _ : state) stage.Cycle(stage.remote(), *pods[next++]);
}
BENCHMARK(BM_RemoteNeverSeen)->Iterations(2000)->Unit(benchmark::kMicrosecond)->UseRealTime();

void BM_RemoteRemembered(benchmark::State& state) {
  Stage stage;
  const auto pods = NewPods(1);
  for (auto _ : state) stage.Cycle(stage.remote(), *pods[0]);
}
BENCHMARK(BM_RemoteRemembered)->Iterations(2000)->Unit(benchmark::kMicrosecond)->UseRealTime();

}  // namespace
}  // namespace berth::testing
