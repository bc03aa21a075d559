// What does it cost to keep the node table in step: one changed row, a node that comes or
// goes, and a zone that goes, by cluster size? The first should not depend on the size; with the
// second, rows behind it move; with the third, the table is made anew.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "berth/check.h"
#include "berth/testing/objects.h"
#include "cache/cache.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;

std::string NodeName(int i) { return absl::StrCat("node-", i); }

std::shared_ptr<const NodeSpec> Node(int i) {
  return MakeNode()
      .Name(NodeName(i))
      .Label("topology.kubernetes.io/zone", absl::StrCat("zone-", i % 3))
      .Allocatable("cpu", "4")
      .Allocatable("memory", "32Gi")
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

// All nodes of one of the three zones go between two refreshes.
void BM_ZoneGoes(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    auto cache = std::make_unique<Cache>();
    Fill(*cache, nodes);
    state.ResumeTiming();
    for (int i = 0; i < nodes; i += 3) cache->RemoveNode(Symbol::Intern(NodeName(i)));
    cache->Refresh();
    state.PauseTiming();
    cache.reset();
    state.ResumeTiming();
  }
}
BENCHMARK(BM_ZoneGoes)->Apply(BySize);

// Nothing changed.
void BM_RefreshOfNothing(benchmark::State& state) {
  Cache cache;
  Fill(cache, static_cast<int>(state.range(0)));
  for (auto _ : state) cache.Refresh();
}
BENCHMARK(BM_RefreshOfNothing)->Arg(1'000)->Arg(100'000);

}  // namespace
}  // namespace berth
