// SPDX-License-Identifier: Apache-2.0
// Implementation of device_explanation.h.
#include "berth/devices/device_explanation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/api/resource_v1.pb.h"
#include "devices/compiled_selector.h"
#include "devices/consumable_capacity.h"
#include "devices/offered_slice.h"
#include "devices/pool_counters.h"
#include "devices/tolerated_taints.h"

namespace berth {
namespace {

using Cause = RejectedDevices::Cause;
using Reached = RejectedDevices::Reached;
using Selectors = google::protobuf::RepeatedPtrField<api::DeviceSelector>;

// Why a device is not for a request: RejectedDevices without the devices.
struct Rejection {
  Cause cause;
  std::string text;
  absl::string_view gate;
  std::string pool;
};

Rejection BecauseOfGate(absl::string_view gate, std::string text) {
  return {Cause::kGate, std::move(text), gate, ""};
}

// "d/p is incomplete: it has 1 of 2 slices of generation 3".
std::string WhatIsMissing(const NodePool& pool) {
  std::string text = absl::StrCat(pool.ToString(), " is incomplete: it has ", pool.slices_there);
  if (pool.slices_there < pool.slices_wanted) {
    absl::StrAppend(&text, " of ", pool.slices_wanted);
  }
  absl::StrAppend(&text, pool.slices_there == 1 && pool.slices_wanted <= 1 ? " slice" : " slices",
                  " of generation ", pool.slices.front()->generation());
  if (pool.slices_there > pool.slices_wanted) {
    absl::StrAppend(&text, ", and resourceSliceCount is ", pool.slices_wanted);
  }
  return text;
}

// "d/p is invalid: two devices are named gpu-0".
std::string WhatIsInvalid(const NodePool& pool) {
  std::set<Symbol> names;
  for (const auto& slice : pool.slices) {
    for (const OfferedDevice& device : slice->devices()) {
      if (names.insert(device.id.device).second) continue;
      return absl::StrCat(pool.ToString(), " is invalid: two devices are named ",
                          device.id.device.view());
    }
  }
  return absl::StrCat(pool.ToString(),
                      " is invalid: it has a set of counters twice, or devices consume counters "
                      "that it does not have");
}

class Explainer {
 public:
  Explainer(const AllocationRequest& request, const std::vector<NodePool>& pools, Symbol node_name,
            const LabelSet& node_labels)
      : request_(request), pools_(pools), node_name_(node_name), node_labels_(node_labels) {}

  ExplainedRequest Explain(int claim, const DeviceRequirement& requirement,
                           const Selectors& selectors) {
    ExplainedRequest explained{
        claim, requirement.reference, requirement.wants_all, requirement.count, {}, {}, false, {}};
    int draw_on_counters = 0;
    for (const NodePool& pool : pools_) {
      for (const auto& slice : pool.slices) {
        for (const OfferedDevice& device : slice->devices()) {
          Reached reached = Reached::kClass;
          std::optional<Rejection> why = WhyNot(pool, requirement, selectors, device, reached);
          if (why.has_value()) {
            Add(device.id, *std::move(why), reached, explained.rejected);
          } else {
            explained.possible.push_back(device.id);
            explained.shares.push_back(SharesOf(requirement, device));
            draw_on_counters += device.consumes_counters ? 1 : 0;
          }
        }
      }
    }
    explained.may_be_fewer = draw_on_counters > 1;
    return explained;
  }

 private:
  // How many of the request's devices the device can be, as it is.
  int64_t SharesOf(const DeviceRequirement& requirement, const OfferedDevice& device) const {
    if (!request_.inventory.features().consumable_capacity || !device.allows_multiple ||
        requirement.wants_all) {
      return 1;
    }
    const auto consumption = ConsumptionOf(requirement.capacity, *device.message);
    if (!consumption.has_value()) return 1;
    ConsumedCapacity used;
    if (request_.consumed != nullptr) {
      used = request_.consumed(device.id).value_or(ConsumedCapacity());
    }
    constexpr int64_t kMostCounted = 1000;  // a claim has 32 devices at most
    int64_t shares = 0;
    while (shares < std::min(requirement.count, kMostCounted) &&
           HasLeft(*device.message, used, *consumption)) {
      ++shares;
      for (const auto& [name, amount] : *consumption) used[name].Add(amount);
    }
    return shares;
  }

