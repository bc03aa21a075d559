// SPDX-License-Identifier: Apache-2.0
// What does a cycle of PodTopologySpread and InterPodAffinity cost while more and more pods run on
// 1,000 nodes? It should not depend on them, neither for a selector seen before nor for a new one.
#include <benchmark/benchmark.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/check.h"
#include "berth/columns/node_verdicts.h"
#include "berth/framework/args.h"
#include "berth/testing/fake_handle.h"
#include "berth/testing/objects.h"
#include "cache/cache.h"
#include "plugins/inter_pod_affinity/inter_pod_affinity.h"
#include "plugins/pod_topology_spread/pod_topology_spread.h"

namespace berth {
namespace {

using ::berth::testing::FakeHandle;
using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;
using ::berth::testing::PodBuilder;

constexpr int kNodes = 1'000;
constexpr int kZones = 10;
constexpr int kApps = 50;
constexpr int kPodsPerJob = 10;
constexpr char kHostname[] = "kubernetes.io/hostname";
constexpr char kZone[] = "topology.kubernetes.io/zone";

using PodPtr = std::shared_ptr<const PodInfo>;
// Gives a pod its terms and constraints, about the pods whose label has one of two values.
using Shape = std::function<void(PodBuilder& pod, const std::string& key,
                                 const std::vector<std::string>& values)>;

enum Selector { kSeen, kNew };

// Half of the pods are of applications that have many, half of jobs with labels of their own.
PodBuilder RunningPod(int i) {
  PodBuilder pod = MakePod().Name(absl::StrCat("pod-", i)).Namespace("default");
  if (i % 2 == 0) return pod.Label("app", absl::StrCat("app-", i / 2 % kApps));
  return pod.Label("job", absl::StrCat("job-", i / 2 / kPodsPerJob));
}

void SetSelector(const std::string& key, const std::vector<std::string>& values,
                 api::LabelSelector* selector) {
  api::LabelSelectorRequirement* requirement = selector->add_match_expressions();
  requirement->set_key(key);
  requirement->set_operator_("In");
  for (const std::string& value : values) requirement->add_values(value);
}

// 1,000 nodes in 10 zones and the pods on them.
class Cluster {
 public:
  Cluster(int pods, const Shape& shape_of_running) {
    for (int i = 0; i < kNodes; ++i) {
      cache_.SetNode(MakeNode()
                         .Name(NodeName(i))
                         .Label(kHostname, NodeName(i))
                         .Label(kZone, absl::StrCat("zone-", i % kZones))
                         .Obj());
    }
    for (int i = 0; i < pods; ++i) {
      PodBuilder pod = RunningPod(i);
      if (shape_of_running && i % 2 == 0) {
        shape_of_running(pod, "app", {absl::StrCat("app-", i / 2 % kApps)});
      }
      // Every application comes to every node.
      cache_.SetPod(pod.NodeName(NodeName((i / 2 + i / 2 / kNodes) % kNodes)).Obj());
    }
    cache_.Refresh();
    for (NodeRow row = 0; row < cache_.table().size(); ++row) rows_.push_back(row);
  }

  const NodeTable& nodes() const { return cache_.table(); }
  const std::vector<NodeRow>& rows() const { return rows_; }

  // What happens between two cycles: a pod is placed, one goes.
  void Change() {
    if (placed_ != nullptr) cache_.ForgetPod(placed_->uid());
    placed_ = placed_ == one_ ? other_ : one_;
    BERTH_CHECK(cache_.AssumePod(placed_, Symbol::Intern(NodeName(7))).ok());
    cache_.Refresh();
  }

 private:
  static std::string NodeName(int i) { return absl::StrCat("node-", i); }

  Cache cache_;
  std::vector<NodeRow> rows_;
  const PodPtr one_ = RunningPod(1'000'000).Obj(), other_ = RunningPod(1'000'001).Obj();
  PodPtr placed_;
};

// A plugin's part of a scheduling cycle.
template <class P>
class Cycle {
 public:
  explicit Cycle(const FieldTable& fields, const std::string& yaml = "{}")
      : plugin_(P::Create(PluginArgs::Parse(yaml, fields).value(), handle_).value()) {}

