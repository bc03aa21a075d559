// SPDX-License-Identifier: Apache-2.0
// Implementation of consumable_capacity.h.
#include "devices/consumable_capacity.h"

#include <algorithm>

#include "absl/numeric/int128.h"

namespace berth {
namespace {

Quantity AmountOf(const api::Quantity& message) {
  return Quantity::Parse(message.string()).value_or(Quantity());
}

// Up to the next step from the minimum on.
Quantity RoundUp(const Quantity& requested, const api::CapacityRequestPolicyRange& range) {
  const Quantity least = AmountOf(range.min());
  if (requested < least) return least;
  if (!range.has_step()) return requested;
  const int64_t step = AmountOf(range.step()).Value(), from = least.Value();
  if (step <= 0) return requested;
  const absl::int128 steps = (absl::int128{requested.Value()} - from + step - 1) / step;
  const absl::int128 rounded = from + steps * step;
  if (rounded > std::numeric_limits<int64_t>::max()) return requested;
  return Quantity::FromValue(static_cast<int64_t>(rounded), Quantity::Format::kBinarySI);
}

Quantity RoundUp(const Quantity& requested, const api::CapacityRequestPolicy& policy) {
  if (policy.has_valid_range() && policy.valid_range().has_min()) {
    return RoundUp(requested, policy.valid_range());
  }
  for (const api::Quantity& valid : policy.valid_values()) {  // rising
    const Quantity value = AmountOf(valid);
    if (requested.Compare(value) <= 0) return value;
  }
  return requested;
}

bool IsAllowed(const Quantity& amount, const api::CapacityRequestPolicy& policy) {
  if (policy.has_default_() && amount == AmountOf(policy.default_())) return true;
  if (policy.has_valid_range()) {
    const api::CapacityRequestPolicyRange& range = policy.valid_range();
    if (range.has_max() && amount.Compare(AmountOf(range.max())) > 0) return false;
    if (!range.has_step()) return true;
    const int64_t step = AmountOf(range.step()).Value();
    return step <= 0 || (absl::int128{amount.Value()} - AmountOf(range.min()).Value()) % step == 0;
  }
  if (policy.valid_values().empty()) return true;
  return std::any_of(policy.valid_values().begin(), policy.valid_values().end(),
                     [&](const api::Quantity& valid) { return amount == AmountOf(valid); });
}

}  // namespace

std::optional<ConsumedCapacity> ConsumptionOf(const ConsumedCapacity& requested,
                                              const api::SliceDevice& device) {
  for (const auto& [name, amount] : requested) {
    if (!device.capacity().contains(name)) return std::nullopt;
  }
  ConsumedCapacity consumption;
  for (const auto& [name, capacity] : device.capacity()) {
    const api::CapacityRequestPolicy& policy = capacity.request_policy();
    const auto wanted = requested.find(name);
    Quantity amount;
    if (wanted != requested.end()) {
      amount = RoundUp(wanted->second, policy);
    } else {
      amount = AmountOf(policy.has_default_() ? policy.default_() : capacity.value());
    }
    if (!IsAllowed(amount, policy)) return std::nullopt;
    consumption.emplace(name, amount);
  }
  return consumption;
}

bool HasLeft(const api::SliceDevice& device, const ConsumedCapacity& consumed,
             const ConsumedCapacity& more) {
  for (const auto& [name, capacity] : device.capacity()) {
    Quantity sum;
    if (const auto found = consumed.find(name); found != consumed.end()) sum.Add(found->second);
    if (const auto found = more.find(name); found != more.end()) sum.Add(found->second);
    if (sum.Compare(AmountOf(capacity.value())) > 0) return false;
  }
  return true;
}

}  // namespace berth
