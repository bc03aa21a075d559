// SPDX-License-Identifier: Apache-2.0
// Implementation of metric.h.
#include "metrics/metric.h"

#include <algorithm>

#include "berth/check.h"

namespace berth {
namespace {

template <class Series>
std::unique_ptr<Series> NewSeries(const MetricInfo&) {
  return std::make_unique<Series>();
}
template <>
std::unique_ptr<Histogram> NewSeries<Histogram>(const MetricInfo& info) {
  return std::make_unique<Histogram>(info.bounds);
}

void Read(const Counter& counter, MetricSample& sample) {
  sample.value = static_cast<double>(counter.value());
}
void Read(const Gauge& gauge, MetricSample& sample) { sample.value = gauge.value(); }
void Read(const Histogram& histogram, MetricSample& sample) {
  sample.value = histogram.sum();
  sample.counts = histogram.counts();
}

}  // namespace

Histogram::Histogram(const std::vector<double>& bounds)
    : bounds_(bounds), counts_(std::make_unique<std::atomic<int64_t>[]>(bounds.size() + 1)) {}

void Histogram::Observe(double value) {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  counts_[bucket].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

std::vector<int64_t> Histogram::counts() const {
  std::vector<int64_t> counts;
  for (size_t i = 0; i <= bounds_.size(); ++i) {
    counts.push_back(counts_[i].load(std::memory_order_relaxed));
  }
  return counts;
}

std::vector<double> ExponentialBuckets(double start, double factor, int count) {
  std::vector<double> bounds;
  for (int i = 0; i < count; ++i, start *= factor) bounds.push_back(start);
  return bounds;
}

template <class Series>
MetricOf<Series>::MetricOf(MetricInfo info, MetricList& list) : MetricFamily(std::move(info)) {
  list.push_back(this);
  if (this->info().labels.empty()) only_ = &With({});
}

template <class Series>
Series& MetricOf<Series>::With(std::vector<std::string> labels) {
  BERTH_CHECK(labels.size() == info().labels.size()) << info().name;
  MutexLock lock(mutex_);
  std::unique_ptr<Series>& series = series_[std::move(labels)];
  if (series == nullptr) series = NewSeries<Series>(info());
  return *series;
}

template <class Series>
void MetricOf<Series>::Remove(const std::vector<std::string>& labels) {
  MutexLock lock(mutex_);
  series_.erase(labels);
}

template <class Series>
MetricSnapshot MetricOf<Series>::Read() const {
  MetricSnapshot snapshot{.info = &info()};
  MutexLock lock(mutex_);
  for (const auto& [labels, series] : series_) {
    MetricSample& sample = snapshot.samples.emplace_back();
    sample.labels = labels;
    berth::Read(*series, sample);
  }
  return snapshot;
}

template <class Series>
void MetricOf<Series>::ForEach(const std::function<void(Series&)>& visit) {
  MutexLock lock(mutex_);
  for (const auto& [labels, series] : series_) visit(*series);
}

template class MetricOf<Counter>;
template class MetricOf<Gauge>;
template class MetricOf<Histogram>;

}  // namespace berth
