// `berth simulate`: runs the whole scheduler until nothing more is due, and reports.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
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
#include "app/group_warnings.h"
#include "app/input.h"
#include "app/interrupt.h"
#include "app/simulation_report.h"
#include "app/terminal.h"
#include "berth/simulation.h"

namespace berth {
namespace {

// Durations of single cycles, in microseconds.
class CycleTimes {
 public:
  // Of an attempt.
  void Add(absl::Duration duration, int cycles) {
    const double nanos = static_cast<double>(absl::ToInt64Nanoseconds(duration));
    nanos_.insert(nanos_.end(), cycles, nanos / std::max(cycles, 1));
  }
  // The smallest time that at least `share` of the cycles did not exceed.
  double Quantile(double share) {
    if (nanos_.empty()) return 0;
    std::sort(nanos_.begin(), nanos_.end());
    const size_t rank = static_cast<size_t>(share * static_cast<double>(nanos_.size() - 1) + 0.5);
    return nanos_[rank] / 1000;
  }

 private:
  std::vector<double> nanos_;
};

int64_t PeakRssBytes() {
  rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace

int RunSimulate(const CommandOptions& options, const Registry& registry) {
  if (!options.scenarios.empty()) return RunScenarios(options, registry);
  if (!options.trace.empty()) return RunTrace(options, registry);
  const absl::Time begin = absl::Now();
  std::optional<KubeSchedulerConfiguration> configuration =
      ReadConfiguration(options.configs, registry);
  std::optional<Manifests> manifests = ReadCluster(options.clusters);
  if (!configuration.has_value() || !manifests.has_value()) return 1;
  WarnOfPodsAlone(*configuration, registry, manifests->objects);

  absl::StatusOr<std::unique_ptr<Simulation>> created =
      Simulation::Create({.configuration = *std::move(configuration),
                          .registry = &registry,
                          .objects = std::move(manifests->objects),
                          .seed = options.seed,
                          .start = absl::Now()});
  if (!created.ok()) {
    PrintErrorF("%s", created.status().message());
    return 1;
  }
  Simulation& simulation = **created;
  SimulationReport report(simulation);

  Progress progress;
  CycleTimes cycles;
  int64_t placed = 0;
  auto last_decision = std::chrono::steady_clock::now();
  simulation.scheduler().ObserveAttempts([&](const AttemptRecord& attempt) {
    if (Interrupted()) simulation.Stop();
    if (attempt.goes_on) return;
    last_decision = attempt.ended;
    placed += attempt.placed;
    cycles.Add(attempt.duration, attempt.cycles);
    progress.Show([&] {
      return absl::StrCat("scheduling: ", Thousands(placed), " of ",
                          Thousands(report.pending_at_start()), " pods placed");
    });
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
                      cycles.Quantile(1)};
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
