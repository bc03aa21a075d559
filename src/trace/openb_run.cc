// Implementation of openb_run.h: arrivals one by one.
#include "trace/openb_run.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/api/core_v1.pb.h"
#include "berth/simulation.h"
#include "trace/openb_cluster.h"

namespace berth {
namespace {

constexpr absl::string_view kCards = "alibabacloud.com/gpu-index";

double Round(double value, double steps) { return std::nearbyint(value * steps) / steps; }

// Sums over the arrivals of one column.
struct ColumnSums {
  double allocation = 0, fragmentation = 0, of_idle = 0;
  int64_t events = 0;
  void Add(const ColumnSums& other) {
    allocation += other.allocation;
    fragmentation += other.fragmentation;
    of_idle += other.of_idle;
    events += other.events;
  }
};

class Columns {
 public:
  void Add(double arrived, const OpenbBooks& books, int64_t unscheduled) {
    const double capacity = static_cast<double>(books.capacity());
    const double fragmentation = books.fragmentation();
    const double idle = capacity - static_cast<double>(books.allocated());
    const size_t column = static_cast<size_t>(std::nearbyint(arrived));
    if (sums_.size() <= column) sums_.resize(column + 1);
    // Rounded as published: what is allocated and what is idle, not the fragmentation.
    const double allocation = static_cast<double>(books.allocated()) * 100 / capacity;
    sums_[column].Add({.allocation = Round(allocation, 100),
                       .fragmentation = fragmentation * 100 / capacity,
                       .of_idle = idle > 0 ? Round(fragmentation * 100 / idle, 100) : 0,
                       .events = 1});
    const size_t full = static_cast<size_t>(std::ceil(arrived));
    if (unscheduled_.size() <= full) unscheduled_.resize(full + 1, 0);
    unscheduled_[full] = unscheduled;
  }

  std::vector<TraceColumn> Finish() const {
    std::vector<TraceColumn> columns;
    int64_t unscheduled = 0;
    for (size_t i = 0; i < sums_.size(); ++i) {
      ColumnSums sums = sums_[i];
      if (sums.events == 0 && i > 0) sums.Add(sums_[i - 1]);
      if (sums_[i].events == 0 && i + 1 < sums_.size()) sums.Add(sums_[i + 1]);
      if (i < unscheduled_.size()) unscheduled = std::max(unscheduled, unscheduled_[i]);
      if (sums.events == 0) continue;
      const double events = static_cast<double>(sums.events);
      columns.push_back({.arrived = static_cast<int>(i),
                         .allocation = Round(sums.allocation / events, 100),
                         .fragmentation = Round(sums.fragmentation / events, 100),
                         .fragmentation_of_idle = Round(sums.of_idle / events, 10000),
                         .unscheduled = unscheduled});
    }
    return columns;
  }

 private:
  std::vector<ColumnSums> sums_;
  std::vector<int64_t> unscheduled_;
};

std::string Shape(const OpenbPod& pod) {
  const std::string cpu = absl::StrCat(static_cast<double>(pod.milli_cpu) / 1000, " CPU");
  if (pod.gpus == 0) return cpu;
  const std::string gpu = pod.milli_gpu < 1000 ? absl::StrCat(pod.milli_gpu, "/1000 GPU")
                                               : absl::StrCat(pod.gpus, " GPU");
  return absl::StrCat(gpu, ", ", cpu, pod.models.empty() ? "" : ", " + pod.models);
}

}  // namespace

absl::StatusOr<TraceResult> RunArrivals(const OpenbTrace& trace, TraceOptions options) {
  absl::Status given = GiveMix(trace.Mix(), *options.registry, options.configuration);
  if (!given.ok()) return given;
  const std::string profile = options.configuration.profiles.front().scheduler_name;
  absl::StatusOr<std::unique_ptr<Simulation>> created =
      Simulation::Create({.configuration = std::move(options.configuration),
                          .registry = options.registry,
                          .objects = OpenbNodes(trace)});
  if (!created.ok()) return created.status();
  Simulation& simulation = **created;
  simulation.RunUntilIdle();

  TraceResult result;
  OpenbBooks books(trace);
  Columns columns;
  int64_t arrived = 0;
  const double capacity = static_cast<double>(books.capacity());
  for (size_t event = 0; event < trace.arrivals.size(); ++event) {
    const OpenbPod& pod = trace.pods[trace.arrivals[event]];
    const double percent = static_cast<double>(arrived + pod.demand()) * 100 / capacity;
    if (percent > options.until_percent) break;
    arrived += pod.demand();
    const std::string name = absl::StrCat(pod.name, "-", event);
    const std::string key = absl::StrCat("openb/", name);
    const absl::Time start = absl::Now();
    simulation.cluster().Set(OpenbPodObject(pod, name, profile));
    simulation.RunUntilIdle();
    result.seconds += absl::ToDoubleSeconds(absl::Now() - start);

    const auto message = simulation.cluster().Find(Kind::kPod, key);
    const api::Pod& now = static_cast<const api::Pod&>(*message);
    TraceDecision decision{trace.arrivals[event], now.spec().node_name(), ""};
    if (decision.node.empty()) {
      simulation.cluster().Delete(Kind::kPod, key);
      ++result.unscheduled;
      if (pod.gpus == 0) ++result.cpu_pods_unscheduled;
      ++result.shapes[Shape(pod)];
    } else {
      const auto& annotations = now.metadata().annotations();
      const auto cards = annotations.find(std::string(kCards));
      if (cards != annotations.end()) decision.cards = cards->second;
      absl::Status placed = books.Place(pod, decision.node, decision.cards);
      if (!placed.ok()) return placed;
    }
    result.decisions.push_back(std::move(decision));
    columns.Add(percent, books, result.unscheduled);
    if (options.progress) options.progress(static_cast<int64_t>(event) + 1);
  }
  result.columns = columns.Finish();
  return result;
}

}  // namespace berth
