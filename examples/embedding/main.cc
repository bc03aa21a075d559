// SPDX-License-Identifier: Apache-2.0
// line_scheduler [SECONDS]: a scheduler between standard input and standard output; line_cluster.h
// has the lines. At the end of the input it waits up to SECONDS (10) for every pod to have a node,
// names those that have none, and ends.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>

#include "berth/builtin_plugins.h"
#include "berth/scheduler.h"
#include "line_cluster.h"

int main(int argc, char** argv) {
  const std::chrono::seconds patience(argc > 1 ? std::atoi(argv[1]) : 10);
  const absl::StatusOr<berth::Registry> registry = berth::BuiltinRegistry();
  if (!registry.ok()) return 1;

  // What is used goes after its users: the scheduler first, the executor, the cluster.
  const berth::RealClock clock;
  LineCluster cluster(std::cin, std::cout);
  const std::unique_ptr<berth::Executor> executor = berth::MakeThreadPool(4);
  absl::StatusOr<std::unique_ptr<berth::Scheduler>> scheduler =
      berth::Scheduler::Create({.configuration = berth::DefaultConfiguration(*registry),
                                .registry = &*registry,
                                .cluster = &cluster,
                                .clock = &clock,
                                .executor = executor.get()});
  if (!scheduler.ok()) {
    std::cerr << scheduler.status().message() << '\n';
    return 1;
  }

  std::thread reader([&] {
    cluster.ReadLines();
    cluster.WaitUntilPlaced(patience);
    (*scheduler)->Stop();  // any thread may
  });
  const absl::Status ran = (*scheduler)->Run();  // this is the scheduling thread
  reader.join();

  for (const berth::UnboundPod& pod : (*scheduler)->Unbound()) {
    std::cerr << pod.pod << ": " << pod.waiting.ToString() << '\n';
  }
  scheduler->reset();  // bindings that are under way are seen through
  cluster.PrintPending();
  return ran.ok() ? 0 : 1;
}
