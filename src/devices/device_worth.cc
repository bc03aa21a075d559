// SPDX-License-Identifier: Apache-2.0
// Implementation of device_worth.h.
#include "devices/device_worth.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

namespace berth {
namespace {

int64_t PartOf(int64_t amount, int64_t total) {
  if (total <= 0) return 0;
  const double part = static_cast<double>(amount) / static_cast<double>(total);
  return static_cast<int64_t>(std::clamp(part, 0.0, 1.0) * kScoreOfUnit);
}

}  // namespace

DeviceScoring DeviceScoringNamed(absl::string_view name) {
  if (name == "ExpectedWaste") return DeviceScoring::kExpectedWaste;
  if (name == "BestFit") return DeviceScoring::kBestFit;
  if (name == "Spread") return DeviceScoring::kSpread;
  return DeviceScoring::kFirstFit;
}

// Which counter sets devices draw on together.
class DeviceWorth::CounterSets {
 public:
  struct Set {
    int pool;
    std::map<std::string, int> counters;  // by name their position in counters_
  };

  void AddPool(int pool, const PoolCounters& counters, std::vector<Counter>& all) {
    for (const auto& [name, counter] : counters.counters()) {
      const auto [entry, is_new] = by_name_.try_emplace({pool, name.first}, sets_.size());
      if (is_new) {
        sets_.push_back({pool, {}});
        together_.push_back(entry->second);
      }
      sets_[entry->second].counters.emplace(name.second, all.size());
      all.push_back({counter.total.MilliValue(), counter.left.MilliValue()});
    }
  }
  // The sets that the device draws on.
  std::vector<int> SetsOf(const OfferedDevice& device, int pool) const {
    std::vector<int> sets;
    for (const auto& consumption : device.message->consumes_counters()) {
      const auto found = by_name_.find({pool, consumption.counter_set()});
      if (found != by_name_.end()) sets.push_back(found->second);
    }
    return sets;
  }
  void Join(const std::vector<int>& sets) {
    for (const int set : sets) together_[Root(set)] = Root(sets[0]);
  }
  int Root(int set) const {
    while (together_[set] != set) set = together_[set];
    return set;
  }
  const std::vector<Set>& sets() const { return sets_; }
  const Set& OfName(int pool, const std::string& name) const {
    return sets_[by_name_.at({pool, name})];
  }
  bool Has(int pool, const std::string& name) const { return by_name_.count({pool, name}) > 0; }

 private:
  std::map<std::pair<int, std::string>, int> by_name_;
  std::vector<Set> sets_;
  std::vector<int> together_;  // each leads to the one that stands for all
};

DeviceWorth::DeviceWorth(DeviceScoring scoring, int pools, absl::Span<const Device> devices,
                         absl::FunctionRef<const PoolCounters&(int pool)> counters_of)
    : scoring_(scoring), devices_(devices.size()), pools_(pools) {
  CounterSets sets;
  std::vector<bool> has_counters(pools);
  for (const Device& device : devices) {
    if (!device.device->consumes_counters || has_counters[device.pool]) continue;
    has_counters[device.pool] = true;
    sets.AddPool(device.pool, counters_of(device.pool), counters_);
  }
  for (const Device& device : devices) {
    const std::vector<int> drawn = sets.SetsOf(*device.device, device.pool);
    if (!drawn.empty()) sets.Join(drawn);
  }
  std::vector<int> group_of_set(sets.sets().size(), -1);
  for (size_t set = 0; set < sets.sets().size(); ++set) {
    int& group = group_of_set[sets.Root(static_cast<int>(set))];
    if (group < 0) {
      group = static_cast<int>(groups_.size());
      groups_.push_back({.pool = sets.sets()[set].pool, .units = 0});
    }
    ++groups_[group].units;
    for (const auto& [name, counter] : sets.sets()[set].counters) {
      groups_[group].counters.push_back(counter);
    }
  }
  for (size_t i = 0; i < devices.size(); ++i) {
    const OfferedDevice& device = *devices[i].device;
    State& state = devices_[i];
    state.device = &device;
    const std::vector<int> drawn = sets.SetsOf(device, devices[i].pool);
    size_t counters = 0;  // of its sets
    for (const int set : drawn) counters += sets.sets()[set].counters.size();
    if (counters > 0) {
      int64_t parts = 0;
      for (const auto& consumption : device.message->consumes_counters()) {
        if (!sets.Has(devices[i].pool, consumption.counter_set())) continue;
        const CounterSets::Set& set = sets.OfName(devices[i].pool, consumption.counter_set());
        for (const auto& [name, amount] : consumption.counters()) {
          const auto counter = set.counters.find(name);
          if (counter == set.counters.end()) continue;
          state.uses.push_back({counter->second, PoolCounters::AmountOf(amount).MilliValue()});
          parts += berth::PartOf(state.uses.back().amount, counters_[counter->second].total);
        }
      }
      state.size = parts * static_cast<int64_t>(drawn.size()) / static_cast<int64_t>(counters);
      state.group = group_of_set[sets.Root(drawn[0])];
    } else {
      state.group = static_cast<int>(groups_.size());
      groups_.push_back({.pool = devices[i].pool});
    }
    Group& group = groups_[state.group];
    group.devices.push_back(static_cast<int>(i));
    group.size += state.size;
    state.is_taken = devices[i].is_held;
    if (const std::optional<ConsumedCapacity>& consumed = *devices[i].consumed;
        consumed.has_value()) {
      state.consumed = PartOf(device, *consumed);
      state.shares = 1;
    }
  }
  for (size_t g = 0; g < groups_.size(); ++g) {
    Pool& pool = pools_[groups_[g].pool];
    pool.groups.push_back(static_cast<int>(g));
    pool.units += groups_[g].units;
    if (IsIdle(groups_[g])) pool.idle_units += groups_[g].units;
  }
  if (scoring_ == DeviceScoring::kExpectedWaste) worth_before_ = Worth();
}

// The mean over its capacities.
int64_t DeviceWorth::PartOf(const OfferedDevice& device, const ConsumedCapacity& consumption) {
  int64_t parts = 0, capacities = 0;
  for (const auto& [name, capacity] : device.message->capacity()) {
    const auto total = Quantity::Parse(capacity.value().string());
    const auto consumed = consumption.find(name);
    ++capacities;
    if (!total.ok() || consumed == consumption.end()) continue;
    parts += berth::PartOf(consumed->second.MilliValue(), total->MilliValue());
  }
  return capacities == 0 ? 0 : parts / capacities;
}

bool DeviceWorth::IsPossible(int device) const {
  const State& state = devices_[device];
  if (state.is_taken) return false;
  if (state.device->allows_multiple && state.shares > 0) return true;  // consumes counters once
  return std::all_of(state.uses.begin(), state.uses.end(),
                     [this](const Use& use) { return counters_[use.counter].left >= use.amount; });
}

bool DeviceWorth::IsIdle(const Group& group) const {
  return std::all_of(group.devices.begin(), group.devices.end(),
                     [this](int device) {
                       return !devices_[device].is_taken && devices_[device].shares == 0;
                     }) &&
         std::all_of(group.counters.begin(), group.counters.end(), [this](int counter) {
           return counters_[counter].left == counters_[counter].total;
         });
}

int64_t DeviceWorth::LeftOf(const Group& group) const {
  if (group.counters.empty()) {
    const State& state = devices_[group.devices[0]];
    return state.is_taken ? 0 : kScoreOfUnit - state.consumed;
  }
  int64_t left = 0;
  for (const int counter : group.counters) {
    left += berth::PartOf(counters_[counter].left, counters_[counter].total);
  }
  return left * group.units / static_cast<int64_t>(group.counters.size());
}

int64_t DeviceWorth::WorthOf(const Group& group) const {
  const auto worth = [this](int device) {
    const State& state = devices_[device];
    if (!IsPossible(device)) return int64_t{0};
    if (!state.device->allows_multiple) return state.size;
    const int64_t left = kScoreOfUnit - state.consumed;
    return state.size * left / kScoreOfUnit * left / kScoreOfUnit;
  };
  int64_t sum = 0;
  for (const int device : group.devices) sum += worth(device);
  return group.size == 0 ? 0 : group.units * kScoreOfUnit * sum / group.size;
}

int64_t DeviceWorth::BlocksOf(const Pool& pool) {
  int64_t sum = 0, kinds = 0;
  for (const int64_t block : {2, 4, 8}) {
    if (block > pool.units) break;
    sum += pool.idle_units / block * block;
    ++kinds;
  }
  return kinds == 0 ? 0 : sum * kScoreOfUnit / kinds;
}

int64_t DeviceWorth::Worth() const {
  int64_t worth = 0;
  for (const Group& group : groups_) worth += WorthOf(group);
  for (const Pool& pool : pools_) worth += BlocksOf(pool);
  return worth;
}

void DeviceWorth::Change(int device, const ConsumedCapacity& consumption, int sign) {
  State& state = devices_[device];
  Group& group = groups_[state.group];
  Pool& pool = pools_[group.pool];
  pool.taken += sign;
  const bool was_idle = IsIdle(group);
  bool consumes = true;
  if (state.device->allows_multiple) {
    state.consumed += sign * PartOf(*state.device, consumption);
    consumes = (sign > 0 ? state.shares : state.shares - 1) == 0;
    state.shares += sign;
  } else {
    state.is_taken = sign > 0;
  }
  for (const Use& use : state.uses) {
    if (consumes) counters_[use.counter].left -= sign * use.amount;
  }
  const bool is_idle = IsIdle(group);
  if (was_idle != is_idle) pool.idle_units += is_idle ? group.units : -group.units;
}

void DeviceWorth::Take(int device, const ConsumedCapacity& consumption) {
  Change(device, consumption, 1);
}

void DeviceWorth::GiveBack(int device, const ConsumedCapacity& consumption) {
  Change(device, consumption, -1);
}

int64_t DeviceWorth::RankOf(int device, const ConsumedCapacity& consumption) {
  const Group& group = groups_[devices_[device].group];
  const Pool& pool = pools_[group.pool];
  const bool weighs_waste = scoring_ == DeviceScoring::kExpectedWaste;
  const int64_t before = weighs_waste ? WorthOf(group) + BlocksOf(pool) : 0;
  Take(device, consumption);
  const int64_t after = weighs_waste ? WorthOf(group) + BlocksOf(pool) : LeftOf(group);
  GiveBack(device, consumption);
  if (weighs_waste) return before - after;
  return scoring_ == DeviceScoring::kBestFit ? after : -after;
}

int64_t DeviceWorth::Score() const {
  if (scoring_ == DeviceScoring::kExpectedWaste) return Worth() - worth_before_;
  int64_t left = 0;
  for (const Pool& pool : pools_) {
    if (pool.taken == 0) continue;
    for (const int group : pool.groups) left += LeftOf(groups_[group]);
  }
  return scoring_ == DeviceScoring::kBestFit ? -left : left;
}

}  // namespace berth
