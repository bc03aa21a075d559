// SPDX-License-Identifier: Apache-2.0
// Warnings about what objects have, and the plugins of a profile do not read.
#ifndef BERTH_SRC_APP_MARK_WARNINGS_H_
#define BERTH_SRC_APP_MARK_WARNINGS_H_

#include <vector>

#include "berth/api/object.h"
#include "berth/configuration.h"
#include "berth/framework/registry.h"

namespace berth {

// Prints a line for each profile and each mark that some plugin reads, and none of the profile: one
// that names a gang, or one that asks for GPUs. With the first pod that is pending, and how many
// there are. Marks that no plugin reads are warned of where manifests are read.
//
// And one for each cause for which a plugin ignores fields of objects (UnreadFields), with the
// first of them.
void WarnOfUnreadMarks(const KubeSchedulerConfiguration& configuration, const Registry& registry,
                       const std::vector<Object>& objects);

}  // namespace berth

#endif  // BERTH_SRC_APP_MARK_WARNINGS_H_
