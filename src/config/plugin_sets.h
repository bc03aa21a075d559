// SPDX-License-Identifier: Apache-2.0
// The default plugins, and how a profile's lists change them.
#ifndef BERTH_SRC_CONFIG_PLUGIN_SETS_H_
#define BERTH_SRC_CONFIG_PLUGIN_SETS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "berth/config/profile.h"
#include "berth/framework/registry.h"

namespace berth {

// kube-scheduler v1.35's default multiPoint list, those that `registry` has, in order and with
// their weights.
PluginSet DefaultMultiPoint(const Registry& registry);

// As mergePluginSet of kube-scheduler v1.35 (apis/config/v1/default_plugins.go): the defaults that
// `custom` does not disable, in their order and with the weight that `custom` gives them, then what
// else `custom` enables, in its order.
PluginSet MergePluginSet(const PluginSet& defaults, const PluginSet& custom);

// Whether kube-scheduler once had the plugin and refuses it in this version.
bool IsRemovedPlugin(absl::string_view name);
// What to do about a plugin of kube-scheduler's, past or present, that Berth does not have; empty
// for any other name.
absl::string_view AdviceForKubeSchedulerPlugin(absl::string_view name);

}  // namespace berth

#endif  // BERTH_SRC_CONFIG_PLUGIN_SETS_H_
