// SPDX-License-Identifier: Apache-2.0
// What does the batch form of each built-in plugin cost a node? FilterNodes, and ScoreNodes with
// NormalizeScores, over 5,000 nodes with default arguments, for a pod that gives the plugin work
// where a plain one would be skipped.
#include <benchmark/benchmark.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/builtin_plugins.h"
#include "berth/check.h"
#include "berth/columns/node_verdicts.h"
#include "berth/framework/args.h"
#include "berth/framework/filter.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/score.h"
#include "berth/testing/fake_handle.h"
#include "berth/testing/objects.h"

namespace berth {
namespace {

using ::berth::testing::FakeHandle;
using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;

constexpr int kNodes = 5'000;
constexpr char kHostname[] = "kubernetes.io/hostname";
constexpr char kZone[] = "topology.kubernetes.io/zone";

std::vector<NodeInfo> Nodes() {
  std::vector<NodeInfo> nodes;
  for (int i = 0; i < kNodes; ++i) {
    const std::string name = absl::StrCat("node-", i);
    nodes.push_back(MakeNode()
                        .Name(name)
                        .Label(kHostname, name)
                        .Label(kZone, absl::StrCat("zone-", i % 10))
                        .Allocatable("cpu", "64")
                        .Allocatable("memory", "256Gi")
                        .Allocatable("pods", "110")
                        .Allocatable("nvidia.com/gpu", "8")
                        .Info({MakePod()
                                   .Name(absl::StrCat("running-", i))
                                   .Namespace("default")
                                   .Label("app", "web")
                                   .Request("cpu", absl::StrCat(1 + i % 32))
                                   .Request("memory", "8Gi")
                                   .NodeName(name)
                                   .Obj()}));
  }
  return nodes;
}

std::shared_ptr<const PodInfo> IncomingPod() {
  return MakePod()
      .Name("incoming")
      .Namespace("default")
      .Label("app", "web")
      .Request("cpu", "1")
      .Request("memory", "4Gi")
      .Request("nvidia.com/gpu", "1")
      .HostPort(8080)
      .NodeAffinityIn(kZone, {"zone-1", "zone-2", "zone-3", "zone-4", "zone-5"})
      .PreferredNodeAffinityIn(10, kZone, {"zone-3"})
      .PodAntiAffinity(kHostname, {{"app", "other"}})
      .PreferredPodAffinity(10, kZone, {{"app", "web"}})
      .SpreadConstraint(5, kZone, UnsatisfiableAction::kDoNotSchedule, {{"app", "web"}})
      .SpreadConstraint(1, kHostname, UnsatisfiableAction::kScheduleAnyway, {{"app", "web"}})
      .Obj();
}

// The cluster, a plugin, and what goes before the batch forms.
struct Stage {
  explicit Stage(const PluginRegistration& registration) : handle(Nodes()) {
    const PluginArgs args = registration.args == nullptr
                                ? PluginArgs()
                                : PluginArgs::Parse("{}", *registration.args).value();
    absl::StatusOr<std::unique_ptr<Plugin>> made = registration.factory(args, handle);
    if (!made.ok()) return;  // needs arguments
    plugin = *std::move(made);
    rows.resize(kNodes);
    std::iota(rows.begin(), rows.end(), 0);
    if (auto* pre_filter = dynamic_cast<PreFilterPlugin*>(plugin.get())) {
      PreFilterResult narrowed;
      filters = pre_filter->PreFilter(state, *pod, handle.nodes(), narrowed).ok();
    }
    if (auto* pre_score = dynamic_cast<PreScorePlugin*>(plugin.get())) {
      scores = pre_score->PreScore(state, *pod, handle.nodes(), rows).ok();
    }
  }

  FakeHandle handle;
  const std::shared_ptr<const PodInfo> pod = IncomingPod();
  std::unique_ptr<Plugin> plugin;
  CycleState state;
  std::vector<NodeRow> rows;
  bool filters = true, scores = true;  // not skipped
};

void ReportPerNode(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * kNodes);  // nodes a second
}

void FilterAll(benchmark::State& state, const PluginRegistration& registration) {
  Stage stage(registration);
  const auto& filter = dynamic_cast<const FilterPlugin&>(*stage.plugin);
  if (!stage.filters) return state.SkipWithError("PreFilter skips the pod");
  NodeVerdicts verdicts;
  for (auto _ : state) {
    verdicts.Reset(kNodes);
    verdicts.BeginBlock(stage.rows);
    BERTH_CHECK(filter.FilterNodes(stage.state, *stage.pod, stage.handle.nodes(), verdicts).ok());
  }
  ReportPerNode(state);
}

void ScoreAll(benchmark::State& state, const PluginRegistration& registration) {
  Stage stage(registration);
  const auto& score = dynamic_cast<const ScorePlugin&>(*stage.plugin);
  const auto* const extensions = dynamic_cast<const ScoreExtensions*>(stage.plugin.get());
  if (!stage.scores) return state.SkipWithError("PreScore skips the pod");
  std::vector<int64_t> scores(kNodes);
  for (auto _ : state) {
    const auto span = absl::MakeSpan(scores);
    BERTH_CHECK(
        score.ScoreNodes(stage.state, *stage.pod, stage.handle.nodes(), stage.rows, span).ok());
    if (extensions == nullptr) continue;
    BERTH_CHECK(extensions->NormalizeScores(stage.state, *stage.pod, stage.rows, span).ok());
  }
  ReportPerNode(state);
}

const bool registered = [] {
  static const Registry& registry = *new Registry(BuiltinRegistry().value());
  for (const auto& [name, registration] : registry.plugins()) {
    const Stage stage(registration);
    if (stage.plugin == nullptr) continue;
    if (dynamic_cast<const FilterPlugin*>(stage.plugin.get()) != nullptr) {
      benchmark::RegisterBenchmark(absl::StrCat("Filter/", name).c_str(), FilterAll, registration)
          ->Unit(benchmark::kMicrosecond);
    }
    if (dynamic_cast<const ScorePlugin*>(stage.plugin.get()) != nullptr) {
      benchmark::RegisterBenchmark(absl::StrCat("Score/", name).c_str(), ScoreAll, registration)
          ->Unit(benchmark::kMicrosecond);
    }
  }
  return true;
}();

}  // namespace
}  // namespace berth
