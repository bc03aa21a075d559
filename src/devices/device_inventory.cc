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
#include "absl/container/inlined_vector.h"
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
constexpr int64_t kMostVerdicts = int64_t{64} << 20;  // bytes

// If a pool has more slices, all nodes count as affected.
constexpr size_t kMostListed = 256;

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

bool HaveSameSpec(const api::DeviceTaintRule& a, const api::DeviceTaintRule& b) {
  return a.spec().SerializeAsString() == b.spec().SerializeAsString();
}

// Whether each set of counters is there once, and what devices consume is of these.
bool HasValidCounters(const NodePool& pool) {
  std::map<std::string, const api::CounterSet*> sets;
  for (const SlicePtr& slice : pool.counters) {
    for (const api::CounterSet& set : slice->spec().shared_counters()) {
      if (!sets.emplace(set.name(), &set).second) return false;
    }
  }
  const auto consumes_known = [&](const SlicePtr& slice) {
    for (const api::SliceDevice& device : slice->spec().devices()) {
      for (const api::DeviceCounterConsumption& consumption : device.consumes_counters()) {
        const auto set = sets.find(consumption.counter_set());
        if (set == sets.end()) return false;
        for (const auto& [name, counter] : consumption.counters()) {
          if (!set->second->counters().contains(name)) return false;
        }
      }
    }
    return true;
  };
  return std::all_of(pool.slices.begin(), pool.slices.end(), consumes_known) &&
         std::all_of(pool.counters.begin(), pool.counters.end(), consumes_known) &&
         std::all_of(pool.others.begin(), pool.others.end(), consumes_known);
}

}  // namespace

std::string DeviceId::ToString() const {
  return absl::StrCat(driver.view(), "/", pool.view(), "/", device.view());
}

std::string NodePool::ToString() const { return absl::StrCat(driver.view(), "/", name.view()); }

class DeviceInventory::Index {
 public:
  // Adds the nodes of all slices of the slice's pool: whether the pool is complete depends on each.
  void AddPoolOf(const api::ResourceSlice& message, AffectedNodes& nodes) const {
    const auto driver = Symbol::Find(message.spec().driver());
    const auto pool = Symbol::Find(message.spec().pool().name());
    if (!driver.has_value() || !pool.has_value()) return;
    const auto found = pools_.find({*driver, *pool});
    if (found == pools_.end()) return;
    if (found->second.size() > kMostListed) nodes.all = true;
    for (const auto& [name, slice] : found->second) {
      if (nodes.all) return;
      AddNodesOf(*slice, nodes);
    }
  }

  AffectedNodes NodesOf(const DeviceId& device) const {
    AffectedNodes nodes;
    const auto found = of_device_.find(device);
    if (found == of_device_.end()) return nodes;
    for (const OfferedSlice* slice : found->second) {
      AddNodesOf(*slice, nodes);
      // Who takes it leaves fewer counters to the devices of the others.
      if (counters_.contains({slice->driver(), slice->pool()})) {
        AddPoolOf(slice->message(), nodes);
      }
    }
    return nodes;
  }

  std::optional<std::string> AttributeOf(const DeviceId& id, absl::string_view name) const {
    const auto found = of_device_.find(id);
    if (found == of_device_.end()) return std::nullopt;
    for (const OfferedDevice& device : found->second.front()->devices()) {
      if (!(device.id == id)) continue;
      const api::DeviceAttribute* const attribute = FindAttribute(device, name);
      if (attribute == nullptr) return std::nullopt;
      if (attribute->has_int_()) return absl::StrCat(attribute->int_());
      if (attribute->has_bool_()) return std::string(attribute->bool_() ? "true" : "false");
      return attribute->has_version() ? attribute->version() : attribute->string();
    }
    return std::nullopt;
  }

  void Add(std::shared_ptr<const api::ResourceSlice> message, AffectedNodes& affected) {
    std::vector<TaintRulePtr> rules;
    for (const auto& [name, rule] : rules_) {
      if (SelectsAny(*rule, message->spec())) rules.push_back(rule);
    }
    auto slice =
        std::make_shared<const OfferedSlice>(std::move(message), features_, std::move(rules));
    AddNodesOf(*slice, affected);
    for (const OfferedDevice& device : slice->devices()) {
      of_device_[device.id].push_back(slice.get());
    }
    slices_.emplace(slice->name(), slice);
    pools_[{slice->driver(), slice->pool()}].emplace(slice->name(), slice);
    if (slice->scope() == OfferedSlice::Scope::kPool) {
      counters_[{slice->driver(), slice->pool()}].emplace(slice->name(), slice);
    } else if (slice->scope() == OfferedSlice::Scope::kNode) {
      of_node_[slice->node_name()].emplace(slice->name(), slice);
    } else if (slice->scope() != OfferedSlice::Scope::kNobody) {
      shared_.emplace(slice->name(), slice);
    }
  }

