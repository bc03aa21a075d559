// Implementation of gpu_fgd.h.
#include "plugins/gpu/gpu_fgd.h"

#include <cmath>

namespace berth {
namespace {

constexpr double kCoverage = 0.95;

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
    before_.Clear();
  }
  return mix_version_;
}

int64_t GpuFgd::ScoreOf(double before, const FreeGpus& after) const {
  const double x = (before - Fragmentation(mix_, after)) / 1000;
  return static_cast<int64_t>(100 * (1 / (1 + std::exp(-x))));
}

GpuChoice GpuFgd::Judge(const GpuPlace& place, const GpuPod& pod) const {
  const GpuRequest& request = pod.request;
  const Before& known = before_.Of(place, [&] {
    Before made{place.node.Free(place.milli_cpu), 0};
    made.fragmentation = Fragmentation(mix_, made.free);
    return made;
  });
  const double before = known.fragmentation;
  FreeGpus free = known.free;
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
