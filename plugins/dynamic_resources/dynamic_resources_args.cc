// SPDX-License-Identifier: Apache-2.0
// The arguments of DynamicResources, and its feature gates.
#include "plugins/dynamic_resources/dynamic_resources_args.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace berth {
namespace {

struct Gate {
  absl::string_view name;
  bool DeviceFeatures::*feature;
};
constexpr Gate kGates[] = {
    {"DRAAdminAccess", &DeviceFeatures::admin_access},
    {"DRAConsumableCapacity", &DeviceFeatures::consumable_capacity},
    {"DRADeviceTaints", &DeviceFeatures::device_taints},
    {"DRAPartitionableDevices", &DeviceFeatures::partitionable_devices},
    {"DRAPrioritizedList", &DeviceFeatures::prioritized_list},
};
// That cannot be turned on.
constexpr absl::string_view kMissingGates[] = {"DRADeviceBindingConditions", "DRADeviceTaintRules",
                                               "DRAExtendedResource"};

void CheckGate(const std::string& name, bool on, FieldProblems& problems) {
  for (const Gate& gate : kGates) {
    if (gate.name == name) return;
  }
  if (absl::c_linear_search(kMissingGates, name)) {
    if (on) problems.Invalid("featureGates", name, "not supported yet: leave it off");
    return;
  }
  std::string known;
  for (const Gate& gate : kGates) absl::StrAppend(&known, known.empty() ? "" : ", ", gate.name);
  for (const absl::string_view missing : kMissingGates) absl::StrAppend(&known, ", ", missing);
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
          .Field("bindingTimeout", &DynamicResourcesArgs::binding_timeout,
                 "Must be left out: the feature gates DRADeviceBindingConditions and "
                 "DRAResourceClaimDeviceStatus that it belongs to are off.")
          .Field("featureGates", &DynamicResourcesArgs::feature_gates,
                 "Feature gates of kube-scheduler by name: DRAAdminAccess and DRAPrioritizedList "
                 "(on by default), DRADeviceTaints, DRAPartitionableDevices and "
                 "DRAConsumableCapacity (off). The same in all profiles, which share the devices.")
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
            for (const auto& [name, on] : args.feature_gates) CheckGate(name, on, problems);
            if (args.filter_timeout < absl::ZeroDuration()) {
              problems.Invalid("filterTimeout", absl::FormatDuration(args.filter_timeout),
                               "must be zero or positive");
            }
            if (args.binding_timeout.has_value()) {
              problems.Add("bindingTimeout",
                           "Forbidden: DRADeviceBindingConditions or DRAResourceClaimDeviceStatus "
                           "feature gate is disabled");
            }
          }));
  return table;
}

}  // namespace berth
