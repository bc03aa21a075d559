// SPDX-License-Identifier: Apache-2.0
// Implementation of device_inventory.h.
#include "berth/devices/device_inventory.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "berth/mutex.h"
#include "devices/compiled_selector.h"
#include "devices/offered_slice.h"

namespace berth {
namespace {

using SlicePtr = std::shared_ptr<const OfferedSlice>;
using PoolName = std::pair<Symbol, Symbol>;  // driver and name, by text

// Selectors beyond these are of claims that are mostly gone. They and what they said are forgotten.
constexpr size_t kMostSelectors = 4096;

bool RepeatsAName(const std::vector<SlicePtr>& slices) {
  if (slices.size() == 1) return slices[0]->repeats_a_name();
  absl::flat_hash_set<Symbol> names;
  for (const SlicePtr& slice : slices) {
    for (const OfferedDevice& device : slice->devices()) {
      if (!names.insert(device.id.device).second) return true;
    }
  }
  return false;
}

}  // namespace

std::string DeviceId::ToString() const {
  return absl::StrCat(driver.view(), "/", pool.view(), "/", device.view());
}

std::string NodePool::ToString() const { return absl::StrCat(driver.view(), "/", name.view()); }

class DeviceInventory::Index {
 public:
  void Set(std::shared_ptr<const api::ResourceSlice> message) {
    Remove(message->metadata().name());
    auto slice = std::make_shared<const OfferedSlice>(std::move(message));
    slices_.emplace(slice->name(), slice);
    pools_[{slice->driver(), slice->pool()}].emplace(slice->name(), slice);
    if (slice->whom() == OfferedSlice::For::kNode) {
      of_node_[slice->node_name()].emplace(slice->name(), slice);
    } else if (slice->whom() != OfferedSlice::For::kNobody) {
      shared_.emplace(slice->name(), slice);
    }
  }

  void Remove(absl::string_view name) {
    const auto found = slices_.find(name);
    if (found == slices_.end()) return;
    const SlicePtr slice = found->second;
    slices_.erase(found);
    shared_.erase(slice->name());
    EraseFrom(of_node_, slice->node_name(), slice->name());
    EraseFrom(pools_, {slice->driver(), slice->pool()}, slice->name());
  }

  absl::StatusOr<std::vector<NodePool>> PoolsOf(Symbol node_name, const LabelSet& labels) const {
    std::map<PoolName, std::vector<SlicePtr>> found;
    const auto add = [&found](const SlicePtr& slice) {
      std::vector<SlicePtr>& pool = found[{slice->driver(), slice->pool()}];
      if (!pool.empty() && slice->generation() < pool[0]->generation()) return;
      if (!pool.empty() && slice->generation() > pool[0]->generation()) pool.clear();
      pool.push_back(slice);
    };
    if (const auto own = of_node_.find(node_name); own != of_node_.end()) {
      for (const auto& [name, slice] : own->second) add(slice);
    }
    for (const auto& [name, slice] : shared_) {
      if (slice->whom() == OfferedSlice::For::kSelectedNodes) {
        const absl::StatusOr<bool> selects = slice->Selects(node_name, labels);
        if (!selects.ok()) return selects.status();
        if (!*selects) continue;
      }
      add(slice);
    }
    std::vector<NodePool> pools;
    for (auto& [name, slices] : found) {
      std::sort(slices.begin(), slices.end(),
                [](const SlicePtr& a, const SlicePtr& b) { return a->name() < b->name(); });
      const std::optional<bool> complete = IsComplete(name, slices);
      if (!complete.has_value()) continue;
      NodePool& pool = pools.emplace_back();
      std::tie(pool.driver, pool.name) = name;
      pool.incomplete = !*complete;
      pool.invalid = RepeatsAName(slices);
      pool.slices = std::move(slices);
    }
    return pools;
  }

  std::shared_ptr<const CompiledSelector> Compile(absl::string_view expression) {
    const MutexLock lock(mutex_);
    const auto known = selectors_.find(expression);
    if (known != selectors_.end()) return known->second;
    if (selectors_.size() >= kMostSelectors) {
      selectors_.clear();
      for (const auto& [name, slice] : slices_) slice->ForgetVerdicts();
    }
    auto selector = std::make_shared<const CompiledSelector>(
        next_selector_++, cel::DeviceSelector::Compile(expression));
    selectors_.emplace(std::string(expression), selector);
    return selector;
  }

  std::atomic<int64_t>& evaluations() { return evaluations_; }

 private:
  template <class Map>
  static void EraseFrom(Map& map, const typename Map::key_type& key, const std::string& name) {
    const auto found = map.find(key);
    if (found == map.end()) return;
    found->second.erase(name);
    if (found->second.empty()) map.erase(found);
  }

  // Whether the slices of one generation that a node sees, or those that all nodes see together,
  // are the pool, as the first of them counts it; absent if the pool has a newer generation for
  // others.
  std::optional<bool> IsComplete(const PoolName& name, const std::vector<SlicePtr>& slices) const {
    const int64_t wanted = slices[0]->spec().pool().resource_slice_count();
    if (static_cast<int64_t>(slices.size()) == wanted) return true;
    int64_t there = 0;
    for (const auto& [slice_name, slice] : pools_.at(name)) {
      if (slice->generation() > slices[0]->generation()) return std::nullopt;
      if (slice->generation() == slices[0]->generation()) ++there;
    }
    return there == wanted;
  }

  std::map<std::string, SlicePtr, std::less<>> slices_;  // by name
  absl::flat_hash_map<Symbol, std::map<std::string, SlicePtr>> of_node_;
  std::map<std::string, SlicePtr> shared_;  // for all nodes, or selected ones
  std::map<PoolName, std::map<std::string, SlicePtr>> pools_;
  std::atomic<int64_t> evaluations_ = 0;
  Mutex mutex_;
  uint64_t next_selector_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<std::string, std::shared_ptr<const CompiledSelector>> selectors_
      ABSL_GUARDED_BY(mutex_);
};

DeviceInventory::DeviceInventory() : index_(std::make_unique<Index>()) {}
DeviceInventory::~DeviceInventory() = default;

void DeviceInventory::SetSlice(std::shared_ptr<const api::ResourceSlice> slice) {
  index_->Set(std::move(slice));
}

void DeviceInventory::RemoveSlice(absl::string_view name) { index_->Remove(name); }

absl::StatusOr<std::vector<NodePool>> DeviceInventory::PoolsOf(Symbol node_name,
                                                               const LabelSet& labels) const {
  return index_->PoolsOf(node_name, labels);
}

std::shared_ptr<const CompiledSelector> DeviceInventory::Compile(absl::string_view expression) {
  return index_->Compile(expression);
}

absl::StatusOr<bool> DeviceInventory::Matches(const CompiledSelector& selector,
                                              const OfferedDevice& device) const {
  return device.slice->Matches(selector, device.index, index_->evaluations());
}

int64_t DeviceInventory::evaluations() const { return index_->evaluations(); }

}  // namespace berth
