// SPDX-License-Identifier: Apache-2.0
// Slices, classes and claims from YAML, and what the claims would get on a node, as text.
#ifndef BERTH_TESTS_DEVICES_SMALL_INVENTORY_H_
#define BERTH_TESTS_DEVICES_SMALL_INVENTORY_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/devices/device_allocator.h"
#include "berth/testing/objects.h"

namespace berth::testing {

// "pool: [a, b]" is a slice "DRIVER-POOL" with these devices, for the node of the pool's name.
inline std::string Slice(const std::string& pool, const std::vector<std::string>& devices,
                         const std::string& driver = "d") {
  std::string yaml = absl::StrCat(
      "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: ", driver, "-", pool,
      "}, spec: {driver: ", driver, ", nodeName: ", pool, ", pool: {name: ", pool,
      ", generation: 1, resourceSliceCount: 1}, devices: [");
  for (const std::string& device : devices) absl::StrAppend(&yaml, "{name: ", device, "}, ");
  return absl::StrCat(yaml, "]}}");
}

// `devices` is the claim's spec.devices in YAML flow form. As an API server has stored it: what
// such a server refuses is read.
inline std::string ClaimYaml(const std::string& name, const std::string& devices) {
  return absl::StrCat(
      "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: ", name,
      ", namespace: default, uid: ", name, "}, spec: {devices: ", devices, "}}");
}

class SmallInventory {
 public:
  SmallInventory() {
    Add("{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: any}, spec: {}}");
  }

  // Slices, classes and claims.
  void Add(const std::string& yaml) {
    for (const Object& object : ObjectsFromYaml(yaml)) {
      if (object.kind() == Kind::kResourceSlice) {
        inventory_.SetSlice(object.Share<api::ResourceSlice>());
      } else if (object.kind() == Kind::kDeviceTaintRule) {
        inventory_.SetTaintRule(object.Share<api::DeviceTaintRule>());
      } else if (object.kind() == Kind::kDeviceClass) {
        classes_[std::string(object.name())] = object.Share<api::DeviceClass>();
      } else {
        claims_.push_back(object.Share<api::ResourceClaim>());
      }
    }
  }
  void Claim(const std::string& devices) {
    Add(ClaimYaml(absl::StrCat("c", claims_.size()), devices));
  }
  // Before the first slice.
  void set_features(const DeviceFeatures& features) { inventory_.SetFeatures(features); }
  // A claim has that much of a device that is shared.
  void Consume(const std::string& device, const ConsumedCapacity& amounts) {
    consumed_[device] = amounts;
  }
  void ForgetClaims() { claims_.clear(); }
  void Hold(const std::string& device) { held_.insert(device); }  // "driver/pool/device"
  void set_labels(LabelSet labels) { labels_ = std::move(labels); }
  void set_max_steps(int64_t steps) { max_steps_ = steps; }
  void set_scoring(DeviceScoring scoring) { scoring_ = scoring; }
  DeviceInventory& inventory() { return inventory_; }

  std::vector<ClaimToAllocate> Parsed() {
    std::vector<ClaimToAllocate> parsed;
    for (const auto& claim : claims_) {
      parsed.push_back(ClaimToAllocate::Parse(
          claim,
          [this](absl::string_view name) {
            const auto found = classes_.find(std::string(name));
            return found == classes_.end() ? nullptr : found->second;
          },
          inventory_));
    }
    return parsed;
  }

  absl::StatusOr<NodeAllocation> Run(const std::vector<ClaimToAllocate>& claims,
                                     const std::string& node) {
    return AllocateDevices(Request(claims), Symbol::Intern(node), labels_);
  }
  // Valid as long as this and the claims.
  AllocationRequest Request(const std::vector<ClaimToAllocate>& claims) {
    return {.inventory = inventory_,
            .claims = claims,
            .is_held = is_held_,
            .consumed =
                [this](const DeviceId& id) {
                  const auto found = consumed_.find(id.ToString());
                  return found == consumed_.end() ? std::nullopt : std::optional(found->second);
                },
            .max_steps = max_steps_,
            .scoring = scoring_};
  }
  bool IsHeld(const DeviceId& id) const { return held_.contains(id.ToString()); }

  // "gpu=pool/a nic=pool/b", a claim behind the other with ";" between; or why there is nothing.
  std::string On(const std::string& node) {
    const std::vector<ClaimToAllocate> claims = Parsed();
    const absl::StatusOr<NodeAllocation> allocation = Run(claims, node);
    if (!allocation.ok()) return absl::StrCat("error: ", allocation.status().message());
    switch (allocation->outcome) {
      case NodeAllocation::Outcome::kOverLimits:
        return "over limits";
      case NodeAllocation::Outcome::kImpossible:
        return "impossible";
      case NodeAllocation::Outcome::kInvalidPools:
        return "invalid pools";
      case NodeAllocation::Outcome::kOutOfSteps:
        return "out of steps";
      case NodeAllocation::Outcome::kAllocated:
        break;
    }
    std::vector<std::string> texts;
    for (size_t i = 0; i < claims.size(); ++i) {
      results_.push_back(*AllocationResultOf(*allocation, claims, static_cast<int>(i)));
      std::vector<std::string> devices;
      for (const auto& result : results_.back()->devices().results()) {
        devices.push_back(absl::StrCat(result.request(), "=", result.pool(), "/", result.device(),
                                       result.admin_access() ? "!" : ""));
      }
      texts.push_back(absl::StrJoin(devices, " "));
    }
    return absl::StrJoin(texts, "; ");
  }
  // For the last claim of the last On().
  const api::AllocationResult& last_result() const { return *results_.back(); }

 private:
  DeviceInventory inventory_;
  std::map<std::string, std::shared_ptr<const api::DeviceClass>> classes_;
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims_;
  std::set<std::string> held_;
  const std::function<bool(const DeviceId&)> is_held_ = [this](const DeviceId& id) {
    return IsHeld(id);
  };
  std::map<std::string, ConsumedCapacity> consumed_;
  LabelSet labels_;
  DeviceScoring scoring_ = DeviceScoring::kFirstFit;
  int64_t max_steps_ = std::numeric_limits<int64_t>::max();
  std::vector<std::shared_ptr<const api::AllocationResult>> results_;
};

}  // namespace berth::testing

#endif  // BERTH_TESTS_DEVICES_SMALL_INVENTORY_H_
