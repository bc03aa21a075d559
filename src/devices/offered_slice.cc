// SPDX-License-Identifier: Apache-2.0
// Implementation of offered_slice.h.
#include "devices/offered_slice.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace berth {
namespace {

// What the verdicts of a selector on the devices of a slice take besides a byte for each.
constexpr size_t kBytesOfVerdicts = 64;

cel::Attribute AttributeOf(const api::DeviceAttribute& attribute) {
  if (attribute.has_int_()) return attribute.int_();
  if (attribute.has_bool_()) return attribute.bool_();
  if (attribute.has_version()) return cel::Version{attribute.version()};
  return attribute.string();
}

cel::Device VariableOf(const std::string& driver, const OfferedDevice& offered) {
  const api::SliceDevice& device = *offered.message;
  cel::DeviceFields fields{.driver = driver,
                           .allow_multiple_allocations = offered.allows_multiple,
                           .attributes = {},
                           .capacity = {}};
  for (const auto& [name, attribute] : device.attributes()) {
    fields.attributes.emplace_back(name, AttributeOf(attribute));
  }
  for (const auto& [name, capacity] : device.capacity()) {
    fields.capacity.emplace_back(name,
                                 Quantity::Parse(capacity.value().string()).value_or(Quantity()));
  }
  // The maps of a message have an order of their own.
  const auto by_name = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::sort(fields.attributes.begin(), fields.attributes.end(), by_name);
  std::sort(fields.capacity.begin(), fields.capacity.end(), by_name);
  return cel::Device(fields);
}

bool SelectsDevice(const api::DeviceTaintRule& rule, const std::string& device) {
  const api::DeviceTaintSelector& selector = rule.spec().device_selector();
  return !selector.has_device() || selector.device() == device;
}

// Others are for information.
bool HasEffect(const api::DeviceTaint& taint) {
  return taint.effect() == "NoSchedule" || taint.effect() == "NoExecute";
}

}  // namespace

bool SelectsAny(const api::DeviceTaintRule& rule, const api::ResourceSliceSpec& slice) {
  if (!rule.spec().has_device_selector()) return false;
  const api::DeviceTaintSelector& selector = rule.spec().device_selector();
  if (selector.has_driver() && selector.driver() != slice.driver()) return false;
  if (selector.has_pool() && selector.pool() != slice.pool().name()) return false;
  return absl::c_any_of(slice.devices(), [&](const api::SliceDevice& device) {
    return SelectsDevice(rule, device.name());
  });
}

const api::DeviceAttribute* FindAttribute(const OfferedDevice& device, absl::string_view name) {
  const auto& attributes = device.message->attributes();
  const auto whole = attributes.find(std::string(name));
  if (whole != attributes.end()) return &whole->second;
  const size_t slash = name.find('/');
  if (slash == absl::string_view::npos) return nullptr;
  if (name.substr(0, slash) != device.id.driver.view()) return nullptr;
  const auto own = attributes.find(std::string(name.substr(slash + 1)));
  return own == attributes.end() ? nullptr : &own->second;
}

OfferedSlice::OfferedSlice(std::shared_ptr<const api::ResourceSlice> message,
                           const DeviceFeatures& features, std::vector<TaintRulePtr> rules)
    : message_(std::move(message)),
      rules_(std::move(rules)),
      driver_(Symbol::Intern(spec().driver())),
      pool_(Symbol::Intern(spec().pool().name())),
      node_name_(Symbol::Intern(spec().node_name())) {
  // kube-scheduler v1.35 pools_stable.go: with DRAPartitionableDevices off the field alone counts,
  // whatever its value.
  if (features.partitionable_devices && !spec().shared_counters().empty()) {
    scope_ = Scope::kPool;
  } else if (features.partitionable_devices && spec().per_device_node_selection()) {
    scope_ = Scope::kPerDevice;
    for (const api::SliceDevice& device : spec().devices()) {
      std::optional<NodeSelector>& selector = device_selectors_.emplace_back();
      if (device.has_node_selector()) {
        selector.emplace(device.node_selector(), "nodeSelectorTerms");
      }
    }
  } else if (!spec().has_per_device_node_selection() || features.partitionable_devices) {
    if (!node_name_.empty()) {
      scope_ = Scope::kNode;
    } else if (spec().all_nodes()) {
      scope_ = Scope::kAllNodes;
    } else if (spec().has_node_selector()) {
      scope_ = Scope::kSelectedNodes;
      selector_.emplace(spec().node_selector(), "nodeSelectorTerms");
    }
  }
  absl::flat_hash_set<Symbol> names;
  devices_.reserve(spec().devices_size());
  for (const api::SliceDevice& device : spec().devices()) {
    const Symbol name = Symbol::Intern(device.name());
    if (!names.insert(name).second) repeats_a_name_ = true;
    has_binding_conditions_ |= !device.binding_conditions().empty();
    devices_.push_back(
        {.id = {driver_, pool_, name},
         .slice = this,
         .index = static_cast<int>(devices_.size()),
         .message = &device,
         .has_binding_conditions = !device.binding_conditions().empty(),
         .binds_to_node = features.binding_conditions && device.binds_to_node(),
         .consumes_counters = !device.consumes_counters().empty(),
         .allows_multiple = features.consumable_capacity && device.allow_multiple_allocations(),
         .taints = features.device_taints ? TaintsOf(device) : std::vector<EffectiveTaint>()});
  }
}

