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
  std::optional<absl::Duration> filter_timeout;
  std::optional<absl::Duration> binding_timeout;
  std::map<std::string, bool> feature_gates;
  bool preempt_for_devices = false;
  std::string device_scoring = "FirstFit";
  // What the gates come to.
  DeviceFeatures Features() const;
  // 10 s if it is left out; zero without DRASchedulerFilterTimeout.
  absl::Duration FilterTimeout() const;
  static const FieldTable& Fields();
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_DYNAMIC_RESOURCES_ARGS_H_
