// SPDX-License-Identifier: Apache-2.0
// How many placements a second come over a Unix socket, from pods in protobuf to the placement in
// the client's hands, beside a scheduler in process that has the pods already? Client and server
// are threads of this program. The messages of the client are made before. The pods are all alike,
// of 400 applications in random order, or of these with requests of which no two are the same.
#include <benchmark/benchmark.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "applications.h"
#include "berth/api/core_v1.pb.h"
#include "berth/builtin_plugins.h"
#include "berth/check.h"
#include "berth/cluster_server.h"
#include "berth/simulation.h"
#include "berth/testing/objects.h"
#include "berth/v1/cluster.grpc.pb.h"

namespace berth {
namespace {

constexpr int kNodes = 1000;
constexpr int kPods = 50'000;
constexpr int kPodsAMessage = 200;

const Registry& BuiltIn() {
  static const Registry& registry = *new Registry(BuiltinRegistry({}).value());
  return registry;
}

enum class Mix { kAlike, kApplications, kNoTwoAlike };

struct Workload {
  std::vector<api::Node> nodes;
  std::vector<api::Pod> pods;
};

testing::PodBuilder MakePodOf(Mix mix, const testing::Applications& applications, int i,
                              std::mt19937& random) {
  switch (mix) {
    case Mix::kAlike:
      return testing::MakePod().Label("app", "web").Request("cpu", "500m").Request("memory", "1Gi");
    case Mix::kApplications:
      return applications.MakePodOfAny(random);
    case Mix::kNoTwoAlike:
      return applications.MakePodOfAny(random, i % 100, i / 100);
  }
  BERTH_CHECK(false);
}

Workload MakeWorkload(Mix mix) {
  std::mt19937 random(30);
  Workload workload;
  for (int i = 0; i < kNodes; ++i) {
    workload.nodes.push_back(
        (mix == Mix::kAlike ? testing::MakeNode().Pods(110) : testing::MakeNodeOfPool(i, random))
            .Name(absl::StrCat("node-", i))
            .Capacity("cpu", "64")
            .Capacity("memory", "256Gi")
            .Proto());
  }
  const testing::Applications applications(400, random);
  for (int i = 0; i < kPods; ++i) {
    workload.pods.push_back(MakePodOf(mix, applications, i, random)
                                .Name(absl::StrCat("pod-", i))
                                .Uid(absl::StrCat("uid-", i))
                                .Proto());
  }
  return workload;
}

void InProcess(benchmark::State& state, Mix mix) {
  const Workload workload = MakeWorkload(mix);
  for (auto _ : state) {
    state.PauseTiming();
    std::vector<Object> objects;
    for (const api::Node& node : workload.nodes) {
      objects.push_back(Object::Of(std::make_shared<api::Node>(node)));
    }
    for (const api::Pod& pod : workload.pods) {
      objects.push_back(Object::Of(std::make_shared<api::Pod>(pod)));
    }
    auto simulation = Simulation::Create({.configuration = DefaultConfiguration(BuiltIn()),
                                          .registry = &BuiltIn(),
                                          .objects = std::move(objects)});
    (*simulation)->scheduler().TakeEvents();
    state.ResumeTiming();
    (*simulation)->RunUntilIdle();
    BERTH_CHECK((*simulation)->cluster().Bindings().size() == kPods);
    state.PauseTiming();
    simulation->reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * kPods);
}
BENCHMARK_CAPTURE(InProcess, Alike, Mix::kAlike)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(InProcess, Applications, Mix::kApplications)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(InProcess, NoTwoAlike, Mix::kNoTwoAlike)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

template <class Message>
v1::Change Added(const Message& message, const std::string& kind) {
  v1::Change change;
  change.set_type(v1::Change::ADDED);
  change.mutable_object()->set_api_version("v1");
  change.mutable_object()->set_kind(kind);
  message.SerializeToString(change.mutable_object()->mutable_protobuf());
  return change;
}

// How many of these events are placements.
int Placements(const v1::Events& events) {
  int count = 0;
  for (const v1::SchedulerEvent& event : events.events()) count += event.has_placement() ? 1 : 0;
  return count;
}

void OverUnixSocket(benchmark::State& state, Mix mix) {
  const Workload workload = MakeWorkload(mix);
  ClusterServerOptions options;
  options.configuration = DefaultConfiguration(BuiltIn());
  options.registry = &BuiltIn();
  const std::string path = absl::StrCat("/tmp/berth-serve-bench-", getpid(), ".sock");
  options.address = absl::StrCat("unix:", path);
  const auto server = ClusterServer::Start(options);
  BERTH_CHECK(server.ok()) << server.status();
  const auto stub = v1::Clusters::NewStub(
      grpc::CreateChannel((*server)->address(), grpc::InsecureChannelCredentials()));

  std::vector<v1::ToScheduler> messages;
  v1::ToScheduler nodes;
  uint64_t sequence = 0;
  for (const api::Node& node : workload.nodes) {
    *nodes.mutable_changes()->add_changes() = Added(node, "Node");
  }
  nodes.mutable_changes()->set_sequence(++sequence);
  nodes.mutable_changes()->set_synced(true);
  for (int i = 0; i < kPods; ++i) {
    if (i % kPodsAMessage == 0) {
      messages.emplace_back().mutable_changes()->set_sequence(++sequence);
    }
    *messages.back().mutable_changes()->add_changes() = Added(workload.pods[i], "Pod");
  }

  for (auto _ : state) {
    state.PauseTiming();
    grpc::ClientContext context;
    const auto stream = stub->Schedule(&context);
    v1::ToScheduler hello;
    hello.mutable_hello()->set_protocol_version(1);
    hello.mutable_hello()->set_cluster("bench");
    stream->Write(hello);
    stream->Write(nodes);
    v1::FromScheduler message;
    while (!message.has_applied()) BERTH_CHECK(stream->Read(&message));
    state.ResumeTiming();
    std::thread writer([&] {
      for (const v1::ToScheduler& pods : messages) stream->Write(pods);
    });
    for (int placed = 0; placed < kPods;) {
      BERTH_CHECK(stream->Read(&message));
      placed += Placements(message.events());
    }
    state.PauseTiming();
    writer.join();
    v1::ToScheduler forget;
    forget.mutable_forget();
    stream->Write(forget);
    while (stream->Read(&message)) {
    }
    stream->Finish();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * kPods);
}
BENCHMARK_CAPTURE(OverUnixSocket, Alike, Mix::kAlike)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(OverUnixSocket, Applications, Mix::kApplications)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(OverUnixSocket, NoTwoAlike, Mix::kNoTwoAlike)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth
