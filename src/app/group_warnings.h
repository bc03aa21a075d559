// SPDX-License-Identifier: Apache-2.0
// Warnings about pods that name a gang and are placed on their own.
#ifndef BERTH_SRC_APP_GROUP_WARNINGS_H_
#define BERTH_SRC_APP_GROUP_WARNINGS_H_

#include <vector>

#include "berth/api/object.h"
#include "berth/configuration.h"
#include "berth/framework/registry.h"

namespace berth {

// Prints a line for each profile without a plugin that forms groups and each mark that such a
// plugin would read, with the first pod that is pending and how many there are. Marks that nobody
// reads are warned of where manifests are read.
void WarnOfPodsAlone(const KubeSchedulerConfiguration& configuration, const Registry& registry,
                     const std::vector<Object>& objects);

}  // namespace berth

#endif  // BERTH_SRC_APP_GROUP_WARNINGS_H_
