// SPDX-License-Identifier: Apache-2.0
// Implementation of classic_policies.h.
#include "plugins/gpu/classic_policies.h"

#include <algorithm>

namespace berth {
namespace {

// The largest node of the published experiment, in thousandths of CPUs and cards.
constexpr double kMilliCpu = 128000;
constexpr double kMilliGpu = 8000;

int64_t Clamped(int64_t score) { return std::clamp(score, kMinNodeScore, kMaxNodeScore); }

double Asked(const GpuPod& pod) {
  return static_cast<double>(pod.request.cards) * static_cast<double>(pod.request.milli);
}

int64_t Left(const GpuPlace& place) { return place.node.Free(0).total_milli_gpu(); }

template <class P>
absl::StatusOr<std::unique_ptr<Plugin>> Make(Handle& handle) {
  return std::make_unique<P>(handle);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> GpuBestFit::Create(const PluginArgs&, Handle& handle) {
  return Make<GpuBestFit>(handle);
}

GpuChoice GpuBestFit::Choose(const GpuPlace& place, const GpuPod& pod) const {
  const double cpu = static_cast<double>(place.milli_cpu - pod.milli_cpu) / kMilliCpu;
  const double gpu = (static_cast<double>(Left(place)) - Asked(pod)) / kMilliGpu;
  const double left = 0.5 * cpu + 0.5 * gpu;
  return {Clamped(static_cast<int64_t>(100 * (1 - left))), UsualCards(place, pod)};
}

absl::StatusOr<std::unique_ptr<Plugin>> GpuDotProduct::Create(const PluginArgs&, Handle& handle) {
  return Make<GpuDotProduct>(handle);
}

GpuChoice GpuDotProduct::Choose(const GpuPlace& place, const GpuPod& pod) const {
  const double cpu = static_cast<double>(place.milli_cpu) / kMilliCpu *
                     (static_cast<double>(pod.milli_cpu) / kMilliCpu);
  const double gpu = static_cast<double>(Left(place)) / kMilliGpu * (Asked(pod) / kMilliGpu);
  return {Clamped(static_cast<int64_t>(100 * (1 - (cpu + gpu) / 2))), UsualCards(place, pod)};
}

absl::StatusOr<std::unique_ptr<Plugin>> GpuPacking::Create(const PluginArgs&, Handle& handle) {
  return Make<GpuPacking>(handle);
}

GpuChoice GpuPacking::Choose(const GpuPlace& place, const GpuPod& pod) const {
  if (pod.request.cards == 0) return {};
  const GpuNode& node = place.node;
  GpuChoice choice{0, UsualCards(place, pod)};
  const int64_t cards = static_cast<int64_t>(node.cards.size());
  const bool all_idle =
      std::all_of(node.cards.begin(), node.cards.end(), [](const GpuCard& c) { return c.idle(); });
  if (all_idle) {
    choice.score = Clamped(std::max(33 - cards, cards));
    return choice;
  }
  int64_t idle = 0, tenths = 0;
  for (const int position : choice.cards) {
    const GpuCard& card = node.cards[position];
    idle += card.idle();
    tenths += card.milli_free * 100 / kMilliPerGpu;
  }
  choice.score = Clamped(idle > 0 ? std::max<int64_t>(50 - idle, 33)
                                  : std::max<int64_t>(100 - tenths / 10, 50));
  return choice;
}

absl::StatusOr<std::unique_ptr<Plugin>> GpuClustering::Create(const PluginArgs&, Handle& handle) {
  return Make<GpuClustering>(handle);
}

GpuChoice GpuClustering::Choose(const GpuPlace& place, const GpuPod& pod) const {
  if (pod.request.cards == 0) return {};
  const int same = place.node.pods_of_class[GpuNode::ClassOf(pod.request)];
  int all = 0;
  for (const int pods : place.node.pods_of_class) all += pods;
  const int64_t base = all == 0 ? 25 : same == all ? 75 : same > 0 ? 50 : 0;
  const int64_t full = std::max<int64_t>(0, 25 * (8000 - Left(place)) / 8000);
  return {Clamped(base + full), UsualCards(place, pod)};
}

}  // namespace berth
