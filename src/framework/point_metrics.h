// SPDX-License-Identifier: Apache-2.0
// How long the plugins of a profile take at an extension point, all of them together.
#ifndef BERTH_SRC_FRAMEWORK_POINT_METRICS_H_
#define BERTH_SRC_FRAMEWORK_POINT_METRICS_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "berth/framework/status.h"
#include "metrics/scheduler_metrics.h"

namespace berth {

// Measures nothing until it is connected. Threads: any, once it is.
class PointMetrics {
 public:
  // kube-scheduler v1.35 metrics.go ExtensionPoints, as far as they are measured.
  enum class Point : uint8_t {
    kPreEnqueue,
    kPreFilter,
    kFilter,
    kPostFilter,
    kPreScore,
    kScore,
    kReserve,
    kPermit,
    kPreBindPreFlight,
    kPreBind,
    kBind,
    kPostBind,
  };

  // `metrics` outlives this.
  void Connect(SchedulerMetrics& metrics, std::string profile) {
    profile_ = std::move(profile);
    metrics_ = &metrics;
  }

  // What `call` returns: a Status, or something that has one. It counts as one run of the point.
  template <class Call>
  auto Measure(Point point, const Call& call) const {
    if (metrics_ == nullptr) return call();
    const auto begun = std::chrono::steady_clock::now();
    auto result = call();
    Observe(point, CodeOf(result), std::chrono::steady_clock::now() - begun);
    return result;
  }

 private:
  static constexpr size_t kPoints = static_cast<size_t>(Point::kPostBind) + 1;
  static constexpr size_t kCodes = 8;

  static Code CodeOf(const Status& status) { return status.code(); }
  template <class Outcome>
  static Code CodeOf(const Outcome& outcome) {
    return outcome.status.code();
  }

  void Observe(Point point, Code code, std::chrono::steady_clock::duration took) const;

  SchedulerMetrics* metrics_ = nullptr;
  std::string profile_;
  // The series that were asked for so far; null: not yet.
  mutable std::array<std::array<std::atomic<Histogram*>, kCodes>, kPoints> series_ = {};
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_POINT_METRICS_H_
