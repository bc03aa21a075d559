// SPDX-License-Identifier: Apache-2.0
// The reference page of the configuration, from the declared tables of fields.
#ifndef BERTH_SRC_CONFIG_REFERENCE_H_
#define BERTH_SRC_CONFIG_REFERENCE_H_

#include <string>

#include "berth/framework/registry.h"

namespace berth {

// Markdown: every field of KubeSchedulerConfiguration, the default plugins, and the arguments of
// every plugin in `registry`.
std::string ConfigurationReference(const Registry& registry);

}  // namespace berth

#endif  // BERTH_SRC_CONFIG_REFERENCE_H_
