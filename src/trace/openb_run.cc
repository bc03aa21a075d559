// SPDX-License-Identifier: Apache-2.0
// Implementation of openb_run.h: arrivals one by one.
#include "trace/openb_run.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "berth/api/core_v1.pb.h"
#include "berth/simulation.h"
#include "trace/openb_cluster.h"

namespace berth {
namespace {

constexpr absl::string_view kGpuIndex = "alibabacloud.com/gpu-index";

// The published tables were made with Go, Python and pandas, and hang on how these round and add.
// To so many decimals, by the exact value of the double: Go's "%.2f", Python's round().
double RoundExactly(double value, int decimals) {
  return std::strtod(absl::StrFormat("%.*f", decimals, value).c_str(), nullptr);
}

// numpy's round().
double RoundScaled(double value, int decimals) {
  const double steps = std::pow(10, decimals);
  return std::nearbyint(value * steps) / steps;
}

// numpy's sum: halves down to 128 numbers, which are added in eight lanes.
double Sum(absl::Span<const double> values) {
  if (values.size() > 128) {
    const size_t half = values.size() / 16 * 8;
    return Sum(values.first(half)) + Sum(values.subspan(half));
  }
  double sum = 0;
  size_t done = 0;
  if (values.size() >= 8) {
    double lanes[8] = {};
    for (; done + 8 <= values.size(); done += 8) {
      for (size_t i = 0; i < 8; ++i) lanes[i] += values[done + i];
    }
    sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
          ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  }
  for (; done < values.size(); ++done) sum += values[done];
  return sum;
}

double Mean(absl::Span<const double> values) {
  return Sum(values) / static_cast<double>(values.size());
}

class Columns {
 public:
  explicit Columns(const OpenbBooks& books)
      : books_(books), gpus_(static_cast<double>(books.capacity()) / 1000) {}

  // After an arrival.
  void Add(double arrived, int64_t unscheduled) {
    columns_.push_back(static_cast<int>(std::nearbyint(arrived)));
    const double idle = static_cast<double>(books_.capacity() - books_.allocated());
    const double fragmentation = books_.fragmentation();
    allocation_.push_back(RoundExactly(static_cast<double>(books_.allocated()) / gpus_ / 10, 2));
    fragmentation_.push_back(RoundExactly(fragmentation, 2));
    of_idle_.push_back(idle > 0 ? RoundExactly(100 * fragmentation / idle, 2) : 0);
    const size_t full = static_cast<size_t>(std::ceil(arrived));
    if (unscheduled_.size() <= full) unscheduled_.resize(full + 1, 0);
    unscheduled_[full] = unscheduled;
  }

  std::vector<TraceColumn> Finish() const {
    std::vector<TraceColumn> columns;
    int64_t unscheduled = 0;
    for (int arrived = 0; !columns_.empty() && arrived <= columns_.back(); ++arrived) {
      if (static_cast<size_t>(arrived) < unscheduled_.size()) {
        unscheduled = std::max(unscheduled, unscheduled_[arrived]);
      }
      const auto range = std::equal_range(columns_.begin(), columns_.end(), arrived);
      auto first = range.first, last = range.second;
      if (first == last) {
        first = std::lower_bound(columns_.begin(), columns_.end(), arrived - 1);
        last = std::upper_bound(columns_.begin(), columns_.end(), arrived + 1);
      }
      if (first == last) continue;
      const auto mean = [&](const std::vector<double>& of) {
        return Mean(absl::MakeConstSpan(of).subspan(first - columns_.begin(), last - first));
      };
      columns.push_back({.arrived = arrived,
                         .allocation = RoundScaled(mean(allocation_), 2),

                         .fragmentation = RoundScaled(100 * mean(fragmentation_) / 1000 / gpus_, 2),
                         .fragmentation_of_idle = RoundExactly(mean(of_idle_), 4),
                         .unscheduled = unscheduled});
    }
    return columns;
  }

 private:
  const OpenbBooks& books_;
  const double gpus_;
  // By arrival; the columns ascend.
  std::vector<int> columns_;
  std::vector<double> allocation_, fragmentation_, of_idle_;
  std::vector<int64_t> unscheduled_;  // by percent, rounded up
};

std::string Shape(const OpenbPod& pod) {
  std::string cpu = absl::StrCat(static_cast<double>(pod.milli_cpu) / 1000, " CPU");
  if (pod.gpus == 0) return cpu;
  const std::string gpu = pod.milli_gpu < 1000 ? absl::StrCat(pod.milli_gpu, "/1000 GPU")
                                               : absl::StrCat(pod.gpus, " GPU");
  return absl::StrCat(gpu, ", ", cpu, pod.models.empty() ? "" : ", " + pod.models);
}

}  // namespace

absl::StatusOr<TraceResult> AddTroubles(const Simulation& simulation, TraceResult result) {
  if (!simulation.gave_up().empty()) return absl::AbortedError(simulation.gave_up());
  SchedulerCounters counters = simulation.scheduler().counters();
  result.troubles = std::move(counters.troubles);
  result.unconfirmed = counters.unconfirmed;
  return result;
}

absl::StatusOr<TraceResult> RunArrivals(const OpenbTrace& trace, TraceOptions options) {
  absl::Status given = GiveMix(trace.Mix(), *options.registry, options.configuration);
  if (!given.ok()) return given;
  const std::string profile = options.configuration.profiles.front().scheduler_name;
  const OpenbShares shares = SharesFor(options.configuration.profiles.front());
  absl::StatusOr<std::unique_ptr<Simulation>> created =
      Simulation::Create({.configuration = std::move(options.configuration),
                          .registry = options.registry,
                          .objects = OpenbNodes(trace)});
  if (!created.ok()) return created.status();
  Simulation& simulation = **created;
  simulation.RunUntilIdle();

  TraceResult result;
  OpenbBooks books(trace, shares);
  Columns columns(books);
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
    simulation.cluster().Set(OpenbPodObject(pod, name, profile, shares));
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
      const auto cards = annotations.find(std::string(kGpuIndex));
      if (cards != annotations.end()) decision.cards = cards->second;
      absl::StatusOr<std::string> placed = books.Place(pod, decision.node, decision.cards);
      if (!placed.ok()) return placed.status();
      decision.cards = *std::move(placed);
    }
    result.decisions.push_back(std::move(decision));
    columns.Add(percent, result.unscheduled);
    if (options.progress) options.progress(static_cast<int64_t>(event) + 1);
  }
  result.columns = columns.Finish();
  return AddTroubles(simulation, std::move(result));
}

}  // namespace berth
