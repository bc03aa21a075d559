// SPDX-License-Identifier: Apache-2.0
// Numbers by name and labels, as Prometheus has them: written on hot paths without a lock, read
// from any thread.
#ifndef BERTH_SRC_METRICS_METRIC_H_
#define BERTH_SRC_METRICS_METRIC_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/handle/counter.h"
#include "berth/mutex.h"

namespace berth {

// Threads: any.
class Gauge {
 public:
  void Set(double value) { value_.store(value, std::memory_order_relaxed); }
  void Add(double amount) { value_.fetch_add(amount, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

// Threads: any. A reader may see an observation in part.
class Histogram {
 public:
  // `bounds`: upper bounds of buckets, ascending, the infinite one left out. Outlive this.
  explicit Histogram(const std::vector<double>& bounds);

  void Observe(double value);
  void Observe(absl::Duration duration) { Observe(absl::ToDoubleSeconds(duration)); }

  std::vector<int64_t> counts() const;  // by bucket, the infinite one last; not cumulative
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  const std::vector<double>& bounds_;
  const std::unique_ptr<std::atomic<int64_t>[]> counts_;
  std::atomic<double> sum_{0};
};

// start, start * factor, …: as Prometheus' ExponentialBuckets.
std::vector<double> ExponentialBuckets(double start, double factor, int count);

enum class MetricType : uint8_t { kCounter, kGauge, kHistogram };

// What is the same in all series of a metric.
struct MetricInfo {
  std::string name;
  MetricType type = MetricType::kCounter;
  std::string help;
  std::vector<std::string> labels;  // names
  std::vector<double> bounds;       // of a histogram
};

// The value of one series.
struct MetricSample {
  std::vector<std::string> labels;  // values, in the order of the names
  double value = 0;                 // of a histogram: the sum
  std::vector<int64_t> counts;      // of a histogram, as Histogram::counts()
};

struct MetricSnapshot {
  const MetricInfo* info = nullptr;  // of the family
  std::vector<MetricSample> samples;
};

// All series of one name. Threads: any.
class MetricFamily {
 public:
  explicit MetricFamily(MetricInfo info) : info_(std::move(info)) {}
  virtual ~MetricFamily() = default;
  MetricFamily(const MetricFamily&) = delete;
  MetricFamily& operator=(const MetricFamily&) = delete;

  const MetricInfo& info() const { return info_; }
  virtual MetricSnapshot Read() const = 0;

 private:
  const MetricInfo info_;
};

// Metrics in the order in which they are shown.
using MetricList = std::vector<const MetricFamily*>;

// `Series` is Counter, Gauge or Histogram. One without labels has its series from the beginning.
template <class Series>
class MetricOf final : public MetricFamily {
 public:
  MetricOf(MetricInfo info, MetricList& list);

  // The series of those label values, made when it is first asked for; lives as long as the metric,
  // unless it is removed.
  // Takes a lock and looks it up: keep it where it is wanted often.
  Series& With(std::vector<std::string> labels);
  // Forgets the series: it is not shown any more, and no caller may hold on to it.
  void Remove(const std::vector<std::string>& labels);
  // The one without labels.
  Series& only() { return *only_; }

  MetricSnapshot Read() const override;
  // Calls `visit` with every series. It must not call this metric.
  void ForEach(const std::function<void(Series&)>& visit);

 private:
  mutable Mutex mutex_;
  std::map<std::vector<std::string>, std::unique_ptr<Series>> series_ ABSL_GUARDED_BY(mutex_);
  Series* only_ = nullptr;
};

using CounterMetric = MetricOf<Counter>;
using GaugeMetric = MetricOf<Gauge>;
using HistogramMetric = MetricOf<Histogram>;

}  // namespace berth

#endif  // BERTH_SRC_METRICS_METRIC_H_
