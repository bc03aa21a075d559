// SPDX-License-Identifier: Apache-2.0
// Which changes of storage objects may make a pod schedulable that VolumeBinding rejected.
#ifndef BERTH_PLUGINS_VOLUME_BINDING_VOLUME_HINTS_H_
#define BERTH_PLUGINS_VOLUME_BINDING_VOLUME_HINTS_H_

#include <vector>

#include "berth/framework/enqueue.h"

namespace berth {

std::vector<ClusterEventWithHint> VolumeBindingEvents();

}  // namespace berth

#endif  // BERTH_PLUGINS_VOLUME_BINDING_VOLUME_HINTS_H_
