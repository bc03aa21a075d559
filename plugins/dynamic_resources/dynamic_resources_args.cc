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

struct Gate {
  absl::string_view name;
  bool DeviceFeatures::*feature;
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
};

const Gate* FindGate(absl::string_view name) {
  const auto* const found =
      absl::c_find_if(kGates, [&](const Gate& gate) { return gate.name == name; });
  return found == std::end(kGates) ? nullptr : found;
}

void CheckGate(const std::string& name, bool on, const DeviceFeatures& features,
               FieldProblems& problems) {
  if (const Gate* const gate = FindGate(name)) {
    if (!on || !gate->needs.has_value() || features.*FindGate(*gate->needs)->feature) return;
    problems.Invalid("featureGates", name, absl::StrCat("needs ", *gate->needs, ", which is off"));
    return;
  }
  std::string known;
  for (const Gate& gate : kGates) absl::StrAppend(&known, known.empty() ? "" : ", ", gate.name);
  problems.Invalid("featureGates", name, absl::StrCat("no such feature gate; there are ", known));
}

}  // namespace

DeviceFeatures DynamicResourcesArgs::Features() const {
  DeviceFeatures features;
  for (const Gate& gate : kGates) {
    const auto found = feature_gates.find(std::string(gate.name));
    if (found != feature_gates.end()) features.*gate.feature = found->second;
  }
  return features;
}

const FieldTable& DynamicResourcesArgs::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<DynamicResourcesArgs>("DynamicResourcesArgs", "Arguments of DynamicResources.")
          .Field("filterTimeout", &DynamicResourcesArgs::filter_timeout,
                 "The longest that allocating the claims of a pod may take for one node; 0 for no "
                 "limit. Counted in devices that are tried, a million a second.")
          .Field(
              "bindingTimeout", &DynamicResourcesArgs::binding_timeout,
              "How long a pod waits for the binding conditions of its devices; 10m if it is left "
              "out. Only with the feature gate DRADeviceBindingConditions.")
          .Field("featureGates", &DynamicResourcesArgs::feature_gates,
                 "Feature gates of kube-scheduler by name: DRAAdminAccess, DRAPrioritizedList and "
                 "DRAResourceClaimDeviceStatus (on by default), DRADeviceTaints, "
                 "DRADeviceTaintRules, DRAPartitionableDevices, DRAConsumableCapacity, "
                 "DRADeviceBindingConditions and DRAExtendedResource (off). The same in all "
                 "profiles, which share the devices.")
          .Field(
              "preemptForDevices", &DynamicResourcesArgs::preempt_for_devices,
              "Whether pods may be evicted for the devices of their claims. A claim that several "
              "pods share gives its devices back when all of them go. kube-scheduler never does.")
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
            if (args.filter_timeout < absl::ZeroDuration()) {
              problems.Invalid("filterTimeout", absl::FormatDuration(args.filter_timeout),
                               "must be zero or positive");
            }
            if (!args.binding_timeout.has_value()) return;
            if (features.binding_conditions && features.device_status) {
              if (*args.binding_timeout >= absl::Seconds(1)) return;
              problems.Invalid("bindingTimeout", absl::FormatDuration(*args.binding_timeout),
                               "must be at least 1 second");
            } else {
              problems.Add("bindingTimeout",
                           "Forbidden: DRADeviceBindingConditions or DRAResourceClaimDeviceStatus "
                           "feature gate is disabled");
            }
          }));
  return table;
}

}  // namespace berth
