// SPDX-License-Identifier: Apache-2.0
// How long does a cluster take to load? 5,000 nodes with 10,000 pods, as JSON lines and as YAML.
#include <benchmark/benchmark.h>

#include <string>

#include "absl/strings/str_format.h"
#include "berth/api/manifest.h"
#include "berth/api/quantity.h"

namespace {

constexpr int kNodes = 5'000;
constexpr int kPods = 10'000;

std::string JsonLines() {
  std::string text;
  for (int i = 0; i < kNodes; ++i) {
    absl::StrAppendFormat(
        &text,
        R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"node-%05d","labels":{"kubernetes.io/hostname":"node-%05d"}},"status":{"allocatable":{"cpu":"4","memory":"32Gi","pods":"110"},"conditions":[{"type":"Ready","status":"True"}]}})"
        "\n",
        i, i);
  }
  for (int i = 0; i < kPods; ++i) {
    absl::StrAppendFormat(
        &text,
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"pod-%06d","namespace":"default","uid":"%d"},"spec":{"schedulerName":"default-scheduler","priority":0,"containers":[{"name":"pause","image":"registry.k8s.io/pause:3.10","ports":[{"containerPort":80}],"resources":{"requests":{"cpu":"100m","memory":"500Mi"},"limits":{"cpu":"100m","memory":"500Mi"}}}]},"status":{"phase":"Pending"}})"
        "\n",
        i, i);
  }
  return text;
}

std::string Yaml() {
  std::string text;
  for (int i = 0; i < kNodes; ++i) {
    absl::StrAppendFormat(&text, R"(---
apiVersion: v1
kind: Node
metadata:
  name: node-%05d
  labels:
    kubernetes.io/hostname: node-%05d
status:
  allocatable:
    cpu: "4"
    memory: 32Gi
    pods: "110"
  conditions:
  - type: Ready
    status: "True"
)",
                          i, i);
  }
  for (int i = 0; i < kPods; ++i) {
    absl::StrAppendFormat(&text, R"(---
apiVersion: v1
kind: Pod
metadata:
  name: pod-%06d
  namespace: default
  uid: "%d"
spec:
  schedulerName: default-scheduler
  priority: 0
  containers:
  - name: pause
    image: registry.k8s.io/pause:3.10
    ports:
    - containerPort: 80
    resources:
      requests:
        cpu: 100m
        memory: 500Mi
      limits:
        cpu: 100m
        memory: 500Mi
status:
  phase: Pending
)",
                          i, i);
  }
  return text;
}

void Load(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    const berth::Manifests manifests = berth::ParseManifest(text, "cluster");
    if (manifests.objects.size() != kNodes + kPods) state.SkipWithError("objects are missing");
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
  state.SetItemsProcessed(state.iterations() * (kNodes + kPods));
}

void BM_LoadJsonLines(benchmark::State& state) { Load(state, JsonLines()); }
BENCHMARK(BM_LoadJsonLines)->Unit(benchmark::kMillisecond);

void BM_LoadYaml(benchmark::State& state) { Load(state, Yaml()); }
BENCHMARK(BM_LoadYaml)->Unit(benchmark::kMillisecond);

void BM_ParseQuantity(benchmark::State& state) {
  const absl::string_view texts[] = {"100m", "500Mi", "1.5", "32Gi", "110"};
  int i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(berth::Quantity::Parse(texts[i++ % 5]));
  }
}
BENCHMARK(BM_ParseQuantity);

}  // namespace
