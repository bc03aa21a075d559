// SPDX-License-Identifier: Apache-2.0
// Implementation of fragmentation.h.
#include "berth/gpu/fragmentation.h"

#include <algorithm>
#include <tuple>

namespace berth {
namespace {

auto Key(const TypicalPod& pod) {
  return std::tie(pod.milli_cpu, pod.milli_gpu, pod.gpus, pod.models);
}

bool Allows(const TypicalPod& pod, Symbol model) {
  return pod.models.empty() ||
         std::find(pod.models.begin(), pod.models.end(), model) != pod.models.end();
}

}  // namespace

int64_t FreeGpus::total_milli_gpu() const {
  int64_t total = 0;
  for (const int64_t milli : milli_gpu) total += milli;
  return total;
}

TypicalMix::TypicalMix(std::vector<TypicalPod> pods, double coverage) {
  std::sort(pods.begin(), pods.end(),
            [](const TypicalPod& a, const TypicalPod& b) { return Key(a) > Key(b); });
  std::vector<TypicalPod> merged;
  double all = 0;
  for (TypicalPod& pod : pods) {
    all += pod.count;
    if (!merged.empty() && Key(merged.back()) == Key(pod)) {
      merged.back().count += pod.count;
    } else {
      merged.push_back(std::move(pod));
    }
  }
  std::stable_sort(merged.begin(), merged.end(),
                   [](const TypicalPod& a, const TypicalPod& b) { return a.count > b.count; });
  double taken = 0;
  for (TypicalPod& pod : merged) {
    if (taken >= coverage * all) break;
    taken += pod.count;
    card_sizes_.push_back(pod.milli_gpu);
    groups_.push_back({std::move(pod), 0});
  }
  std::sort(card_sizes_.begin(), card_sizes_.end());
  card_sizes_.erase(std::unique(card_sizes_.begin(), card_sizes_.end()), card_sizes_.end());
  for (Group& group : groups_) {
    const auto size = std::lower_bound(card_sizes_.begin(), card_sizes_.end(), group.pod.milli_gpu);
    group.card_size = static_cast<size_t>(size - card_sizes_.begin());
  }
  // Shares of all pods, over the share that is taken: the published decisions hang on the last
  // digit.
  for (Group& group : groups_) group.share = (group.pod.count / all) / (taken / all);
}

namespace {

// What cards have for pods that want a size of each.
struct CardsOfSize {
  int64_t fitting = 0;     // cards with that much left
  int64_t remainders = 0;  // what is left on the others
};

// By index into `sizes`, which rise.
absl::InlinedVector<CardsOfSize, 64> CountCards(absl::Span<const int64_t> sizes,
                                                absl::InlinedVector<int64_t, 8> left) {
  std::sort(left.begin(), left.end());
  absl::InlinedVector<CardsOfSize, 64> counted;
  auto fits = left.begin();
  int64_t remainders = 0;
  for (const int64_t size : sizes) {
    for (; fits != left.end() && *fits < size; ++fits) remainders += *fits;
    counted.push_back({left.end() - fits, remainders});
  }
  return counted;
}

}  // namespace

double Fragmentation(const TypicalMix& mix, const FreeGpus& free) {
  enum Why { kLacksBoth, kLacksGpu, kLacksCpu, kNoGpu, kNoGpuLacksCpu, kWrongModel, kWays };
  const int64_t total = free.total_milli_gpu();
  const auto cards = CountCards(mix.card_sizes(), free.milli_gpu);
  double sums[kWays] = {};
  for (const TypicalMix::Group& group : mix.groups()) {
    const TypicalPod& pod = group.pod;
    const bool cpu = free.milli_cpu >= pod.milli_cpu;
    int64_t unused = total;
    Why why = cpu ? kNoGpu : kNoGpuLacksCpu;
    if (pod.gpus > 0) {
      const auto [fitting, remainders] = cards[group.card_size];
      const bool gpu = fitting >= pod.gpus;
      if (!Allows(pod, free.model)) {
        why = kWrongModel;
      } else if (gpu && cpu) {
        why = kLacksGpu;
        unused = remainders;
      } else {
        why = gpu ? kLacksCpu : cpu ? kLacksGpu : kLacksBoth;
      }
    }
    sums[why] += group.share * static_cast<double>(unused);
  }
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

}  // namespace berth
