// SPDX-License-Identifier: Apache-2.0
// Arguments of DynamicResources.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_DYNAMIC_RESOURCES_ARGS_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_DYNAMIC_RESOURCES_ARGS_H_

#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "berth/devices/device_features.h"
#include "berth/framework/args.h"

namespace berth {

struct DynamicResourcesArgs {
  absl::Duration filter_timeout = absl::Seconds(10);
  std::optional<absl::Duration> binding_timeout;
  std::map<std::string, bool> feature_gates;
  bool preempt_for_devices = false;
  std::string device_scoring = "FirstFit";
  // What the gates come to.
  DeviceFeatures Features() const;
  static const FieldTable& Fields();
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_DYNAMIC_RESOURCES_ARGS_H_