  static void Add(const DeviceId& device, Rejection why, Reached reached,
                  std::vector<RejectedDevices>& rejected) {
    const auto known = absl::c_find_if(rejected, [&](const RejectedDevices& of_reason) {
      return of_reason.reason == why.text && of_reason.reached == reached;
    });
    if (known != rejected.end()) {
      known->devices.push_back(device);
    } else {
      rejected.push_back(
          {{device}, std::move(why.text), why.cause, reached, why.gate, std::move(why.pool)});
    }
  }

  // Selectors come first, also for devices in use: so one sees which devices would do.
  std::optional<Rejection> WhyNot(const NodePool& pool, const DeviceRequirement& requirement,
                                  const Selectors& selectors, const OfferedDevice& device,
                                  Reached& reached) {
    if (pool.incomplete) {
      std::string what = WhatIsMissing(pool);
      return Rejection{Cause::kIncompletePool, "its pool " + what, "", std::move(what)};
    }
    if (pool.invalid) {
      std::string what = WhatIsInvalid(pool);
      return Rejection{Cause::kInvalidPool, "its pool " + what, "", std::move(what)};
    }
    if (!device.slice->HasFor(device, node_name_, node_labels_)) {
      return Rejection{Cause::kOtherNodes, "for other nodes", "", ""};
    }
    if (requirement.device_class != nullptr) {
      std::optional<std::string> reason = WhyUnselected(
          requirement.class_selectors, requirement.device_class->spec().selectors(),
          absl::StrCat(" of class ", requirement.device_class->metadata().name()), device);
      if (reason.has_value()) return Rejection{Cause::kSelector, *std::move(reason), "", ""};
    }
    reached = Reached::kRequest;
    std::optional<std::string> reason = WhyUnselected(requirement.selectors, selectors, "", device);
    if (reason.has_value()) return Rejection{Cause::kSelector, *std::move(reason), "", ""};
    reached = Reached::kFree;
    return WhyNotFree(pool, requirement, device);
  }

  std::optional<Rejection> WhyNotFree(const NodePool& pool, const DeviceRequirement& requirement,
                                      const OfferedDevice& device) {
    const DeviceFeatures& features = request_.inventory.features();
    if (!requirement.admin_access && request_.is_held(device.id)) {
      if (!device.message->allow_multiple_allocations() || features.consumable_capacity) {
        return Rejection{Cause::kInUse, "in use", "", ""};
      }
      return Rejection{Cause::kInUse,
                       "in use, and shared only if DRAConsumableCapacity, which is off, is on",
                       "DRAConsumableCapacity", ""};
    }
    if (device.has_binding_conditions && !features.binding_conditions) {
      return BecauseOfGate("DRADeviceBindingConditions",
                           "it has binding conditions, and DRADeviceBindingConditions is off");
    }
    if (device.consumes_counters && !features.partitionable_devices) {
      return BecauseOfGate("DRAPartitionableDevices",
                           "it is a partition, and DRAPartitionableDevices is off");
    }
    if (const auto* const untolerated = FindUntolerated(requirement.tolerations, device)) {
      return Rejection{Cause::kTaint, TaintText(*untolerated), "", ""};
    }
    bool is_shared = false;
    if (features.consumable_capacity) {
      std::optional<std::string> reason = WhyNoCapacity(requirement, device, is_shared);
      if (reason.has_value()) return Rejection{Cause::kCapacity, *std::move(reason), "", ""};
    }
    if (!device.consumes_counters || is_shared) return std::nullopt;
    std::optional<std::string> reason = WhyNoCounters(pool, device);
    if (!reason.has_value()) return std::nullopt;
    return Rejection{Cause::kCounters, *std::move(reason), "", ""};
  }

  static std::string TaintText(const EffectiveTaint& untolerated) {
    const api::DeviceTaint& taint = *untolerated.taint;
    std::string text = absl::StrCat("taint ", taint.key());
    if (!taint.value().empty()) absl::StrAppend(&text, "=", taint.value());
    absl::StrAppend(&text, ":", taint.effect());
    if (untolerated.rule == nullptr) return text;
    return absl::StrCat(text, " of DeviceTaintRule ", untolerated.rule->metadata().name());
  }

