// SPDX-License-Identifier: Apache-2.0
// The arguments of DynamicResources, and its feature gates.
#include "plugins/dynamic_resources/dynamic_resources_args.h"

#include <iterator>
#include <optional>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace berth {
namespace {

constexpr absl::Duration kFilterTimeout = absl::Seconds(10);
constexpr char kFilterTimeoutGate[] = "DRASchedulerFilterTimeout";
constexpr char kLockedGate[] = "DynamicResourceAllocation";  // generally available

struct Gate {
  absl::string_view name;
  bool DeviceFeatures::*feature;  // null: of no device
  // That must be on, too: pkg/features/kube_features.go.
  std::optional<absl::string_view> needs = std::nullopt;
};
constexpr Gate kGates[] = {
    {"DRAAdminAccess", &DeviceFeatures::admin_access},
    {"DRAConsumableCapacity", &DeviceFeatures::consumable_capacity},
    {"DRADeviceBindingConditions", &DeviceFeatures::binding_conditions,
     "DRAResourceClaimDeviceStatus"},
    {"DRADeviceTaintRules", &DeviceFeatures::device_taint_rules, "DRADeviceTaints"},
    {"DRADeviceTaints", &DeviceFeatures::device_taints},
    {"DRAExtendedResource", &DeviceFeatures::extended_resources},
    {"DRAPartitionableDevices", &DeviceFeatures::partitionable_devices},
    {"DRAPrioritizedList", &DeviceFeatures::prioritized_list},
    {"DRAResourceClaimDeviceStatus", &DeviceFeatures::device_status},
    {kFilterTimeoutGate, nullptr},
    {kLockedGate, nullptr},
};

const Gate* FindGate(absl::string_view name) {
  const auto* const found =
      absl::c_find_if(kGates, [&](const Gate& gate) { return gate.name == name; });
  return found == std::end(kGates) ? nullptr : found;
}

void CheckGate(const std::string& name, bool on, const DeviceFeatures& features,
               FieldProblems& problems) {
  if (name == kLockedGate && !on) {
    problems.Invalid("featureGates", name, "cannot be set to false: it is locked to true");
    return;
  }
  if (const Gate* const gate = FindGate(name)) {
    if (!on || !gate->needs.has_value() || features.*FindGate(*gate->needs)->feature) return;
    problems.Invalid("featureGates", name, absl::StrCat("needs ", *gate->needs, ", which is off"));
    return;
  }
  std::string known;
  for (const Gate& gate : kGates) absl::StrAppend(&known, known.empty() ? "" : ", ", gate.name);
  problems.Invalid("featureGates", name, absl::StrCat("no such feature gate; there are ", known));
}

bool HasFilterTimeout(const DynamicResourcesArgs& args) {
  const auto found = args.feature_gates.find(kFilterTimeoutGate);
  return found == args.feature_gates.end() || found->second;
}

// As kube-scheduler v1.35 ValidateDynamicResourcesArgs.
void CheckTimeouts(const DynamicResourcesArgs& args, FieldProblems& problems) {
  if (args.filter_timeout.has_value()) {
    if (!HasFilterTimeout(args)) {
      problems.Add("filterTimeout",
                   "Forbidden: DRASchedulerFilterTimeout feature gate is disabled");
    } else if (*args.filter_timeout < absl::ZeroDuration()) {
      problems.Invalid("filterTimeout", absl::FormatDuration(*args.filter_timeout),
                       "must be zero or positive");
    }
  }
  if (!args.binding_timeout.has_value()) return;
  const DeviceFeatures features = args.Features();
  if (!features.binding_conditions || !features.device_status) {
    problems.Add("bindingTimeout",
                 "Forbidden: DRADeviceBindingConditions or DRAResourceClaimDeviceStatus "
                 "feature gate is disabled");
  } else if (*args.binding_timeout < absl::Seconds(1)) {
    problems.Invalid("bindingTimeout", absl::FormatDuration(*args.binding_timeout),
                     "must be at least 1 second");
  }
}

}  // namespace

DeviceFeatures DynamicResourcesArgs::Features() const {
  DeviceFeatures features;
  for (const Gate& gate : kGates) {
    const auto found = feature_gates.find(std::string(gate.name));
    if (found == feature_gates.end() || gate.feature == nullptr) continue;
    features.*gate.feature = found->second;
  }
  return features;
}

absl::Duration DynamicResourcesArgs::FilterTimeout() const {
  return HasFilterTimeout(*this) ? filter_timeout.value_or(kFilterTimeout) : absl::ZeroDuration();
}

const FieldTable& DynamicResourcesArgs::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<DynamicResourcesArgs>("DynamicResourcesArgs", "Arguments of DynamicResources.")
          .Field("filterTimeout", &DynamicResourcesArgs::filter_timeout,
                 "The longest that allocating the claims of a pod may take for one node; 0 for no "
                 "limit, 10s if it is left out. Counted in devices that are tried, a million a "
                 "second. Only with the feature gate DRASchedulerFilterTimeout.")
          .Field(
              "bindingTimeout", &DynamicResourcesArgs::binding_timeout,
              "How long a pod waits for the binding conditions of its devices; 10m if it is left "
              "out. Only with the feature gate DRADeviceBindingConditions.")
          .Field("featureGates", &DynamicResourcesArgs::feature_gates,
                 "Feature gates of kube-scheduler by name: DRAAdminAccess, DRAPrioritizedList, "
                 "DRAResourceClaimDeviceStatus and DRASchedulerFilterTimeout (on by default), "
                 "DRADeviceTaints, "
                 "DRADeviceTaintRules, DRAPartitionableDevices, DRAConsumableCapacity, "
                 "DRADeviceBindingConditions and DRAExtendedResource (off). The same in all "
                 "profiles, which share the devices.")
          .Field(
              "preemptForDevices", &DynamicResourcesArgs::preempt_for_devices,
              "Whether pods may be evicted for the devices of their claims, also on other nodes "
              "for "
              "devices of a network. A claim that several pods share gives its devices back when "
              "all of them go. kube-scheduler never does.")
          .Field("deviceScoring", &DynamicResourcesArgs::device_scoring,
                 "Which devices a claim gets, and which nodes score high for it. FirstFit: the "
                 "first devices that fit, all nodes alike, as kube-scheduler. ExpectedWaste: those "
                 "whose loss makes the fewest later claims impossible. BestFit: those that leave "
                 "the least. Spread: those that leave the most.",
                 OneOf({"FirstFit", "ExpectedWaste", "BestFit", "Spread"}))
          .Check([](const DynamicResourcesArgs& args, FieldProblems& problems) {
            const DeviceFeatures features = args.Features();
            for (const auto& [name, on] : args.feature_gates) {
              CheckGate(name, on, features, problems);
            }
            CheckTimeouts(args, problems);
          }));
  return table;
}

}  // namespace berth
