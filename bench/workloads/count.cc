// berth_count CONFIGURATION CLUSTER: schedules a cluster as `berth simulate` does and prints, as
// JSON, how many allocations that took, loading left out. Under `valgrind --tool=callgrind
// --instr-atstart=no` only the scheduling is counted. So unlike a time, the figures are the same in
// every run.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "absl/strings/str_format.h"
#include "berth/api/manifest.h"
#include "berth/builtin_plugins.h"
#include "berth/simulation.h"
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#endif

namespace {

std::atomic<int64_t> allocations = 0;
std::atomic<int64_t> allocated_bytes = 0;

void* Allocate(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  allocated_bytes.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

int main(int argc, char** argv) {
  if (argc != 3) {
    absl::FPrintF(stderr, "usage: berth_count CONFIGURATION CLUSTER\n");
    return 2;
  }
  const absl::StatusOr<berth::Registry> registry = berth::BuiltinRegistry();
  if (!registry.ok()) std::abort();
  berth::LoadedConfiguration loaded = berth::LoadConfigurationFile(argv[1], *registry);
  berth::Manifests manifests = berth::ReadManifests({argv[2]});
  for (const berth::Problems* problems : {&loaded.problems, &manifests.problems}) {
    for (const berth::Problem& problem : *problems) {
      absl::FPrintF(stderr, "%s\n", problem.ToString());
    }
    if (!problems->ok()) return 1;
  }
  absl::StatusOr<std::unique_ptr<berth::Simulation>> simulation =
      berth::Simulation::Create({.configuration = std::move(loaded.configuration),
                                 .registry = &*registry,
                                 .objects = std::move(manifests.objects)});
  if (!simulation.ok()) {
    absl::FPrintF(stderr, "%s\n", simulation.status().message());
    return 1;
  }
  (*simulation)->scheduler().TakeEvents();

  const int64_t allocations_before = allocations;
  const int64_t bytes_before = allocated_bytes;
  CALLGRIND_START_INSTRUMENTATION;
  (*simulation)->RunUntilQuiet();
  CALLGRIND_STOP_INSTRUMENTATION;
  const int64_t allocations_after = allocations;
  const int64_t bytes_after = allocated_bytes;
  const berth::SchedulerCounters counters = (*simulation)->scheduler().counters();
  absl::PrintF(
      "{\"cycles\":%d,\"remembered_cycles\":%d,\"bound\":%d,\"evictions\":%d,"
      "\"allocations\":%d,\"allocated_bytes\":%d}\n",
      counters.cycles, counters.remembered_cycles, counters.bound, counters.evictions,
      allocations_after - allocations_before, bytes_after - bytes_before);
  return 0;
}
