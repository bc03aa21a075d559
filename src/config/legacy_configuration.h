// SPDX-License-Identifier: Apache-2.0
// Configurations of older Kubernetes, written as the v1 file that they mean.
#ifndef BERTH_SRC_CONFIG_LEGACY_CONFIGURATION_H_
#define BERTH_SRC_CONFIG_LEGACY_CONFIGURATION_H_

#include <string>

#include "absl/strings/string_view.h"
#include "berth/api/problem.h"
#include "berth/api/value.h"

namespace berth {

struct ConvertedConfiguration {
  // A KubeSchedulerConfiguration of v1 with a comment, with the line it is about, on each thing
  // that has no equal or means something else now. Empty if `problems` has errors.
  std::string yaml;
  int comments = 0;  // of these
  Problems problems;
};

// Converts a Policy (Kubernetes 1.2 to 1.22), a KubeSchedulerConfiguration of componentconfig/
// v1alpha1 or kubescheduler.config.k8s.io/v1alpha1 to v1, or a ConfigMap with one of them. What it
// names is not checked: ParseConfiguration() does that with the result. Sources:
// kube-scheduler v1.22 framework/plugins/legacy_registry.go, v1.18 to v1.28 apis/config.
ConvertedConfiguration ConvertConfiguration(absl::string_view text, const std::string& file);

// The text of the one entry of a ConfigMap that is a configuration of any version, and its key;
// false, and a problem, if there is none or are several.
bool FindInConfigMap(Value config_map, std::string& text, std::string& key, Problems& problems);

}  // namespace berth

#endif  // BERTH_SRC_CONFIG_LEGACY_CONFIGURATION_H_
