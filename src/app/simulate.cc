// SPDX-License-Identifier: Apache-2.0
// `berth simulate`: runs the whole scheduler until nothing more is due, and reports.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "app/commands.h"
#include "app/input.h"
#include "app/interrupt.h"
#include "app/mark_warnings.h"
#include "app/simulation_report.h"
#include "app/terminal.h"
#include "berth/simulation.h"

namespace berth {
namespace {

// Durations of single cycles, in microseconds. There may be very many: they are counted by length,
// to one part in 1,024.
class CycleTimes {
 public:
  // An attempt took so long.
  void Add(absl::Duration duration, int cycles) {
    if (cycles <= 0) return;
    const int64_t nanos = absl::ToInt64Nanoseconds(duration) / cycles;
    int64_t unit = 1;
    while (nanos / unit >= 2048) unit *= 2;
    counts_[nanos / unit * unit] += cycles;
    count_ += cycles;
    longest_ = std::max(longest_, nanos);
  }
  // The smallest time that at least `share` of the cycles did not exceed.
  double Quantile(double share) const {
    int64_t left = std::llround(share * static_cast<double>(count_ - 1));
    for (const auto& [nanos, count] : counts_) {
      if (left < count) return static_cast<double>(nanos) / 1000;
      left -= count;
    }
    return 0;
  }
  double Longest() const { return static_cast<double>(longest_) / 1000; }

 private:
  std::map<int64_t, int64_t> counts_;  // by nanoseconds
  int64_t count_ = 0, longest_ = 0;
};

int64_t PeakRssBytes() {
  rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

// The simulation of the files that the options name. Null after an error, which is printed.
std::unique_ptr<Simulation> CreateSimulation(const CommandOptions& options,
                                             const Registry& registry) {
  std::optional<KubeSchedulerConfiguration> configuration = ReadConfiguration(options, registry);
  std::optional<Manifests> manifests = ReadCluster(options.clusters);
  if (!configuration.has_value() || !manifests.has_value()) return nullptr;
  WarnOfUnreadMarks(*configuration, registry, manifests->objects);
  PrintProblems(CheckObjects(*manifests));
  std::optional<ExtenderList> extenders = MakeExtenders(*configuration);
  if (!extenders.has_value()) return nullptr;
  absl::StatusOr<std::unique_ptr<Simulation>> created =
      Simulation::Create({.configuration = *std::move(configuration),
                          .registry = &registry,
                          .objects = std::move(manifests->objects),
                          .extenders = *std::move(extenders),
                          .seed = options.seed,
                          .start = absl::Now()});
  if (created.ok()) return *std::move(created);
  PrintErrorF("%s", created.status().message());
  return nullptr;
}

}  // namespace

int RunSimulate(const CommandOptions& options, const Registry& registry) {
  if (!options.scenarios.empty()) return RunScenarios(options, registry);
  if (!options.trace.empty()) return RunTrace(options, registry);
  const absl::Time begin = absl::Now();
  const std::unique_ptr<Simulation> created = CreateSimulation(options, registry);
  if (created == nullptr) return 1;
  Simulation& simulation = *created;
  SimulationReport report(simulation);

  Progress progress;
  CycleTimes cycles;
  int64_t placed = 0;
  auto last_decision = std::chrono::steady_clock::now();
  simulation.scheduler().ObserveAttempts([&](const AttemptRecord& attempt) {
    if (Interrupted()) simulation.Stop();
    if (attempt.yielded) return;
    last_decision = attempt.ended;
    placed += attempt.placed;
    cycles.Add(attempt.duration, attempt.cycles);
    progress.Show([&] {
      return absl::StrCat("scheduling: ", Thousands(placed), " of ",
                          Thousands(report.pending_at_start()), " pods placed");
    });
  });
  simulation.set_on_wait([&] {
    if (Interrupted()) simulation.Stop();
    progress.Show([] { return std::string("waiting for the answer of another process"); });
  });
  CatchInterrupts();
  simulation.scheduler().TakeEvents();
  const double load_seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  const auto start = std::chrono::steady_clock::now();
  simulation.RunUntilQuiet();
  progress.Clear();

  RunFigures figures;
  figures.interrupted = simulation.stopped() && simulation.gave_up().empty();
  figures.load_seconds = load_seconds;
  figures.schedule_seconds =
      std::max(0.0, std::chrono::duration<double>(last_decision - start).count());
  figures.cycle_us = {cycles.Quantile(0.5), cycles.Quantile(0.9), cycles.Quantile(0.99),
                      cycles.Longest()};
  figures.peak_rss_bytes = PeakRssBytes();
  report.Finish(figures);
  if (options.output == OutputFormat::kJson) {
    PrintOut("%s\n", report.ToJson());
  } else {
    PrintOut("%s", report.ToTable(options.all ? Rows::kAll : Rows::kSome));
  }
  if (figures.interrupted) return kInterruptedStatus;
  return simulation.gave_up().empty() ? report.troubles().ExitStatus(0) : kPluginFaultStatus;
}

}  // namespace berth
