// SPDX-License-Identifier: Apache-2.0
// Implementation of gpu_fgd.h.
#include "plugins/gpu/gpu_fgd.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace berth {
namespace {

constexpr double kCoverage = 0.95;
constexpr size_t kMostStates = 1 << 16;

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> GpuFgd::Create(const PluginArgs& args, Handle& handle) {
  return std::make_unique<GpuFgd>(args.As<GpuMixArgs>(), handle);
}

GpuFgd::GpuFgd(const GpuMixArgs& args, Handle& handle)
    : GpuPolicy(handle),
      measured_(args.typical_pods.empty()),
      mix_(args.TypicalPods(), kCoverage) {}

uint64_t GpuFgd::Prepare() {
  if (measured_ && inventory().demand().version() != mix_version_) {
    mix_ = TypicalMix(inventory().demand().mix(), kCoverage);
    mix_version_ = inventory().demand().version();
    fragmentation_.clear();
  }
  return mix_version_;
}

double GpuFgd::FragmentationOf(const FreeGpus& free) const {
  FreeGpus alike = free;  // which card has what makes no difference
  std::sort(alike.milli_gpu.begin(), alike.milli_gpu.end());
  if (fragmentation_.size() >= kMostStates) fragmentation_.clear();
  const auto [known, is_new] = fragmentation_.try_emplace(std::move(alike), 0);
  if (is_new) known->second = Fragmentation(mix_, known->first);
  return known->second;
}

int64_t GpuFgd::ScoreOf(double before, const FreeGpus& after) const {
  const double x = (before - FragmentationOf(after)) / 1000;
  return static_cast<int64_t>(100 * (1 / (1 + std::exp(-x))));
}

GpuChoice GpuFgd::Choose(const GpuPlace& place, const GpuPod& pod) const {
  const GpuRequest& request = pod.request;
  FreeGpus free = place.node.Free(place.milli_cpu);
  const double before = FragmentationOf(free);
  free.milli_cpu -= pod.milli_cpu;
  if (request.cards == 1 && !request.whole()) {
    GpuChoice best{-1, {}};
    for (const int position : DifferentCards(place.node, request)) {
      int64_t& left = free.milli_gpu[position];
      const int64_t milli = place.node.MilliOn(request, place.node.cards[position]);
      left -= milli;
      const int64_t score = ScoreOf(before, free);
      left += milli;
      if (score > best.score) best = {score, {position}};
    }
    return best.cards.empty() ? GpuChoice{} : best;
  }
  GpuChoice choice{0, UsualCards(place, pod)};
  for (const int position : choice.cards) {
    free.milli_gpu[position] -= place.node.MilliOn(request, place.node.cards[position]);
  }
  choice.score = ScoreOf(before, free);
  return choice;
}

}  // namespace berth