  // `is_shared`: a claim has a part of the device already.
  std::optional<std::string> WhyNoCapacity(const DeviceRequirement& requirement,
                                           const OfferedDevice& device, bool& is_shared) const {
    const api::SliceDevice& message = *device.message;
    const auto consumption = ConsumptionOf(requirement.capacity, message);
    if (!consumption.has_value()) return "it does not offer the requested capacity";
    std::optional<ConsumedCapacity> shares;
    if (device.allows_multiple && request_.consumed != nullptr) {
      shares = request_.consumed(device.id);
    }
    is_shared = shares.has_value();
    const ConsumedCapacity used = std::move(shares).value_or(ConsumedCapacity());
    for (const auto& [name, amount] : *consumption) {
      if (HasLeft(message, used, {{name, amount}})) continue;
      const std::string& all = message.capacity().at(name).value().string();
      Quantity left = Quantity::Parse(all).value_or(Quantity());
      if (const auto taken = used.find(name); taken != used.end()) left.Subtract(taken->second);
      return absl::StrCat(left.ToString(), " of ", all, " ", name, " is left, and it would take ",
                          amount.ToString());
    }
    return std::nullopt;
  }

  std::optional<std::string> WhyNoCounters(const NodePool& pool, const OfferedDevice& device) {
    const auto [found, is_new] = counters_.try_emplace(&pool, pool, request_);
    PoolCounters& counters = found->second;
    if (counters.Suffice(device)) {
      counters.GiveBack(device);
      return std::nullopt;
    }
    for (const api::DeviceCounterConsumption& consumption : device.message->consumes_counters()) {
      for (const auto& [name, counter] : consumption.counters()) {
        const auto left = counters.counters().find({consumption.counter_set(), name});
        if (left == counters.counters().end()) continue;
        const Quantity amount = PoolCounters::AmountOf(counter);
        if (amount.Compare(left->second.left) <= 0) continue;
        return absl::StrCat("it needs ", amount.ToString(), " of the counter ", name, " of ",
                            consumption.counter_set(), ", which has ", left->second.left.ToString(),
                            " left");
      }
    }
    return "more is taken of a counter of its pool than there is";
  }

  std::optional<std::string> WhyUnselected(
      const std::vector<std::shared_ptr<const CompiledSelector>>& compiled,
      const Selectors& selectors, absl::string_view whose, const OfferedDevice& device) const {
    for (size_t i = 0; i < compiled.size(); ++i) {
      const std::string expression = static_cast<int>(i) < selectors.size()
                                         ? selectors.Get(static_cast<int>(i)).cel().expression()
                                         : "";
      std::string selector = absl::StrCat("selector #", i, whose, ": ", expression);
      if (!compiled[i]->selector().ok()) return absl::StrCat(selector, " (does not compile)");
      const absl::StatusOr<bool> matches = request_.inventory.Matches(*compiled[i], device);
      if (!matches.ok()) return absl::StrCat(selector, " (", matches.status().message(), ")");
      if (!*matches) return selector;
    }
    return std::nullopt;
  }

  const AllocationRequest& request_;
  const std::vector<NodePool>& pools_;
  const Symbol node_name_;
  const LabelSet& node_labels_;
  std::map<const NodePool*, PoolCounters> counters_;
};

}  // namespace

std::vector<ExplainedRequest> ExplainDevices(const AllocationRequest& request, Symbol node_name,
                                             const LabelSet& node_labels) {
  const absl::StatusOr<std::vector<NodePool>> pools =
      request.inventory.PoolsOf(node_name, node_labels);
  if (!pools.ok()) return {};
  Explainer explainer(request, *pools, node_name, node_labels);
  std::vector<ExplainedRequest> explained;
  size_t requests_in_all = 0;
  for (const ClaimToAllocate& claim : request.claims) requests_in_all += claim.requests.size();
  for (size_t c = 0; c < request.claims.size(); ++c) {
    const ClaimToAllocate& claim = request.claims[c];
    const auto& requests = claim.message->spec().devices().requests();
    for (size_t r = 0; r < claim.requests.size(); ++r) {
      const api::DeviceRequest& message = requests.Get(static_cast<int>(r));
      const std::vector<DeviceRequirement>& alternatives = claim.requests[r].alternatives;
      for (size_t a = 0; a < alternatives.size(); ++a) {
        if (!alternatives[a].problem.ok()) continue;
        const Selectors& selectors = claim.requests[r].is_list
                                         ? message.first_available(static_cast<int>(a)).selectors()
                                         : message.exactly().selectors();
        explained.push_back(explainer.Explain(static_cast<int>(c), alternatives[a], selectors));
        explained.back().may_be_fewer |=
            requests_in_all > 1 || !claim.message->spec().devices().constraints().empty();
      }
    }
  }
  return explained;
}

}  // namespace berth
