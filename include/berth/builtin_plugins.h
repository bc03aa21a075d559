// SPDX-License-Identifier: Apache-2.0
// The plugins that come with Berth.
#ifndef BERTH_BUILTIN_PLUGINS_H_
#define BERTH_BUILTIN_PLUGINS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "berth/framework/registry.h"

namespace berth {

// Adds every built-in plugin to `builder`.
void AddBuiltinPlugins(Registry::Builder& builder);

// The built-in plugins and `extra`. Returns AlreadyExists if two have one name.
absl::StatusOr<Registry> BuiltinRegistry(std::vector<PluginRegistration> extra = {});

}  // namespace berth

#endif  // BERTH_BUILTIN_PLUGINS_H_
