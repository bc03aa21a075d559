// SPDX-License-Identifier: Apache-2.0
// Implementation of device_explanation.h.
#include "berth/devices/device_explanation.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/api/resource_v1.pb.h"
#include "devices/compiled_selector.h"
#include "devices/consumable_capacity.h"
#include "devices/offered_slice.h"
#include "devices/tolerated_taints.h"

namespace berth {
namespace {

using Selectors = google::protobuf::RepeatedPtrField<api::DeviceSelector>;

class Explainer {
 public:
  Explainer(const AllocationRequest& request, Symbol node_name, const LabelSet& node_labels)
      : request_(request), node_name_(node_name), node_labels_(node_labels) {}

  void AddRequirement(int claim, const DeviceRequirement& requirement, const Selectors& selectors,
                      const std::vector<NodePool>& pools) {
    first_ = rejected_.size();
    for (const NodePool& pool : pools) {
      for (const auto& slice : pool.slices) {
        for (const OfferedDevice& device : slice->devices()) {
          std::optional<std::string> reason = WhyNot(pool, requirement, selectors, device);
          if (reason.has_value()) {
            Add(claim, requirement.reference, device.id.ToString(), *std::move(reason));
          }
        }
      }
    }
  }
  std::vector<RejectedDevices> Take() { return std::move(rejected_); }

 private:
  void Add(int claim, const std::string& name, std::string device, std::string reason) {
    const auto known =
        std::find_if(rejected_.begin() + static_cast<std::ptrdiff_t>(first_), rejected_.end(),
                     [&](const RejectedDevices& rejected) { return rejected.reason == reason; });
    if (known != rejected_.end()) {
      known->devices.push_back(std::move(device));
      return;
    }
    rejected_.push_back({claim, name, {std::move(device)}, std::move(reason)});
  }

  std::optional<std::string> WhyNot(const NodePool& pool, const DeviceRequirement& requirement,
                                    const Selectors& selectors, const OfferedDevice& device) const {
    const DeviceFeatures& features = request_.inventory.features();
    if (pool.incomplete) return "its pool is incomplete";
    if (pool.invalid) return "its pool is invalid";
    if (!requirement.admin_access && request_.is_held(device.id)) return "in use";
    if (device.has_binding_conditions && !features.binding_conditions) {
      return "it has binding conditions, and DRADeviceBindingConditions is off";
    }
    if (!device.slice->HasFor(device, node_name_, node_labels_)) return "for other nodes";
    if (requirement.device_class != nullptr) {
      std::optional<std::string> reason = WhyUnselected(
          requirement.class_selectors, requirement.device_class->spec().selectors(),
          absl::StrCat(" of class ", requirement.device_class->metadata().name()), device);
      if (reason.has_value()) return reason;
    }
    std::optional<std::string> reason = WhyUnselected(requirement.selectors, selectors, "", device);
    if (reason.has_value()) return reason;
    if (device.consumes_counters && !features.partitionable_devices) {
      return "it is a partition, and DRAPartitionableDevices is off";
    }
    if (const auto* const untolerated = FindUntolerated(requirement.tolerations, device)) {
      const api::DeviceTaint& taint = *untolerated->taint;
      return absl::StrCat("taint ", taint.key(), "=", taint.value(), ":", taint.effect(),
                          untolerated->rule == nullptr ? "" : " of DeviceTaintRule ",
                          untolerated->rule == nullptr ? "" : untolerated->rule->metadata().name());
    }
    if (features.consumable_capacity) {
      const auto consumption = ConsumptionOf(requirement.capacity, *device.message);
      if (!consumption.has_value()) return "it does not offer the requested capacity";
      const bool shared = device.allows_multiple && request_.consumed != nullptr;
      const ConsumedCapacity used = shared ? request_.consumed(device.id) : ConsumedCapacity();
      if (!HasLeft(*device.message, used, *consumption)) return "not enough capacity is left";
    }
    return std::nullopt;
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
  const Symbol node_name_;
  const LabelSet& node_labels_;
  size_t first_ = 0;  // of the requirement
  std::vector<RejectedDevices> rejected_;
};

}  // namespace

std::vector<RejectedDevices> ExplainDevices(const AllocationRequest& request, Symbol node_name,
                                            const LabelSet& node_labels) {
  const absl::StatusOr<std::vector<NodePool>> pools =
      request.inventory.PoolsOf(node_name, node_labels);
  if (!pools.ok()) return {};
  Explainer explainer(request, node_name, node_labels);
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
        explainer.AddRequirement(static_cast<int>(c), alternatives[a], selectors, *pools);
      }
    }
  }
  return explainer.Take();
}

}  // namespace berth
