// SPDX-License-Identifier: Apache-2.0
// Implementation of point_metrics.h.
#include "framework/point_metrics.h"

#include "absl/time/time.h"

namespace berth {
namespace {

constexpr const char* kPointNames[] = {"PreEnqueue",       "PreFilter", "Filter",  "PostFilter",
                                       "PreScore",         "Score",     "Reserve", "Permit",
                                       "PreBindPreFlight", "PreBind",   "Bind",    "PostBind"};

}  // namespace

void PointMetrics::Observe(Point point, Code code, std::chrono::steady_clock::duration took) const {
  const auto row = static_cast<size_t>(point);
  std::atomic<Histogram*>& slot = series_[row][static_cast<size_t>(code) % kCodes];
  Histogram* series = slot.load(std::memory_order_acquire);
  if (series == nullptr) {
    series = &metrics_->extension_point_duration.With(
        {kPointNames[row], std::string(CodeName(code)), profile_});
    slot.store(series, std::memory_order_release);
  }
  series->Observe(absl::FromChrono(took));
}

}  // namespace berth
