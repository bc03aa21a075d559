// SPDX-License-Identifier: Apache-2.0
// The base of every plugin. What a plugin can do is said by the extension point interfaces it
// also derives from: FilterPlugin, ScorePlugin, PermitPlugin ...
#ifndef BERTH_FRAMEWORK_PLUGIN_H_
#define BERTH_FRAMEWORK_PLUGIN_H_

#include "absl/strings/string_view.h"

namespace berth {

// One instance a profile, made by the factory in the registry and destroyed with the profile.
class Plugin {
 public:
  virtual ~Plugin() = default;

  // The name under which profiles switch it on. Lives as long as the plugin.
  virtual absl::string_view Name() const = 0;
};

}  // namespace berth

#endif  // BERTH_FRAMEWORK_PLUGIN_H_
