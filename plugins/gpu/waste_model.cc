// SPDX-License-Identifier: Apache-2.0
// Implementation of waste_model.h.
#include "plugins/gpu/waste_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "absl/numeric/int128.h"

namespace berth {
namespace {

constexpr size_t kMaxMemo = 200000;
constexpr int64_t kSizes[] = {250, 500, 750, 1000};

bool Allows(const std::vector<Symbol>& models, Symbol model) {
  return models.empty() || std::find(models.begin(), models.end(), model) != models.end();
}

class SplitMix64 {
 public:
  uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  uint64_t Below(uint64_t n) { return ((Next() >> 32) * n) >> 32; }

 private:
  uint64_t state_ = 1;
};

}  // namespace

WasteModel::WasteModel(const TypicalMix& mix) {
  std::vector<Group> cpu_groups;
  min_cpu_ = min_gpu_ = std::numeric_limits<int64_t>::max();
  for (const TypicalMix::Group& of_mix : mix.groups()) {
    const TypicalPod& pod = of_mix.pod;
    const int64_t count = std::llround(pod.count);
    if (count <= 0) continue;
    Group group{pod.milli_cpu, pod.milli_gpu, pod.gpus, pod.models, count};
    if (group.gpus == 0) {
      cpu_groups.push_back(std::move(group));
      continue;
    }
    gpu_demand_ += count * group.gpus * group.milli_gpu;
    cpu_of_gpu_pods_ += count * group.milli_cpu;
    min_cpu_ = std::min(min_cpu_, group.milli_cpu);
    min_gpu_ = std::min(min_gpu_, group.milli_gpu);
    groups_.push_back(std::move(group));
  }
  if (gpu_demand_ == 0) groups_.clear();
  if (groups_.empty()) return;
  DrawSequences();
  FindKinds(cpu_groups);
}

void WasteModel::DrawSequences() {
  std::vector<int64_t> cumulative;
  int64_t all = 0;
  for (const Group& group : groups_) cumulative.push_back(all += group.count);
  SplitMix64 random;
  sequences_.resize(kSequences);
  std::vector<uint64_t> part(kSequences);
  for (int position = 0; position < kLength; ++position) {
    for (int k = 0; k < kSequences; ++k) part[k] = k;
    for (int k = kSequences - 1; k >= 1; --k) {
      const uint64_t other = random.Below(k + 1);
      std::swap(part[k], part[other]);
    }
    for (int k = 0; k < kSequences; ++k) {
      const uint64_t within = random.Next() >> 32;
      const absl::uint128 point = absl::uint128((part[k] << 32) | within) *
                                  static_cast<uint64_t>(all) / static_cast<uint64_t>(kSequences);
      const int64_t drawn = static_cast<int64_t>(absl::Uint128Low64(point >> 32));
      const auto group = std::upper_bound(cumulative.begin(), cumulative.end(), drawn);
      sequences_[k].push_back(static_cast<int>(group - cumulative.begin()));
    }
  }
  for (const std::vector<int>& sequence : sequences_) {
    int64_t cards = 0;
    for (const int index : sequence) cards += groups_[index].gpus;
    most_filled_ = std::max(most_filled_, cards);
  }
}

void WasteModel::FindKinds(const std::vector<Group>& cpu_groups) {
  std::map<std::pair<int64_t, std::vector<Symbol>>, bool> rooms;
  for (const Group& group : groups_) {
    if (group.gpus > 1) rooms[{group.gpus, {}}] = true;
    if (!group.models.empty()) {
      rooms[{1, group.models}] = true;
      rooms[{group.gpus, group.models}] = true;
    }
  }
  for (const auto& [room, unused] : rooms) {
    Kind kind{.cards = room.first, .models = room.second};
    for (const Group& group : groups_) {
      const bool within = kind.models.empty() ||
                          (!group.models.empty() &&
                           std::all_of(group.models.begin(), group.models.end(),
                                       [&](Symbol model) { return Allows(kind.models, model); }));
      if (group.gpus >= kind.cards && within) {
        kind.demand += group.count * group.gpus * group.milli_gpu;
      }
    }
    kinds_.push_back(std::move(kind));
  }
  std::map<int64_t, int64_t> cpu_demand;
  int64_t all_cpu = 0;
  for (const Group& group : cpu_groups) {
    cpu_demand[group.milli_cpu] += group.count * group.milli_cpu;
    all_cpu += group.count * group.milli_cpu;
  }
  for (const auto& [block, demand] : cpu_demand) {
    if (block <= 0 || demand * 20 < all_cpu || cpu_of_gpu_pods_ == 0) continue;
    Kind kind{.cpu_block = block};
    for (const auto& [other, of_other] : cpu_demand) kind.demand += other >= block ? of_other : 0;
    kinds_.push_back(std::move(kind));
  }
  for (const int64_t size : kSizes) {
    Kind kind{.at_least = size};
    for (const Group& group : groups_) {
      if (group.milli_gpu >= size) kind.demand += group.count * group.gpus * group.milli_gpu;
    }
    if (kind.demand > 0) kinds_.push_back(std::move(kind));
  }
}

int64_t WasteModel::Loss(const FreeGpus& free) const {
  if (groups_.empty()) return 0;
  FreeGpus sorted = free;
  std::sort(sorted.milli_gpu.begin(), sorted.milli_gpu.end());
  Key key{free.model.id(), free.milli_cpu};
  key.insert(key.end(), sorted.milli_gpu.begin(), sorted.milli_gpu.end());
  if (memo_.size() >= kMaxMemo) memo_.clear();
  const auto [at, fresh] = memo_.try_emplace(std::move(key));
  Known& known = at->second;
  if (fresh) {
    const FreeGpus filled = WithoutSpareCards(sorted);
    const CardRuns cards(filled.milli_gpu);
    const int64_t total = filled.total_milli_gpu();
    known.waste = kSequences * (sorted.total_milli_gpu() - total);
    for (const std::vector<int>& sequence : sequences_) {
      known.waste += total - Filled(sequence, filled, cards);
    }
  }
  if (known.prices != price_version_) {
    known.loss = 2 * kPriceUnit * known.waste - kSequences * PricedRoom(sorted);
    known.prices = price_version_;
  }
  return known.loss;
}

int64_t WasteModel::PricedRoom(const FreeGpus& free) const {
  int64_t sum = 0;
  for (const Kind& kind : kinds_) {
    if (kind.price != 0) sum += kind.price * Room(kind, free);
  }
  return sum;
}

// Pods take the first of cards that have as much left: no sequence comes to the others.
FreeGpus WasteModel::WithoutSpareCards(const FreeGpus& sorted) const {
  FreeGpus filled = sorted;
  filled.milli_gpu.clear();
  int64_t alike = 0;
  for (const int64_t card : sorted.milli_gpu) {
    alike = !filled.milli_gpu.empty() && filled.milli_gpu.back() == card ? alike + 1 : 1;
    if (alike <= most_filled_) filled.milli_gpu.push_back(card);
  }
  return filled;
}

int64_t WasteModel::Filled(const std::vector<int>& sequence, const FreeGpus& free,
                           CardRuns cards) const {
  int64_t cpu = free.milli_cpu, most = cards.most(), filled = 0;
  for (const int index : sequence) {
    if (cpu < min_cpu_ || most < min_gpu_) break;
    const Group& group = groups_[index];
    if (group.milli_cpu > cpu || group.milli_gpu > most || !Allows(group.models, free.model)) {
      continue;
    }
    if (group.gpus == 1) {
      cards.TakeOfTightest(group.milli_gpu);
    } else if (!cards.TakeOfFirst(group.gpus, group.milli_gpu)) {
      continue;
    }
    cpu -= group.milli_cpu;
    filled += group.gpus * group.milli_gpu;
    most = cards.most();
  }
  return filled;
}

int64_t WasteModel::Room(const Kind& kind, const FreeGpus& free) const {
  if (kind.cpu_block > 0) {
    return std::max<int64_t>(0, free.milli_cpu) / kind.cpu_block * kind.cpu_block * gpu_demand_ /
           cpu_of_gpu_pods_;
  }
  int64_t room = 0;
  if (kind.at_least > 0) {
    for (const int64_t left : free.milli_gpu) room += left >= kind.at_least ? left : 0;
    return room;
  }
  if (!Allows(kind.models, free.model)) return 0;
  if (kind.cards <= 1) return free.total_milli_gpu();
  for (const int64_t left : free.milli_gpu) room += left >= 1000;
  return room / kind.cards * kind.cards * 1000;
}

bool WasteModel::SetPrices(const std::vector<FreeGpus>& cluster, int64_t idle) {
  bool changed = false;
  for (Kind& kind : kinds_) {
    int64_t room = 0;
    for (const FreeGpus& free : cluster) {
      room += kind.cpu_block > 0
                  ? std::max<int64_t>(0, free.milli_cpu) / kind.cpu_block * kind.cpu_block
                  : Room(kind, free);
    }
    const double share =
        room > 0
            ? std::min(1.0, static_cast<double>(kind.demand) / static_cast<double>(gpu_demand_) *
                                static_cast<double>(idle) / static_cast<double>(room))
            : 1;
    const int64_t price =  // NOLINTNEXTLINE(bugprone-incorrect-roundings): at most kPriceUnit
        static_cast<int64_t>(static_cast<double>(kPriceUnit) * share * share * share * share + 0.5);
    changed |= price != kind.price;
    kind.price = price;
  }
  if (changed) ++price_version_;
  return changed;
}

}  // namespace berth