std::vector<EffectiveTaint> OfferedSlice::TaintsOf(const api::SliceDevice& device) const {
  std::vector<EffectiveTaint> taints;
  for (const api::DeviceTaint& taint : device.taints()) {
    if (HasEffect(taint)) taints.push_back({&taint, nullptr});
  }
  for (const TaintRulePtr& rule : rules_) {
    const api::DeviceTaint& taint = rule->spec().taint();
    if (HasEffect(taint) && SelectsDevice(*rule, device.name())) {
      taints.push_back({&taint, rule.get()});
    }
  }
  return taints;
}

bool OfferedSlice::HasFor(const OfferedDevice& device, Symbol node_name,
                          const LabelSet& labels) const {
  if (scope_ != Scope::kPerDevice) return true;
  const api::SliceDevice& message = *device.message;
  if (!message.node_name().empty()) return node_name.view() == message.node_name();
  if (message.all_nodes()) return true;
  const std::optional<NodeSelector>& selector = device_selectors_[device.index];
  return selector.has_value() && selector->Matches(labels, node_name);
}

absl::StatusOr<bool> OfferedSlice::Selects(Symbol node_name, const LabelSet& labels) const {
  if (scope_ == Scope::kPerDevice) {
    for (const OfferedDevice& device : devices_) {
      const std::optional<NodeSelector>& selector = device_selectors_[device.index];
      if (selector.has_value() && selector->has_errors()) {
        return absl::InvalidArgumentError(
            absl::StrCat("failed to perform node selection for device ", device.id.ToString(),
                         " in slice ", name(), ": ", selector->status().message()));
      }
      if (HasFor(device, node_name, labels)) return true;
    }
    return false;
  }
  if (selector_->has_errors()) {
    return absl::InvalidArgumentError(
        absl::StrCat("failed to perform node selection for slice ", name(),
                     ": failed to parse node selector: ", selector_->status().message()));
  }
  return selector_->Matches(labels, node_name);
}

absl::StatusOr<bool> OfferedSlice::Matches(const CompiledSelector& selector, int device,
                                           Tally& tally) const {
  const MutexLock lock(mutex_);
  Verdicts& verdicts = verdicts_[selector.id()];
  if (verdicts.empty()) {
    verdicts.resize(devices_.size());
    tally.verdicts += static_cast<int64_t>(devices_.size() + kBytesOfVerdicts);
  }
  Verdict& verdict = verdicts[device];
  if (verdict != Verdict::kUnknown) return verdict == Verdict::kYes;
  if (variables_.empty()) variables_.resize(devices_.size());
  std::optional<cel::Device>& variable = variables_[device];
  if (!variable.has_value()) variable = VariableOf(spec().driver(), devices_[device]);
  uint64_t cost = 0;
  const absl::StatusOr<bool> matches = selector.selector()->Matches(*variable, &cost);
  ++tally.evaluations;
  tally.cost += static_cast<int64_t>(cost);
  // An error ends the attempt, so it is not worth keeping.
  if (matches.ok()) verdict = *matches ? Verdict::kYes : Verdict::kNo;
  return matches;
}

void OfferedSlice::ForgetVerdicts() const {
  const MutexLock lock(mutex_);
  verdicts_.clear();
}

}  // namespace berth
