// SPDX-License-Identifier: Apache-2.0
// Loading of plugins from shared objects (berth/plugin_library.h).
#ifndef BERTH_SRC_APP_PLUGIN_LIBRARY_H_
#define BERTH_SRC_APP_PLUGIN_LIBRARY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "berth/framework/registry.h"

namespace berth {

// The plugins of the library in `path`, which stays loaded until the process ends. Errors name the
// file and what to do; of one that was built for another Berth they name both. None of its code
// runs unless it fits.
absl::StatusOr<std::vector<PluginRegistration>> LoadPluginLibrary(const std::string& path);

}  // namespace berth

#endif  // BERTH_SRC_APP_PLUGIN_LIBRARY_H_
