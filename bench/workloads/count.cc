// SPDX-License-Identifier: Apache-2.0
// berth_count load|schedule CONFIGURATION CLUSTER: loads and schedules a cluster as `berth
// simulate` does and prints, as JSON, how many allocations each of the two took. The instructions
// of the one that is named are counted under `valgrind --tool=callgrind --instr-atstart=no`. Unlike
// a time, such figures are the same in every run.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "bench/workloads/cluster_file.h"
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

// What was allocated, and under callgrind executed, from its construction to Stop().
class Section {
 public:
  explicit Section(bool instructions) : instructions_(instructions) {
    if (instructions_) CALLGRIND_START_INSTRUMENTATION;
  }
  void Stop() {
    if (instructions_) CALLGRIND_STOP_INSTRUMENTATION;
    allocations_ = allocations - allocations_;
    bytes_ = allocated_bytes - bytes_;
  }
  std::string ToJson() const {
    return absl::StrFormat("{\"allocations\":%d,\"allocated_bytes\":%d}", allocations_, bytes_);
  }

 private:
  const bool instructions_;
  int64_t allocations_ = allocations;
  int64_t bytes_ = allocated_bytes;
};

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

int main(int argc, char** argv) {
  const absl::string_view what = argc == 4 ? argv[1] : "";
  if (what != "load" && what != "schedule") {
    absl::FPrintF(stderr, "usage: berth_count load|schedule CONFIGURATION CLUSTER\n");
    return 2;
  }
  Section load(what == "load");
  const auto simulation = berth::SimulationOf(argv[2], argv[3]);
  simulation->scheduler().TakeEvents();
  load.Stop();

  Section schedule(what == "schedule");
  simulation->RunUntilQuiet();
  schedule.Stop();

  const berth::SchedulerCounters counters = simulation->scheduler().counters();
  absl::PrintF(
      "{\"cycles\":%d,\"incremental_cycles\":%d,\"bound\":%d,\"evictions\":%d,"
      "\"load\":%s,\"schedule\":%s}\n",
      counters.cycles, counters.incremental_cycles, counters.bound, counters.evictions,
      load.ToJson(), schedule.ToJson());
  return 0;
}
