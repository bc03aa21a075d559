// SPDX-License-Identifier: Apache-2.0
// What does it cost to keep the node table in step: one changed row, a node that comes or
// goes, a zone that goes or comes, nodes that all change, and the first list of nodes, by cluster
// size? The first should not depend on the size; with the second, rows behind it move; with the
// others, all are looked at.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "berth/check.h"
#include "berth/testing/objects.h"
#include "cache/cache.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;

std::string NodeName(int i) { return absl::StrCat("node-", i); }

std::shared_ptr<const NodeSpec> Node(int i, int version = 0) {
  return MakeNode()
      .Name(NodeName(i))
      .Label("kubernetes.io/hostname", NodeName(i))
      .Label("version", absl::StrCat(version))
      .Label("topology.kubernetes.io/zone", absl::StrCat("zone-", i % 3))
      .Allocatable("cpu", "4")
      .Allocatable("memory", absl::StrCat(32 + version, "Gi"))
      .Allocatable("pods", "110")
      .Obj();
}

void Fill(Cache& cache, int nodes) {
  for (int i = 0; i < nodes; ++i) cache.SetNode(Node(i));
  cache.Refresh();
}

void BySize(benchmark::internal::Benchmark* benchmark) {
  for (const int nodes : {1'000, 5'000, 15'000, 100'000}) benchmark->Arg(nodes);
  benchmark->Unit(benchmark::kMicrosecond);
}

// A pod is assumed and forgotten, each followed by a refresh.
void BM_OnePodComesAndGoes(benchmark::State& state) {
  Cache cache;
  const int nodes = static_cast<int>(state.range(0));
  Fill(cache, nodes);
  const auto pod = MakePod().Name("p").Namespace("default").Request("cpu", "100m").Obj();
  int next = 0;
  for (auto _ : state) {
    const Symbol node = Symbol::Intern(NodeName(next++ % nodes));
    BERTH_CHECK(cache.AssumePod(pod, node).ok());
    cache.Refresh();
    BERTH_CHECK(cache.ForgetPod(pod->uid()));
    cache.Refresh();
  }
}
BENCHMARK(BM_OnePodComesAndGoes)->Arg(1'000)->Arg(5'000)->Arg(15'000)->Arg(100'000);

// `kNew`: a node comes last, and goes. `kOld`: one from the middle goes; the clock stops while it
// comes back.
enum class Which { kNew, kOld };

void NodeComesAndGoes(benchmark::State& state, Which which) {
  Cache cache;
  const int nodes = static_cast<int>(state.range(0));
  Fill(cache, nodes);
  int next = which == Which::kNew ? nodes : nodes / 2;
  for (auto _ : state) {
    if (which == Which::kNew) {
      cache.SetNode(Node(next));
      cache.Refresh();
      BERTH_CHECK(cache.RemoveNode(Symbol::Intern(NodeName(next))));
      cache.Refresh();
    } else {
      BERTH_CHECK(cache.RemoveNode(Symbol::Intern(NodeName(next))));
      cache.Refresh();
      state.PauseTiming();
      cache.SetNode(Node(next));
      cache.Refresh();
      next = nodes / 4 + (next + 1) % (nodes / 2);
      state.ResumeTiming();
    }
  }
}
void BM_NodeComesAndGoes(benchmark::State& state) { NodeComesAndGoes(state, Which::kNew); }
void BM_NodeGoes(benchmark::State& state) { NodeComesAndGoes(state, Which::kOld); }
BENCHMARK(BM_NodeComesAndGoes)->Apply(BySize);
BENCHMARK(BM_NodeGoes)->Apply(BySize);

// What happens to all nodes, or to those of one of the three zones, between two refreshes. Counts
// what the cache is told of nodes and the refresh; `refresh_us` is the refresh alone.
enum class Happens { kZoneGoes, kZoneComes, kAllChange, kAllCome };

void ManyNodes(benchmark::State& state, Happens what) {
  const int nodes = static_cast<int>(state.range(0));
  std::vector<std::shared_ptr<const NodeSpec>> now, then;
  for (int i = 0; i < nodes; ++i) {
    now.push_back(Node(i, 0));
    then.push_back(Node(i, 1));
  }
  const auto in_zone = [](int i) { return i % 3 == 0; };
  double refreshes_us = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto cache = std::make_unique<Cache>();
    for (int i = 0; i < nodes; ++i) {
      const bool comes = what == Happens::kAllCome || (what == Happens::kZoneComes && in_zone(i));
      if (!comes) cache->SetNode(now[i]);
    }
    cache->Refresh();
    cache->table().label_column(Symbol::Intern("topology.kubernetes.io/zone"));
    cache->table().label_column(Symbol::Intern("kubernetes.io/hostname"));
    state.ResumeTiming();
    for (int i = 0; i < nodes; ++i) {
      if (what == Happens::kAllChange) {
        cache->SetNode(then[i]);
      } else if (what == Happens::kAllCome || (what == Happens::kZoneComes && in_zone(i))) {
        cache->SetNode(now[i]);
      } else if (what == Happens::kZoneGoes && in_zone(i)) {
        cache->RemoveNode(now[i]->name);
      }
    }
    const absl::Time begin = absl::Now();
    cache->Refresh();
    refreshes_us += absl::ToDoubleMicroseconds(absl::Now() - begin);
    state.PauseTiming();
    cache.reset();
    state.ResumeTiming();
  }
  state.counters["refresh_us"] = refreshes_us / static_cast<double>(state.iterations());
}
void BM_ZoneGoes(benchmark::State& state) { ManyNodes(state, Happens::kZoneGoes); }
void BM_ZoneComes(benchmark::State& state) { ManyNodes(state, Happens::kZoneComes); }
void BM_AllChange(benchmark::State& state) { ManyNodes(state, Happens::kAllChange); }
void BM_AllCome(benchmark::State& state) { ManyNodes(state, Happens::kAllCome); }
BENCHMARK(BM_ZoneGoes)->Apply(BySize);
BENCHMARK(BM_ZoneComes)->Apply(BySize);
BENCHMARK(BM_AllChange)->Apply(BySize);
BENCHMARK(BM_AllCome)->Apply(BySize);

// Nothing changed.
void BM_RefreshOfNothing(benchmark::State& state) {
  Cache cache;
  Fill(cache, static_cast<int>(state.range(0)));
  for (auto _ : state) cache.Refresh();
}
BENCHMARK(BM_RefreshOfNothing)->Arg(1'000)->Arg(100'000);

}  // namespace
}  // namespace berth
