// SPDX-License-Identifier: Apache-2.0
// Implementation of gpu_expected_waste.h.
#include "plugins/gpu/gpu_expected_waste.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

namespace berth {
namespace {

constexpr int64_t kStep = 200;        // milli-GPU a point
constexpr int64_t kPricePeriod = 50;  // pods between two looks at the prices
constexpr int64_t kPoint = WasteModel::kLossUnit * kStep;

int64_t FloorDivide(int64_t a, int64_t b) {  // b > 0
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

// Before anything is known of a cluster's pods, and a little also later: some of every size.
std::vector<TypicalPod> WithPrior(std::vector<TypicalPod> mix) {
  for (const int64_t milli : {250, 500, 750}) {
    mix.push_back({.milli_cpu = milli, .milli_gpu = milli, .gpus = 1, .models = {}, .count = 1});
  }
  for (const int64_t gpus : {1, 2, 4, 8}) {
    mix.push_back({.milli_cpu = 1000 * gpus,
                   .milli_gpu = kMilliPerGpu,
                   .gpus = gpus,
                   .models = {},
                   .count = 1});
  }
  return mix;
}

// A node without GPUs scores, for a pod without, 50, and up to 50 more with the CPU that stays
// free.
int64_t SpreadScore(const GpuPlace& place, const GpuPod& pod) {
  if (place.all_milli_cpu <= 0) return 50;
  const int64_t left = std::clamp<int64_t>(place.milli_cpu - pod.milli_cpu, 0, place.all_milli_cpu);
  return 50 + 50 * left / place.all_milli_cpu;
}

int64_t ScoreOf(int64_t points) { return std::clamp<int64_t>(points, -50, 50) + 50; }

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> GpuExpectedWaste::Create(const PluginArgs& args,
                                                                 Handle& handle) {
  return std::make_unique<GpuExpectedWaste>(args.As<GpuMixArgs>(), handle);
}

GpuExpectedWaste::GpuExpectedWaste(const GpuMixArgs& args, Handle& handle)
    : GpuPolicy(handle),
      measured_(args.typical_pods.empty()),
      model_(TypicalMix(measured_ ? WithPrior({}) : args.TypicalPods(), 1)) {}

uint64_t GpuExpectedWaste::Prepare() {
  const GpuDemand& demand = inventory().demand();
  if (measured_ && demand.version() != mix_version_) {
    model_ = WasteModel(TypicalMix(WithPrior(demand.mix()), 1));
    mix_version_ = demand.version();
    priced_idle_ = -1;
    RefreshPrices();
    before_.Clear();
    return ++epoch_;
  }
  const int64_t period = std::max<int64_t>(0, demand.noted() - 1) / kPricePeriod;
  if (period != price_period_ && RefreshPrices()) {
    ++epoch_;
    before_.Clear();
  }
  price_period_ = period;
  return epoch_;
}

// Returns whether any price changed.
bool GpuExpectedWaste::RefreshPrices() {
  std::vector<FreeGpus> cluster;
  int64_t idle = 0, capacity = 0;
  for (NodeRow row = 0; row < inventory().size(); ++row) {
    const GpuInventory::Entry& entry = inventory().entry(row);
    cluster.push_back(entry.node.Free(entry.milli_cpu));
    idle += cluster.back().total_milli_gpu();
    capacity += kMilliPerGpu * entry.node.usable;
  }
  if (priced_idle_ >= 0 && std::abs(idle - priced_idle_) * 100 < capacity) return false;
  priced_idle_ = idle;
  return model_.SetPrices(cluster, idle);
}

GpuChoice GpuExpectedWaste::Choose(const GpuPlace& place, const GpuPod& pod) const {
  const GpuRequest& request = pod.request;
  if (request.cards == 0 && place.node.cards.empty()) return {SpreadScore(place, pod), {}};
  const Before& before = before_.Of(place, [&] {
    Before made{place.node.Free(place.milli_cpu), 0};
    made.loss = model_.Loss(made.free);
    return made;
  });
  FreeGpus after = before.free;
  after.milli_cpu -= pod.milli_cpu;
  if (request.cards == 1 && !request.whole()) {
    CardSet best;
    int64_t best_gain = std::numeric_limits<int64_t>::min();
    for (const int position : DifferentCards(place.node, request)) {
      int64_t& left = after.milli_gpu[position];
      const int64_t milli = place.node.MilliOn(request, place.node.cards[position]);
      left -= milli;
      const int64_t gain = before.loss - model_.Loss(after);
      left += milli;
      if (gain > best_gain) {
        best = {position};
        best_gain = gain;
      }
    }
    if (best.empty()) return {};
    return {ScoreOf(FloorDivide(best_gain, kPoint)), best};
  }
  const CardSet cards = UsualCards(place, pod);
  for (const int position : cards) {
    after.milli_gpu[position] -= place.node.MilliOn(request, place.node.cards[position]);
  }
  return {ScoreOf(FloorDivide(before.loss - model_.Loss(after), kPoint)), cards};
}

}  // namespace berth