  AffectedNodes Remove(absl::string_view name) {
    AffectedNodes affected;
    const auto found = slices_.find(name);
    if (found == slices_.end()) return affected;
    const SlicePtr slice = found->second;
    AddPoolOf(slice->message(), affected);
    for (const OfferedDevice& device : slice->devices()) {
      const auto of_device = of_device_.find(device.id);
      if (of_device == of_device_.end()) continue;  // a name that the slice repeats
      auto& offers = of_device->second;
      offers.erase(std::remove(offers.begin(), offers.end(), slice.get()), offers.end());
      if (of_device->second.empty()) of_device_.erase(of_device);
    }
    slices_.erase(found);
    shared_.erase(slice->name());
    EraseFrom(of_node_, slice->node_name(), slice->name());
    EraseFrom(counters_, {slice->driver(), slice->pool()}, slice->name());
    EraseFrom(pools_, {slice->driver(), slice->pool()}, slice->name());
    return affected;
  }

  // `rule` is null if there is none of the name any more.
  AffectedNodes SetTaintRule(const std::string& name, TaintRulePtr rule) {
    AffectedNodes affected;
    const auto known = rules_.find(name);
    const TaintRulePtr before = known == rules_.end() ? nullptr : known->second;
    if (before != nullptr && rule != nullptr && HaveSameSpec(*before, *rule)) return affected;
    std::vector<std::shared_ptr<const api::ResourceSlice>> slices;
    for (const auto& [slice_name, slice] : slices_) {
      if ((before != nullptr && SelectsAny(*before, slice->spec())) ||
          (rule != nullptr && SelectsAny(*rule, slice->spec()))) {
        slices.push_back(slice->shared_message());
      }
    }
    if (known != rules_.end()) rules_.erase(known);
    if (rule != nullptr) rules_.emplace(name, std::move(rule));
    for (auto& slice : slices) {
      Remove(slice->metadata().name());  // its pool stays as complete as it was
      Add(std::move(slice), affected);
    }
    return affected;
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
      if (slice->scope() != OfferedSlice::Scope::kAllNodes) {
        const absl::StatusOr<bool> selects = slice->Selects(node_name, labels);
        if (!selects.ok()) return selects.status();
        if (!*selects) continue;
      }
      add(slice);
    }
    // Upstream has the counters of all pools for each node, and waits for those that are being
    // written where a node has none of the devices.
    for (const auto& [name, slices] : found) {
      const auto counters = counters_.find(name);
      if (counters == counters_.end()) continue;
      for (const auto& [slice_name, slice] : counters->second) add(slice);
    }
    std::vector<NodePool> pools;
    for (auto& [name, slices] : found) {
      std::sort(slices.begin(), slices.end(), [this](const SlicePtr& a, const SlicePtr& b) {
        return std::make_pair(ComesLast(*a), absl::string_view(a->name())) <
               std::make_pair(ComesLast(*b), absl::string_view(b->name()));
      });
      const std::optional<int64_t> there = SlicesThere(name, slices);
      if (!there.has_value()) continue;
      NodePool& pool = pools.emplace_back();
      std::tie(pool.driver, pool.name) = name;
      pool.slices_there = *there;
      pool.slices_wanted = slices[0]->spec().pool().resource_slice_count();
      pool.incomplete = pool.slices_there != pool.slices_wanted;
      for (SlicePtr& slice : slices) {
        const bool counts = slice->scope() == OfferedSlice::Scope::kPool;
        (counts ? pool.counters : pool.slices).push_back(std::move(slice));
      }
      if (!pool.incomplete || judges_incomplete_pools()) {
        pool.invalid = !pool.slices.empty() && RepeatsAName(pool.slices);
      }
      if (features_.partitionable_devices && !pool.incomplete) {
        AddOthers(name, pool);
        pool.invalid = pool.invalid || !HasValidCounters(pool);
      }
    }
    if (features_.binding_conditions) {
      std::stable_partition(pools.begin(), pools.end(), [this](const NodePool& pool) {
        return pool.incomplete ||
               std::none_of(pool.slices.begin(), pool.slices.end(),
                            [this](const SlicePtr& slice) { return ComesLast(*slice); });
      });
    }
    return pools;
  }

  std::shared_ptr<const CompiledSelector> Compile(absl::string_view expression) {
    const MutexLock lock(mutex_);
    const auto known = selectors_.find(expression);
    if (known != selectors_.end()) return known->second;
    if (selectors_.size() >= kMostSelectors || tally_.verdicts > kMostVerdicts) {
      selectors_.clear();
      for (const auto& [name, slice] : slices_) slice->ForgetVerdicts();
      tally_.verdicts = 0;
    }
    auto selector = std::make_shared<const CompiledSelector>(
        next_selector_++, cel::DeviceSelector::Compile(expression));
    selectors_.emplace(std::string(expression), selector);
    return selector;
  }

  OfferedSlice::Tally& tally() { return tally_; }
  DeviceFeatures& features() { return features_; }

 private:
  static void AddNodesOf(const OfferedSlice& slice, AffectedNodes& nodes) {
    if (slice.scope() == OfferedSlice::Scope::kNode) {
      nodes.names.push_back(slice.node_name());
    } else {
      nodes.all |= slice.scope() != OfferedSlice::Scope::kNobody &&
                   slice.scope() != OfferedSlice::Scope::kPool;
    }
  }

  // Devices that are ready at once are better.
  bool ComesLast(const OfferedSlice& slice) const {
    return features_.binding_conditions && slice.has_binding_conditions();
  }

  // The slices of a pool with counters that a node does not see.
  void AddOthers(const PoolName& name, NodePool& pool) const {
    if (pool.counters.empty()) return;
    const auto sees = [&](const SlicePtr& slice) {
      return std::find(pool.slices.begin(), pool.slices.end(), slice) != pool.slices.end();
    };
    for (const auto& [slice_name, slice] : pools_.at(name)) {
      if (slice->scope() == OfferedSlice::Scope::kPool || sees(slice)) continue;
      if (slice->generation() == pool.counters[0]->generation()) pool.others.push_back(slice);
    }
  }

  template <class Map>
  static void EraseFrom(Map& map, const typename Map::key_type& key, const std::string& name) {
    const auto found = map.find(key);
    if (found == map.end()) return;
    found->second.erase(name);
    if (found->second.empty()) map.erase(found);
  }

  // How many slices of one generation there are: those that a node sees, if they are all that the
  // first of them counts, else those for other nodes as well. Absent if the pool has a newer
  // generation for these.
  std::optional<int64_t> SlicesThere(const PoolName& name,
                                     const std::vector<SlicePtr>& slices) const {
    const auto seen = static_cast<int64_t>(slices.size());
    if (seen == slices[0]->spec().pool().resource_slice_count()) return seen;
    int64_t there = 0;
    for (const auto& [slice_name, slice] : pools_.at(name)) {
      if (slice->generation() > slices[0]->generation()) return std::nullopt;
      if (slice->generation() == slices[0]->generation()) ++there;
    }
    return there;
  }

  // Whether names of devices count before a pool is complete, as in kube-scheduler v1.35
  // structured/internal/stable, which is used while these gates are off.
  bool judges_incomplete_pools() const {
    return !features_.device_taints && !features_.partitionable_devices &&
           !features_.consumable_capacity && !features_.binding_conditions;
  }

  std::map<std::string, SlicePtr, std::less<>> slices_;     // by name
  std::map<std::string, TaintRulePtr, std::less<>> rules_;  // by name
  absl::flat_hash_map<Symbol, std::map<std::string, SlicePtr>> of_node_;
  absl::flat_hash_map<DeviceId, absl::InlinedVector<const OfferedSlice*, 1>> of_device_;
  std::map<std::string, SlicePtr> shared_;  // for all nodes, or selected ones
  std::map<PoolName, std::map<std::string, SlicePtr>> pools_;
  std::map<PoolName, std::map<std::string, SlicePtr>> counters_;  // those that have counters
  DeviceFeatures features_;
  OfferedSlice::Tally tally_;
  Mutex mutex_;
  uint64_t next_selector_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<std::string, std::shared_ptr<const CompiledSelector>> selectors_
      ABSL_GUARDED_BY(mutex_);
};