  void Run(const Cluster& cluster, const PodInfo& pod) {
    auto& plugin = static_cast<P&>(*plugin_);
    CycleState state;
    PreFilterResult narrowed;
    if (plugin.PreFilter(state, pod, cluster.nodes(), narrowed).ok()) {
      verdicts_.Reset(cluster.nodes().size());
      verdicts_.BeginBlock(cluster.rows());
      BERTH_CHECK(plugin.FilterNodes(state, pod, cluster.nodes(), verdicts_).ok());
    }
    if (plugin.PreScore(state, pod, cluster.nodes(), cluster.rows()).ok()) {
      scores_.resize(cluster.rows().size());
      const auto scores = absl::MakeSpan(scores_);
      BERTH_CHECK(plugin.ScoreNodes(state, pod, cluster.nodes(), cluster.rows(), scores).ok());
      BERTH_CHECK(plugin.NormalizeScores(state, pod, cluster.rows(), scores).ok());
      benchmark::DoNotOptimize(scores_.data());
    }
  }

 private:
  FakeHandle handle_;
  std::unique_ptr<Plugin> plugin_;
  NodeVerdicts verdicts_;
  std::vector<int64_t> scores_;
};

// The pods are made ahead: each has a selector that no cycle has seen if the second argument is 1.
template <class P, class Args>
void RunCycles(benchmark::State& state, const Shape& shape,
               const Shape& shape_of_running = nullptr) {
  constexpr int kPods = 2'000;
  Cluster cluster(static_cast<int>(state.range(0)), shape_of_running);
  Cycle<P> cycle(Args::Fields());
  std::vector<PodPtr> pods;
  for (int i = 0; i < (state.range(1) == kNew ? kPods : 1); ++i) {
    PodBuilder pod = RunningPod(14).Name(absl::StrCat("incoming-", i));
    if (shape) shape(pod, "app", {"app-7", absl::StrCat("another-", i)});
    pods.push_back(pod.Obj());
  }
  cluster.Change();
  cycle.Run(cluster, *pods[0]);
  size_t next = 0;
  for (auto _ : state) {
    cluster.Change();
    cycle.Run(cluster, *pods[next++ % pods.size()]);
  }
}

void AddConstraint(PodBuilder& pod, const char* topology_key, UnsatisfiableAction action,
                   const std::string& key, const std::vector<std::string>& values) {
  pod.SpreadConstraint(1, topology_key, action, {});
  auto* constraints = pod.Message().mutable_spec()->mutable_topology_spread_constraints();
  SetSelector(key, values, constraints->rbegin()->mutable_label_selector());
}

// A hard constraint over zones and a soft one over hosts.
void BM_Spread(benchmark::State& state) {
  RunCycles<PodTopologySpread, PodTopologySpreadArgs>(
      state, [](PodBuilder& pod, const std::string& key, const std::vector<std::string>& values) {
        AddConstraint(pod, kZone, UnsatisfiableAction::kDoNotSchedule, key, values);
        AddConstraint(pod, kHostname, UnsatisfiableAction::kScheduleAnyway, key, values);
      });
}

void BM_RequiredAntiAffinity(benchmark::State& state) {
  RunCycles<InterPodAffinity, InterPodAffinityArgs>(
      state, [](PodBuilder& pod, const std::string& key, const std::vector<std::string>& values) {
        pod.PodAntiAffinity(kHostname, {});
        auto* terms = pod.Message()
                          .mutable_spec()
                          ->mutable_affinity()
                          ->mutable_pod_anti_affinity()
                          ->mutable_required_during_scheduling_ignored_during_execution();
        SetSelector(key, values, terms->rbegin()->mutable_label_selector());
      });
}

void Prefer(PodBuilder& pod, const std::string& key, const std::vector<std::string>& values) {
  pod.PreferredPodAffinity(10, kZone, {});
  auto* terms = pod.Message()
                    .mutable_spec()
                    ->mutable_affinity()
                    ->mutable_pod_affinity()
                    ->mutable_preferred_during_scheduling_ignored_during_execution();
  SetSelector(key, values, terms->rbegin()->mutable_pod_affinity_term()->mutable_label_selector());
}

void BM_PreferredAffinity(benchmark::State& state) {
  RunCycles<InterPodAffinity, InterPodAffinityArgs>(state, Prefer);
}

// Half of the pods that run have a preferred term about the pods of their application.
void BM_PreferredTermsOfRunningPods(benchmark::State& state) {
  RunCycles<InterPodAffinity, InterPodAffinityArgs>(state, nullptr, Prefer);
}

void Sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"pods", "new"})->ArgsProduct({{1'000, 10'000, 100'000}, {kSeen, kNew}});
  bench->Unit(benchmark::kMicrosecond);
}
BENCHMARK(BM_Spread)->Apply(Sizes);
BENCHMARK(BM_RequiredAntiAffinity)->Apply(Sizes);
BENCHMARK(BM_PreferredAffinity)->Apply(Sizes);
BENCHMARK(BM_PreferredTermsOfRunningPods)->Apply(Sizes);

}  // namespace
}  // namespace berth