DeviceInventory::DeviceInventory() : index_(std::make_unique<Index>()) {}
DeviceInventory::~DeviceInventory() = default;

void DeviceInventory::SetFeatures(const DeviceFeatures& features) { index_->features() = features; }

const DeviceFeatures& DeviceInventory::features() const { return index_->features(); }

AffectedNodes DeviceInventory::SetSlice(std::shared_ptr<const api::ResourceSlice> slice) {
  AffectedNodes affected = index_->Remove(slice->metadata().name());
  index_->AddPoolOf(*slice, affected);
  index_->Add(std::move(slice), affected);
  return affected;
}

AffectedNodes DeviceInventory::RemoveSlice(absl::string_view name) { return index_->Remove(name); }

AffectedNodes DeviceInventory::SetTaintRule(std::shared_ptr<const api::DeviceTaintRule> rule) {
  const std::string name = rule->metadata().name();
  return index_->SetTaintRule(name, std::move(rule));
}

AffectedNodes DeviceInventory::RemoveTaintRule(absl::string_view name) {
  return index_->SetTaintRule(std::string(name), nullptr);
}

AffectedNodes DeviceInventory::NodesOf(const DeviceId& device) const {
  return index_->NodesOf(device);
}

absl::StatusOr<std::vector<NodePool>> DeviceInventory::PoolsOf(Symbol node_name,
                                                               const LabelSet& labels) const {
  return index_->PoolsOf(node_name, labels);
}

std::optional<std::string> DeviceInventory::AttributeOf(const DeviceId& device,
                                                        absl::string_view name) const {
  return index_->AttributeOf(device, name);
}

std::shared_ptr<const CompiledSelector> DeviceInventory::Compile(absl::string_view expression) {
  return index_->Compile(expression);
}

absl::StatusOr<bool> DeviceInventory::Matches(const CompiledSelector& selector,
                                              const OfferedDevice& device) const {
  return device.slice->Matches(selector, device.index, index_->tally());
}

int64_t DeviceInventory::evaluations() const { return index_->tally().evaluations; }

int64_t DeviceInventory::evaluation_cost() const { return index_->tally().cost; }

}  // namespace berth
